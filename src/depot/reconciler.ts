/**
 * Brings the disks to what the configuration wants: unwanted files go to the trash and, after a grace time, away; what is
 * wanted again comes back from the trash; a disk that lacks what its sibling has gets it from there; left-over temporary
 * files go. It runs at start, after each change of the configuration, after damage, and on a timer. Every step that takes
 * a file away is one critical section with its check (contract: "prior to each filesystem operation").
 */
import { join } from "node:path";
import { DiskError, type Disk } from "./disk.ts";
import { artifactNames, type DiskStore } from "./disk-store.ts";
import type { createGate, createHashLocks } from "./locks.ts";
import { digestOnDisk } from "./pieces.ts";

/** What the configuration in force says; undefined while none is trusted. */
export type Wanted = {
  wants(sha256: string): boolean;
  all(): Iterable<string>;
  sizeOf(sha256: string): number | undefined;
  /** Whether it may be the reason for a deletion. */
  mayDelete: boolean;
};
type Deps = {
  store: DiskStore;
  /** A disk got a copy again from its sibling. */
  onRepaired: (sha256: string, disk: string) => void;
  locks: ReturnType<typeof createHashLocks>;
  gate: ReturnType<typeof createGate>;
  wanted: () => Wanted | undefined;
  /** Writes the configuration on disks that lack it. */
  catchUp: () => Promise<void>;
  /** The same for one that came back: it may know better. */
  diskReturned: (disk: Disk) => Promise<void>;
  trashGraceMs: number;
  everyMs: number;
  monotonicMs: () => number;
  log: (message: string, fields: object) => void;
};
export type Reconciler = {
  /** Runs soon; resolves when a pass that began after this call has ended. */
  wake(): Promise<void>;
  close(): Promise<void>;
};

export function createReconciler(deps: Deps): Reconciler {
  const inTrashSince = new Map<string, number>();
  const cleaned = new Set<Disk>();
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  const pass = async (): Promise<void> => {
    await deps.catchUp();
    for (const disk of deps.store.disks) {
      if (closed) return;
      try {
        await reconcileDisk(deps, disk, inTrashSince, !cleaned.has(disk));
        cleaned.add(disk);
      } catch (error) {
        cleaned.delete(disk);
        deps.log("a disk could not be reconciled; it is tried again", { disk: disk.path, error: String(error) });
      }
    }
    await repairCopies(deps, () => closed);
  };
  const run = (): Promise<void> => {
    clearTimeout(timer);
    running = pass().finally(() => {
      running = undefined;
      if (!closed) timer = setTimeout(() => void wake(), deps.everyMs).unref();
    });
    return running;
  };
  const wake = (): Promise<void> => {
    if (closed) return Promise.resolve();
    if (running === undefined) return run();
    next ??= running.then(() => {
      next = undefined;
      return closed ? undefined : run();
    });
    return next;
  };
  return {
    wake,
    close: async () => {
      closed = true;
      clearTimeout(timer);
      await running;
    },
  };
}

async function reconcileDisk(deps: Deps, disk: Disk, inTrashSince: Map<string, number>, first: boolean): Promise<void> {
  if (await hasLostFolders(disk)) disk.eject("another disk is in its place");
  const hasReturned = disk.failure() !== undefined;
  if (hasReturned) {
    await disk.tryAgain();
    await deps.diskReturned(disk);
    deps.log("a disk is well again", { disk: disk.path });
  }
  await deps.store.settle(disk);
  await removeLeftovers(deps, disk, first || hasReturned);
  for (const name of await disk.run("list", (fs) => fs.list(disk.trash)))
    await settleTrash(deps, disk, name, inTrashSince);
  for (const sha256 of artifactNames(await disk.run("list", (fs) => fs.list(disk.artifacts))))
    await trashUnwanted(deps, disk, sha256);
}

/** Replaced by an empty one under the running process: what is missing is its folders, not one file. */
async function hasLostFolders(disk: Disk): Promise<boolean> {
  if (disk.failure() !== undefined) return false;
  try {
    await disk.run("list", (fs) => fs.list(disk.artifacts));
    return false;
  } catch (error) {
    return error instanceof DiskError && error.missing;
  }
}

const UPLOAD = /^[0-9a-f-]{36}$/;

/** Temporary files that nobody writes: of a crash, of a disk that came late. */
async function removeLeftovers({ gate, store }: Deps, disk: Disk, first: boolean): Promise<void> {
  await gate.share(async () => {
    for (const name of await disk.run("list", (fs) => fs.list(disk.tmp))) {
      const temp = join(disk.tmp, name);
      // those of the configuration can only be an earlier life's when the disk is met for the first time
      const left = UPLOAD.test(name) ? !store.beingWritten(temp) : first;
      if (left) await disk.run("remove", (fs) => fs.remove(temp));
    }
  });
}

async function trashUnwanted({ gate, locks, wanted, log }: Deps, disk: Disk, sha256: string): Promise<void> {
  if (wanted()?.wants(sha256) !== false) return;
  await gate.share(() =>
    locks.hold(sha256, async () => {
      const now = wanted();
      if (now === undefined || !now.mayDelete || now.wants(sha256)) return;
      await disk.run("move to trash", async (fs) => {
        await fs.rename(join(disk.artifacts, sha256), join(disk.trash, sha256));
        await fs.syncFolder(disk.artifacts);
      });
      log("an unwanted artifact went to the trash", { sha256, disk: disk.path });
    }),
  );
}

/** Wanted again: back to its place, if its bytes are right. Else away, once its grace time is over. */
async function settleTrash(deps: Deps, disk: Disk, name: string, inTrashSince: Map<string, number>): Promise<void> {
  const path = join(disk.trash, name);
  const since = inTrashSince.get(path) ?? deps.monotonicMs();
  inTrashSince.set(path, since);
  await deps.gate.share(() =>
    deps.locks.hold(name, async () => {
      const now = deps.wanted();
      if (now === undefined) return;
      const final = join(disk.artifacts, name);
      const again = now.wants(name) && (await disk.run("stat", (fs) => fs.sizeOf(final))) === undefined;
      if (again && (await digestOnDisk(disk, path)) === name) {
        await disk.run("restore", async (fs) => {
          await fs.rename(path, final);
          await fs.syncFolder(disk.artifacts);
        });
        inTrashSince.delete(path);
      } else if (deps.monotonicMs() - since >= deps.trashGraceMs && (now.mayDelete || now.wants(name))) {
        await disk.run("empty trash", (fs) => fs.remove(path));
        inTrashSince.delete(path);
      }
    }),
  );
}

async function repairCopies(deps: Deps, stopped: () => boolean): Promise<void> {
  const { store, wanted, log } = deps;
  if (store.healthy().length < 2) return;
  for (const sha256 of wanted()?.all() ?? []) {
    if (stopped()) return;
    const have = await store.copies(sha256, wanted()?.sizeOf(sha256));
    const [from] = have;
    if (from === undefined) continue;
    for (const to of store.healthy().filter((disk) => !have.includes(disk))) {
      try {
        await repair(deps, sha256, from, to);
      } catch (error) {
        log("a copy could not be repaired from its sibling; it is tried again", { sha256, error: String(error) });
      }
    }
  }
}

async function repair(
  { store, gate, locks, wanted, onRepaired, log }: Deps,
  sha256: string,
  from: Disk,
  to: Disk,
): Promise<void> {
  const { upload, prepared } = await store.prepareRepair(sha256, from, to);
  try {
    await gate.share(() =>
      locks.hold(sha256, async () => {
        if (wanted()?.wants(sha256) === true) await store.commit(sha256, prepared);
      }),
    );
    onRepaired(sha256, to.path);
    log("a copy was repaired from its sibling", { sha256, from: from.path, to: to.path });
  } finally {
    await upload.discard();
  }
}
