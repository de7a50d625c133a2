/**
 * The revision that a command judges: a folder as it is on disk, a ref of a Git remote, or a commit of the repository
 * that a folder lies in.
 */
import { existsSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import type { Command } from "commander";
import { borrowRevisions, fetchRevisions, type Revisions } from "../activities/git-revisions.ts";
import { GitFailed } from "../activities/git-process.ts";
import { readFolder } from "../activities/git-reader/read-folder.ts";
import { judgeGitPath, redactGitText } from "../domain/gitops/remote-names.ts";
import { DEFAULT_LIMITS, selectFiles, type Limits, type RepositoryFile } from "../domain/gitops/repository-files.ts";
import { UsageError } from "./connection.ts";
import { adviceFor } from "./git-advice.ts";

export type RemoteOptions = {
  git?: string;
  /** `gitops.path` inside of the folder or repository. */
  path?: string;
  gitTokenFile?: string;
  gitSshKeyFile?: string;
  gitKnownHostsFile?: string;
};
/** One revision with its content. */
export type ReadRevision = {
  /** For people: `demo`, or `https://… at 1a2b3c4`. */
  label: string;
  files: readonly RepositoryFile[];
  limits: Limits;
  /** The path of an issue's file as people find it. */
  shown: (file: string) => string;
  /** The same, relative to the root of the Git repository, with `/`. */
  rooted: (file: string) => string;
  git?: { url?: string; ref: string; commit: string };
};
/** Where further revisions of the same repository come from. */
export type Source = {
  /** A revision in Git. */
  at: (revision: string) => Promise<ReadRevision>;
  /** The folder as it is on disk; none with `--git`. */
  onDisk?: () => Promise<ReadRevision>;
  remove: () => Promise<void>;
};

/** Nothing could be judged; the text says why and what to do. Exit code 2. */
export class CannotRun extends Error {
  override readonly name = "CannotRun";
}

const GIT_TIMEOUT_MS = 120_000;

/** Options of every command that reads a repository. */
export function addRemoteOptions(command: Command, which: "ref" | "revisions"): Command {
  command.option("--git <url>", "read this Git remote instead of a folder, as the server reads it");
  if (which === "ref") command.option("--ref <ref>", "branch, tag or commit of --git (default: the remote's HEAD)");
  return command
    .option("--path <folder>", "gitops.path: only what lies at and below it is read")
    .option("--git-token-file <file>", "token for an https remote (gitops.credentials.tokenFile)")
    .option("--git-ssh-key-file <file>", "private key for an ssh remote (gitops.credentials.sshKeyFile)")
    .option("--git-known-hosts-file <file>", "host keys for an ssh remote (gitops.credentials.knownHostsFile)");
}

/** One revision: the folder, or what `ref` names of the remote. Throws UsageError and CannotRun. */
export async function readRevision(
  folder: string | undefined,
  options: RemoteOptions & { ref?: string },
  signal: AbortSignal,
): Promise<ReadRevision> {
  const path = checkedPath(options.path);
  if (options.git === undefined) {
    if (options.ref !== undefined)
      throw new UsageError("--ref belongs to --git URL; a folder is read as it is on disk");
    return readOnDisk(folder ?? ".", path);
  }
  if (folder !== undefined) throw new UsageError("give a folder or --git URL, not both (--path names a folder in it)");
  const { git, ref = "" } = options;
  return reading(git, async () => {
    const revisions = await fetchRevisions(remoteOf(git, options, signal), { kind: "ref", ref });
    try {
      return await readCommit(revisions, ref || "HEAD", path, git);
    } finally {
      await revisions.remove();
    }
  });
}

/** Revisions of the remote, or of the repository that the folder lies in. To be removed by the caller. */
export async function openSource(
  folder: string | undefined,
  options: RemoteOptions,
  signal: AbortSignal,
): Promise<Source> {
  const path = checkedPath(options.path);
  const { git } = options;
  if (git !== undefined) {
    if (folder !== undefined)
      throw new UsageError("give a folder or --git URL, not both (--path names a folder in it)");
    const remote = remoteOf(git, options, signal);
    const revisions = await reading(git, () => fetchRevisions(remote, { kind: "history" }));
    return {
      at: (revision) => reading(git, () => readCommit(revisions, revision, path, git)),
      remove: () => revisions.remove(),
    };
  }
  const there = folder ?? ".";
  checkFolder(there);
  const { revisions, prefix } = await reading(there, () =>
    borrowRevisions(there, { timeoutMs: GIT_TIMEOUT_MS, signal }),
  );
  const inside = [prefix, path].filter((part) => part !== "").join("/");
  return {
    at: (revision) => reading(there, () => readCommit(revisions, revision, inside)),
    onDisk: () => readOnDisk(there, path),
    remove: () => revisions.remove(),
  };
}

async function readOnDisk(folder: string, path: string): Promise<ReadRevision> {
  const root = join(folder, path);
  checkFolder(root);
  const limits = { ...DEFAULT_LIMITS, base: path };
  const files = await readFolder(root, limits);
  const selection = selectFiles(files, limits);
  if (selection.objects.length === 0 && selection.issues.length === 0) {
    throw new CannotRun(
      `${root} holds no YAML file. Give the folder that gitops.path names, or make a repository with: myrctl init ${folder}`,
    );
  }
  const top = topOf(folder);
  return {
    label: root,
    files,
    limits,
    shown: (file) => (file === "" ? root : join(folder, file)),
    rooted: (file) => slashed(relative(top, resolve(folder, file === "" ? path : file))) || ".",
  };
}

function checkFolder(folder: string): void {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found === undefined) throw new CannotRun(`there is no folder ${folder}. Give the folder that gitops.path names.`);
  if (!found.isDirectory()) throw new CannotRun(`${folder} is no folder. Give the folder that it lies in.`);
}

const slashed = (path: string): string => path.split(sep).join("/");

/** The root of the Git repository that `folder` lies in; without one, the working directory. */
function topOf(folder: string): string {
  for (let at = resolve(folder); ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return at;
    if (dirname(at) === at) break;
  }
  const isBelow = !relative(process.cwd(), folder).startsWith("..");
  return isBelow ? process.cwd() : resolve(folder);
}

async function readCommit(revisions: Revisions, ref: string, path: string, url?: string): Promise<ReadRevision> {
  const commit = await revisions.commitOf(ref);
  const limits = { ...DEFAULT_LIMITS, base: path };
  const files = await revisions.read(commit, path, limits);
  const short = commit.slice(0, 7);
  return {
    label: url === undefined ? `${ref} (${short})` : `${redactGitText(url, [])} ${ref} (${short})`,
    files,
    limits,
    shown: (file) => file || path || ".",
    rooted: (file) => file || path || ".",
    git: { ...(url === undefined ? {} : { url: redactGitText(url, []) }), ref, commit },
  };
}

function remoteOf(url: string, options: RemoteOptions, signal: AbortSignal): Parameters<typeof fetchRevisions>[0] {
  const { gitTokenFile, gitSshKeyFile, gitKnownHostsFile } = options;
  for (const file of [gitTokenFile, gitSshKeyFile, gitKnownHostsFile]) {
    if (file !== undefined && !existsSync(file)) throw new CannotRun(`there is no file ${file}`);
  }
  const absolute = (file: string | undefined): string | undefined => (file === undefined ? undefined : resolve(file));
  return {
    // git runs in another folder: a relative path would lead elsewhere
    url: existsSync(url) ? resolve(url) : url,
    timeoutMs: GIT_TIMEOUT_MS,
    signal,
    credentials: {
      ...(gitTokenFile !== undefined && { token: () => readFile(gitTokenFile, "utf8") }),
      sshKeyFile: absolute(gitSshKeyFile),
      knownHostsFile: absolute(gitKnownHostsFile),
    },
  };
}

function checkedPath(path = ""): string {
  const trimmed = path.replace(/^\.\/|\/$/g, "");
  const problem = judgeGitPath(trimmed === "." ? "" : trimmed);
  if (problem !== undefined) throw new UsageError(`--path ${problem}`);
  return trimmed === "." ? "" : trimmed;
}

/** What git says becomes a sentence with what to do. */
async function reading<T>(from: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof GitFailed)) throw error;
    const said = error.message.replace(/^fatal: /, "").replace(/\.$/, "");
    const advice = adviceFor(error.message);
    throw new CannotRun(`cannot read ${redactGitText(from, [])}: ${said}.${advice && ` ${advice}`}`, { cause: error });
  }
}
