/** The calls that change a file system, one system call each: what durable files are made of, and where a process can die. */
import { mkdir, open, rename, rmdir, symlink, unlink } from "node:fs/promises";
import type { Perform } from "./effect.ts";

export type NewFile = {
  chmod: (mode: number) => Promise<void>;
  /** Writes all of `chunk` at `position`. */
  write: (chunk: Uint8Array, position: number) => Promise<void>;
  /** Empties the file. */
  truncate: () => Promise<void>;
  sync: () => Promise<void>;
  close: () => Promise<void>;
};

export type FileCalls = {
  /** Opens a new file; throws EEXIST when something is there. */
  create: (path: string, mode: number) => Promise<NewFile>;
  rename: (from: string, to: string) => Promise<void>;
  symlink: (target: string, path: string) => Promise<void>;
  unlink: (path: string) => Promise<void>;
  mkdir: (path: string, mode: number) => Promise<void>;
  rmdir: (path: string) => Promise<void>;
  syncFolder: (path: string) => Promise<void>;
};

export const systemCalls: FileCalls = {
  create: async (path, mode) => {
    const handle = await open(path, "wx", mode);
    return {
      chmod: async (to) => await handle.chmod(to),
      write: async (chunk, position) => {
        for (let done = 0; done < chunk.byteLength;)
          done += (await handle.write(chunk, done, chunk.byteLength - done, position + done)).bytesWritten;
      },
      truncate: async () => await handle.truncate(0),
      sync: async () => await handle.sync(),
      close: async () => await handle.close(),
    };
  },
  rename,
  symlink: async (target, path) => await symlink(target, path),
  unlink,
  mkdir: async (path, mode) => await mkdir(path, { mode }),
  rmdir: async (path) => await rmdir(path),
  syncFolder,
};

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

/** The same calls, each performed by `perform`. Closing changes nothing and is left out. */
export function performed(calls: FileCalls, perform: Perform): FileCalls {
  return {
    create: async (path, mode) => {
      const file = await perform("create", path, async () => await calls.create(path, mode));
      return {
        ...file,
        chmod: async (to) => await perform("chmod", path, async () => await file.chmod(to)),
        write: async (chunk, position) =>
          await perform(
            "write",
            path,
            async () => await file.write(chunk, position),
            async () => await file.write(chunk.subarray(0, chunk.byteLength >> 1), position),
          ),
        truncate: async () => await perform("truncate", path, file.truncate),
        sync: async () => await perform("sync", path, file.sync),
      };
    },
    rename: async (from, to) => await perform("rename", to, async () => await calls.rename(from, to)),
    symlink: async (target, path) => await perform("symlink", path, async () => await calls.symlink(target, path)),
    unlink: async (path) => await perform("unlink", path, async () => await calls.unlink(path)),
    mkdir: async (path, mode) => await perform("mkdir", path, async () => await calls.mkdir(path, mode)),
    rmdir: async (path) => await perform("rmdir", path, async () => await calls.rmdir(path)),
    syncFolder: async (path) => await perform("sync folder", path, async () => await calls.syncFolder(path)),
  };
}
