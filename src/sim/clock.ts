/** The time as simulated processes tell it. */

export const nowNanos = (): bigint => BigInt(Date.now()) * 1_000_000n;

let starts = 0;
/**
 * When a process started. No two of a simulator start in the same nanosecond: by this a server tells clones, which are
 * two processes, from one process with two connections.
 */
export const startedNanos = (): bigint => nowNanos() + BigInt((starts += 1) % 1_000_000);
