/**
 * The repository as this worker sees it: one branch of one remote, the newest commit only, read from a bare clone. The
 * remote's head at fetch time is the truth; a force-push is simply the new head (decisions, Git). Whatever cannot be read
 * is a `sync_failed`, never an empty revision.
 */
import { failure, isFailure, type Failure } from "../domain/errors.ts";
import type { Limits, RepositoryFile } from "../domain/gitops/repository-files.ts";
import { judgeBranch, judgeGitPath, judgeGitUrl } from "../domain/gitops/remote-names.ts";
import type { GitCredentials } from "./git-access.ts";
import { HEAD_REF, openClone } from "./git-clone.ts";
import { hasCommit, readFiles, readHead, type Head } from "./git-objects.ts";
import { GitFailed } from "./git-process.ts";

export type GitRemoteSettings = {
  url: string;
  branch: string;
  /** `gitops.path`: only what lies at and below it is read. */
  path: string;
  /** Of each git process, its helpers included. */
  timeoutMs: number;
  /** A folder that no other process uses. */
  cloneDir: string;
  credentials?: GitCredentials | undefined;
};
export type GitRemote = {
  /** Fetches the branch's head. Throws `sync_failed`. */
  fetchHead(signal?: AbortSignal): Promise<Head>;
  /** Entries at and below `path` of a commit, with the content of those that validation reads. Throws `sync_failed`. */
  readRevision(commit: string, limits: Limits, signal?: AbortSignal): Promise<RepositoryFile[]>;
};

/** Throws `sync_failed` at once when branch, URL or path could reach git as something else than a name. */
export function createGitRemote(settings: GitRemoteSettings): GitRemote {
  for (const [what, problem] of [
    ["gitops.branch", judgeBranch(settings.branch)],
    ["gitops.url", judgeGitUrl(settings.url)],
    ["gitops.path", judgeGitPath(settings.path)],
  ] as const) {
    if (problem !== undefined) throw failure("sync_failed", { message: `${what} ${problem}` });
  }
  const clone = openClone(settings);
  const inTurn = oneAtATime();
  const { timeoutMs, path } = settings;
  /** What the clone cannot answer, a new one may. */
  const reading = <T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> =>
    work().catch(async (error: unknown) => {
      if (!(error instanceof GitFailed) && signal?.aborted !== true) await clone.drop();
      throw error;
    });
  return {
    fetchHead: (signal) =>
      inTurn(async () => {
        await clone.fetch(signal);
        return reading(signal, () => readHead(clone.folder, HEAD_REF, { timeoutMs, signal }));
      }),
    readRevision: (commit, limits, signal) =>
      inTurn(async () => {
        const has = async (): Promise<boolean> =>
          (await clone.exists()) &&
          (await reading(signal, () => hasCommit(clone.folder, commit, { timeoutMs, signal })));
        if (!(await has())) await clone.fetch(signal);
        if (!(await has())) throw new GitFailed(`the commit ${commit} is no longer the head of ${settings.branch}`);
        return reading(signal, () => readFiles(clone.folder, commit, path, limits, { timeoutMs, signal }));
      }),
  };
}

/** One git at a time in the clone; everything that is wrong leaves as `sync_failed`. */
function oneAtATime(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const next = last.then(work).catch((error: unknown) => {
      throw toFailure(error);
    });
    last = next.catch(() => undefined);
    return next;
  };
}

const toFailure = (error: unknown): Failure => {
  if (isFailure(error)) return error;
  const message = error instanceof Error ? (error.message.split("\n")[0] ?? "") : "unknown";
  return failure("sync_failed", { message }, error);
};
