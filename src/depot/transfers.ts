/**
 * Artifacts on their way in. A copy that was cut goes on where it was, from any source. Whether the artifact may land is
 * asked again at the moment it would.
 */
import type { Readable } from "node:stream";
import { setTimeout as timeout } from "node:timers/promises";
import { failure, type Failure } from "../domain/errors.ts";
import type { ReadAnswer } from "./client.ts";
import type { DiskStore } from "./disk-store.ts";
import { createFlights } from "./flights.ts";
import type { Upload } from "./upload.ts";
import type { Job, PutAnswer } from "./wire.ts";

type Deps = {
  store: DiskStore;
  /** Runs `work` while neither configuration nor file of this digest can change, if the artifact is still admitted. */
  whileAdmitted: <T>(sha256: string, generation: number, work: () => Promise<T>) => Promise<T>;
  slots: number;
  /** Tries of one source by one copy. */
  tries: number;
  log: (message: string, fields: object) => void;
};
/** Reads from a source node, from an offset on. */
export type ReadSource = (sha256: string, offset: number, signal: AbortSignal) => Promise<ReadAnswer>;
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
  /** Those that run now. */
  running(): Job[];
  /** Ends running copies and waits until nothing writes any more. */
  close(): Promise<void>;
};

export function createTransfers(deps: Deps): Transfers {
  const { store, slots, log } = deps;
  const flights = createFlights({ slots, datasets: store.disks.length, log });
  const partials = createPartials();

  const fetch = async (landing: Landing, read: ReadSource, job: Job, started: () => void): Promise<PutAnswer> => {
    const there = await present(store, landing);
    if (there !== undefined) return there;
    const upload = partials.take(landing.sha256) ?? (await store.begin());
    const source = sourceOf(landing, read, deps.tries, flights.signal);
    const stopped = await drainSource(source, upload, started, () => (job.bytes = upload.bytes()));
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
  };
  return {
    put: (landing, body, offset = 0) => {
      const running = flights.running(landing.sha256);
      if (running === undefined)
        return flights.begin(landing.sha256, (job) => receive({ ...deps, partials }, landing, { body, offset }, job))
          .done;
      body.resume(); // the bytes come in already; the answer is that transfer's
      return running.done;
    },
    partial: async (sha256) => {
      await Promise.race([Promise.allSettled([flights.running(sha256)?.done]), timeout(PARTIAL_WAIT_MS)]);
      return flights.running(sha256) === undefined ? partials.bytes(sha256) : 0;
    },
    copy: async (landing, read) => {
      const { sha256 } = landing;
      const flight =
        flights.running(sha256) ?? flights.begin(sha256, (job, started) => fetch(landing, read, job, started));
      await flight.started;
      return flight.job;
    },
    job: (id, waitMs) => flights.job(id, waitMs),
    running: () => flights.all(),
    close: async () => {
      await flights.stop();
      await partials.discardAll();
    },
  };
}

/** What a put brings: bytes from `offset` on. */
type Incoming = { body: Readable; offset: number };

async function receive(
  deps: Deps & { partials: ReturnType<typeof createPartials> },
  landing: Landing,
  { body, offset }: Incoming,
  job: Job,
): Promise<PutAnswer> {
  const { store, partials } = deps;
  const there = await present(store, landing);
  if (there !== undefined) {
    body.resume();
    return there;
  }
  const upload = await partials.goOn(landing.sha256, offset, () => store.begin());
  let kept = false;
  try {
    const cut = await drainInto(body, upload, () => (job.bytes = upload.bytes()));
    if (cut !== undefined && landing.size === undefined) throw cut;
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

const PARTIAL_MS = 600_000;
/** How long a question waits for a transfer that is just being cut. */
const PARTIAL_WAIT_MS = 3_000;

/** What was written before the last source gave up, kept a while for the next one. */
function createPartials() {
  const kept = new Map<string, { upload: Upload; expiry: NodeJS.Timeout }>();
  const take = (sha256: string): Upload | undefined => {
    const partial = kept.get(sha256);
    clearTimeout(partial?.expiry);
    kept.delete(sha256);
    return partial?.upload;
  };
  return {
    take,
    bytes: (sha256: string): number => kept.get(sha256)?.upload.bytes() ?? 0,
    /** What was kept when it has exactly `offset` bytes; a new upload for 0. */
    goOn: async (sha256: string, offset: number, begin: () => Promise<Upload>): Promise<Upload> => {
      const upload = take(sha256);
      if (offset > 0 && upload?.bytes() === offset) return upload;
      await upload?.discard();
      if (offset > 0) throw failure("depot_offset", { sent: offset, have: upload?.bytes() ?? 0 });
      return begin();
    },
    keep: (sha256: string, upload: Upload): void => {
      const expiry = setTimeout(() => void take(sha256)?.discard(), PARTIAL_MS).unref();
      kept.set(sha256, { upload, expiry });
    },
    discardAll: async (): Promise<void> => {
      for (const sha256 of Array.from(kept.keys())) await take(sha256)?.discard();
    },
  };
}

/** Opens the source at an offset; its failures are `depot_source_failed`. */
const sourceOf = ({ sha256 }: Landing, read: ReadSource, tries: number, signal: AbortSignal) => ({
  tries,
  open: async (offset: number): Promise<ReadAnswer> => {
    try {
      return await read(sha256, offset, signal);
    } catch (error) {
      throw sourceFailed(signal.aborted ? signal.reason : error);
    }
  },
});

/**
 * Writes what the source sends, going on after cuts while tries are left. Resolves with what stopped it before the end,
 * undefined when all of it is written; failures of our own disks are thrown, with the upload discarded.
 */
async function drainSource(
  source: ReturnType<typeof sourceOf>,
  upload: Upload,
  started: () => void,
  wrote: () => void,
): Promise<Failure | undefined> {
  let last: unknown;
  for (let left = source.tries; left > 0; left--) {
    let answer: ReadAnswer;
    try {
      answer = await source.open(upload.bytes());
    } catch (error) {
      return error as Failure;
    }
    started();
    last = await drainInto(answer.body, upload, wrote).catch(async (error: unknown) => {
      await upload.discard();
      throw error;
    });
    if (upload.bytes() >= answer.size) return undefined;
    last ??= failure("depot_short_body", { want: answer.size, got: upload.bytes() });
  }
  return sourceFailed(last);
}

const sourceFailed = (error: unknown): Failure =>
  failure("depot_source_failed", { message: error instanceof Error ? error.message : String(error) }, error);

/** Resolves with what cut the body, undefined when it ended by itself. Failures of our own disks are thrown. */
async function drainInto(body: Readable, upload: Upload, wrote: () => void): Promise<unknown> {
  const pieces = body[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  for (;;) {
    let piece: IteratorResult<Buffer>;
    try {
      piece = await pieces.next();
    } catch (error) {
      return error;
    }
    if (piece.done === true) return undefined;
    try {
      await upload.write(piece.value);
    } catch (error) {
      body.destroy();
      throw error;
    }
    wrote();
  }
}
