/**
 * A depot node: the contract's calls (artifact-replication, "Sled Agent implementation") over its disks. What it keeps to:
 * the configuration is durable before it counts; each write names generation and epoch and is asked again at the moment it
 * lands; nothing wanted is ever taken away; without a trusted configuration nothing is taken away at all.
 */
import type { Readable } from "node:stream";
import type { DepotConfig, Peers } from "../domain/depot/config.ts";
import { copiesOn, packCopies } from "../domain/depot/copy-bits.ts";
import type { Next } from "../domain/depot/judge-config.ts";
import type { NodeStatus } from "../domain/depot/node-status.ts";
import { failure } from "../domain/errors.ts";
import { ConfigState, type InForce } from "./config-state.ts";
import { createDisk, type Disk } from "./disk.ts";
import { createDiskStore, type DiskStore, type OpenedArtifact } from "./disk-store.ts";
import type { DepotFs } from "./files.ts";
import { createFindings } from "./findings.ts";
import { createReport, type Report } from "./node-report.ts";
import { createGate, createHashLocks } from "./locks.ts";
import { createReconciler } from "./reconciler.ts";
import { createScrub, type Scrub, type ScrubOptions } from "./scrub.ts";
import { createTransfers, type ReadSource } from "./transfers.ts";
import { setDigest, type DepotBits, type DepotList, type Job, type PutAnswer } from "./wire.ts";

export type Fence = { epoch: string | undefined; generation: number };
export type DepotNode = {
  /** Reads the disks and starts the reconciler. */
  start(): Promise<void>;
  /** The configuration that should be in effect. The same again changes nothing; the short form has only its digest. */
  putConfig(next: DepotConfig, peers: Peers): Promise<void>;
  confirmConfig(next: Next, peers: Peers): Promise<void>;
  /** Undefined when the node never had one. */
  config(): DepotConfig | undefined;
  /** Copies of what the configuration names, and the generation they were counted at. */
  list(): Promise<DepotList>;
  /** The same as bits over the set with this digest; fails with `depot_set` when it keeps another. */
  listBits(digest: string): Promise<DepotBits>;
  /** How it stands, also while no configuration is trusted. */
  status(): Promise<NodeStatus>;
  /** `offset`: the body goes on after what an earlier put left (`partial`); `size` is that of the body. */
  put(sha256: string, fence: Fence, size: number | undefined, body: Readable, offset?: number): Promise<PutAnswer>;
  /** Bytes that an earlier transfer of it left here. */
  partial(sha256: string): Promise<number>;
  /** Resolves once the source answered. The source must be a registered node. */
  copyFromDepot(sha256: string, fence: Fence, depotBaseUrl: string): Promise<Job>;
  job(id: string, waitMs: number): Promise<Job | undefined>;
  /** The depot read call: content, whatever the configuration says. */
  open(sha256: string): Promise<OpenedArtifact | undefined>;
  /** A person says that the files here belong to this installation. */
  adopt(epoch: string, released?: readonly string[]): Promise<void>;
  /** Runs the reconciler now and waits for it. */
  reconcile(): Promise<void>;
  scrub: Scrub;
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
  slots: number;
  scrub: ScrubOptions;
  /** For a test that shows what goes wrong without them. */
  locking?: { locks: ReturnType<typeof createHashLocks>; gate: ReturnType<typeof createGate> };
};

const TRIES_PER_SOURCE = 3;

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
  const report = createReport({ store, state, transfers, scrub, findings });
    config: () => {
      const entry = state.inForce()?.entry;
      if (entry === undefined) return undefined;
      const { epoch, generation, artifacts, held } = entry;
      return { epoch, generation, artifacts, ...(held.length > 0 && { held }) };
    },
    list: async () => listNode(store, state.trusted()),
    listBits: async (digest) => bitsOf(store, state.trusted(), digest),
    status: async () => ({
      ...(await statusOf(store, state)),
      disks: await disksOf(store),
      transfers: transfers.running().map(({ sha256, bytes }) => ({ sha256, bytes })),
      scrub: scrub.status(),
    }),
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
    open: (sha256) => store.open(sha256, state.wanted()?.sizeOf(sha256)),
    adopt: async (epoch, released = []) => {
      await gate.alone(() => state.adopt(epoch, released));
      reconcileSoon();
    },
    reconcile: () => reconciler.wake(),
    scrub,
    close: async () => {
      await Promise.all([transfers.close(), reconciler.close(), scrub.close()]);
    },
  };
}

/** The parts of a node, tied together by the two locks. */
function assemble(options: NodeOptions) {
  const { log, fs, diskTimeoutMs, slots } = options;
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
    store,
    locks,
    gate,
    wanted: () => state.wanted(),
    catchUp: async () => {
    onRepaired: (sha256, disk) => findings.note("repaired", sha256, disk),
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

/** One snapshot of the configuration, then the files: it names only what that generation wants (invariant 6). */
async function listNode(store: DiskStore, { entry, sizes }: InForce): Promise<DepotList> {
  const list: Record<string, number> = {};
  for (const sha256 of entry.artifacts) {
    const copies = await store.copies(sha256, sizes.get(sha256));
    if (copies.length > 0) list[sha256] = copies.length;
  }
  return { epoch: entry.epoch, generation: entry.generation, list, disks: await disksOf(store) };
}

async function bitsOf(store: DiskStore, inForce: InForce, digest: string): Promise<DepotBits> {
  const { artifacts, digest: current, generation } = inForce.entry;
  if (digest !== current) throw failure("depot_set", { sent: digest, current, generation });
  const { list, ...said } = await listNode(store, inForce);
  const copies = artifacts.map((sha256) => copiesOn(list[sha256] ?? 0, store.disks.length));
  return { ...said, bits: Buffer.from(packCopies(copies)).toString("base64") };
}

const disksOf = (store: DiskStore): Promise<DepotList["disks"]> =>
  Promise.all(
    store.disks.map(async (disk) => ({
      path: disk.path,
      state: disk.failure() ?? "ok",
      freeBytes: await disk.run("free", (fs) => fs.freeBytes(disk.path)).catch(() => null),
    })),
  );

/** What the configuration wants, by the copies that are there: on every disk, on some, on none. */
async function statusOf(store: DiskStore, state: ConfigState): Promise<Pick<NodeStatus, "config" | "problem">> {
  let inForce: InForce | undefined;
  try {
    inForce = state.inForce();
  } catch (error) {
    return { config: null, problem: error instanceof Error ? error.message : String(error) };
  }
  if (inForce === undefined) return { config: null, problem: null };
  const { list, generation } = await listNode(store, inForce);
  const copies = inForce.entry.artifacts.map((sha256) => list[sha256] ?? 0);
  const complete = copies.filter((count) => count === store.disks.length).length;
  const missing = copies.filter((count) => count === 0).length;
  const wanted = copies.length;
  return { config: { generation, wanted, complete, partial: wanted - complete - missing, missing }, problem: null };
}
