/** Why a value does not fit its schema, in the author's words: what it must be, what it is, what to write instead. */
import type { z } from "zod";
import { closest } from "../config/closest.ts";
import { typeName } from "./parameter-values.ts";

/** Why `value` does not fit, after what zod says; `schema` is what stands at its place. */
export function describe(
  issue: z.core.$ZodIssue,
  value: unknown,
  schema: z.ZodType | undefined,
): { message: string; hint?: string } {
  switch (issue.code) {
    case "invalid_type":
      return describeType(issue.expected, value, schema);
    case "invalid_value": {
      const known = issue.values.map(String);
      const near = typeof value === "string" ? nearest(value, known) : undefined;
      const hint = near === undefined ? {} : { hint: `did you mean ${near}?` };
      return { message: `must be one of ${known.join(", ")}`, ...hint };
    }
    case "invalid_union":
      return issue.message === "Invalid input" ? describeUnion(issue, value) : { message: issue.message };
    case "too_small":
      if (issue.origin === "array") return { message: "must have at least one entry" };
      if (issue.origin === "string") return { message: "must not be empty" };
      return { message: `must be ${issue.inclusive === false ? "more than" : "at least"} ${issue.minimum}` };
    case "too_big":
      return { message: `must be at most ${issue.maximum}${UNITS[issue.origin] ?? ""}` };
    case "custom":
      if (issue.message === "must be a map") return describeType("object", value, schema);
      return { message: issue.message, ...unitHint(issue.message, value) };
    case "invalid_format":
    case "invalid_key":
    case "invalid_element":
    case "not_multiple_of":
    case "unrecognized_keys":
    default:
      return { message: issue.message };
  }
}

/** Durations that lack their unit, or have one that Go does not know. */
function unitHint(message: string, value: unknown): { hint?: string } {
  if (!message.startsWith("must be a duration")) return {};
  const [, number, unit] = /^(\d+)(d?)$/.exec(String(value)) ?? [];
  if (number === undefined) return {};
  return { hint: unit === "d" ? `write ${Number(number) * 24}h` : `write the unit too: ${number}s` };
}

/** The known name that was misspelt, else the only one that was abbreviated or spelt out: `int`, `Monday`. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const near = closest(name, known);
  if (near !== undefined || name.length < 3) return near;
  const [only, ...more] = known.filter((other) => {
    const [short = "", long = ""] = [name.toLowerCase(), other.toLowerCase()].toSorted((a, b) => a.length - b.length);
    return short.length >= 3 && long.startsWith(short);
  });
  return more.length === 0 ? only : undefined;
}

const UNITS: Record<string, string> = { string: " characters", array: " entries" };

function describeType(
  expected: string,
  value: unknown,
  schema: z.ZodType | undefined,
): { message: string; hint?: string } {
  const isScalar = typeof value === "number" || typeof value === "boolean";
  const actual = expected === "int" && typeof value === "number" ? String(value) : `a ${typeName(value)}`;
  const message = `must be a ${TYPE_NAMES[expected] ?? expected}, not ${actual}`;
  if (expected === "string" && isScalar) {
    const quoted = schema?.safeParse(String(value)).error;
    const refusal = quoted?.issues[0]?.message;
    if (refusal !== undefined) return { message: refusal, ...unitHint(refusal, value) };
    return { message, hint: `quote it: "${value}"` };
  }
  if (expected === "boolean") return { message, hint: "write true or false, without quotes" };
  if (TYPE_NAMES[expected] === "map" && typeof value === "string" && value.includes("\n")) {
    return { message, hint: "remove the | or > after the key: what follows is YAML, not text" };
  }
  if (typeof value === "string" && /^-?\d/.test(value) && (expected === "int" || expected === "number")) {
    return { message, hint: "write it without quotes" };
  }
  return { message };
}

function describeUnion(issue: z.core.$ZodIssueInvalidUnion, value: unknown): { message: string } {
  const expected = issue.errors.flat().flatMap((it) => (it.code === "invalid_type" ? [it.expected] : []));
  const names = [...new Set(expected)].map((name) => TYPE_NAMES[name] ?? name);
  return { message: `must be a ${names.join(" or a ")}, not a ${typeName(value)}` };
}
const TYPE_NAMES: Record<string, string> = { object: "map", record: "map", array: "list", int: "whole number" };
