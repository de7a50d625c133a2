/** Fields that several kinds share. One definition yields the type, strict validation and the editors' JSON Schema. */
import { parse as parseSemver } from "semver";
import { z } from "zod";
import { parseDuration } from "../duration.ts";
import type { IssueCode } from "../issue-codes.ts";
import { isPlainMap, type PlainMap } from "../plain.ts";
import { parseShare } from "../share.ts";

/** Adds an issue with a code of the catalogue; `hint` says what to write instead. */
export const refuse = (code: IssueCode, message: string, hint?: string) => ({
  code: "custom" as const,
  message,
  params: { issueCode: code, hint },
});

/** A condition of JSON Schema. */
export const ifThen = (condition: object, consequence: object): Record<string, unknown> => ({
  if: condition,
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema; nobody awaits it
  then: consequence,
});

/** Exactly one of two fields, in the words that editors explain best: the other "is not allowed", or one "is missing". */
export const exactlyOne = (usual: string, other: string): Record<string, unknown> => ({
  ...ifThen({ required: [other] }, { properties: { [usual]: false } }),
  else: { required: [usual] },
});

/** A DNS label (contract, "The object envelope"). */
export const NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** A reference to an object by name. */
export const reference = z
  .string()
  .regex(NAME, "must be the name of an object: lower-case letters, digits and -")
  .meta({ title: "name of an object" });

/** Free-form data: checked by the YAML reader, untouched by the schema (zod would drop a key like `__proto__`). */
export const freeForm = z
  .custom<PlainMap>(isPlainMap, { error: "must be a map" })
  .meta({ title: "free-form map", type: "object", additionalProperties: true });

const DURATION = /^(?:0|(?:(?:\d+(?:\.\d+)?|\.\d+)(?:ms|us|µs|ns|h|m|s))+)$/;
export const duration = z
  .string()
  .refine((text) => parseDuration(text) !== undefined, "must be a duration such as 90s, 5m or 1h30m")
  .meta({ title: "duration", pattern: DURATION.source, examples: ["90s", "5m", "1h30m"] });

const SHARE = /^(?:\d{1,7}|\d{1,3}(?:\.\d{1,3})?%)$/;
export const share = z
  .union([z.int().min(0), z.string().meta({ pattern: SHARE.source })], {
    error: 'must be a whole number or a percentage such as "10%"',
  })
  .refine((value) => parseShare(value) !== undefined, 'must be a whole number or a percentage such as "10%"')
  .meta({ title: "count or share", examples: [3, "10%"] });

/** Exact releases as semver.org writes them, without build metadata. */
const VERSION =
  /^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?$/;
/** An exact release in semver, without `v` (decisions, Host): `0.162`, `v0.162.0` and ` 0.162.0` are malformed. */
export const versionText = z
  .string()
  .refine((text) => parseSemver(text)?.raw === text && !/^v|\+/.test(text), "must be an exact version such as 0.162.0")
  .meta({ title: "version", pattern: VERSION.source, examples: ["0.162.0"] });

export const labels = z
  .record(z.string().min(1), z.string())
  .meta({ title: "labels", examples: [{ team: "edge-ops" }] });

const expression = z
  .strictObject({
    key: z
      .string()
      .min(1)
      .meta({ description: "Name of the label.", examples: ["tier"] }),
    operator: z.enum(["In", "NotIn", "Exists", "DoesNotExist"]).meta({
      description: "`In` and `NotIn` compare with `values`; an agent without the label is `NotIn`.",
    }),
    values: z
      .array(z.string())
      .optional()
      .meta({ description: "For `In` and `NotIn`, at least one; for the others none.", examples: [["edge", "lab"]] }),
  })
  .superRefine((at, context) => {
    const takesValues = at.operator === "In" || at.operator === "NotIn";
    if (takesValues && (at.values ?? []).length === 0) {
      context.addIssue(refuse("invalid_selector", `${at.operator} needs at least one entry in values`));
    }
    if (!takesValues && at.values !== undefined) {
      context.addIssue(refuse("invalid_selector", `${at.operator} takes no values`, "remove values"));
    }
  })
  .meta({
    description: "A condition on one label.",
    ...ifThen(
      { properties: { operator: { enum: ["In", "NotIn"] } }, required: ["operator"] },
      { required: ["values"], properties: { values: { minItems: 1 } } },
    ),
    else: { properties: { values: false } },
  });

/** Which agents: every label and every expression must fit; an empty selector fits all and is written `{}`. */
export const selector = z
  .strictObject({
    matchLabels: labels
      .optional()
      .meta({ description: "Labels that the agent must have, with these values.", examples: [{ tier: "edge" }] }),
    matchExpressions: z.array(expression).optional().meta({ description: "Conditions that must all hold." }),
  })
  .meta({ title: "selector", description: "Which agents: every label and every condition must fit. `{}` fits all." });
export type Selector = z.infer<typeof selector>;
