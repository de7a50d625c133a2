/**
 * The file system as the host program uses it. What "durably" promises: after the call returns, a power cut leaves the new
 * state; during the call, it leaves the old or the new one, never a mixture (write, fsync, rename, fsync of the folder).
 */
import { createHash, randomBytes } from "node:crypto";
import { constants, createReadStream } from "node:fs";
import { lstat, mkdir, open, readdir, readFile, readlink, rename, rm, statfs, symlink } from "node:fs/promises";
import { dirname } from "node:path";

export type OutputFile = {
  write: (chunk: Uint8Array) => Promise<void>;
  /** Empties the file and starts over. */
  restart: () => Promise<void>;
  sync: () => Promise<void>;
  close: () => Promise<void>;
};

export type Files = {
  /** Text of a file; undefined when it does not exist. */
  read: (path: string) => Promise<string | undefined>;
  writeDurably: (path: string, data: string, mode?: number) => Promise<void>;
  /** Renames and makes it durable in both folders. Replaces a file or symlink at `to`. */
  rename: (from: string, to: string) => Promise<void>;
  /** Makes `path` a symlink to `target` by renaming a new one over it: readers see the old or the new one. */
  replaceSymlink: (target: string, path: string) => Promise<void>;
  /** Copies bytes beside `to`, then renames over it. */
  copyDurably: (from: string, to: string, mode: number) => Promise<void>;
  /** Removes file or folder; nothing there is fine. */
  remove: (path: string) => Promise<void>;
  makeFolder: (path: string, mode?: number) => Promise<void>;
  /** Names in a folder; none when it does not exist. */
  list: (path: string) => Promise<string[]>;
  readLink: (path: string) => Promise<string | undefined>;
  /** SHA-256 in hex; undefined when there is no regular file. */
  hash: (path: string) => Promise<string | undefined>;
  /** Opens a new file; fails when something is there already. */
  create: (path: string, mode: number) => Promise<OutputFile>;
  freeBytes: (path: string) => Promise<number>;
};

/** Suffix of files that are being written. Whatever bears it at start is a leftover of a killed process. */
export const TEMPORARY = ".tmp-";
const temporary = (path: string): string => `${path}${TEMPORARY}${randomBytes(6).toString("hex")}`;

const codeOf = (error: unknown): unknown => (error as { code?: unknown } | null)?.code;
async function absentAs<T>(work: Promise<T>, otherwise: T, codes: readonly string[] = ["ENOENT"]): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (codes.includes(String(codeOf(error)))) return otherwise;
    throw error;
  }
}

/** Windows cannot open a folder to flush it; its rename is durable with the journal of the file system. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function renameDurably(from: string, to: string): Promise<void> {
  await rename(from, to);
  await syncFolder(dirname(to));
  if (dirname(from) !== dirname(to)) await absentAs(syncFolder(dirname(from)), undefined);
}

/** Writes beside `path` with `fill`, then takes its place. Leaves nothing behind when it fails. */
async function replaceDurably(path: string, mode: number, fill: (file: OutputFile) => Promise<void>): Promise<void> {
  const beside = temporary(path);
  try {
    const file = await create(beside, mode);
    try {
      await fill(file);
      await file.sync();
    } finally {
      await file.close();
    }
    await renameDurably(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
}

async function create(path: string, mode: number): Promise<OutputFile> {
  const handle = await open(path, "wx", mode);
  await handle.chmod(mode); // the umask must not decide who may run a collector
  let position = 0;
  return {
    write: async (chunk) => {
      for (let done = 0; done < chunk.byteLength;) {
        const { bytesWritten } = await handle.write(chunk, done, chunk.byteLength - done, position);
        done += bytesWritten;
        position += bytesWritten;
      }
    },
    restart: async () => {
      await handle.truncate(0);
      position = 0;
    },
    sync: async () => await handle.sync(),
    close: async () => await handle.close(),
  };
}

async function hash(path: string): Promise<string | undefined> {
  const found = await absentAs(lstat(path), undefined, ["ENOENT", "ENOTDIR"]);
  if (found === undefined) return undefined;
  if (!found.isFile()) return undefined;
  const sum = createHash("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) sum.update(chunk as Buffer);
  return sum.digest("hex");
}

export const systemFiles: Files = {
  read: (path) => absentAs<string | undefined>(readFile(path, "utf8"), undefined),
  writeDurably: (path, data, mode = 0o600) =>
    replaceDurably(path, mode, async (file) => await file.write(Buffer.from(data))),
  rename: renameDurably,
  replaceSymlink: async (target, path) => {
    const beside = temporary(path);
    await symlink(target, beside);
    try {
      await renameDurably(beside, path);
    } catch (error) {
      await rm(beside, { force: true });
      throw error;
    }
  },
  copyDurably: async (from, to, mode) => {
    await replaceDurably(to, mode, async (file) => {
      for await (const chunk of createReadStream(from, { highWaterMark: 1 << 20 })) await file.write(chunk as Buffer);
    });
  },
  remove: async (path) => await rm(path, { recursive: true, force: true }),
  makeFolder: async (path, mode = 0o755) => void (await mkdir(path, { recursive: true, mode })),
  list: (path) => absentAs<string[]>(readdir(path), []),
  readLink: (path) => absentAs<string | undefined>(readlink(path), undefined, ["ENOENT", "EINVAL", "UNKNOWN"]),
  hash,
  create,
  freeBytes: async (path) => {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  },
};

/** Files of the less trusted supervisor account are never larger than this. */
export const MAX_FOREIGN_BYTES = 16 * 1024 ** 2;

/**
 * Reads a file that another account may have placed: links are not followed, only regular files of at most 16 MiB are
 * read (a link to `/etc/shadow` or a pipe that never ends must do no harm). Undefined when there is none such.
 */
export async function readForeignFile(path: string): Promise<Buffer | undefined> {
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  const handle = await absentAs(open(path, flags), undefined, ["ENOENT", "ENOTDIR", "ELOOP", "EMLINK", "EACCES"]);
  if (handle === undefined) return undefined;
  try {
    const found = await handle.stat();
    if (!found.isFile() || found.size > MAX_FOREIGN_BYTES) return undefined;
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}
