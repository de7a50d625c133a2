/**
 * Where a worker process has its clone: a folder of its own below `gitops.cloneDir`, so that two workers of one host, or of
 * several that share a volume, never meet in one. The name says whose it is; what a process left that is dead now is removed
 * when the next one clones.
 */
import { createHash, randomBytes } from "node:crypto";
import { readdir, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";

/** Tells this process from one with the same number before it. */
const INSTANCE = randomBytes(4).toString("hex");
const HOST = hostname().replaceAll(/[^\w.-]/g, "_");
/** A folder whose owner cannot be asked: every fetch writes into the folder, so this one has no owner any more. */
const ABANDONED_MS = 7 * 86_400_000;
const OWNED = /^[0-9a-f]{16}-(?<host>[\w.-]+)-(?<pid>\d+)-(?<instance>[0-9a-f]{8})\.(?:git|part)$/;
/** Names of releases before 0.2: without an owner. */
const UNOWNED = /^[0-9a-f]{16}\.git$|^clone-[0-9a-f-]+$/;

export type CloneFolder = {
  /** The finished clone. */
  folder: string;
  /** Where it is made, before it is renamed. */
  part: string;
};

export function cloneFolderOf(cloneDir: string, url: string): CloneFolder {
  const name = createHash("sha256").update(url).digest("hex").slice(0, 16);
  const own = join(cloneDir, `${name}-${HOST}-${process.pid}-${INSTANCE}`);
  return { folder: `${own}.git`, part: `${own}.part` };
}

/**
 * Removes what dead processes left in `cloneDir`; what a living one may use stays. What another process removes at the same
 * time, or a git whose worker was killed still writes into, is left to the next clone.
 */
export async function removeAbandoned(cloneDir: string, nowMs: number): Promise<void> {
  for (const name of await readdir(cloneDir)) {
    const path = join(cloneDir, name);
    try {
      if (await isAbandoned(name, path, nowMs)) await rm(path, { recursive: true, force: true });
    } catch (error) {
      if (!CONTENDED.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
    }
  }
}
const CONTENDED = new Set(["ENOENT", "ENOTEMPTY", "EBUSY", "EPERM", "EACCES"]);

async function isAbandoned(name: string, path: string, nowMs: number): Promise<boolean> {
  const owner = OWNED.exec(name)?.groups;
  if (owner === undefined && !UNOWNED.test(name)) return false;
  if (owner?.["host"] === HOST) {
    if (owner["instance"] === INSTANCE) return false;
    if (!isRunning(Number(owner["pid"]))) return true;
  }
  const { mtimeMs } = await stat(path);
  return nowMs - mtimeMs > ABANDONED_MS;
}

/** Another process with our own number: it was before us. */
function isRunning(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
