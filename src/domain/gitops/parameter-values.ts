/** Values of blueprint parameters: do they fit their declaration? (gitops-schema, Blueprint) */
import { RE2JS, RE2JSSyntaxException } from "re2js";
import type { Parameter } from "./kinds/blueprint.ts";
import { canonicalJson, isPlainMap, samePlain } from "./plain.ts";

/** What is wrong with `value`, or undefined. A pattern may match anywhere; linear time whatever it is. */
export function judgeParameter(declared: Parameter, value: unknown): string | undefined {
  if (!TYPES[declared.type](value)) return `must be of type ${declared.type}, not ${typeName(value)}`;
  if (declared.enum !== undefined && !declared.enum.some((member) => samePlain(member, value))) {
    return `must be one of ${declared.enum.map(canonicalJson).join(", ")}`;
  }
  if (
    declared.pattern !== undefined &&
    typeof value === "string" &&
    !patternOf(declared.pattern).matcher(value).find()
  ) {
    return `must match ${declared.pattern}`;
  }
  if (typeof value !== "number") return undefined;
  if (declared.minimum !== undefined && value < declared.minimum) return `must be at least ${declared.minimum}`;
  if (declared.maximum !== undefined && value > declared.maximum) return `must be at most ${declared.maximum}`;
  return undefined;
}

/** What is wrong with a declaration itself: path below it and message. */
export function judgeDeclaration(declared: Parameter): { path: string[]; message: string }[] {
  const found: { path: string[]; message: string }[] = [];
  if (declared.pattern !== undefined) {
    const message = patternProblem(declared.pattern);
    if (message !== undefined) return [{ path: ["pattern"], message }];
    if (declared.type !== "string") found.push({ path: ["pattern"], message: "a pattern needs type string" });
  }
  for (const bound of ["minimum", "maximum"] as const) {
    if (declared[bound] !== undefined && declared.type !== "integer" && declared.type !== "number") {
      found.push({ path: [bound], message: `a ${bound} needs type integer or number` });
    }
  }
  if (declared.default !== undefined) {
    const message = judgeParameter(declared, declared.default);
    if (message !== undefined) found.push({ path: ["default"], message });
  }
  return found;
}

const TYPES: Record<Parameter["type"], (value: unknown) => boolean> = {
  string: (value) => typeof value === "string",
  integer: (value) => Number.isSafeInteger(value),
  number: (value) => typeof value === "number",
  boolean: (value) => typeof value === "boolean",
  list: (value) => Array.isArray(value),
  map: isPlainMap,
};

export const typeName = (value: unknown): string => {
  if (value === null) return "null";
  if (Array.isArray(value)) return "list";
  return typeof value === "object" ? "map" : typeof value;
};

const compiled = new Map<string, RE2JS>();

/** Patterns are few and asked for each agent: compiled once. Throws on one that validation has refused. */
function patternOf(pattern: string): RE2JS {
  const known = compiled.get(pattern) ?? RE2JS.compile(pattern);
  if (compiled.size > 1_000) compiled.clear();
  compiled.set(pattern, known);
  return known;
}

function patternProblem(pattern: string): string | undefined {
  try {
    patternOf(pattern);
    return undefined;
  } catch (error) {
    if (error instanceof RE2JSSyntaxException) return `not a regular expression: ${error.message}`;
    throw error;
  }
}
