/**
 * YAML text to plain data with positions, by the rules of decisions ("YAML"): 1.2 only, core-schema tags, merge keys
 * (explicit keys win, the first of several merges wins), no duplicate keys, bounded expansion. It reports everything that
 * is wrong and still returns what could be read, so that later checks do not report consequences.
 */
import { Composer, isScalar, parseAllDocuments, Parser, type CST, type Document } from "yaml";
import { linesOf } from "../yaml-lines.ts";
import type { Plain } from "./plain.ts";
import { broken, convertDocument, MAX_NODES, tooDeep } from "./yaml-convert.ts";
import { conflictOf, explainSyntax, withoutEchoes } from "./yaml-messages.ts";
import type { Position, Problem, SourceDocument } from "./yaml-convert.ts";

export type { SourceDocument } from "./yaml-convert.ts";

/** `isParsed` is false when the text itself is broken: what was read of it then tells names at most. */
export type YamlFile = { documents: SourceDocument[]; problems: Problem[]; isParsed: boolean };

/** Reads every document of a file. Empty and comment-only documents are left out. */
export function readYaml(bytes: Uint8Array): YamlFile {
  const unreadable = (problem: Problem): YamlFile => ({ documents: [], problems: [problem], isParsed: false });
  const text = decodeUtf8(bytes);
  if (text === undefined)
    return unreadable({ ...broken({ line: 1, column: 1 }, "the file is not UTF-8"), hint: "save it as UTF-8" });
  const lines = linesOf(text);
  const at = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const parsed = parse(text);
  if (parsed === undefined) return unreadable(tooDeep({ line: 1, column: 1 }));
  const syntax = syntaxProblems(parsed, text, at);
  const problems: Problem[] = [];
  const documents: SourceDocument[] = [];
  const budget = { nodes: MAX_NODES };
  for (const { contents: root } of parsed) {
    if (root === null || (isScalar(root) && root.value === null)) continue;
    const own: Problem[] = [];
    const document = documents.push(convertDocument(root, at, own, budget)) - 1;
    problems.push(...own.map((problem) => ({ ...problem, document })));
  }
  // what the converter says of a broken text are consequences
  return { documents, problems: syntax.length > 0 ? syntax : problems, isParsed: syntax.length === 0 };
}

/** A text as tokens: what readers of every version of YAML begin with, so that two of them need it once. */
export type Tokens = readonly CST.Token[];
export const tokensOf = (text: string): Tokens => [...new Parser().parse(text)];

/** The same data as a YAML 1.1 or 1.2 reader sees it: for checking that what we emit reads back equal. */
export function readBack(text: string | Tokens, version: "1.1" | "1.2"): Plain | undefined {
  const tokens = typeof text === "string" ? tokensOf(text) : text;
  // keys that stand twice are found by the converter, in less than quadratic time
  const composer = new Composer({ version, uniqueKeys: false, logLevel: "error", intAsBigInt: true });
  const [document, ...more] = composer.compose(tokens);
  if (document === undefined || more.length > 0 || document.contents === null) return undefined;
  if (document.errors.length > 0 || document.warnings.length > 0) return undefined;
  const problems: Problem[] = [];
  const budget = { nodes: Number.POSITIVE_INFINITY };
  const source = convertDocument(document.contents, () => ({ line: 1, column: 1 }), problems, budget);
  return problems.length > 0 ? undefined : source.data;
}

const decodeUtf8 = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
};

/** The parser descends by recursion; nesting that exhausts the stack is the file's fault, not ours. */
function parse(text: string): Document.Parsed[] | undefined {
  try {
    const parsed = parseAllDocuments(text, {
      version: "1.2",
      schema: "core",
      uniqueKeys: false, // ours name both places and see through aliases
      resolveKnownTags: false,
      intAsBigInt: true,
      prettyErrors: false,
      logLevel: "error",
    });
    return [...parsed] as Document.Parsed[];
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** More of one file are consequences of the first ones. */
const MAX_SYNTAX_PROBLEMS = 20;

function syntaxProblems(parsed: readonly Document.Parsed[], text: string, at: (offset: number) => Position): Problem[] {
  const found = parsed.flatMap((document) => problemsOf(document, text, at));
  const conflict = found.length === 0 ? undefined : conflictOf(text);
  if (conflict === undefined) return found;
  const { offset, message, hint } = conflict;
  return [{ ...broken(at(offset), message), ...(hint === undefined ? {} : { hint }) }];
}

function problemsOf(document: Document.Parsed, text: string, at: (offset: number) => Position): Problem[] {
  const problems = withoutEchoes([...document.errors, ...document.warnings]).map((error): Problem => {
    const { offset, message, hint } = explainSyntax(error, document, text);
    return { ...broken(at(offset), message), ...(hint === undefined ? {} : { hint }) };
  });
  const { explicit, version } = document.directives.yaml;
  if (explicit === true && version !== "1.2") {
    const hint = "remove the %YAML line: YAML 1.2 is what is read without it";
    const message = `only YAML 1.2 is read, the directive asks for ${version}`;
    const place = text.lastIndexOf("%YAML", document.range[0]);
    problems.push({ ...broken(at(place), message), hint });
  }
  const firstOfLine = new Map(problems.toReversed().map((problem) => [problem.line, problem]));
  return [...firstOfLine.values()].toReversed().slice(0, MAX_SYNTAX_PROBLEMS);
}
