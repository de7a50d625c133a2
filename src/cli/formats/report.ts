/** What every format prints: a revision, what was found in it, and whether that is enough. */
import { createHash } from "node:crypto";
import type { Issue } from "../../domain/gitops/issue-codes.ts";
import { isBlocking } from "../../domain/gitops/validate.ts";
import type { ReadRevision } from "../revision.ts";
import { UNSHOWN, visible } from "../terminal.ts";

export type Report = {
  revision: Pick<ReadRevision, "label" | "files" | "limits" | "shown" | "rooted" | "git">;
  /** Sorted by file and line. */
  issues: readonly Issue[];
  objects: number;
  /** Warnings count as errors. */
  strict: boolean;
};

export const isValid = ({ issues, strict }: Report): boolean => issues.every((issue) => !isBlocking(issue) && !strict);

/** `Fleet/demo: spec.version`, as far as the issue says so. */
export const subjectOf = ({ kind, name, path }: Issue): string => {
  const object = kind === undefined ? "" : name === undefined ? kind : `${kind}/${name}`;
  return [object, path].filter((part) => part !== "").join(": ");
};

/** The message in one line, with its place in the object and the hint, fit for a terminal. */
export const messageOf = (issue: Issue): string => {
  const { path, message, hint } = issue;
  return visible(`${path === "" ? "" : `${path}: `}${message}${hint === undefined ? "" : ` (${hint})`}`);
};

/** JSON whose text may be shown: what a terminal would obey is escaped, the data are the same. */
export const jsonText = (value: unknown): string =>
  JSON.stringify(value, null, 2).replaceAll(UNSHOWN, (char) =>
    char === "\n" ? char : `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`;

/** The last line for people. */
export function summaryOf(report: Report): string {
  const errors = report.issues.filter(isBlocking).length;
  const warnings = report.issues.length - errors;
  const found = `${count(errors, "error")}, ${count(warnings, "warning")}`;
  if (isValid(report)) return `valid: ${count(report.objects, "object")}, ${found}`;
  const files = new Set(report.issues.map(({ file }) => file)).size;
  return `invalid: ${found} in ${count(files, "file")}${errors === 0 ? " (--strict: warnings are errors)" : ""}`;
}

/**
 * One name per issue, equal as long as what it says stays equal: line and column are left out, so that a line added above
 * makes no new issue. The second of two equal ones gets another name.
 */
export function fingerprintsOf(report: Report): Map<Issue, string> {
  const seen = new Map<string, number>();
  return new Map(
    report.issues.map((issue) => {
      const { code, kind = "", name = "", path, message } = issue;
      const key = JSON.stringify([code, report.revision.rooted(issue.file), kind, name, path, message]);
      const before = seen.get(key) ?? 0;
      seen.set(key, before + 1);
      return [issue, createHash("sha256").update(`${key}#${before}`).digest("hex").slice(0, 32)];
    }),
  );
}
