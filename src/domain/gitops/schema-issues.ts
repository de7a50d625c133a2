/** What a schema finds, in the words of the issue catalogue: unknown fields with a hint, missing ones, wrong values. */
import { z } from "zod";
import { closest } from "../config/closest.ts";
import type { IssueCode } from "./issue-codes.ts";
import { typeName } from "./parameter-values.ts";
import { decodeKey, isPlainMap, type Plain } from "./plain.ts";
import type { Path } from "./yaml-convert.ts";

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
  const all = [...findings, ...hidden];
  return { value: parsed.success && all.length === 0 ? parsed.data : undefined, findings: all };
}

function explain(issue: z.core.$ZodIssue, schema: z.ZodType, data: Plain, above: Path): Finding[] {
  const path = issue.path as Path;
  const full = [...above, ...path];
  if (issue.code === "unrecognized_keys") return issue.keys.map((key) => unknownField(schema, path, key, above));
  const value = valueAt(data, path);
  if (value === undefined || (value === null && issue.code !== "custom")) {
    return [{ code: "missing_field", path: full, at: "key", message: `${last(full)} is missing`, ...hintFor(full) }];
  }
  if (issue.code === "custom" && isRefusal(issue.params)) {
    const { issueCode: code, hint } = issue.params;
    return [{ code, path: full, at: "value", message: issue.message, ...(hint === undefined ? {} : { hint }) }];
  }
  if (isVersion(full) && typeof value === "number") {
    const message = `${last(full)} is a number for YAML, which drops digits`;
    return [{ code: "version_not_quoted", path: full, at: "value", message, hint: `write "${value}" in quotes` }];
  }
  if (full.join(".") === "metadata.name" && typeof value === "string") {
    return [{ code: "invalid_name", path: full, at: "value", message: issue.message }];
  }
  return [{ code: "invalid_value", path: full, at: "value", ...describe(issue, value) }];
}

const last = (path: Path): string => String(path.at(-1) ?? "the object");
const isVersion = (path: Path): boolean => path[0] === "spec" && path[1] === "version";
const isRefusal = (params: unknown): params is { issueCode: IssueCode; hint?: string } =>
  typeof params === "object" && params !== null && "issueCode" in params;

const hintFor = (path: Path): { hint?: string } =>
  path.join(".") === "spec.selector" ? { hint: "a selector that matches every collector is written {}" } : {};

function describe(issue: z.core.$ZodIssue, value: unknown): { message: string; hint?: string } {
  if (issue.code === "invalid_type") {
    const isScalar = typeof value === "number" || typeof value === "boolean";
    const hint = issue.expected === "string" && isScalar ? { hint: `quote it: "${value}"` } : {};
    return { message: `must be a ${TYPE_NAMES[issue.expected] ?? issue.expected}, not a ${typeName(value)}`, ...hint };
  }
  if (issue.code === "invalid_value") {
    const known = issue.values.map(String);
    const near = typeof value === "string" ? closest(value, known) : undefined;
    const hint = near === undefined ? {} : { hint: `did you mean ${near}?` };
    return { message: `must be one of ${known.join(", ")}`, ...hint };
  }
  return { message: issue.message };
}
const TYPE_NAMES: Record<string, string> = { object: "map", record: "map", array: "list", int: "whole number" };

function unknownField(schema: z.ZodType, path: Path, key: string, above: Path): Finding {
  const near = closest(key, knownKeys(schema, path));
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
  let at: z.ZodType | undefined = unwrap(schema);
  for (const member of path) {
    if (at instanceof z.ZodObject) at = shapeOf(at).get(String(member));
    else if (at instanceof z.ZodArray) at = at.element as z.ZodType;
    else if (at instanceof z.ZodRecord) at = at.valueType as z.ZodType;
    else return [];
    at = at === undefined ? undefined : unwrap(at);
  }
  return at instanceof z.ZodObject ? Object.keys(at.shape) : [];
}

function unwrap(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    return unwrap(schema.unwrap() as z.ZodType);
  }
  return schema instanceof z.ZodPipe ? unwrap(schema.in as z.ZodType) : schema;
}
