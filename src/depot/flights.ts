/**
 * One transfer per digest at a time: who asks for the same meanwhile joins it (invariant 26). Each is a job with a
 * terminal state that can be waited for; a bounded number of ended ones is remembered.
 */
import { randomUUID } from "node:crypto";
import { failure, isFailure } from "../domain/errors.ts";
import { createJobs } from "./jobs.ts";
import type { Slots } from "./slots.ts";
import type { Job, PutAnswer } from "./wire.ts";

export type Flight = {
  job: Job;
  /** Resolves once the source answered, or the transfer ended; rejects when it failed before. */
  started: Promise<void>;
  done: Promise<PutAnswer>;
};
/** What a transfer is given: its job, what to call once the source answered, and what ends it. */
export type Flying = { job: Job; started: () => void; signal: AbortSignal };
export type Flights = {
  running(sha256: string): Flight | undefined;
  /**
   * Begins a transfer, now or when a slot is free. Refused with `depot_busy` when too many wait already,
   * `depot_stopping` after `stop`.
   */
  begin(sha256: string, transfer: (flying: Flying) => Promise<PutAnswer>): Flight;
  /** Ends it with `depot_cancelled`; one that has ended stays as it is. Undefined when it is not known (any more). */
  cancel(id: string): Job | undefined;
  /** The job, after its end or `waitMs`; undefined when it is not known (any more). */
  job(id: string, waitMs: number): Promise<Job | undefined>;
  /** Those that run or wait for their slot. */
  all(): Job[];
  ended(): Readonly<Record<"done" | "failed", number>>;
  /** Ends what can be ended and waits for the rest. */
  stop(): Promise<void>;
};
type Options = { slots: Slots; datasets: number; log: (message: string, fields: object) => void };

export function createFlights({ slots, datasets, log }: Options): Flights {
  const flights = new Map<string, Flight>();
  const jobs = createJobs();
  const stopping = new AbortController();
  const counts = { done: 0, failed: 0 };

  const fail = (job: Job, error: unknown): void => {
    const known = isFailure(error) ? error : failure("internal", undefined, error);
    counts.failed++;
    Object.assign(job, { state: "failed", code: known.code, message: known.message });
    log("a transfer failed", { sha256: job.sha256, code: known.code, error: String(error) });
  };
  return {
    running: (sha256) => flights.get(sha256),
    all: () => Array.from(flights.values(), ({ job }) => job),
    ended: () => counts,
    cancel: jobs.cancel,
    job: jobs.wait,
    begin: (sha256, transfer) => {
      if (stopping.signal.aborted) throw failure("depot_stopping", undefined);
      if (slots.isFull()) throw failure("depot_busy", undefined);
      const job: Job = { id: randomUUID(), sha256, state: "running", bytes: 0, datasets, successful_writes: 0 };
      const started = Promise.withResolvers<void>();
      const own = new AbortController();
      const signal = AbortSignal.any([stopping.signal, own.signal]);
      const done = inSlot(slots, signal, () => transfer({ job, started: started.resolve, signal })).finally(() =>
        flights.delete(sha256),
      );
      const ended = done.then(
        (answer) => {
          counts.done++;
          Object.assign(job, { state: "done", ...answer });
          started.resolve();
        },
        (error: unknown) => {
          fail(job, error);
          started.reject(error);
        },
      );
      started.promise.catch(() => undefined); // a put does not ask for it; its failure is told by `done`
      const flight: Flight = { job, started: started.promise, done };
      flights.set(sha256, flight);
      jobs.remember(job, ended, () => own.abort(failure("depot_cancelled", undefined)));
      return flight;
    },
    stop: async () => {
      stopping.abort(failure("depot_stopping", undefined));
      await Promise.allSettled([...flights.values()].map((flight) => flight.done));
    },
  };
}

async function inSlot<T>(slots: Slots, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const leave = await slots.enter(signal);
  try {
    return await work();
  } finally {
    leave();
  }
}
