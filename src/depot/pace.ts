/** Bounds how fast something goes: a token bucket that is waited for. */
import { charge, newBucket, sliceOf, take } from "../domain/depot/token-bucket.ts";

/** Resolves when so many bytes more may go; rejects when `signal` ends the wait. */
export type Pace = (bytes: number, signal: AbortSignal) => Promise<void>;
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;
export type Bandwidth = {
  take: Pace;
  /** Bytes that went without waiting: who waits gets what they leave. */
  charge(bytes: number): void;
  /** In larger pieces than this, a single second may see more than it should. */
  slice: number;
};

export const UNLIMITED: Bandwidth = {
  take: async (_bytes, signal) => signal.throwIfAborted(),
  charge: () => undefined,
  slice: Number.POSITIVE_INFINITY,
};

/** Shorter waits are left to the next one: a timer costs more than it is worth. */
const SHORTEST_MS = 2;

export function createBandwidth(bytesPerSecond: number, monotonicMs: () => number, sleep: Sleep): Bandwidth {
  let bucket = newBucket(bytesPerSecond, monotonicMs());
  const slice = sliceOf(bytesPerSecond);
  return {
    slice,
    charge: (bytes) => {
      bucket = charge(bucket, bytes, monotonicMs());
    },
    take: async (bytes, signal) => {
      for (let left = bytes; left > 0; left -= slice) {
        signal.throwIfAborted();
        const taken = take(bucket, Math.min(left, slice), monotonicMs());
        bucket = taken.bucket;
        if (taken.waitMs >= SHORTEST_MS) await sleep(taken.waitMs, signal);
      }
    },
  };
}
