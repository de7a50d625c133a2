/**
 * What the YAML parser says, in words for the author of the file: what is wrong and what to write instead. The parser's own
 * messages name its tokens; authors know lines, quotes and spaces.
 */
import { isScalar, visit, type Document, type YAMLError } from "yaml";

export type Explained = { offset: number; message: string; hint?: string };
type Context = { text: string; offset: number; line: string; said: string };
type Explain = (context: Context) => Omit<Explained, "offset"> & { offset?: number };

/** One problem for the conflict markers of a merge, at the first of them, or undefined. */
export function conflictOf(text: string): Explained | undefined {
  const marker = /^<{7}(?: .*)?$/m.exec(text);
  if (marker === null) return undefined;
  return { offset: marker.index, message: "a merge conflict was committed", hint: "resolve it and remove its markers" };
}

/** A value that goes on in a line with a key of its own is said twice by the parser, at one place. */
export const withoutEchoes = (errors: readonly YAMLError[]): YAMLError[] =>
  errors.filter(
    ({ code, pos }) =>
      code !== "MULTILINE_IMPLICIT_KEY" ||
      !errors.some((other) => other.code === "BLOCK_AS_IMPLICIT_KEY" && other.pos[0] === pos[0]),
  );

/** What `error` means and where the author should look. */
export function explainSyntax(error: YAMLError, document: Document, text: string): Explained {
  const [offset] = error.pos;
  const lineStart = text.lastIndexOf("\n", offset - 1) + 1;
  const line = /^.*/.exec(text.slice(lineStart))?.[0] ?? "";
  const context: Context = { text, offset, line, said: error.message };
  const explained = (BY_CODE[error.code] ?? keep)(context);
  if (/closing ["']quote/.test(error.message)) return { ...explained, offset: startOfQuote(document, offset) };
  const isTemplate = BARE_TEMPLATE.test(line);
  return { offset, ...explained, ...(isTemplate ? { hint: TEMPLATE_HINT } : {}) };
}

/** `key: {{ … }}` is a map in a map for YAML. */
const BARE_TEMPLATE = /(?:^|[:,[-])\s*\{[{%]/;
export const TEMPLATE_HINT = 'put a value that begins with a template in quotes: "{{ … }}"';

const keep: Explain = ({ said }) => ({ message: said.charAt(0).toLowerCase() + said.slice(1) });

const startOfQuote = (document: Document, end: number): number => {
  let start = end;
  visit(document, (_, node) => {
    if (isScalar(node) && node.type?.startsWith("QUOTE") === true && node.range != null && node.range[0] <= end)
      start = node.range[0];
  });
  return start;
};

/** Where the text of a line begins. */
const textStart = ({ text, offset }: Context): number => {
  const lineStart = text.lastIndexOf("\n", offset - 1) + 1;
  return lineStart + (/^[ \t]*/.exec(text.slice(lineStart))?.[0].length ?? 0);
};

const badIndent: Explain = (context) => {
  const flow = /^Flow (map|sequence)/.exec(context.said)?.[1];
  if (flow !== undefined) {
    const [what, open, close] = flow === "map" ? ["map", "{", "}"] : ["list", "[", "]"];
    const hint = `end it with ${close}, and indent its lines more than its key`;
    return { message: `the ${what} that ${open} opened is not closed before this line`, hint };
  }
  const what = /sequence/.test(context.said)
    ? "the items of a list"
    : /mapping/.test(context.said)
      ? "the keys of a map"
      : undefined;
  if (what === undefined) return keep(context);
  const hint = "indent it as the lines before, with spaces";
  return { offset: textStart(context), message: `wrong indentation: ${what} begin in the same column`, hint };
};

const missing: Explain = (context) => {
  const quote = /closing (["'])quote/.exec(context.said)?.[1];
  if (quote !== undefined) return { message: `the quote that begins here is not closed`, hint: `end it with ${quote}` };
  const flow = /must end with a (.)/.exec(context.said)?.[1] ?? /Expected .* to end with (.)/i.exec(context.said)?.[1];
  if (flow !== undefined) return { message: `${flow} is missing: what it closes has no end` };
  if (!/Implicit map keys/.test(context.said)) return keep(context);
  const [, key, value] = /^\s*(?:- )?([^\s:]+):(\S+)/.exec(context.line) ?? [];
  const hint = key === undefined ? "write `key: value`" : `write a space after the colon: ${key}: ${value}`;
  return { message: "this line has no `: ` and belongs to no value", hint };
};

/** `a: b: c` in one line; or, far more often, a line that is indented as if it went on with the value before it. */
const innerMap: Explain = ({ text, offset, line, said }) => {
  const lineEnd = text.indexOf("\n", offset);
  const rest = lineEnd === -1 ? text.slice(offset) : text.slice(offset, lineEnd);
  const below =
    lineEnd === -1 || /:\s|:$/.test(rest) ? null : /^[ \t]*\S[^\n]*:(?=\s|$)/m.exec(text.slice(lineEnd + 1));
  if (below === null) {
    const hint = "put text with a colon in quotes, or begin the inner map in a line of its own";
    return { message: "a value may not hold another `key: value` in the same line", hint };
  }
  const place = textStart({ text, offset: lineEnd + 1 + below.index, line, said });
  const hint = "begin it in the column of the key that it follows";
  return { offset: place, message: "wrong indentation: the value in the line before is complete", hint };
};

const badStart: Explain = ({ text, offset }) => {
  const char = text.charAt(offset);
  return { message: `plain text cannot begin with ${char}`, hint: `put it in quotes: "${char}…"` };
};

const badTag: Explain = (context) => {
  const tag = /^Unresolved tag: (?:tag:yaml\.org,2002:(.+)|(.+))$/.exec(context.said);
  if (tag === null) return keep(context);
  const hint = "remove it; YAML 1.2 knows !!str, !!int, !!float, !!bool, !!null, !!seq and !!map";
  return { message: `the tag ${tag[1] === undefined ? tag[2] : `!!${tag[1]}`} is not known`, hint };
};

const BY_CODE: Partial<Record<YAMLError["code"], Explain>> = {
  BAD_INDENT: badIndent,
  MISSING_CHAR: missing,
  BAD_SCALAR_START: badStart,
  TAG_RESOLVE_FAILED: badTag,
  TAB_AS_INDENT: () => ({ message: "a tab stands where the line is indented", hint: "indent with spaces" }),
  // where exactly depends on the stack: the line is what stays the same
  RESOURCE_EXHAUSTION: (context) => ({ offset: textStart(context), message: "nested too deeply to be read" }),
  MULTILINE_IMPLICIT_KEY: () => ({
    message: "a key must stand in one line with its `:`",
    hint: "a `: ` is missing here, or the indentation is wrong",
  }),
  BLOCK_AS_IMPLICIT_KEY: innerMap,
  BAD_DQ_ESCAPE: ({ said }) => {
    const escape = said.replace(/^Invalid escape sequence /, "");
    return {
      message: `${escape} is no escape of a text in double quotes`,
      hint: `use single quotes, or write \\${escape}`,
    };
  },
  UNEXPECTED_TOKEN: (context) =>
    context.said.endsWith("at node end")
      ? { message: "the value ended before this text", hint: "put the whole value in quotes" }
      : keep(context),
};
