/**
 * The clone's folder: bare, ours alone, made under another name and renamed when it is complete. Locks that a killed git
 * left are removed; a clone that cannot be read any more is thrown away and made anew at the next poll.
 */
import { createHash, randomUUID } from "node:crypto";
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { redactGitText } from "../domain/gitops/remote-names.ts";
import { gitAccess } from "./git-access.ts";
import { GitFailed, runGit } from "./git-process.ts";
import type { GitRemoteSettings } from "./git-remote.ts";

/** Where the fetched head stands in the clone. */
export const HEAD_REF = "refs/myriarch/head";
/** Each shallow fetch leaves a pack; beyond this many they are made one. */
const MAX_PACKS = 50;
const TEMPORARY = "clone-";
/** What git says when not the remote but the clone is at fault. */
const CLONE_AT_FAULT =
  /not a git repository|bad object|corrupt|loose object|unable to read|packfile|bad config|unpack/i;

export type Clone = {
  folder: string;
  /** Brings the remote's head into the clone. Throws GitFailed. */
  fetch(signal?: AbortSignal): Promise<void>;
  exists(): Promise<boolean>;
  /** Throws the clone away. */
  drop(): Promise<void>;
};

export function openClone(settings: GitRemoteSettings): Clone {
  const name = createHash("sha256").update(settings.url).digest("hex").slice(0, 16);
  const folder = join(settings.cloneDir, `${name}.git`);
  const exists = (): Promise<boolean> => isThere(folder);
  const drop = (): Promise<void> => rm(folder, { recursive: true, force: true });
  return {
    folder,
    exists,
    drop,
    fetch: async (signal) => {
      if (!(await exists())) return cloneAfresh(folder, settings, signal);
      await removeLocks(folder);
      await fetchInto(folder, settings, signal).catch(async (error: unknown) => {
        if (error instanceof GitFailed && CLONE_AT_FAULT.test(error.message)) await drop();
        throw error;
      });
      await packIfMany(folder, settings, signal);
    },
  };
}

async function cloneAfresh(folder: string, settings: GitRemoteSettings, signal?: AbortSignal): Promise<void> {
  const { cloneDir, timeoutMs } = settings;
  await mkdir(cloneDir, { recursive: true, mode: 0o700 });
  for (const left of await readdir(cloneDir)) {
    if (left.startsWith(TEMPORARY)) await rm(join(cloneDir, left), { recursive: true, force: true });
  }
  const temporary = join(cloneDir, TEMPORARY + randomUUID());
  try {
    const { env } = await gitAccess(settings);
    await runGit(["init", "--quiet", "--bare", "--template=", temporary], { cwd: cloneDir, env, timeoutMs, signal });
    await fetchInto(temporary, settings, signal);
    await rename(temporary, folder);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

async function fetchInto(cwd: string, settings: GitRemoteSettings, signal?: AbortSignal): Promise<void> {
  const { env, config, secrets } = await gitAccess(settings);
  const options = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--depth=1"];
  const refspec = `+refs/heads/${settings.branch}:${HEAD_REF}`;
  const args = [...config, "fetch", ...options, "--", settings.url, refspec];
  await runGit(args, { cwd, env, timeoutMs: settings.timeoutMs, signal }).catch((error: unknown) => {
    throw error instanceof GitFailed ? new GitFailed(redactGitText(error.message, secrets), { cause: error }) : error;
  });
}

async function packIfMany(folder: string, settings: GitRemoteSettings, signal?: AbortSignal): Promise<void> {
  const packs = (await readdir(join(folder, "objects", "pack"))).filter((name) => name.endsWith(".pack"));
  if (packs.length <= MAX_PACKS) return;
  const { env, config } = await gitAccess(settings);
  const args = [...config, "gc", "--quiet", "--prune=now"];
  await runGit(args, { cwd: folder, env, timeoutMs: settings.timeoutMs, signal });
}

/** No git of ours runs now: whatever holds a lock is dead. */
async function removeLocks(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile() && entry.name.endsWith(".lock")) await rm(join(entry.parentPath, entry.name), { force: true });
  }
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );
