/**
 * Reads one strict YAML document against a zod schema: every issue at once, each with file, line and column, unknown keys
 * refused with a hint. Environment variables may override scalars and lists (of scalars by commas, of maps as JSON). Shared by the configuration
 * files of all programs.
 */
import { isMap, isNode, isPair, isScalar, isSeq, parseDocument, type LineCounter } from "yaml";
import type { Document, Node, YAMLMap } from "yaml";
import { z } from "zod";
import { linesOf } from "../yaml-lines.ts";
import { closest } from "./closest.ts";

export type ConfigIssue = {
  severity: "error" | "warning";
  file: string;
  /** 1-based; 0 when the value came from the environment. */
  line: number;
  column: number;
  /** Dotted path of the key, for example `artifacts.minCopies`. */
  path: string;
  message: string;
  hint?: string;
};

export type StrictResult<T> = { ok: true; value: T; locate: Locate } | { ok: false; issues: ConfigIssue[] };
/** Where a key stands: for checks that look at more than one value. */
export type Locate = (path: readonly PropertyKey[]) => { file: string; line: number; column: number };
/** Overrides by environment: dotted path → variable name and value. */
export type Overrides = ReadonlyMap<string, { name: string; value: string }>;

const MAX_BYTES = 4 * 1024 ** 2;

/** Parses and checks `text`. `value` is complete with defaults; without it, `issues` names everything that is wrong. */
export function readStrictYaml<S extends z.ZodObject>(
  schema: S,
  text: string,
  file: string,
  overrides: Overrides = new Map(),
): StrictResult<z.output<S>> {
  const lines = linesOf(text);
  if (text.length > MAX_BYTES)
    return { ok: false, issues: [issue(file, { line: 1, col: 1 }, "", `larger than ${MAX_BYTES} bytes`)] };
  const document = parseDocument(text, { version: "1.2", merge: false, uniqueKeys: true });
  const broken = document.errors.map((error) =>
    issue(file, lines.linePos(error.pos[0]), "", error.message.split("\n")[0]?.replace(/ at line .*$/, "") ?? ""),
  );
  if (broken.length > 0) return { ok: false, issues: broken };
  const root = document.contents;
  if (root !== null && !isMap(root) && !(isScalar(root) && root.value === null))
    return { ok: false, issues: [issue(file, { line: 1, col: 1 }, "", "the file must be one mapping of keys")] };

  const locate: Locate = (path) => {
    const override = overrides.get(path.join("."));
    if (override !== undefined) return { file: `environment ${override.name}`, line: 0, column: 0 };
    const { line, col } = positionOf(document, lines, path);
    return { file, line, column: col };
  };
  const unknown = isMap(root) ? unknownKeys(root, schema, [], file, lines) : [];
  const data = applyOverrides((document.toJS() as Record<string, unknown> | null) ?? {}, schema, overrides);
  const parsed = schema.safeParse(data);
  // zod finds those below an alias too, but without the position of the key
  const others = (parsed.error?.issues ?? []).filter((it) => unknown.length === 0 || it.code !== "unrecognized_keys");
  const invalid = others.map(explain(locate));
  const issues = [...unknown, ...invalid].toSorted((a, b) => a.line - b.line || a.column - b.column);
  if (issues.length > 0 || !parsed.success) return { ok: false, issues };
  return { ok: true, value: parsed.data, locate };
}

/** One line per issue, as compilers print it: `file:line:column: error: path: message (hint)`. */
export const formatIssue = (it: ConfigIssue): string =>
  `${it.file}${it.line > 0 ? `:${it.line}:${it.column}` : ""}: ${it.severity}: ${it.path === "" ? "" : `${it.path}: `}${it.message}${it.hint === undefined ? "" : ` (${it.hint})`}`;

/** The paths that may be overridden: scalars and lists below nested objects. */
export function overridablePaths(schema: z.ZodObject, above: string[] = []): string[] {
  return Object.entries(schema.shape).flatMap(([key, value]) => {
    const inner = unwrap(value);
    if (inner instanceof z.ZodObject) return overridablePaths(inner, [...above, key]);
    return [[...above, key].join(".")];
  });
}

const issue = (file: string, at: { line: number; col: number }, path: string, message: string): ConfigIssue => ({
  severity: "error",
  file,
  line: at.line,
  column: at.col,
  path,
  message,
});

const explain =
  (locate: Locate) =>
  (it: z.core.$ZodIssue): ConfigIssue => ({
    severity: "error",
    ...locate(it.path),
    path: it.path.join("."),
    message:
      it.code === "invalid_type" && it.message.endsWith("received undefined") ? "a value is required" : it.message,
  });

/** Own check instead of zod's: it knows the position of each key and sees `__proto__`. */
function unknownKeys(
  map: YAMLMap,
  schema: z.ZodObject,
  above: string[],
  file: string,
  lines: LineCounter,
): ConfigIssue[] {
  return map.items.flatMap((pair) => {
    const key = isScalar(pair.key) ? String(pair.key.value) : "";
    const path = [...above, key];
    const at = lines.linePos((pair.key as Node | null)?.range?.[0] ?? 0);
    if (!Object.hasOwn(schema.shape, key)) {
      const near = closest(key, Object.keys(schema.shape));
      const found = issue(file, at, path.join("."), "unknown key");
      return [near === undefined ? found : { ...found, hint: `did you mean ${near}?` }];
    }
    return unknownBelow(pair.value, schema.shape[key] as z.ZodType, path, file, lines);
  });
}

function unknownBelow(
  value: unknown,
  schema: z.core.$ZodType,
  path: string[],
  file: string,
  lines: LineCounter,
): ConfigIssue[] {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodObject && isMap(value)) return unknownKeys(value, inner, path, file, lines);
  if (inner instanceof z.ZodArray && isSeq(value))
    return value.items.flatMap((item, i) => unknownBelow(item, inner.element, [...path, String(i)], file, lines));
  return [];
}

function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return unwrap(schema.unwrap());
  return schema;
}

/** The position of the value at `path`, or of the nearest thing above it that exists. */
function positionOf(
  document: Document,
  lines: LineCounter,
  path: readonly PropertyKey[],
): { line: number; col: number } {
  for (let depth = path.length; depth > 0; depth--) {
    const parent: unknown = depth === 1 ? document.contents : document.getIn(path.slice(0, depth - 1), true);
    const key = path[depth - 1];
    if (isMap(parent)) {
      const pair = parent.items.find((item) => isPair(item) && isScalar(item.key) && item.key.value === key);
      const node = (pair?.value ?? pair?.key) as Node | null | undefined;
      if (node?.range) return lines.linePos(node.range[0]);
    }
    const item: unknown = document.getIn(path.slice(0, depth), true);
    if (isNode(item) && item.range) return lines.linePos(item.range[0]);
  }
  return { line: 1, col: 1 };
}

function applyOverrides(data: Record<string, unknown>, schema: z.ZodObject, overrides: Overrides): unknown {
  for (const [path, { value }] of overrides) {
    const keys = path.split(".");
    let target = data;
    let shape: z.ZodObject = schema;
    for (const key of keys.slice(0, -1)) {
      const next = target[key];
      target = (target[key] = typeof next === "object" && next !== null ? next : {}) as Record<string, unknown>;
      shape = unwrap(shape.shape[key] as z.ZodType) as z.ZodObject;
    }
    const last = keys.at(-1) ?? "";
    target[last] = coerce(value, unwrap(shape.shape[last] as z.ZodType));
  }
  return data;
}

/** A text from the environment as the schema's type; what does not fit stays text and is refused by the schema. */
function coerce(value: string, schema: z.core.$ZodType): unknown {
  if (schema instanceof z.ZodBoolean) return value === "true" ? true : value === "false" ? false : value;
  if (schema instanceof z.ZodNumber) return /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
  if (schema instanceof z.ZodArray && schema.element instanceof z.ZodObject) return jsonOr(value);
  if (schema instanceof z.ZodArray) return value === "" ? [] : value.split(",").map((item) => item.trim());
  return value;
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return text;
    throw error;
  }
}
