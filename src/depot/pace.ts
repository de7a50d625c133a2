/** Bounds how fast something reads, without bursts: whoever was idle does not catch up. */
export type Pace = (bytes: number, signal: AbortSignal) => Promise<void>;
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

/** Resolves when so many bytes more may be read; rejects when `signal` ends the wait. */
export function createPace(bytesPerSecond: number, monotonicMs: () => number, sleep: Sleep): Pace {
  let freeAtMs = 0;
  return async (bytes, signal) => {
    signal.throwIfAborted();
    const nowMs = monotonicMs();
    freeAtMs = Math.max(freeAtMs, nowMs) + (bytes / bytesPerSecond) * 1_000;
    if (freeAtMs > nowMs) await sleep(freeAtMs - nowMs, signal);
  };
}
