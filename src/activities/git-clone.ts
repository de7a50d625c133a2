/**
 * The clone: bare, of this process alone, made under another name and renamed when it is complete. Locks that a killed git
 * left are removed; a clone that cannot be read any more is thrown away and made anew at the next poll.
 */
import { mkdir, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { explainGitFailure } from "../domain/gitops/git-failure.ts";
import { gitAccess } from "./git-access.ts";
import { cloneFolderOf, removeAbandoned, type CloneFolder } from "./git-clone-folder.ts";
import { fetchRefs } from "./git-fetch.ts";
import { GitFailed, runGit } from "./git-process.ts";
import type { GitRemoteSettings } from "./git-remote.ts";

/** Where the fetched head stands in the clone. */
export const HEAD_REF = "refs/myriarch/head";
/** Each shallow fetch leaves a pack; beyond this many they are made one. */
const MAX_PACKS = 50;
export type Clone = {
  folder: string;
  /** Brings the remote's head into the clone. Throws GitFailed. */
  fetch(signal?: AbortSignal): Promise<void>;
  exists(): Promise<boolean>;
  /** Throws the clone away. */
  drop(): Promise<void>;
};

export function openClone(settings: GitRemoteSettings): Clone {
  const own = cloneFolderOf(settings.cloneDir, settings.url);
  const { folder } = own;
  const exists = (): Promise<boolean> => isThere(folder);
  const drop = (): Promise<void> => rm(folder, { recursive: true, force: true });
  return {
    folder,
    exists,
    drop,
    fetch: async (signal) => {
      if (!(await exists())) return cloneAfresh(own, settings, signal);
      await removeLocks(folder);
      await fetchInto(folder, settings, signal).catch(async (error: unknown) => {
        if (signal?.aborted !== true && isCloneAtFault(error)) await drop();
        throw explained(error);
      });
      await markInUse(folder);
      // what cannot be packed is fetched anew
      if (!(await packIfMany(folder, settings, signal))) {
        await drop();
        await cloneAfresh(own, settings, signal);
      }
      return undefined;
    },
  };
}

async function cloneAfresh({ folder, part }: CloneFolder, settings: GitRemoteSettings, signal?: AbortSignal) {
  const { cloneDir, timeoutMs } = settings;
  await mkdir(cloneDir, { recursive: true, mode: 0o700 });
  await removeAbandoned(cloneDir, Date.now());
  try {
    await rm(part, { recursive: true, force: true });
    const { env } = await gitAccess(settings);
    await runGit(["init", "--quiet", "--bare", "--template=", part], { cwd: cloneDir, env, timeoutMs, signal });
    await fetchInto(part, settings, signal).catch((error: unknown) => {
      throw explained(error);
    });
    await rm(folder, { recursive: true, force: true });
    await rename(part, folder);
  } finally {
    await rm(part, { recursive: true, force: true });
  }
}

/** A full disk is mended by throwing away, too; what we do not know may be the clone's fault, and a new one is cheap. */
const isCloneAtFault = (error: unknown): boolean =>
  error instanceof GitFailed && (CLONE_AT_FAULT.test(error.message) || explainGitFailure(error.message) === undefined);
const CLONE_AT_FAULT =
  /fatal: not a git repository|bad object|corrupt|loose object|unable to read|bad config|bad shallow|no space left|quota exceeded/i;

const explained = (error: unknown): unknown =>
  error instanceof GitFailed
    ? new GitFailed(explainGitFailure(error.message) ?? error.message, { cause: error })
    : error;

/** Tells other processes that the folder has an owner, also when a fetch brought nothing. */
async function markInUse(folder: string): Promise<void> {
  const now = new Date();
  await utimes(folder, now, now);
}

const fetchInto = (cwd: string, settings: GitRemoteSettings, signal?: AbortSignal): Promise<void> =>
  fetchRefs(cwd, settings, { refspecs: [`+refs/heads/${settings.branch}:${HEAD_REF}`], shallow: true, signal });

/** False when the packs could not be made one. */
async function packIfMany(folder: string, settings: GitRemoteSettings, signal?: AbortSignal): Promise<boolean> {
  const packs = (await readdir(join(folder, "objects", "pack"))).filter((name) => name.endsWith(".pack"));
  if (packs.length <= MAX_PACKS) return true;
  const { env, config } = await gitAccess(settings);
  const args = [...config, "gc", "--quiet", "--prune=now"];
  return runGit(args, { cwd: folder, env, timeoutMs: settings.timeoutMs, signal }).then(
    () => true,
    (error: unknown) => {
      if (!(error instanceof GitFailed) || signal?.aborted === true) throw error;
      return false;
    },
  );
}

/** No git of ours runs now: whatever holds a lock is dead. */
async function removeLocks(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile() && entry.name.endsWith(".lock")) await rm(join(entry.parentPath, entry.name), { force: true });
  }
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );
