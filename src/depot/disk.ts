/**
 * One disk of a depot: `artifacts/<sha256>` (what counts), `tmp/` (being written), `trash/` (unwanted, in its grace time),
 * `quarantine/` (wrong bytes). An operation that fails with more than "no room", or does not end in time, ejects the
 * disk: it takes no part until the reconciler has tried it again.
 */
import { join } from "node:path";
import type { DepotFile, DepotFs } from "./files.ts";
import { errorCode } from "./files.ts";

export type Disk = {
  readonly path: string;
  readonly artifacts: string;
  readonly tmp: string;
  readonly trash: string;
  readonly quarantine: string;
  /** Undefined while it is well. */
  failure(): string | undefined;
  /** Runs one operation, bounded in time. Anything but "no room" and "no such file" ejects the disk. */
  run<T>(what: string, work: (fs: DepotFs) => Promise<T>): Promise<T>;
  /**
   * Makes the folders, makes the names in them last, and writes a byte; afterwards the disk is well, or the error says
   * why not.
   */
  tryAgain(): Promise<void>;
  /** Takes it out, for a reason that the disk itself does not know. */
  eject(reason: string): void;
};

/** Errors that say nothing about the disk's health. */
const HARMLESS = new Set(["ENOSPC", "EDQUOT", "ENOENT", "EEXIST"]);

/** A disk that has not been tried yet: call `tryAgain` first. */
export function createDisk(path: string, fs: DepotFs, timeoutMs: number, onFailure: (error: Error) => void): Disk {
  let failed: string | undefined = "not tried yet";
  let hanging = 0;
  const folders = ["artifacts", "tmp", "trash", "quarantine"].map((name) => join(path, name));
  const [artifacts = "", tmp = "", trash = "", quarantine = ""] = folders;

  const bounded = async <T>(what: string, work: (fs: DepotFs) => Promise<T>): Promise<T> => {
    let timer: NodeJS.Timeout | undefined;
    const operation = work(fs);
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        // it may still end one day: until then the disk is not taken back
        hanging++;
        const ended = (): void => void hanging--;
        operation.then((opened) => (ended(), closeLate(opened)), ended);
        reject(new DiskError(path, what, new Error(`did not end within ${timeoutMs} ms`)));
      }, timeoutMs);
    });
    try {
      return await Promise.race([operation, late]);
    } catch (error) {
      throw error instanceof DiskError ? error : new DiskError(path, what, error);
    } finally {
      clearTimeout(timer);
    }
  };
  return {
    path,
    artifacts,
    tmp,
    trash,
    quarantine,
    failure: () => failed,
    run: async (what, work) => {
      if (failed !== undefined) throw new DiskError(path, what, new Error(failed));
      try {
        return await bounded(what, work);
      } catch (error) {
        if (error instanceof DiskError && !error.harmless && failed === undefined) {
          failed = error.message;
          onFailure(error);
        }
        throw error;
      }
    },
    tryAgain: async () => {
      if (hanging > 0) throw new DiskError(path, "try again", new Error(`${hanging} operations still hang`));
      try {
        await bounded("make folders", () => probe(fs, folders, join(tmp, ".probe")));
      } catch (error) {
        failed = error instanceof Error ? error.message : String(error); // what is shown is the newest cause
        throw error;
      }
      failed = undefined;
    },
    eject: (reason) => {
      failed = reason;
    },
  };
}

/** A file that opens when nobody waits for it any more. */
async function closeLate(opened: unknown): Promise<void> {
  const isFile = typeof opened === "object" && opened !== null && "close" in opened;
  if (isFile) await (opened as DepotFile).close().catch(() => undefined); // there is nobody to tell
}

async function probe(fs: DepotFs, folders: readonly string[], path: string): Promise<void> {
  for (const folder of folders) {
    await fs.makeFolder(folder);
    await fs.syncFolder(folder);
  }
  await fs.remove(path);
  const file = await fs.create(path);
  try {
    await file.append(new Uint8Array(1));
    await file.sync();
  } finally {
    await file.close();
  }
  await fs.remove(path);
}

export class DiskError extends Error {
  override readonly name = "DiskError";
  readonly full: boolean;
  readonly missing: boolean;
  readonly harmless: boolean;
  constructor(path: string, what: string, cause: unknown) {
    super(`${path}: ${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    const code = errorCode(cause) ?? "";
    this.full = code === "ENOSPC" || code === "EDQUOT";
    this.missing = code === "ENOENT";
    this.harmless = HARMLESS.has(code);
  }
}
