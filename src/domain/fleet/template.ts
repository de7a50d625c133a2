/**
 * Templates in string scalars: Liquid with strict variables and its limits on (gitops-schema, Blueprint). No clock, no
 * chance, no files: filters and tags that could bring them in do not exist here, so the same scope gives the same text.
 */
import { analyzeSync, Context, Liquid, LiquidError, Output, type Template } from "liquidjs";
import type { Plain } from "../gitops/plain.ts";
import { expressionProblem } from "./template-expressions.ts";

const TAGS = new Set(["if", "unless", "for", "break", "continue", "assign", "capture", "case", "raw", "comment"]);
/**
 * Named one by one, so that a new release of Liquid brings none in. Not here: what asks the clock (`date…`) or chance
 * (`sample`), what goes round `textOf` (`raw`), and `where_exp` and its like, whose text is compiled while it renders: it
 * could read what `reads` does not name.
 */
const FILTERS = new Set(
  `abs append array_to_sentence_string at_least at_most base64_decode base64_encode capitalize ceil compact concat default
  divided_by downcase escape escape_once find find_index first floor group_by has hmac_sha256 inspect join json jsonify last
  lstrip map minus modulo newline_to_br normalize_whitespace number_of_words plus pop prepend push reject remove remove_first
  remove_last replace replace_first replace_last reverse round rstrip sha256 shift size slice slugify sort sort_natural split
  squish strip strip_html strip_newlines sum times to_integer truncate truncatewords uniq unshift upcase uri_escape url_decode
  url_encode cgi_escape where xml_escape`.split(/\s+/),
);
/** What templates can read, all of it (gitops-schema, Blueprint). */
const ROOTS: ReadonlySet<string> = new Set(["fleet", "parameters", "agent", "inventory", "version"]);
/** The steps and sizes are counted, so every replica cuts at the same place; the time limit is for what they miss. */
const LIMITS = { parseLimit: 1_000_000, renderLimit: 10_000, memoryLimit: 2_000_000 };
const MAX_STEPS = 100_000;
/** Tags of one scalar: Liquid's time to refuse ones that nest grows with their square. */
const MAX_TAGS = 1_000;
/** Characters that one scalar may render to. */
const MAX_TEXT = 1_000_000;

export type Compiled = {
  /** Exactly one `{{ … }}`: its value keeps its type. */
  isValue: boolean;
  /** Paths of the variables that it reads from the scope, for example `["agent", "hostName"]`. */
  reads: readonly (readonly string[])[];
  /** Throws TemplateError. */
  render(scope: object): Plain;
};

/** What Liquid says of a template; its message is for the author and holds nothing but the template's own text. */
export class TemplateError extends Error {
  override readonly name = "TemplateError";
}

export const hasTemplate = (text: string): boolean => text.includes("{{") || text.includes("{%");

/** Compiles one scalar. Throws TemplateError. */
export function compileTemplate(text: string): Compiled {
  if (text.length > LIMITS.parseLimit) throw new TemplateError(`is longer than ${LIMITS.parseLimit} characters`);
  if (text.split("{%").length > MAX_TAGS) throw new TemplateError(`has more than ${MAX_TAGS} tags`);
  const source = withoutLeadingDots(text);
  const templates = guard(() => engine.parse(source));
  const [only] = templates;
  const isValue = templates.length === 1 && only instanceof Output;
  const problem = expressionProblem(templates);
  if (problem !== undefined) throw new TemplateError(problem);
  const reads = guard(() => readsOf(templates));
  if (!isValue) return { isValue, reads, render: (scope) => guard(() => bounded(run(engine, templates, scope))) };
  const typed = guard(() => typedEngine.parse(source));
  return { isValue, reads, render: (scope) => guard(() => toPlain(run(typedEngine, typed, scope))) };
}

/** Renders with the number of steps bounded, not only the time: a time limit alone cuts on a slow replica only. */
function run(engine: Liquid, templates: Template[], scope: object): unknown {
  const context = new Context(scope, engine.options, { sync: true }, { liquid: engine });
  const { renderLimit } = context;
  const checkTime = renderLimit.check.bind(renderLimit);
  let steps = 0;
  renderLimit.check = (now) => {
    steps += 1;
    if (steps > MAX_STEPS) throw new TemplateError(`takes more than ${MAX_STEPS} steps`);
    checkTime(now);
  };
  return engine.renderSync(templates, context);
}

function bounded(text: unknown): string {
  if (typeof text !== "string") throw new TypeError("Liquid renders text");
  if (text.length > MAX_TEXT) throw new TemplateError(`renders to more than ${MAX_TEXT} characters`);
  return text;
}

/** Compiles a fragment's `when`: true when the expression is, with an absent attribute counting as false. */
export function compileCondition(text: string): { reads: Compiled["reads"]; holds: (scope: object) => boolean } {
  if (hasTemplate(text) || /[%}]\}/.test(text)) {
    throw new TemplateError('is an expression without braces, for example agent.os == "linux"');
  }
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
  for (const filter of Object.keys(engine.filters)) if (!FILTERS.has(filter)) engine.unregisterFilter(filter);
  return engine;
}

/** A list or map inside a text would silently become something else. Counted, so that captures cannot double for ever. */
function textOf(this: { context: Context }, value: unknown): string {
  if (typeof value === "object" && value !== null) {
    throw new TemplateError("a list or map cannot stand inside a text; let the scalar be exactly one {{ … }}");
  }
  if (typeof value === "number" && !Number.isFinite(value)) throw new TemplateError(NOT_FINITE);
  const text = typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? `${value}` : "";
  this.context.memoryLimit.use(text.length);
  return text;
}

const NOT_FINITE = "is not a finite number (text in arithmetic, or a division by zero)";

function guard<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof TemplateError) throw error;
    if (error instanceof RangeError) {
      throw new TemplateError("is too large or nested too deeply", { cause: error });
    }
    if (error instanceof Error && LiquidError.is(error)) throw new TemplateError(explain(error), { cause: error });
    throw error;
  }
}

/** Liquid appends where it was: our own place is better, the file is known to the caller. */
const explain = (error: Error): string => error.message.replace(/,? ?(?:file:.*?, )?line:\d+, col:\d+$/s, "");

/** Filters hand out what they made: only data may leave, and what is absent is not silently a null. */
function toPlain(value: unknown): Plain {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "string") return bounded(value);
  if (typeof value === "number") {
    if (Number.isFinite(value)) return value;
    throw new TemplateError(NOT_FINITE);
  }
  if (Array.isArray(value) || typeof value === "object") return value as Plain;
  throw new TemplateError("has no value; give one with | default: …");
}

/**
 * What is read of the scope, at least: a name that an `assign` or `for` covers somewhere may still mean the scope's
 * elsewhere, so every variable that is named like a root counts.
 */
function readsOf(templates: Template[]): string[][] {
  const { variables, globals } = analyzeSync(templates);
  const covered = Object.entries(variables).filter(([root]) => ROOTS.has(root));
  const paths = [...Object.values(globals), ...covered.map(([, found]) => found)]
    .flat()
    .map(({ segments }) => segments);
  const reads = paths.map((segments) => segments.slice(0, firstComputed(segments)).map(String));
  return [...new Map(reads.map((path) => [JSON.stringify(path), path])).values()];
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
  if (text.startsWith("{{", open)) {
    OUTPUT.lastIndex = open;
    return OUTPUT.test(text) ? OUTPUT.lastIndex : text.length;
  }
  const end = text.indexOf("%}", open + 2);
  return end === -1 ? text.length : end + 2;
};

/** As Liquid reads them: braces inside quotes do not close an output. */
const OUTPUT = /\{\{(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^"'}]|\}(?!\}))*\}\}/sy;

/** Quoted text stays; outside of it a dot before a name that follows no name is a leading one. */
const rewriteBlock = (block: string): string =>
  block.replace(
    /"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|(^\{[{%]-?|[\s([|:,=<>!]|\.\.)\.(?=[A-Za-z_])/gs,
    (all, before?: string) => before ?? all,
  );
