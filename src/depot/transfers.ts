/**
 * Artifacts on their way in. A copy that was cut goes on where it was, from any source. Whether the artifact may land is
 * asked again at the moment it would.
 */
import type { Readable } from "node:stream";
import { FLOOR, type Floor } from "../domain/depot/trickle.ts";
import { catchBody, type Caught } from "./catch-body.ts";
import type { DiskStore } from "./disk-store.ts";
import { drainInto, drainSource, sourceOf, type Drain, type ReadSource } from "./drain.ts";
import { createFlights, type Flying } from "./flights.ts";
import type { Flow, Meter } from "./meter.ts";
import type { Bandwidth } from "./pace.ts";
import { createPartials, type Partials } from "./partials.ts";
import type { Slots } from "./slots.ts";
import type { Upload } from "./upload.ts";
import type { Job, PutAnswer } from "./wire.ts";

type Deps = {
  store: DiskStore;
  /** Runs `work` while neither configuration nor file of this digest can change, if the artifact is still admitted. */
  whileAdmitted: <T>(sha256: string, generation: number, work: () => Promise<T>) => Promise<T>;
  slots: Slots;
  intake: Bandwidth;
  meter: Meter;
  monotonicMs: () => number;
  /** Slowest source or sender that is waited for. */
  floor?: Floor | undefined;
  /** Tries of one source by one copy. */
  tries: number;
  log: (message: string, fields: object) => void;
};
/** How long a question waits for a transfer that is just being cut. */
const PARTIAL_WAIT_MS = 3_000;

type Landing = { sha256: string; generation: number; size: number | undefined };

export type Transfers = {
  /** `offset`: the body goes on after that many bytes, which an earlier put left here. */
  put(landing: Landing, body: Readable, offset?: number): Promise<PutAnswer>;
  /** Bytes that an earlier transfer left, once it has ended. */
  partial(sha256: string): Promise<number>;
  /** Resolves once the source answered; the job tells the rest. */
  copy(landing: Landing, read: ReadSource): Promise<Job>;
  /** The job, after its end or `waitMs`; undefined when it is not known (any more). */
  job(id: string, waitMs: number): Promise<Job | undefined>;
  /** Ends it; what came in so far is kept for the next one. Undefined when it is not known (any more). */
  cancel(id: string): Job | undefined;
  /** Those that run or wait for their turn now. */
  running(): Job[];
  /** How many ended so since the start. */
  ended(): Readonly<Record<"done" | "failed", number>>;
  /** Ends running copies and waits until nothing writes any more. */
  close(): Promise<void>;
};

export function createTransfers(deps: Deps): Transfers {
  const { store, slots, log } = deps;
  const flights = createFlights({ slots, datasets: store.disks.length, log });
  const partials = createPartials();
  const all = { ...deps, partials };

  return {
    put: (landing, body, offset = 0) => {
      const running = flights.running(landing.sha256);
      if (running === undefined) {
        const caught = catchBody(body); // at once: what comes while it waits counts too
        return flights.begin(landing.sha256, (flying) => receive(all, landing, { caught, offset }, flying)).done;
      }
      body.resume(); // the bytes come in already; the answer is that transfer's
      return running.done;
    },
    partial: async (sha256) => {
      const running = flights.running(sha256);
      if (running !== undefined) await flights.job(running.job.id, PARTIAL_WAIT_MS);
      return flights.running(sha256) === undefined ? partials.bytes(sha256) : 0;
    },
    copy: async (landing, read) => {
      const { sha256 } = landing;
      const flight =
        flights.running(sha256) ?? flights.begin(sha256, (flying) => fetchFrom(all, landing, read, flying));
      await flight.started;
      return flight.job;
    },
    job: (id, waitMs) => flights.job(id, waitMs),
    cancel: (id) => flights.cancel(id),
    running: () => flights.all(),
    ended: () => flights.ended(),
    close: async () => {
      await flights.stop();
      await partials.discardAll();
    },
  };
}

/** What a put brings: bytes from `offset` on. */
type Incoming = { caught: Caught; offset: number };

type Parts = Deps & { partials: Partials };

const drainOf = (deps: Deps, peer: Flow["peer"], { job, signal }: Flying): Drain => ({
  pace: deps.intake.take,
  floor: deps.floor ?? FLOOR,
  monotonicMs: deps.monotonicMs,
  signal,
  wrote: (bytes) => {
    job.bytes += bytes;
    deps.meter.add("in", peer, bytes);
  },
});

async function fetchFrom(deps: Parts, landing: Landing, read: ReadSource, flying: Flying): Promise<PutAnswer> {
  const { store, partials } = deps;
  const there = await present(store, landing);
  if (there !== undefined) return there;
  const upload = partials.take(landing.sha256) ?? (await store.begin());
  flying.job.bytes = upload.bytes();
  const source = sourceOf(landing.sha256, read, deps.tries, flying.signal);
  const stopped = await drainSource(source, upload, flying.started, drainOf(deps, "depot", flying));
  if (stopped !== undefined && upload.bytes() > 0) {
    partials.keep(landing.sha256, upload);
    throw stopped;
  }
  try {
    if (stopped !== undefined) throw stopped;
    return await land(deps, landing, upload);
  } finally {
    await upload.discard();
  }
}

async function receive(
  deps: Parts,
  landing: Landing,
  { caught, offset }: Incoming,
  flying: Flying,
): Promise<PutAnswer> {
  const { store, partials } = deps;
  const there = await present(store, landing);
  if (there !== undefined) {
    caught.bytes.resume();
    return there;
  }
  const upload = await partials.goOn(landing.sha256, offset, () => store.begin());
  flying.job.bytes = upload.bytes();
  let kept = false;
  try {
    const cut = (await drainInto(caught.bytes, upload, drainOf(deps, "controller", flying))) ?? caught.cut();
    if (cut !== undefined && (landing.size === undefined || flying.signal.aborted)) throw cut;
    // cut: the next put goes on there
    kept = cut !== undefined && upload.bytes() > 0 && upload.bytes() < (landing.size ?? 0);
    if (kept) partials.keep(landing.sha256, upload);
    return await land(deps, landing, upload);
  } finally {
    if (!kept) await upload.discard();
  }
}

/** All healthy disks have it already, with the right bytes: nothing needs to come in. */
async function present(store: DiskStore, { sha256, size }: Landing): Promise<PutAnswer | undefined> {
  const have = await store.copies(sha256, size);
  if (have.length === 0 || have.length < store.healthy().length) return undefined;
  for (const disk of have) if (!(await store.verify(sha256, disk))) return undefined;
  return { datasets: store.disks.length, successful_writes: have.length };
}

async function land(deps: Deps, { sha256, generation, size }: Landing, upload: Upload): Promise<PutAnswer> {
  const prepared = await upload.finish(sha256, size);
  const durable = await deps.whileAdmitted(sha256, generation, () => deps.store.commit(sha256, prepared));
  return { datasets: deps.store.disks.length, successful_writes: durable.length };
}
