/**
 * YAML text to plain data with positions, by the rules of decisions ("YAML"): 1.2 only, core-schema tags, merge keys
 * (explicit keys win, the first of several merges wins), no duplicate keys, bounded expansion. It reports everything that
 * is wrong and still returns what could be read, so that later checks do not report consequences.
 */
import { isScalar, LineCounter, parseAllDocuments, type Document } from "yaml";
import type { Plain } from "./plain.ts";
import { broken, convertDocument, MAX_NODES, tooDeep } from "./yaml-convert.ts";
import type { Position, Problem, SourceDocument } from "./yaml-convert.ts";

export type { SourceDocument } from "./yaml-convert.ts";

/** `isParsed` is false when the text itself is broken: what was read of it then tells names at most. */
export type YamlFile = { documents: SourceDocument[]; problems: Problem[]; isParsed: boolean };

/** Reads every document of a file. Empty and comment-only documents are left out. */
export function readYaml(bytes: Uint8Array): YamlFile {
  const unreadable = (problem: Problem): YamlFile => ({ documents: [], problems: [problem], isParsed: false });
  const text = decodeUtf8(bytes);
  if (text === undefined) return unreadable(broken({ line: 1, column: 1 }, "the file is not UTF-8"));
  const lines = new LineCounter();
  const at = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const parsed = parse(text, lines);
  if (parsed === undefined) return unreadable(tooDeep({ line: 1, column: 1 }));
  const syntax = parsed.flatMap((document) => syntaxProblems(document, at));
  const problems: Problem[] = [];
  const budget = { nodes: MAX_NODES };
  const documents = parsed.flatMap((document) => {
    const root = document.contents;
    if (root === null || (isScalar(root) && root.value === null)) return [];
    return [convertDocument(root, at, problems, budget)];
  });
  // what the converter says of a broken text are consequences
  return { documents, problems: syntax.length > 0 ? syntax : problems, isParsed: syntax.length === 0 };
}

/** The same data as a YAML 1.1 or 1.2 reader sees it: for checking that what we emit reads back equal. */
export function readBack(text: string, version: "1.1" | "1.2"): Plain | undefined {
  const [document, ...more] = parseAllDocuments(text, {
    version,
    uniqueKeys: true,
    logLevel: "error",
    intAsBigInt: true,
  });
  if (document === undefined || more.length > 0 || !("contents" in document) || document.contents === null)
    return undefined;
  if (document.errors.length > 0 || document.warnings.length > 0) return undefined;
  const problems: Problem[] = [];
  const source = convertDocument(document.contents, () => ({ line: 1, column: 1 }), problems, {
    nodes: Number.POSITIVE_INFINITY,
  });
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
function parse(text: string, lines: LineCounter): Document.Parsed[] | undefined {
  try {
    const parsed = parseAllDocuments(text, {
      version: "1.2",
      schema: "core",
      uniqueKeys: false, // ours name both places and see through aliases
      resolveKnownTags: false,
      intAsBigInt: true,
      prettyErrors: false,
      lineCounter: lines,
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

function syntaxProblems(document: Document.Parsed, at: (offset: number) => Position): Problem[] {
  const problems = [...document.errors, ...document.warnings].map((error) => broken(at(error.pos[0]), error.message));
  const { explicit, version } = document.directives.yaml;
  if (explicit === true && version !== "1.2") {
    problems.push(broken(at(document.range[0]), `only YAML 1.2 is read, the directive asks for ${version}`));
  }
  const firstOfLine = new Map(problems.toReversed().map((problem) => [problem.line, problem]));
  return [...firstOfLine.values()].toReversed().slice(0, MAX_SYNTAX_PROBLEMS);
}
