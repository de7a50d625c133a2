/** The formats of `myrctl validate`, by name. */
import type { Paint } from "../terminal.ts";
import { githubOf } from "./github.ts";
import { gitlabOf } from "./gitlab.ts";
import { jsonOf } from "./json.ts";
import { junitOf } from "./junit.ts";
import type { Report } from "./report.ts";
import { sarifOf } from "./sarif.ts";
import { textOf } from "./text.ts";

export const VALIDATE_FORMATS = ["text", "json", "github", "gitlab", "sarif", "junit"] as const;
export type ValidateFormat = (typeof VALIDATE_FORMATS)[number];
/** What a format needs besides the report; `version` is myrctl's. */
type Surroundings = { paint: Paint; version: string };

const FORMATS: Record<ValidateFormat, (report: Report, surroundings: Surroundings) => string> = {
  text: (report, { paint }) => textOf(report, paint),
  json: jsonOf,
  github: githubOf,
  gitlab: gitlabOf,
  sarif: (report, { version }) => sarifOf(report, version),
  junit: junitOf,
};

/** The report as one text, without a line break at its end. */
export const formatReport = (format: ValidateFormat, report: Report, surroundings: Surroundings): string =>
  FORMATS[format](report, surroundings);
