/** Reads commits, trees and blobs of a bare clone: modes by `ls-tree`, contents by `cat-file --batch`, no checkout. */
import { simpleGit, type SimpleGit } from "simple-git";
import {
  selectFiles,
  type Limits,
  type RepositoryEntry,
  type RepositoryFile,
} from "../domain/gitops/repository-files.ts";
import { localEnvironment } from "./git-access.ts";
import { GitFailed } from "./git-process.ts";

export type Head = { commit: string; author: string; subject: string };
export type ReadLimits = { timeoutMs: number; signal?: AbortSignal | undefined };

const MAX_TEXT = 200;

function open(folder: string, { timeoutMs, signal }: ReadLimits, input?: string): SimpleGit {
  const environment = localEnvironment();
  return simpleGit({
    baseDir: folder,
    timeout: { block: timeoutMs },
    allowEnvironment: Object.keys(environment),
    ...(signal !== undefined && { abort: signal }),
    ...(input !== undefined && { input: () => input }),
  }).env(environment);
}

export async function readHead(folder: string, ref: string, limits: ReadLimits): Promise<Head> {
  const format = "--format=%H%x00%an%x00%s";
  const shown = await open(folder, limits).raw(["show", "--no-patch", "--encoding=UTF-8", format, ref]);
  const [commit = "", author = "", subject = ""] = shown.replace(/\n$/, "").split("\0");
  if (!COMMIT.test(commit)) throw new GitFailed("git names no commit");
  return { commit, author: readable(author), subject: readable(subject) };
}

const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const readable = (text: string): string => text.toWellFormed().slice(0, MAX_TEXT);

/** Whether the clone has the commit. */
export async function hasCommit(folder: string, commit: string, limits: ReadLimits): Promise<boolean> {
  if (!COMMIT.test(commit)) throw new GitFailed("not a commit id");
  const answer: unknown = await open(folder, limits, `${commit}\n`).binaryCatFile(["--batch-check"]);
  return String(answer).startsWith(`${commit} commit `);
}

type TreeEntry = RepositoryEntry & { oid: string };

/** Every entry at and below `path`, with the content of those that validation reads. */
export async function readFiles(
  folder: string,
  commit: string,
  path: string,
  limits: Limits,
  read: ReadLimits,
): Promise<RepositoryFile[]> {
  const entries = await listTree(folder, commit, path, read);
  const selection = selectFiles(entries, limits);
  const wanted = new Set([...selection.objects, ...selection.samples]);
  if (selection.objects.length === 0 && selection.issues.length === 0) {
    throw new GitFailed(`there is no YAML file below ${path === "" ? "the root" : path}`);
  }
  const oids = [...new Set(entries.filter((entry) => wanted.has(entry.path)).map(({ oid }) => oid))];
  const contents = await readBlobs(folder, oids, read);
  return entries.map((entry) => {
    const bytes = wanted.has(entry.path) ? contents.get(entry.oid) : undefined;
    return bytes === undefined ? entry : { ...entry, bytes };
  });
}

async function listTree(folder: string, commit: string, path: string, read: ReadLimits): Promise<TreeEntry[]> {
  if (!COMMIT.test(commit)) throw new GitFailed("not a commit id");
  const tree = path === "" ? `${commit}^{tree}` : `${commit}:${path}`;
  const listed = await open(folder, read)
    .raw(["ls-tree", "-r", "-z", "-l", "--full-tree", tree])
    .catch((error: Error) => {
      const isMissing = /not a valid object name|not a tree object/i.test(error.message);
      throw isMissing ? new GitFailed(`the path ${path} is no folder in this revision`, { cause: error }) : error;
    });
  return listed
    .split("\0")
    .filter((line) => line !== "")
    .map((line) => {
      const [, mode = "", oid = "", size = "", name = ""] = ENTRY.exec(line) ?? [];
      return { mode, oid, size: size === "-" ? 0 : Number(size), path: name };
    });
}
const ENTRY = /^(\d+) \w+ ([0-9a-f]+) +(\d+|-)\t(.*)$/s;

/** Contents by object id. A missing or unreadable object is a failure, never an empty file. */
async function readBlobs(folder: string, oids: readonly string[], read: ReadLimits): Promise<Map<string, Uint8Array>> {
  if (oids.length === 0) return new Map();
  const output: unknown = await open(folder, read, `${oids.join("\n")}\n`).binaryCatFile(["--batch"]);
  if (!Buffer.isBuffer(output)) throw new GitFailed("git cat-file answers no bytes");
  const contents = new Map<string, Uint8Array>();
  let at = 0;
  for (const oid of oids) {
    const end = output.indexOf("\n", at);
    const [name, kind, size = ""] = output.toString("latin1", at, end).split(" ");
    if (end === -1 || name !== oid || kind !== "blob") throw new GitFailed(`the object ${oid} cannot be read`);
    at = end + 1 + Number(size);
    if (at > output.length) throw new GitFailed(`the object ${oid} is cut`);
    contents.set(oid, output.subarray(end + 1, at));
    at += 1;
  }
  return contents;
}
