/** The file system as a depot uses it: a port, so that tests can make any operation fail, stall or lie. */
import { constants } from "node:fs";
import { mkdir, open, readdir, readFile, rename, stat, statfs, unlink } from "node:fs/promises";

export type DepotFile = {
  /** Writes all of it at the end. */
  append(chunk: Uint8Array): Promise<void>;
  /** Reads at `position`; fewer bytes than asked for only at the end. */
  read(into: Uint8Array, position: number): Promise<number>;
  size(): Promise<number>;
  sync(): Promise<void>;
  close(): Promise<void>;
};
export type DepotFs = {
  makeFolder(path: string): Promise<void>;
  /** Names in a folder. */
  list(path: string): Promise<string[]>;
  /** Size in bytes; undefined when there is no such file. */
  sizeOf(path: string): Promise<number | undefined>;
  /** A new file for writing; fails if it exists. */
  create(path: string): Promise<DepotFile>;
  open(path: string): Promise<DepotFile>;
  /** The whole of a small file; undefined when there is none. */
  readWhole(path: string): Promise<Buffer | undefined>;
  rename(from: string, to: string): Promise<void>;
  /** Removes a file; one that is gone already is fine. */
  remove(path: string): Promise<void>;
  /** Makes renames and removals in a folder last. */
  syncFolder(path: string): Promise<void>;
  freeBytes(path: string): Promise<number>;
};

export const errorCode = (error: unknown): string | undefined => (error as NodeJS.ErrnoException | undefined)?.code;

const absentAs =
  <T>(value: T) =>
  (error: unknown): T => {
    if (errorCode(error) === "ENOENT") return value;
    throw error;
  };

const fileOn = (handle: Awaited<ReturnType<typeof open>>): DepotFile => ({
  append: (chunk) => handle.writeFile(chunk),
  read: async (into, position) => {
    let done = 0;
    while (done < into.length) {
      const { bytesRead } = await handle.read(into, done, into.length - done, position + done);
      if (bytesRead === 0) break;
      done += bytesRead;
    }
    return done;
  },
  size: async () => (await handle.stat()).size,
  sync: () => handle.sync(),
  close: () => handle.close(),
});

/** Node's own file system. Files are for the depot's account only. */
export const nodeFs: DepotFs = {
  makeFolder: async (path) => {
    await mkdir(path, { recursive: true, mode: 0o700 });
  },
  list: (path) => readdir(path),
  sizeOf: (path) => stat(path).then((s) => (s.isFile() ? s.size : undefined), absentAs(undefined)),
  create: async (path) => fileOn(await open(path, "wx", 0o600)),
  open: async (path) => fileOn(await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)),
  readWhole: (path) => readFile(path).catch(absentAs(undefined)),
  rename: (from, to) => rename(from, to),
  remove: (path) => unlink(path).catch(absentAs(undefined)),
  syncFolder: async (path) => {
    const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  },
  freeBytes: async (path) => {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  },
};
