/**
 * A peer that sends or takes so little that it only holds its place. Silence is another matter: that is the idle time of
 * the connection. Only time spent waiting for the peer counts, never our own disks or caps.
 */
export type Floor = { windowMs: number; minBytes: number };
/** About 2 KiB per second: a link that is slower than this moves no artifact within a day. */
export const FLOOR: Floor = { windowMs: 30_000, minBytes: 65_536 };

export type Trickle = { waitedMs: number; bytes: number };
export const NO_TRICKLE: Trickle = { waitedMs: 0, bytes: 0 };

/** After `bytes` for which it was waited `waitedMs`: what to go on with; undefined when that is too little. */
export function flowed(before: Trickle, waitedMs: number, bytes: number, floor: Floor): Trickle | undefined {
  const now = { waitedMs: before.waitedMs + waitedMs, bytes: before.bytes + bytes };
  if (now.waitedMs < floor.windowMs) return now;
  return now.bytes < floor.minBytes ? undefined : NO_TRICKLE;
}
