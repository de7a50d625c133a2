/**
 * The file system as the host program uses it. What "durably" promises: after the call returns, a power cut leaves the new
 * state; during the call, it leaves the old or the new one, never a mixture (write, fsync, rename, fsync of the folder).
 */
import { createHash, randomBytes } from "node:crypto";
import { constants, createReadStream } from "node:fs";
import { lstat, open, readdir, readFile, readlink, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { systemCalls, type FileCalls } from "./file-calls.ts";

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

async function hash(path: string): Promise<string | undefined> {
  const found = await absentAs(lstat(path), undefined, ["ENOENT", "ENOTDIR"]);
  if (found === undefined) return undefined;
  if (!found.isFile()) return undefined;
  const sum = createHash("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) sum.update(chunk as Buffer);
  return sum.digest("hex");
}

/** The files of this system, by the calls that change them. */
export function createFiles(calls: FileCalls): Files {
  const { replace, ...durable } = durableWrites(calls);
  return {
    read: (path) => absentAs<string | undefined>(readFile(path, "utf8"), undefined),
    ...durable,
    writeDurably: (path, data, mode = 0o600) =>
      replace(path, mode, async (file) => await file.write(Buffer.from(data))),
    copyDurably: (from, to, mode) =>
      replace(to, mode, async (file) => {
        for await (const chunk of createReadStream(from, { highWaterMark: 1 << 20 })) await file.write(chunk as Buffer);
      }),
    remove: (path) => remove(calls, path),
    makeFolder: (path, mode = 0o755) => makeFolder(calls, path, mode),
    list: (path) => absentAs<string[]>(readdir(path), []),
    readLink: (path) => absentAs<string | undefined>(readlink(path), undefined, ["ENOENT", "EINVAL", "UNKNOWN"]),
    hash,
    freeBytes: async (path) => {
      const { bavail, bsize } = await statfs(path);
      return bavail * bsize;
    },
  };
}

function durableWrites(calls: FileCalls) {
  const create = (path: string, mode: number) => createFile(calls, path, mode);
  const removeFile = (path: string) => absentAs(calls.unlink(path), undefined);

  async function rename(from: string, to: string): Promise<void> {
    await calls.rename(from, to);
    await calls.syncFolder(dirname(to));
    if (dirname(from) !== dirname(to)) await absentAs(calls.syncFolder(dirname(from)), undefined);
  }
  /** Lets `make` put something beside `path`, which then takes its place. Leaves nothing behind when it fails. */
  async function takePlace(path: string, make: (beside: string) => Promise<void>): Promise<void> {
    const beside = temporary(path);
    try {
      await make(beside);
      await rename(beside, path);
    } catch (error) {
      await removeFile(beside).catch(() => undefined); // the first error counts; the sweep of a start takes the rest
      throw error;
    }
  }
  const replace = async (path: string, mode: number, fill: (file: OutputFile) => Promise<void>) =>
    await takePlace(path, async (beside) => {
      const file = await create(beside, mode);
      try {
        await fill(file);
        await file.sync();
      } finally {
        await file.close();
      }
    });
  const replaceSymlink = async (target: string, path: string) =>
    await takePlace(path, async (beside) => await calls.symlink(target, beside));
  return { create, rename, replace, replaceSymlink };
}

async function createFile(calls: FileCalls, path: string, mode: number): Promise<OutputFile> {
  const file = await calls.create(path, mode);
  try {
    await file.chmod(mode); // the umask must not decide who may run a collector
  } catch (error) {
    await file.close();
    throw error;
  }
  let position = 0;
  return {
    write: async (chunk) => {
      await file.write(chunk, position);
      position += chunk.byteLength;
    },
    restart: async () => {
      await file.truncate();
      position = 0;
    },
    sync: async () => await file.sync(),
    close: async () => await file.close(),
  };
}

/** File by file: each removal is a call of its own. */
async function remove(calls: FileCalls, path: string): Promise<void> {
  const found = await absentAs(lstat(path), undefined, ["ENOENT", "ENOTDIR"]);
  if (found === undefined) return;
  if (!found.isDirectory()) return await absentAs(calls.unlink(path), undefined);
  for (const name of await readdir(path)) await remove(calls, join(path, name));
  await absentAs(calls.rmdir(path), undefined);
}

async function makeFolder(calls: FileCalls, path: string, mode: number): Promise<void> {
  const found = await absentAs(stat(path), undefined);
  if (found?.isDirectory() === true) return;
  if (found === undefined && dirname(path) !== path) await makeFolder(calls, dirname(path), mode);
  await calls.mkdir(path, mode);
}

export const systemFiles: Files = createFiles(systemCalls);

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
