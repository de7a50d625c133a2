/**
 * The content-addressed files of all disks. What it promises: a name in `artifacts/` hashes to itself at the moment it
 * appears; a copy it reports is durable; wrong bytes found by a reader are put aside on the spot; a disk that lacks what
 * its sibling has gets it from there. It knows nothing of configurations: who calls it holds the digest's lock.
 */
import { createHash, randomUUID } from "node:crypto";
import { join } from "node:path";
import { isDigest } from "../domain/depot/config.ts";
import { failure } from "../domain/errors.ts";
import { DiskError, type Disk } from "./disk.ts";
import type { createHashLocks } from "./locks.ts";
import { digestOnDisk, piecesOf } from "./pieces.ts";
import { beginUpload, type BeingWritten, type Prepared, type Upload } from "./upload.ts";

export type OpenedArtifact = {
  size: number;
  /**
   * Bytes from `start` to `end` (exclusive). A whole read keeps its last piece back until the digest is known to be
   * right: wrong bytes never make a complete answer.
   */
  read(start: number, end: number): AsyncGenerator<Uint8Array>;
};
/** What one disk has under a digest. */
export type Checked = "right" | "wrong" | "missing" | "unreadable";
export type Check = {
  /** Undefined when it is not known. */
  size: number | undefined;
  /** Given: all bytes are read, at this pace. Otherwise only the size is compared. */
  pace?: (bytes: number) => Promise<void>;
};
type Repaired = { upload: Upload; prepared: Prepared[] };
export type DiskStore = {
  disks: readonly Disk[];
  healthy(): Disk[];
  /** Disks that hold the artifact, at the right size when it is known. */
  copies(sha256: string, size?: number): Promise<Disk[]>;
  begin(): Promise<Upload>;
  /**
   * Gives a finished upload its name. Resolves with the disks on which that is durable; fails when there is none. On the
   * others the name may be there all the same: it counts after `settle`.
   */
  commit(sha256: string, prepared: readonly Prepared[]): Promise<Disk[]>;
  /** Reads again what a failed commit may have left on a disk that is well: right copies count from then on. */
  settle(disk: Disk): Promise<void>;
  /** Undefined when no disk has it. A disk that fails before the first byte is replaced by its sibling. */
  open(sha256: string, size?: number): Promise<OpenedArtifact | undefined>;
  /** Reads all of one copy; a wrong one is put aside. Whether it was right. */
  verify(sha256: string, disk: Disk): Promise<boolean>;
  /** The same for a scrub, which wants to know more; a wrong one is put aside. */
  check(sha256: string, disk: Disk, how: Check): Promise<Checked>;
  /** Copies from a disk that has it to one that lacks it, checked on the way, ready for `commit`. */
  prepareRepair(sha256: string, from: Disk, to: Disk): Promise<Repaired>;
  /** Whether a temporary file is being written now. */
  beingWritten(temp: string): boolean;
  /** Tells about damage; set by the node. */
  onDamage(listener: (sha256: string, disk: string) => void): void;
};

type Locks = ReturnType<typeof createHashLocks>;
type Log = (message: string, fields: object) => void;

export function createDiskStore(disks: readonly Disk[], locks: Locks, log: Log): DiskStore {
  const beingWritten: BeingWritten = new Set();
  let damaged: (sha256: string, disk: string) => void = () => undefined;
  const healthy = (): Disk[] => disks.filter((disk) => disk.failure() === undefined);
  const unsure = createUnsure();
  const sizeOn: SizeOn = (disk, sha256) =>
    unsure.has(disk, sha256) ? Promise.resolve(undefined) : statOn(disk, sha256);
  const quarantine: Quarantine = async (sha256, disk) => {
    if ((await skipFailing(putAside(locks, sha256, disk))) !== true) return;
    log("a copy had wrong bytes and was put aside", { sha256, disk: disk.path });
    damaged(sha256, disk.path);
  };
  const begin = (on: readonly Disk[]): Promise<Upload> => beginUpload(on, beingWritten);
  return {
    disks,
    healthy,
    begin: () => begin(healthy()),
    commit: (sha256, prepared) => commit(sha256, prepared, unsure.add),
    settle: async (disk) => {
      for (const sha256 of unsure.on(disk)) {
        const read = await skipFailing(digestOnDisk(disk, nameOn(disk, sha256)));
        if (read !== undefined && read !== sha256) await quarantine(sha256, disk);
        if (disk.failure() === undefined) unsure.forget(disk, sha256);
      }
    },
    copies: async (sha256, size) => {
      const sizes = await Promise.all(healthy().map(async (disk) => ({ disk, found: await sizeOn(disk, sha256) })));
      return sizes.flatMap(({ disk, found }) =>
        found !== undefined && (size === undefined || found === size) ? [disk] : [],
      );
    },
    open: async (sha256, size) => {
      const have: { disk: Disk; found: number }[] = [];
      for (const disk of healthy()) {
        const found = await sizeOn(disk, sha256);
        if (found === undefined) continue;
        if (size === undefined || found === size) have.push({ disk, found });
        else await quarantine(sha256, disk);
      }
      const first = have[0]?.found;
      if (first === undefined) return undefined;
      const alike = have.flatMap(({ disk, found }) => (found === first ? [disk] : []));
      return { size: first, read: readerOfAny(alike, sha256, first, quarantine) };
    },
    verify: async (sha256, disk) => {
      const read = await skipFailing(digestOnDisk(disk, nameOn(disk, sha256)));
      if (read !== undefined && read !== sha256) await quarantine(sha256, disk);
      return read === sha256;
    },
    check: (sha256, disk, how) => checkCopy(sha256, disk, how, quarantine),
    prepareRepair: async (sha256, from, to) =>
      copyTo(await begin([to]), sha256, readerOf(from, sha256, undefined, quarantine)),
    beingWritten: (temp) => beingWritten.has(temp),
    onDamage: (listener) => {
      damaged = listener;
    },
  };
}

async function checkCopy(sha256: string, disk: Disk, { size, pace }: Check, quarantine: Quarantine): Promise<Checked> {
  try {
    const path = nameOn(disk, sha256);
    const found = await disk.run("stat", (fs) => fs.sizeOf(path));
    if (found === undefined) return "missing";
    const sameSize = size === undefined || found === size;
    if (sameSize && (pace === undefined || (await digestOnDisk(disk, path, pace)) === sha256)) return "right";
    await quarantine(sha256, disk);
    return "wrong";
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    return error.missing ? "missing" : "unreadable"; // taken away while it was read, or the disk failed
  }
}

async function copyTo(upload: Upload, sha256: string, read: OpenedArtifact["read"]): Promise<Repaired> {
  try {
    for await (const piece of read(0, Number.POSITIVE_INFINITY)) await upload.write(piece);
    return { upload, prepared: await upload.finish(sha256, undefined) };
  } catch (error) {
    await upload.discard();
    throw error;
  }
}

const nameOn = (disk: Disk, sha256: string): string => join(disk.artifacts, sha256);

/** A disk that fails is skipped: it is known as failed from then on. */
async function skipFailing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof DiskError) return undefined;
    throw error;
  }
}

type SizeOn = (disk: Disk, sha256: string) => Promise<number | undefined>;
const statOn: SizeOn = (disk, sha256) => skipFailing(disk.run("stat", (fs) => fs.sizeOf(nameOn(disk, sha256))));

/** Names that may or may not last: their commit failed on that disk. */
function createUnsure() {
  const names = new Map<Disk, Set<string>>();
  return {
    add: (disk: Disk, sha256: string): void => void names.set(disk, new Set(names.get(disk)).add(sha256)),
    has: (disk: Disk, sha256: string): boolean => names.get(disk)?.has(sha256) === true,
    on: (disk: Disk): string[] => [...(names.get(disk) ?? [])],
    forget: (disk: Disk, sha256: string): void => void names.get(disk)?.delete(sha256),
  };
}

async function commit(
  sha256: string,
  prepared: readonly Prepared[],
  unsure: (disk: Disk, sha256: string) => void,
): Promise<Disk[]> {
  const results = await Promise.allSettled(
    prepared.map(async ({ disk, temp }) => {
      try {
        await disk.run("give its name", async (fs) => {
          await fs.rename(temp, nameOn(disk, sha256));
          await fs.syncFolder(disk.artifacts);
        });
        return disk;
      } catch (error) {
        unsure(disk, sha256);
        throw error;
      }
    }),
  );
  const durable = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  if (durable.length > 0) return durable;
  const cause = results.find((result) => result.status === "rejected")?.reason as Error | undefined;
  throw failure("depot_io", { message: cause?.message ?? "no disk was prepared" }, cause);
}

/** Reads it once more under the lock: a writer may have replaced it with right bytes meanwhile. */
const putAside = (locks: Locks, sha256: string, disk: Disk): Promise<boolean> =>
  locks.hold(sha256, async () => {
    if ((await digestOnDisk(disk, nameOn(disk, sha256))) === sha256) return false;
    await disk.run("put aside", async (fs) => {
      await fs.rename(nameOn(disk, sha256), join(disk.quarantine, `${sha256}.${randomUUID()}`));
      await fs.syncFolder(disk.artifacts);
    });
    return true;
  });

type Quarantine = (sha256: string, disk: Disk) => Promise<void>;

/** From the first disk that gives a byte; once one was passed on, a failure ends the reading. */
const readerOfAny = (disks: readonly Disk[], sha256: string, size: number, quarantine: Quarantine) =>
  async function* read(start: number, end: number): AsyncGenerator<Uint8Array> {
    let last: DiskError | undefined;
    for (const disk of disks) {
      let hasBegun = false;
      try {
        for await (const piece of readerOf(disk, sha256, size, quarantine)(start, end)) {
          hasBegun = true;
          yield piece;
        }
        return;
      } catch (error) {
        if (hasBegun || !(error instanceof DiskError)) throw error;
        last = error;
      }
    }
    throw last ?? new Error("no disk to read from");
  };

const readerOf = (disk: Disk, sha256: string, size: number | undefined, quarantine: Quarantine) =>
  async function* read(start: number, end: number): AsyncGenerator<Uint8Array> {
    const whole = start === 0 && (size === undefined || end >= size);
    const hash = createHash("sha256");
    let kept: Uint8Array | undefined;
    let left = size === undefined ? undefined : Math.min(end, size) - start;
    for await (const piece of piecesOf(disk, join(disk.artifacts, sha256), start, end)) {
      if (whole) hash.update(piece);
      if (left !== undefined) left -= piece.length;
      if (kept !== undefined) yield kept;
      kept = piece;
    }
    if (whole && hash.digest("hex") !== sha256) {
      await quarantine(sha256, disk);
      throw new DiskError(disk.path, "read", new Error(`${sha256} has wrong bytes`));
    }
    if (left !== undefined && left > 0) throw new DiskError(disk.path, "read", new Error(`${sha256} ends early`));
    if (kept !== undefined) yield kept;
  };

export const artifactNames = (names: readonly string[]): string[] => names.filter(isDigest);
