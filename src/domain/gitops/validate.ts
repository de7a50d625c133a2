/**
 * Judges a whole revision: every issue at once, with file, line and column. The server and `myrctl validate` run this very
 * code, so a merge request that passes CI is accepted (contract, "How a revision is read and applied"). Two stages: each
 * file by itself (file-reading.ts; in any thread, from a cache), then all of them together.
 */
import type { ComponentList } from "./component-list.ts";
import { checkDeclarations, checkFleetParameters, checkInventory } from "./check-parameters.ts";
import { checkPolicies } from "./check-policies.ts";
import { checkReferences, findDuplicates } from "./check-references.ts";
import { checkSecretNames, type SecretRules } from "./check-secret-names.ts";
import { checkSecrets } from "./check-secrets.ts";
import { checkTemplates, inventoryReads } from "./check-templates.ts";
import { readFile, sourcesOf, type FileReading, type ReadTask } from "./file-reading.ts";
import type { Issue } from "./issue-codes.ts";
import type { GitObject } from "./kinds.ts";
import { compareText } from "./plain.ts";
import type { Located } from "./read-objects.ts";
import type { Sample } from "./read-sample.ts";
import { selectFiles, withBase, type Limits, type RepositoryFile } from "./repository-files.ts";
import { createRevision, type Revision } from "./revision.ts";
import { checkSamples } from "./samples.ts";

export type Verdict = {
  /** Sorted by file and line. Only errors block a revision. */
  issues: Issue[];
  /** The objects that stand for themselves, in file order. They are a snapshot only when no issue is an error. */
  objects: GitObject[];
  /** The sample agents that could be read, in file order. */
  samples: Sample[];
};
/** Plain data: what else is known to whoever asks. */
export type ValidateOptions = {
  /** The components that the collectors have; absent: their names are not checked. */
  components?: ComponentList;
  /** The server's `executors.secrets`; absent: secrets' names are not judged. */
  secrets?: SecretRules;
};
/** The first stage's work: what to read, and what is wrong with names, modes and sizes alone. */
export type ReadPlan = { tasks: PlannedTask[]; issues: Issue[] };
export type PlannedTask = ReadTask & { oid: string | undefined };

/**
 * Validates the files at and below `gitops.path`. Entries that `selectFiles` wants must have `bytes`; one without is a
 * defect of the caller and throws. `onFile` is told before each file is parsed, so that a watcher can name the slow one,
 * and with an empty text when all are parsed.
 */
export function validateRevision(
  files: readonly RepositoryFile[],
  limits: Limits,
  options: ValidateOptions & { onFile?: (path: string) => void } = {},
): Verdict {
  const plan = planReading(files, limits);
  const readings = plan.tasks.map((task) => {
    options.onFile?.(task.file);
    return readFile(task);
  });
  options.onFile?.("");
  return judgeReadings(plan, readings, options);
}

export const isBlocking = (issue: Issue): boolean => issue.severity === "error";

/** What may be put in force: all objects of a verdict or, when any issue blocks, nothing. */
export const applicable = ({ issues, objects }: Verdict): GitObject[] | undefined =>
  issues.some(isBlocking) ? undefined : objects;

/** Which files to read, in the order of their paths. */
export function planReading(files: readonly RepositoryFile[], limits: Limits): ReadPlan {
  const { objects, samples, issues } = selectFiles(files, limits);
  const known = new Map(files.map((file) => [file.path, file]));
  const task = (path: string, holds: ReadTask["holds"]): PlannedTask => {
    const { bytes, oid } = known.get(path) ?? {};
    const file = withBase(limits, path);
    if (bytes === undefined) throw new TypeError(`the content of ${file} is missing`);
    return { file, holds, bytes, oid };
  };
  const tasks = [...objects.map((path) => task(path, "objects")), ...samples.map((path) => task(path, "samples"))];
  return { tasks, issues };
}

/** The second stage: the verdict on `readings`, one for each task of the plan and in its order. */
export function judgeReadings(
  { tasks, issues }: ReadPlan,
  readings: readonly FileReading[],
  options: ValidateOptions = {},
): Verdict {
  const contents = new Map(tasks.map(({ file, bytes }) => [file, bytes]));
  const bytesOf = (file: string): Uint8Array => {
    const bytes = contents.get(file);
    if (bytes === undefined) throw new TypeError(`the content of ${file} is missing`);
    return bytes;
  };
  const read = readings.map((reading) => ({ reading, sources: sourcesOf(reading, () => bytesOf(reading.file)) }));
  const sources = read.flatMap((file) => file.sources);
  const located = read.flatMap(({ reading, sources: own }) =>
    reading.objects.flatMap(({ at, object }): Located[] => {
      const source = own[at];
      return source === undefined ? [] : [{ ...source, object }];
    }),
  );
  const revision = createRevision(located, sources);
  const samples = readings.flatMap((reading) => reading.samples);
  const found = [
    ...issues,
    ...readings.flatMap((reading) => reading.issues),
    ...findDuplicates(sources),
    ...checkTogether(revision, samples, options),
  ];
  return { issues: found.toSorted(byPlace), objects: revision.objects, samples };
}

/** The checks that look at several objects. */
function checkTogether(revision: Revision, samples: readonly Sample[], options: ValidateOptions): Issue[] {
  const issues = [
    ...checkReferences(revision),
    ...checkDeclarations(revision),
    ...checkFleetParameters(revision),
    ...checkInventory(revision, inventoryReads(revision)),
    ...checkTemplates(revision),
    ...checkPolicies(revision),
    ...checkSecrets(revision),
    ...(options.secrets === undefined ? [] : checkSecretNames(revision, options.secrets)),
  ];
  return [...issues, ...checkSamples(revision, samples, issues, options.components)];
}

/** A total order: the same issues stand in the same order, whatever found them first. */
const byPlace = (a: Issue, b: Issue): number =>
  compareText(a.file, b.file) ||
  a.line - b.line ||
  a.column - b.column ||
  compareText(a.code, b.code) ||
  compareText(a.path, b.path) ||
  compareText(a.message, b.message);
