/**
 * A depot node: the contract's calls (artifact-replication, "Sled Agent implementation") over its disks. What it keeps to:
 * the configuration is durable before it counts; each write names generation and epoch and is asked again at the moment it
 * lands; nothing wanted is ever taken away; without a trusted configuration nothing is taken away at all.
 */
import type { Readable } from "node:stream";
import type { DepotConfig, Peers } from "../domain/depot/config.ts";
import type { Next } from "../domain/depot/judge-config.ts";
import { FLOOR, type Floor } from "../domain/depot/trickle.ts";
import { failure } from "../domain/errors.ts";
import { ConfigState } from "./config-state.ts";
import { createDisk, type Disk } from "./disk.ts";
import { createDiskStore, type DiskStore, type OpenedArtifact } from "./disk-store.ts";
import type { DepotFs } from "./files.ts";
import { createGate, createHashLocks } from "./locks.ts";
import { createFindings } from "./findings.ts";
import { createReport, type Report } from "./node-report.ts";
import { createReconciler } from "./reconciler.ts";
import { createScrub, type Scrub, type ScrubOptions } from "./scrub.ts";
import type { ReadSource } from "./drain.ts";
import { createMeter, type Meter } from "./meter.ts";
import { UNLIMITED, type Bandwidth } from "./pace.ts";
import { createSlots, type Slots } from "./slots.ts";
import { createTransfers, type Transfers } from "./transfers.ts";
import { setDigest, type Suspected, type Job, type PutAnswer } from "./wire.ts";

export type Fence = { epoch: string | undefined; generation: number };
export type DepotNode = Report & {
  /** Reads the disks and starts the reconciler. */
  start(): Promise<void>;
  /** The configuration that should be in effect. The same again changes nothing; the short form has only its digest. */
  putConfig(next: DepotConfig, peers: Peers): Promise<void>;
  confirmConfig(next: Next, peers: Peers): Promise<void>;
  put(sha256: string, fence: Fence, size: number | undefined, body: Readable, offset?: number): Promise<PutAnswer>;
  /** Bytes that an earlier transfer of it left here. */
  partial(sha256: string): Promise<number>;
  /** Resolves once the source answered. The source must be a registered node. */
  copyFromDepot(sha256: string, fence: Fence, depotBaseUrl: string): Promise<Job>;
  job(id: string, waitMs: number): Promise<Job | undefined>;
  /** Ends a job. Undefined when it is not known (any more). */
  cancel(id: string): Job | undefined;
  /** A reader got wrong bytes: all copies are read, wrong ones put aside and repaired from what is right. */
  suspect(sha256: string): Promise<Suspected>;
  /** The depot read call: content, whatever the configuration says. */
  open(sha256: string): Promise<OpenedArtifact | undefined>;
  /** A person says that the files here belong to this installation. */
  adopt(epoch: string, released?: readonly string[]): Promise<void>;
  /** Runs the reconciler now and waits for it. */
  reconcile(): Promise<void>;
  scrub: Scrub;
  /** What went through it, and what is going on: for its metrics. */
  meter: Meter;
  slots: Slots;
  ended: Transfers["ended"];
  /** Takes nothing new, ends what runs, leaves the disks at rest. */
  close(): Promise<void>;
};
export type NodeOptions = {
  disks: readonly string[];
  fs: DepotFs;
  /** Reads from the node whose read listener has this origin. */
  readFrom: (origin: string) => ReadSource;
  log: (message: string, fields: object) => void;
  monotonicMs: () => number;
  trashGraceMs: number;
  reconcileEveryMs: number;
  diskTimeoutMs: number;
  /** Transfers into the node at a time. */
  slots: number;
  /** How many more may wait for a slot. Default none. */
  queue?: number;
  /** What comes in, in all. Default unlimited. */
  intake?: Bandwidth;
  /** The slowest peer that is waited for. */
  floor?: Floor;
  meter?: Meter;
  scrub: ScrubOptions;
  /** For a test that shows what goes wrong without them. */
  locking?: { locks: ReturnType<typeof createHashLocks>; gate: ReturnType<typeof createGate> };
};

const TRIES_PER_SOURCE = 3;
/** Shorter than the silence after which a client gives up. */
export const QUEUE_MS = 5_000;

export function createDepotNode(options: NodeOptions): DepotNode {
  const { state, store, gate, disks, transfers, reconciler, admit, meter, slots, findings } = assemble(options);
  const { log } = options;
  const reconcileSoon = (): void => {
    reconciler.wake().catch((error: unknown) => log("the reconciler failed", { error: String(error) }));
  };
  store.onDamage((sha256, disk) => {
    findings.note("corrupt", sha256, disk);
    reconcileSoon();
  });
  const scrub = createScrub({ ...options.scrub, store, wanted: () => state.wanted(), onMissing: reconcileSoon, log });
  const report = createReport({ store, state, transfers, scrub, findings });

  return {
    start: async () => {
      await Promise.all(disks.map((disk) => tryDisk(disk, log)));
      await state.load();
      reconcileSoon();
    },
    putConfig: (next, peers) =>
      gate.alone(async () => {
        if (await state.replace({ ...next, digest: setDigest(next.artifacts) }, peers)) reconcileSoon();
      }),
    confirmConfig: (next, peers) => gate.alone(() => state.confirm(next, peers)),
    ...report,
    put: async (sha256, fence, size, body, offset = 0) => {
      admit(fence, sha256);
      const known = state.trusted().sizes.get(sha256) ?? (size === undefined ? undefined : size + offset);
      return transfers.put({ sha256, generation: fence.generation, size: known }, body, offset);
    },
    partial: (sha256) => transfers.partial(sha256),
    copyFromDepot: async (sha256, fence, depotBaseUrl) => {
      admit(fence, sha256);
      const { entry, sizes } = state.trusted();
      const origin = peerOf(entry.peers, depotBaseUrl);
      const landing = { sha256, generation: fence.generation, size: sizes.get(sha256) };
      return transfers.copy(landing, options.readFrom(origin));
    },
    job: (id, waitMs) => transfers.job(id, waitMs),
    cancel: (id) => transfers.cancel(id),
    suspect: (sha256) => suspect(store, sha256, state.wanted()?.sizeOf(sha256), reconcileSoon),
    open: (sha256) => store.open(sha256, state.wanted()?.sizeOf(sha256)),
    adopt: async (epoch, released = []) => {
      await gate.alone(() => state.adopt(epoch, released));
      reconcileSoon();
    },
    reconcile: () => reconciler.wake(),
    scrub,
    meter,
    slots,
    ended: () => transfers.ended(),
    close: async () => {
      await Promise.all([transfers.close(), reconciler.close(), scrub.close()]);
    },
  };
}

/** The parts of a node, tied together by the two locks. */
function assemble(options: NodeOptions) {
  const { log, fs, diskTimeoutMs, monotonicMs, floor = FLOOR, meter = createMeter(), intake = UNLIMITED } = options;
  const slots = createSlots({ size: options.slots, queue: options.queue ?? 0, waitMs: QUEUE_MS });
  const { locks, gate } = options.locking ?? { locks: createHashLocks(), gate: createGate() };
  const disks = options.disks.map((path) =>
    createDisk(path, fs, diskTimeoutMs, (error) => log("a disk failed", { disk: path, error: error.message })),
  );
  const store = createDiskStore(disks, locks, log);
  const state = new ConfigState(disks, log);
  const admit = ({ epoch, generation }: Fence, sha256: string): void => {
    const { entry, wants } = state.trusted();
    if (epoch !== entry.epoch) throw failure("depot_epoch", { sent: epoch ?? "none", current: entry.epoch });
    if (generation !== entry.generation)
      throw failure("depot_generation", { sent: generation, current: entry.generation });
    if (!wants.has(sha256)) throw failure("depot_unwanted", { digest: sha256 });
    if (store.healthy().length === 0) throw failure("depot_no_disk", undefined);
  };
  const whileAdmitted = <T>(sha256: string, generation: number, work: () => Promise<T>): Promise<T> =>
    gate.share(() =>
      locks.hold(sha256, () => {
        admit({ epoch: state.trusted().entry.epoch, generation }, sha256);
        return work();
      }),
    );
  const limits = { slots, intake, floor, meter, monotonicMs, tries: TRIES_PER_SOURCE };
  const transfers = createTransfers({ store, whileAdmitted, ...limits, log });
  const findings = createFindings(options.scrub.nowMs);
  const reconciler = createReconciler({
    onRepaired: (sha256, disk) => findings.note("repaired", sha256, disk),
    store,
    locks,
    gate,
    wanted: () => state.wanted(),
    catchUp: async () => {
      if (state.isBehind()) await gate.alone(() => state.catchUp());
    },
    diskReturned: (disk) => gate.alone(() => state.meet(disk)),
    trashGraceMs: options.trashGraceMs,
    everyMs: options.reconcileEveryMs,
    monotonicMs: options.monotonicMs,
    log,
  });
  return { state, store, gate, disks, transfers, reconciler, admit, meter, slots, findings };
}

/** The origin of a registered node; nobody else is ever asked for a copy (invariant 18). */
function peerOf(peers: Peers, url: string): string {
  const origin = URL.parse(url)?.origin ?? "(no URL)";
  if (!peers.some((peer) => new URL(peer).origin === origin)) throw failure("depot_source_refused", { origin });
  return origin;
}

async function tryDisk(disk: Disk, log: NodeOptions["log"]): Promise<void> {
  try {
    await disk.tryAgain();
  } catch (error) {
    log("a disk cannot be used at start", { disk: disk.path, error: String(error) });
  }
}

/** A copy that is wrong is put aside by the look at it; what a sibling has comes from there. */
async function suspect(
  store: DiskStore,
  sha256: string,
  size: number | undefined,
  reconcileSoon: () => void,
): Promise<Suspected> {
  const found: Suspected = { right: 0, wrong: 0, missing: 0, unreadable: 0 };
  const pace = async (): Promise<void> => undefined;
  for (const disk of store.healthy()) found[await store.check(sha256, disk, { size, pace })]++;
  if (found.right < store.healthy().length) reconcileSoon();
  return found;
}
