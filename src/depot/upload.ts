/**
 * One artifact being written to all healthy disks at once: random temporary names, digest and length counted while
 * writing, every copy read back before it may get its name. A disk that fails, fills or stalls leaves, the others go on.
 */
import { createHash, randomUUID } from "node:crypto";
import { join } from "node:path";
import { failure } from "../domain/errors.ts";
import { DiskError, type Disk } from "./disk.ts";
import type { DepotFile } from "./files.ts";
import { digestOnDisk } from "./pieces.ts";

export type Prepared = { disk: Disk; temp: string };
export type Upload = {
  bytes(): number;
  write(chunk: Uint8Array): Promise<void>;
  /**
   * Ends the writing: resolves with the disks on which the whole artifact is durable under its temporary name. Fails
   * with `depot_short_body` (the upload can go on), `depot_digest_mismatch`, `depot_full` or `depot_io`.
   */
  finish(sha256: string, size: number | undefined): Promise<Prepared[]>;
  /** Ends it: what still has its temporary name is removed. To be called once, also after a commit. */
  discard(): Promise<void>;
};
/** Temporary files that are being written: named here before they exist, so that nobody takes them for leftovers. */
export type BeingWritten = Set<string>;
type Part = { disk: Disk; temp: string; file: DepotFile };

/** Opens a temporary file on every disk of `disks` that can take one. Fails when none can. */
export async function beginUpload(disks: readonly Disk[], beingWritten: BeingWritten): Promise<Upload> {
  const hash = createHash("sha256");
  const errors: DiskError[] = [];
  let bytes = 0;
  let parts: Part[] = [];
  const temps = disks.map((disk) => join(disk.tmp, randomUUID()));
  for (const temp of temps) beingWritten.add(temp);
  const forget = (): void => {
    for (const temp of temps) beingWritten.delete(temp);
  };
  const leave = async (part: Part, error: DiskError): Promise<void> => {
    errors.push(error);
    parts = parts.filter((other) => other !== part);
    await removeQuietly(part);
  };
  /** Does `work` on all parts at once; those that fail leave. Fails when none is left. */
  const onAll = async (work: (part: Part) => Promise<unknown>): Promise<void> => {
    await Promise.all(
      parts.map(async (part) => {
        try {
          await work(part);
        } catch (error) {
          await leave(part, asDiskError(part.disk, "write", error));
        }
      }),
    );
    if (parts.length === 0) throw nowhere(errors);
  };

  parts = await openParts(disks, temps, errors);
  if (parts.length === 0) {
    forget();
    throw nowhere(errors);
  }

  return {
    bytes: () => bytes,
    write: async (chunk) => {
      hash.update(chunk);
      bytes += chunk.length;
      await onAll(({ disk, file }) => disk.run("write", () => file.append(chunk)));
    },
    finish: async (sha256, size) => {
      if (size !== undefined && bytes < size) throw failure("depot_short_body", { want: size, got: bytes });
      const got = hash.copy().digest("hex");
      if (got !== sha256) throw failure("depot_digest_mismatch", { want: sha256, got });
      await onAll(({ disk, file }) => disk.run("sync", () => file.sync()));
      await onAll(({ disk, file }) => disk.run("close", () => file.close()));
      await onAll(({ disk, temp }) => readBack(disk, temp, sha256));
      return parts.map(({ disk, temp }) => ({ disk, temp }));
    },
    discard: async () => {
      await Promise.all(parts.map(removeQuietly));
      forget();
    },
  };
}

async function openParts(disks: readonly Disk[], temps: readonly string[], errors: DiskError[]): Promise<Part[]> {
  const opened = disks.map(async (disk, i): Promise<Part[]> => {
    const temp = temps[i] ?? "";
    try {
      return [{ disk, temp, file: await disk.run("create", (fs) => fs.create(temp)) }];
    } catch (error) {
      errors.push(asDiskError(disk, "create", error));
      return [];
    }
  });
  return (await Promise.all(opened)).flat();
}

/** A disk that gives back other bytes than it was given is out. */
async function readBack(disk: Disk, temp: string, sha256: string): Promise<void> {
  const read = await digestOnDisk(disk, temp);
  if (read === sha256) return;
  const reason = `it was given ${sha256} and gave back ${read}`;
  disk.eject(reason);
  throw new DiskError(disk.path, "read back", new Error(reason));
}

/** What cannot be removed now is left to the reconciler, which removes whatever nobody writes any more. */
async function removeQuietly({ disk, temp, file }: Part): Promise<void> {
  await Promise.allSettled([file.close()]);
  await Promise.allSettled([disk.run("remove", (fs) => fs.remove(temp))]);
}

const asDiskError = (disk: Disk, what: string, error: unknown): DiskError =>
  error instanceof DiskError ? error : new DiskError(disk.path, what, error);

/** No disk took it: 503 when there is none, 507 when all are full, else 500 with the last cause. */
function nowhere(errors: readonly DiskError[]): Error {
  if (errors.length === 0) return failure("depot_no_disk", undefined);
  const full = errors.every((error) => error.full);
  const last = errors.at(-1);
  return full ? failure("depot_full", undefined, last) : failure("depot_io", { message: last?.message ?? "" }, last);
}
