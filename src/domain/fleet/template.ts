/**
 * Templates in string scalars: Liquid with strict variables and its limits on (gitops-schema, Blueprint). No clock, no
 * chance, no files: filters and tags that could bring them in do not exist here, so the same scope gives the same text.
 */
import { Liquid, LiquidError, Output, type Template } from "liquidjs";
import type { Plain } from "../gitops/plain.ts";

const TAGS = new Set(["if", "unless", "for", "break", "continue", "assign", "capture", "case", "raw", "comment"]);
const FILTERS_WITHOUT = /^(?:date.*|sample|shuffle|raw)$/;
const LIMITS = { parseLimit: 1_000_000, renderLimit: 2_000, memoryLimit: 10_000_000 };

export type Compiled = {
  /** Exactly one `{{ … }}`: its value keeps its type. */
  isValue: boolean;
  /** Paths of the variables that it reads from the scope, for example `["agent", "hostName"]`. */
  reads: readonly (readonly string[])[];
  /** Throws TemplateError. */
  render(scope: object): Plain | undefined;
};

/** What Liquid says of a template; its message is for the author and holds nothing but the template's own text. */
export class TemplateError extends Error {
  override readonly name = "TemplateError";
}

export const hasTemplate = (text: string): boolean => text.includes("{{") || text.includes("{%");

/** Compiles one scalar. Throws TemplateError. */
export function compileTemplate(text: string): Compiled {
  const source = withoutLeadingDots(text);
  const templates = guard(() => engine.parse(source));
  const [only] = templates;
  const isValue = templates.length === 1 && only instanceof Output;
  const reads = guard(() => readsOf(templates));
  if (!isValue) return { isValue, reads, render: (scope) => guard(() => String(engine.renderSync(templates, scope))) };
  const typed = guard(() => typedEngine.parse(source));
  return { isValue, reads, render: (scope) => guard(() => toPlain(typedEngine.renderSync(typed, scope))) };
}

/** Compiles a fragment's `when`: true when the expression is, with an absent attribute counting as false. */
export function compileCondition(text: string): { reads: Compiled["reads"]; holds: (scope: object) => boolean } {
  const compiled = compileTemplate(`{% if ${text} %}true{% endif %}`);
  return { reads: compiled.reads, holds: (scope) => compiled.render(scope) === "true" };
}

const engine = strictEngine(false);
const typedEngine = strictEngine(true);

function strictEngine(keepOutputType: boolean): Liquid {
  const engine = new Liquid({
    ...LIMITS,
    strictVariables: true,
    strictFilters: true,
    lenientIf: true,
    ownPropertyOnly: true,
    keepOutputType,
    templates: {},
    ...(keepOutputType ? {} : { outputEscape: textOf }),
  });
  for (const tag of Object.keys(engine.tags)) if (!TAGS.has(tag)) delete engine.tags[tag];
  for (const filter of Object.keys(engine.filters)) if (FILTERS_WITHOUT.test(filter)) engine.unregisterFilter(filter);
  return engine;
}

/** A list or map inside a text would silently become something else. */
function textOf(value: unknown): string {
  if (typeof value === "object" && value !== null) {
    throw new TemplateError("a list or map cannot stand inside a text; let the scalar be exactly one {{ … }}");
  }
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? `${value}` : "";
}

function guard<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof TemplateError) throw error;
    if (error instanceof RangeError) throw new TemplateError("nested too deeply", { cause: error });
    if (error instanceof Error && LiquidError.is(error)) throw new TemplateError(explain(error), { cause: error });
    throw error;
  }
}

/** Liquid appends where it was: our own place is better, the file is known to the caller. */
const explain = (error: Error): string => error.message.replace(/,? ?(?:file:.*?, )?line:\d+, col:\d+$/s, "");

/** Filters hand out what they made: only data may leave. */
function toPlain(value: unknown): Plain | undefined {
  if (value === undefined || value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
  if (Array.isArray(value) || typeof value === "object") return value as Plain;
  return undefined;
}

function readsOf(templates: Template[]): string[][] {
  return engine
    .globalVariableSegmentsSync(templates)
    .map((segments) => segments.slice(0, firstComputed(segments)).map(String));
}

/** `a[b.c].d` reads `a`: what follows depends on data. */
function firstComputed(segments: readonly unknown[]): number {
  const at = segments.findIndex((segment) => typeof segment === "object");
  return at === -1 ? segments.length : at;
}

/** `{{ .fleet.name }}` is `{{ fleet.name }}`: removes the dot at the beginning of a path, nowhere else. */
export function withoutLeadingDots(text: string): string {
  let out = "";
  let at = 0;
  while (at < text.length) {
    const open = nextOpen(text, at);
    if (open === -1) break;
    const close = closeOf(text, open);
    const block = text.slice(open, close);
    out += text.slice(at, open) + rewriteBlock(block);
    at = close;
    if (/^\{%-?\s*raw\s*-?%\}$/.test(block)) {
      const end = text.slice(at).search(/\{%-?\s*endraw\s*-?%\}/);
      const stop = end === -1 ? text.length : at + end;
      out += text.slice(at, stop);
      at = stop;
    }
  }
  return out + text.slice(at);
}

const nextOpen = (text: string, from: number): number => {
  const places = [text.indexOf("{{", from), text.indexOf("{%", from)].filter((place) => place !== -1);
  return places.length === 0 ? -1 : Math.min(...places);
};

const closeOf = (text: string, open: number): number => {
  const end = text.indexOf(text.startsWith("{{", open) ? "}}" : "%}", open + 2);
  return end === -1 ? text.length : end + 2;
};

/** Quoted text stays; outside of it a dot before a name that follows no name is a leading one. */
const rewriteBlock = (block: string): string =>
  block.replace(/"[^"]*"|'[^']*'|(^\{[{%]-?|[\s([|:,=<>!])\.(?=[A-Za-z_])/g, (all, before?: string) => before ?? all);
