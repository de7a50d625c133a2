/**
 * Single revisions for `myrctl`: of a remote, fetched once, or of a repository on this machine, whose objects are
 * borrowed. Both are read from a bare repository of ours in a temporary folder, by the code that reads the server's clone:
 * no work tree, no hook, nothing of the repository's own configuration.
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Limits, RepositoryFile } from "../domain/gitops/repository-files.ts";
import { judgeBranch, judgeGitUrl, judgeRevision } from "../domain/gitops/remote-names.ts";
import { localEnvironment, type GitCredentials } from "./git-access.ts";
import { fetchRefs } from "./git-fetch.ts";
import { readFiles } from "./git-objects.ts";
import { GitFailed, runGit } from "./git-process.ts";

export type Revisions = {
  /** The commit that `revision` names; of a single ref that was fetched, always that one. Throws GitFailed. */
  commitOf: (revision: string) => Promise<string>;
  /** Entries at and below `path` of the commit, with the content of those that validation reads. Throws GitFailed. */
  read: (commit: string, path: string, limits: Limits) => Promise<RepositoryFile[]>;
  /** Removes what was fetched. To be called in every case. */
  remove: () => Promise<void>;
};
export type RemoteToRead = {
  url: string;
  credentials?: GitCredentials | undefined;
  /** Of each git process. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** Where to fetch to; the system's folder for temporary files when absent. */
  temporaryDir?: string | undefined;
};
/** A branch, a tag or a commit (the remote's own HEAD when empty), or everything that branches and tags reach. */
export type Wanted = { kind: "ref"; ref: string } | { kind: "history" };

type Place = { folder: string; timeoutMs: number; signal?: AbortSignal | undefined };

const FETCHED = "refs/myriarch/head";
const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
/** Short enough to be a branch as well: the remote is asked for that first. */
const SHORT_COMMIT = /^[0-9a-f]{4,64}$/;
const NO_SUCH_REF = /couldn't find remote ref|not our ref|no such remote ref/i;

/** Fetches from a remote as the server does, into a folder that `remove` removes. Throws GitFailed, and leaves nothing. */
export async function fetchRevisions(remote: RemoteToRead, wanted: Wanted): Promise<Revisions> {
  const problem = judgeGitUrl(remote.url);
  if (problem !== undefined) throw new GitFailed(`the URL ${problem}`);
  const { timeoutMs, signal } = remote;
  return prepare({ timeoutMs, signal, temporaryDir: remote.temporaryDir }, async (place) => {
    if (wanted.kind === "history") await fetchHistory(remote, place.folder);
    else await fetchRef(remote, place.folder, wanted.ref);
    return (revision) => askCommit(place.folder, wanted.kind === "ref" ? FETCHED : revision, place);
  });
}

/**
 * The repository that `folder` lies in. `prefix` is the folder's place in it, without slashes at the ends. Throws GitFailed
 * when there is none.
 */
export async function borrowRevisions(
  folder: string,
  limits: { timeoutMs: number; signal?: AbortSignal | undefined },
): Promise<{ revisions: Revisions; prefix: string }> {
  // objects are read and nothing is run: whose repository it is does not matter (a container's checkout has another owner)
  const ask = (...args: string[]): Promise<string> =>
    askGit(["-c", "safe.directory=*", ...args], { folder, ...limits });
  const [prefix = "", objects = ""] = (await ask("rev-parse", "--show-prefix", "--git-path", "objects")).split("\n");
  const revisions = await prepare(limits, async (place) => {
    const info = join(place.folder, "objects", "info");
    await mkdir(info, { recursive: true });
    await writeFile(join(info, "alternates"), `${resolve(folder, objects)}\n`);
    return (revision) => askCommit(folder, revision, { ...limits, folder }, ["-c", "safe.directory=*"]);
  });
  return { revisions, prefix: prefix.replace(/\/$/, "") };
}

type Prepared = { timeoutMs: number; signal?: AbortSignal | undefined; temporaryDir?: string | undefined };

/** A bare repository of ours, filled by `fill`, which says how a revision's commit is found. */
async function prepare(
  { timeoutMs, signal, temporaryDir = tmpdir() }: Prepared,
  fill: (place: Place) => Promise<Revisions["commitOf"]>,
): Promise<Revisions> {
  const folder = await mkdtemp(join(temporaryDir, "myrctl-"));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    const place = { folder, timeoutMs, signal };
    const init = ["init", "--quiet", "--bare", "--template=", "--initial-branch=main", "."];
    await runGit(init, { cwd: folder, env: localEnvironment(), timeoutMs, signal });
    const commitOf = await fill(place);
    return {
      commitOf,
      remove,
      read: (commit, path, limits) =>
        readFiles(folder, commit, path, limits, { timeoutMs, signal }).catch((error: unknown) => {
          throw error instanceof GitFailed || signal?.aborted === true ? error : failed(error);
        }),
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** simple-git's own errors, of one line. */
const failed = (cause: unknown): GitFailed =>
  new GitFailed(cause instanceof Error ? (cause.message.trim().split("\n")[0] ?? "") : String(cause), { cause });

/** A name is looked up as branch (what the server reads), then as tag; a shortened commit needs the history. */
async function fetchRef(remote: RemoteToRead, folder: string, ref: string): Promise<void> {
  const problem = ref === "" ? undefined : judgeBranch(ref);
  if (problem !== undefined) throw new GitFailed(`the ref ${problem}`);
  for (const name of candidatesOf(ref)) {
    try {
      return await fetchRefs(folder, remote, {
        refspecs: [`+${name}:${FETCHED}`],
        shallow: true,
        signal: remote.signal,
      });
    } catch (error) {
      if (!(error instanceof GitFailed) || !NO_SUCH_REF.test(error.message)) throw error;
    }
  }
  const none = (cause?: unknown): GitFailed =>
    new GitFailed(`the repository has no branch, tag or commit ${ref || "HEAD"}`, { cause });
  if (!SHORT_COMMIT.test(ref)) throw none();
  await fetchRefs(folder, remote, { refspecs: EVERYTHING, shallow: false, signal: remote.signal });
  const commit = await askCommit(folder, ref, { ...remote, folder }).catch((error: unknown) => {
    throw remote.signal?.aborted === true ? error : none(error);
  });
  await askGit(["update-ref", FETCHED, commit], { ...remote, folder });
}

const candidatesOf = (ref: string): string[] => {
  if (ref === "") return ["HEAD"];
  if (ref.startsWith("refs/")) return [ref];
  return [`refs/heads/${ref}`, `refs/tags/${ref}`, ...(COMMIT.test(ref) ? [ref] : [])];
};

const EVERYTHING = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"] as const;

/** `HEAD`, `HEAD~2` and the like mean the remote's own. */
async function fetchHistory(remote: RemoteToRead, folder: string): Promise<void> {
  const refspecs = [...EVERYTHING, `+HEAD:${FETCHED}`];
  await fetchRefs(folder, remote, { refspecs, shallow: false, signal: remote.signal });
  await askGit(["update-ref", "--no-deref", "HEAD", FETCHED], { ...remote, folder });
}

async function askCommit(folder: string, revision: string, place: Place, options: string[] = []): Promise<string> {
  const problem = judgeRevision(revision);
  if (problem !== undefined) throw new GitFailed(`the revision ${problem}`);
  const args = [...options, "rev-parse", "--verify", "--quiet", "--end-of-options", `${revision}^{commit}`];
  const commit = await askGit(args, { ...place, folder }).catch((error: unknown) => {
    if (!(error instanceof GitFailed) || place.signal?.aborted === true) throw error;
    throw new GitFailed(`there is no revision ${revision} here`, { cause: error });
  });
  if (!COMMIT.test(commit)) throw new GitFailed(`${revision} names no commit`);
  return commit;
}

/** What a git that talks to nobody answers. */
function askGit(args: readonly string[], { folder, timeoutMs, signal }: Place): Promise<string> {
  return new Promise((accept, reject) => {
    const options = { cwd: folder, env: localEnvironment(), timeout: timeoutMs, signal };
    execFile("git", args, options, (error, stdout, stderr) => {
      if (error === null) accept(stdout.replace(/\n$/, ""));
      else
        reject(new GitFailed(stderr.trim().split("\n")[0] || `git cannot be run: ${error.message}`, { cause: error }));
    });
  });
}
