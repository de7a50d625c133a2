/** What a schema finds, in the words of the issue catalogue: unknown fields with a hint, missing ones, wrong values. */
import { z } from "zod";
import { closest } from "../config/closest.ts";
import type { IssueCode } from "./issue-codes.ts";
import { decodeKey, isPlainMap, type Plain } from "./plain.ts";
import { describe, nearest } from "./schema-messages.ts";
import { pathText, type Path } from "./yaml-convert.ts";

/** `at` says whether the key or the value at `path` is at fault. */
export type Finding = { code: IssueCode; path: Path; at: "key" | "value"; message: string; hint?: string };

/** Checks `data` strictly. The value, with defaults filled in, is there only when nothing is wrong. */
export function checkSchema<S extends z.ZodType>(
  schema: S,
  data: Plain,
  above: Path = [],
): { value: z.output<S> | undefined; findings: Finding[] } {
  const parsed = schema.safeParse(data);
  const hidden = hiddenKeys(schema, data, above);
  const findings = (parsed.error?.issues ?? []).flatMap((issue) => explain(issue, schema, data, above));
  const all = withoutRepeats([...findings, ...hidden]);
  return { value: parsed.success && all.length === 0 ? parsed.data : undefined, findings: all };
}

/** One issue for one thing: several rules may say of a value that it does not fit. */
const withoutRepeats = (findings: readonly Finding[]): Finding[] => {
  const first = new Map<string, Finding>();
  for (const finding of findings) {
    const key = JSON.stringify([finding.code, finding.at, finding.path]);
    if (!first.has(key)) first.set(key, finding);
  }
  return [...first.values()];
};

function explain(issue: z.core.$ZodIssue, schema: z.ZodType, data: Plain, above: Path): Finding[] {
  const path = issue.path as Path;
  const full = [...above, ...path];
  if (issue.code === "unrecognized_keys") return issue.keys.map((key) => unknownField(schema, path, key, above));
  const value = valueAt(data, path);
  if (value === undefined || (value === null && issue.code !== "custom")) {
    const message = `${last(full)} is ${value === null ? "empty" : "missing"}`;
    return [{ code: "missing_field", path: full, at: "key", message, ...hintFor(full) }];
  }
  if (issue.code === "invalid_key") {
    const message = `the name ${last(full)} ${issue.issues[0]?.message ?? "is not allowed"}`;
    return [{ code: "invalid_value", path: full, at: "key", message }];
  }
  if (issue.code === "custom" && isRefusal(issue.params)) {
    const { issueCode: code, hint } = issue.params;
    return [{ code, path: full, at: "value", message: issue.message, ...(hint === undefined ? {} : { hint }) }];
  }
  if (isVersion(full) && typeof value === "number") {
    const message = `${last(full)} is a number for YAML, which drops digits`;
    const hint = 'write it in quotes with all three parts, as in "0.162.0"';
    return [{ code: "version_not_quoted", path: full, at: "value", message, hint }];
  }
  if (full.join(".") === "metadata.name" && typeof value === "string") {
    return [{ code: "invalid_name", path: full, at: "value", message: issue.message, ...nameHint(value) }];
  }
  const below = schemaAt(schema, path);
  return [{ code: "invalid_value", path: full, at: "value", ...describe(issue, value, below), ...hintOf(full, value) }];
}

/** The last name of a path, with the numbers behind it: `list[0]`. */
function last(path: Path): string {
  const from = path.findLastIndex((member) => typeof member === "string");
  return from === -1 ? "the object" : pathText(path.slice(from));
}

function nameHint(name: string): { hint?: string } {
  const fitting = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 63)
    .replace(/^-|-$/g, "");
  return fitting === "" ? {} : { hint: `for example ${fitting}` };
}

/** What the author of a form that other systems allow means. */
function hintOf(path: Path, value: unknown): { hint?: string } {
  if (path.join(".") === "spec.version") return { hint: 'write version: {target: "0.162.0"}' };
  if (last(path) === "timezone" && typeof value === "string") {
    const near = closest(value, Intl.supportedValuesOf("timeZone"));
    return near === undefined ? {} : { hint: `did you mean ${near}?` };
  }
  return {};
}

const isVersion = (path: Path): boolean => path[0] === "spec" && path[1] === "version";
const isRefusal = (params: unknown): params is { issueCode: IssueCode; hint?: string } =>
  typeof params === "object" && params !== null && "issueCode" in params;

const hintFor = (path: Path): { hint?: string } =>
  path.join(".") === "spec.selector" ? { hint: "a selector that matches every collector is written {}" } : {};

function unknownField(schema: z.ZodType, path: Path, key: string, above: Path): Finding {
  const near = nearest(key, knownKeys(schema, path));
  const full = [...above, ...path, key];
  const hint = near === undefined ? {} : { hint: `did you mean ${near}?` };
  return {
    code: "unknown_field",
    path: full,
    at: "key",
    message: `${String(decodeKey(key))} is not a known field`,
    ...hint,
  };
}

export function valueAt(data: unknown, path: Path): unknown {
  let value = data;
  for (const member of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, member)) return undefined;
    value = (value as Record<string | number, unknown>)[member];
  }
  return value;
}

/** zod passes over an own key `__proto__`; for us it is unknown wherever the schema is strict. */
function hiddenKeys(schema: z.ZodType, data: Plain, above: Path): Finding[] {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodArray && Array.isArray(data)) {
    return data.flatMap((item, index) => hiddenKeys(inner.element as z.ZodType, item, [...above, index]));
  }
  if (!isPlainMap(data) || !(inner instanceof z.ZodObject || inner instanceof z.ZodRecord)) return [];
  return Object.entries(data).flatMap(([key, member]) => {
    const path = [...above, key];
    if (key === "__proto__")
      return [{ code: "unknown_field", path, at: "key", message: "__proto__ is not a known field" }];
    const below = inner instanceof z.ZodObject ? shapeOf(inner).get(key) : (inner.valueType as z.ZodType);
    return below === undefined ? [] : hiddenKeys(below, member, path);
  });
}

/** By `Map`, so that a key such as `constructor` finds nothing that nobody declared. */
const shapeOf = (schema: z.ZodObject): Map<string, z.ZodType> => new Map(Object.entries(schema.shape));

/** The field names that a schema knows at `path`. */
function knownKeys(schema: z.ZodType, path: Path): string[] {
  const at = schemaAt(schema, path);
  return at instanceof z.ZodObject ? Object.keys(at.shape) : [];
}

/** The schema of what stands at `path`, as far as there is one. */
function schemaAt(schema: z.ZodType, path: Path): z.ZodType | undefined {
  let at: z.ZodType | undefined = unwrap(schema);
  for (const member of path) {
    if (at instanceof z.ZodObject) at = shapeOf(at).get(String(member));
    else if (at instanceof z.ZodArray) at = at.element as z.ZodType;
    else if (at instanceof z.ZodRecord) at = at.valueType as z.ZodType;
    else return undefined;
    at = at === undefined ? undefined : unwrap(at);
  }
  return at;
}

function unwrap(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    return unwrap(schema.unwrap() as z.ZodType);
  }
  return schema instanceof z.ZodPipe ? unwrap(schema.in as z.ZodType) : schema;
}
