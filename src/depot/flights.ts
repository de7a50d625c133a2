/**
 * One transfer per digest at a time: who asks for the same meanwhile joins it (invariant 26). Each is a job with a
 * terminal state that can be waited for; a bounded number of ended ones is remembered.
 */
import { randomUUID } from "node:crypto";
import { failure, isFailure } from "../domain/errors.ts";
import type { Job, PutAnswer } from "./wire.ts";

export type Flight = {
  job: Job;
  /** Resolves once the source answered, or the transfer ended; rejects when it failed before. */
  started: Promise<void>;
  done: Promise<PutAnswer>;
};
export type Flights = {
  running(sha256: string): Flight | undefined;
  /** Begins a transfer. Refused with `depot_busy` when all slots are taken, `depot_stopping` after `stop`. */
  begin(sha256: string, transfer: (job: Job, started: () => void) => Promise<PutAnswer>): Flight;
  /** The job, after its end or `waitMs`; undefined when it is not known (any more). */
  job(id: string, waitMs: number): Promise<Job | undefined>;
  /** Those that run now. */
  all(): Job[];
  /** Aborted by `stop`. */
  signal: AbortSignal;
  /** Ends what can be ended and waits for the rest. */
  stop(): Promise<void>;
};
type Options = { slots: number; datasets: number; log: (message: string, fields: object) => void };

const KEPT_JOBS = 1_000;

export function createFlights({ slots, datasets, log }: Options): Flights {
  const flights = new Map<string, Flight>();
  const jobs = new Map<string, { job: Job; ended: Promise<void> }>();
  const stopping = new AbortController();

  const remember = (job: Job, ended: Promise<void>): void => {
    jobs.set(job.id, { job, ended });
    for (const [id, { job: old }] of jobs) {
      if (jobs.size <= KEPT_JOBS) return;
      if (old.state !== "running") jobs.delete(id);
    }
  };
  const fail = (job: Job, error: unknown): void => {
    const known = isFailure(error) ? error : failure("internal", undefined, error);
    Object.assign(job, { state: "failed", code: known.code, message: known.message });
    log("a transfer failed", { sha256: job.sha256, code: known.code, error: String(error) });
  };
  return {
    signal: stopping.signal,
    running: (sha256) => flights.get(sha256),
    all: () => Array.from(flights.values(), ({ job }) => job),
    begin: (sha256, transfer) => {
      if (stopping.signal.aborted) throw failure("depot_stopping", undefined);
      if (flights.size >= slots) throw failure("depot_busy", undefined);
      const job: Job = { id: randomUUID(), sha256, state: "running", bytes: 0, datasets, successful_writes: 0 };
      const started = Promise.withResolvers<void>();
      const done = transfer(job, started.resolve).finally(() => flights.delete(sha256));
      const ended = done.then(
        (answer) => {
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
      remember(job, ended);
      return flight;
    },
    job: async (id, waitMs) => {
      const known = jobs.get(id);
      if (known === undefined || waitMs === 0) return known?.job;
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, waitMs);
      });
      await Promise.race([known.ended, late]);
      clearTimeout(timer);
      return known.job;
    },
    stop: async () => {
      stopping.abort(failure("depot_stopping", undefined));
      await Promise.allSettled([...flights.values()].map((flight) => flight.done));
    },
  };
}
