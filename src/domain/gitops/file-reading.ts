/**
 * The first stage of validation: one file by itself, as plain data. A reading depends on nothing but the path and the
 * bytes, so it can be made in any thread and kept by blob id (decisions, YAML). Where its fields stand is not part of it:
 * `reopen` reads the file once more when something has to be reported there.
 */
import type { Issue } from "./issue-codes.ts";
import type { GitObject } from "./kinds.ts";
import { issueOf, readObject, type Source } from "./read-objects.ts";
import { readSample, type Sample } from "./read-sample.ts";
import { readYaml } from "./yaml-source.ts";
import type { Place, Problem } from "./yaml-convert.ts";

/** What a document says of itself, as far as that could be read. `at` is its number among the file's documents. */
export type Declared = { at: number; line: number; column: number; kind?: string; name?: string };
export type FileReading = {
  file: string;
  issues: Issue[];
  /** Also of unusable files: references to what they declare are not reported too. */
  declared: Declared[];
  objects: { at: number; object: GitObject }[];
  samples: Sample[];
};
/** Objects of myriarchd, or sample agents. */
export type Holds = "objects" | "samples";
export type ReadTask = { file: string; holds: Holds; bytes: Uint8Array };

/** Reads one file; `file` is its path in the repository. Never throws on what a file can hold. */
export function readFile({ file, holds, bytes }: ReadTask): FileReading {
  const { documents, problems, isParsed } = readYaml(bytes);
  const issues = problems.map((problem) => issueOf(file, problem, documents));
  const reading: FileReading = { file, issues, declared: [], objects: [], samples: [] };
  if (holds === "samples") {
    if (!isParsed) return reading;
    const read = documents.map((document) => readSample(file, document));
    const samples = issues.length > 0 ? [] : read.flatMap(({ sample }) => (sample === undefined ? [] : [sample]));
    return { ...reading, issues: [...issues, ...withoutConsequences(read, problems)], samples };
  }
  const read = documents.map((document) => readObject(file, document));
  const declared = read.map(({ source: { kind, name, document } }, at): Declared => ({
    at,
    line: document.line,
    column: document.column,
    ...(kind === undefined ? {} : { kind }),
    ...(name === undefined ? {} : { name }),
  }));
  if (!isParsed) return { ...reading, declared };
  const objects = read.flatMap(({ object }, at) => (object === undefined ? [] : [{ at, object }]));
  return {
    ...reading,
    declared,
    issues: [...issues, ...withoutConsequences(read, problems)],
    objects: issues.length > 0 ? [] : objects,
  };
}

/** The reading of a file that could not be read within its limits. */
export const unreadable = (issue: Issue): FileReading => ({
  file: issue.file,
  issues: [issue],
  declared: [],
  objects: [],
  samples: [],
});

/** A value that the YAML reader refused is missing for the schema: one issue is enough. */
const withoutConsequences = (read: readonly { issues: Issue[] }[], causes: readonly Problem[]): Issue[] =>
  read.flatMap(({ issues }, at) =>
    issues.filter(({ path }) => !causes.some((cause) => cause.document === at && cause.path === path)),
  );

/** The documents of a file with their places: the same ones, in the same order, as when it was read. */
const reopen = (bytes: Uint8Array): readonly Place[] => readYaml(bytes).documents;

/** The sources of a reading. The file is read again when the first place in it is asked for, and not before. */
export function sourcesOf({ file, declared }: FileReading, bytes: () => Uint8Array): Source[] {
  let places: readonly Place[] | undefined;
  return declared.map(({ at, line, column, ...names }) => {
    const open = (): Place => {
      places ??= reopen(bytes());
      const place = places[at];
      if (place === undefined) throw new TypeError(`${file} has changed while it was validated`);
      return place;
    };
    const document: Place = {
      line,
      column,
      keyAt: (path) => open().keyAt(path),
      valueAt: (path) => open().valueAt(path),
    };
    return { file, document, ...names };
  });
}
