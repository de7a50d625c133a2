/**
 * Time as the host program uses it. Waits are measured by the monotonic clock, whatever happens to the wall clock;
 * the wall clock only labels what people read.
 */
import { readFileSync } from "node:fs";
import { hrtime } from "node:process";
import { setTimeout as delay } from "node:timers/promises";

export type Clock = {
  /** Wall clock, nanoseconds since 1970. */
  nowNanos(): bigint;
  /** Milliseconds since some fixed moment of this boot. */
  monotonicMs(): number;
  /** Names the boot that `monotonicMs` counts from; undefined where the system does not tell. */
  bootId: string | undefined;
  /** Rejects with the signal's reason when it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** In [0, 1): jitter. */
  chance(): number;
};

export const systemClock: Clock = {
  nowNanos: () => BigInt(Date.now()) * 1_000_000n + (hrtime.bigint() % 1_000_000n),
  monotonicMs: () => Number(hrtime.bigint() / 1_000_000n),
  bootId: readBootId(),
  sleep: async (ms, signal) => {
    signal?.throwIfAborted();
    try {
      await delay(ms, undefined, signal === undefined ? {} : { signal });
    } catch (error) {
      throw signal?.aborted === true ? signal.reason : error;
    }
  },
  chance: () => Math.random(),
};

function readBootId(): string | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return undefined; // a container may hide it; persisted waits then count from their stored remainder
  }
}
