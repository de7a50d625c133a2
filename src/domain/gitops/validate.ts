/**
 * Judges a whole revision: every issue at once, with file, line and column. The server and `myrctl validate` run this very
 * code, so a merge request that passes CI is accepted (contract, "How a revision is read and applied").
 */
import { checkDeclarations, checkFleetParameters, checkInventory } from "./check-parameters.ts";
import { checkPolicies } from "./check-policies.ts";
import { checkReferences, findDuplicates } from "./check-references.ts";
import { checkSecrets } from "./check-secrets.ts";
import { checkTemplates, inventoryReads } from "./check-templates.ts";
import type { Issue } from "./issue-codes.ts";
import type { GitObject } from "./kinds.ts";
import { compareText } from "./plain.ts";
import { issueOf, readObject, type Located, type Source } from "./read-objects.ts";
import { selectFiles, withBase, type Limits, type RepositoryFile } from "./repository-files.ts";
import type { Revision } from "./revision.ts";
import { checkSamples, readSample, type Sample } from "./samples.ts";
import { readYaml, type SourceDocument } from "./yaml-source.ts";

export type Verdict = {
  /** Sorted by file and line. Only errors block a revision. */
  issues: Issue[];
  /** The objects that stand for themselves, in file order. They are a snapshot only when no issue is an error. */
  objects: GitObject[];
};

/**
 * Validates the files at and below `gitops.path`. Entries that `selectFiles` wants must have `bytes`; one without is a
 * defect of the caller and throws. `onFile` is told before each file is parsed, so that a watcher can name the slow one,
 * and with an empty text when all are parsed.
 */
export function validateRevision(
  files: readonly RepositoryFile[],
  limits: Limits,
  onFile: (path: string) => void = () => undefined,
): Verdict {
  const selection = selectFiles(files, limits);
  const contents = new Map(files.map((file) => [file.path, file.bytes]));
  const read = (path: string): Parsed => {
    onFile(withBase(limits, path));
    return parseFile(withBase(limits, path), contents.get(path));
  };
  const parsed = selection.objects.map(read);
  const samples = selection.samples.map(read).map(readSamples);
  onFile("");
  const own = parsed.map(readObjects);
  const located = own.flatMap((file) => file.located);
  const sources = own.flatMap((file) => file.sources);
  const declared = new Set(sources.flatMap(({ kind, name }) => (name === undefined ? [] : [`${kind}/${name}`])));
  const objects = located.map(({ object }) => object);
  const found = [
    ...selection.issues,
    ...[...own, ...samples].flatMap((file) => file.issues),
    ...findDuplicates(sources),
  ];
  const issues = [
    ...found,
    ...checkTogether(
      { objects, located, declared },
      samples.flatMap((file) => file.samples),
    ),
  ];
  return { issues: issues.toSorted(byPlace), objects };
}

export const isBlocking = (issue: Issue): boolean => issue.severity === "error";

/** The checks that look at several objects. */
function checkTogether(revision: Revision, samples: readonly Sample[]): Issue[] {
  const issues = [
    ...checkReferences(revision),
    ...checkDeclarations(revision),
    ...checkFleetParameters(revision),
    ...checkInventory(revision, inventoryReads(revision)),
    ...checkTemplates(revision),
    ...checkPolicies(revision),
    ...checkSecrets(revision),
  ];
  return [...issues, ...checkSamples(revision, samples, issues)];
}

type Parsed = { file: string; documents: SourceDocument[]; issues: Issue[]; isParsed: boolean };

function parseFile(file: string, bytes: Uint8Array | undefined): Parsed {
  if (bytes === undefined) throw new TypeError(`the content of ${file} is missing`);
  const { documents, problems, isParsed } = readYaml(bytes);
  return { file, documents, issues: problems.map((problem) => issueOf(file, problem)), isParsed };
}

/** What an unusable file says of itself still counts as declared, so that references to it are not reported too. */
function readObjects({ file, documents, issues, isParsed }: Parsed): {
  issues: Issue[];
  sources: Source[];
  located: Located[];
} {
  const read = documents.map((document) => readObject(file, document));
  const sources = read.map(({ source }) => source);
  if (!isParsed) return { issues, sources, located: [] };
  const found = read.flatMap((it) => it.issues);
  if (issues.length > 0) return { issues: [...issues, ...withoutConsequences(found, issues)], sources, located: [] };
  const located = read.flatMap(({ source, object }) => (object === undefined ? [] : [{ ...source, object }]));
  return { issues: found, sources, located };
}

function readSamples({ file, documents, issues, isParsed }: Parsed): { issues: Issue[]; samples: Sample[] } {
  if (!isParsed) return { issues, samples: [] };
  const read = documents.map((document) => readSample(file, document));
  const found = read.flatMap((it) => it.issues);
  if (issues.length > 0) return { issues: [...issues, ...withoutConsequences(found, issues)], samples: [] };
  return { issues: found, samples: read.flatMap(({ sample }) => (sample === undefined ? [] : [sample])) };
}

/** A value that the YAML reader refused is missing for the schema: one issue is enough. */
const withoutConsequences = (found: readonly Issue[], causes: readonly Issue[]): Issue[] =>
  found.filter(({ path }) => !causes.some((cause) => cause.path === path));

const byPlace = (a: Issue, b: Issue): number =>
  compareText(a.file, b.file) || a.line - b.line || a.column - b.column || compareText(a.code, b.code);
