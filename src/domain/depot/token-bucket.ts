/**
 * How much a depot sends and takes in a time (depot-anchors 4, "Bandwidth"; figure 9: over 10 s within 5 % of the cap, no
 * second above 1.5 times it). Who takes waits for its turn. Who goes first takes at once and is charged: the others then
 * get what is left, and are pushed back by a second at most, so that they never stand still.
 */
export const TRANSFER_CLASSES = ["install", "replicate"] as const;
/** Downloads of hosts go first; copies for other nodes wait. */
export type TransferClass = (typeof TRANSFER_CLASSES)[number];

/** Bytes per second; tokens are bytes, below zero while takers wait. Times are of a clock that is never set, in ms. */
export type Bucket = { readonly rate: number; readonly tokens: number; readonly atMs: number };

/** What may be caught up after a pause of the process or of the source. */
const BURST_S = 0.25;
const MAX_PUSH_S = 1;
const SLICE_S = 0.1;

export const newBucket = (rate: number, nowMs: number): Bucket => ({ rate, tokens: 0, atMs: nowMs });

function refilled({ rate, tokens, atMs }: Bucket, nowMs: number): Bucket {
  const income = (rate * Math.max(0, nowMs - atMs)) / 1_000;
  return { rate, tokens: Math.min(rate * BURST_S, tokens + income), atMs: Math.max(atMs, nowMs) };
}

/** The bytes may go after `waitMs`. Takers go in the order in which they asked. */
export function take(bucket: Bucket, bytes: number, nowMs: number): { bucket: Bucket; waitMs: number } {
  const now = refilled(bucket, nowMs);
  const tokens = now.tokens - bytes;
  return { bucket: { ...now, tokens }, waitMs: Math.max(0, (-tokens / now.rate) * 1_000) };
}

/** The bytes went already. */
export function charge(bucket: Bucket, bytes: number, nowMs: number): Bucket {
  const now = refilled(bucket, nowMs);
  const lowest = Math.min(now.tokens, -now.rate * MAX_PUSH_S);
  return { ...now, tokens: Math.max(now.tokens - bytes, lowest) };
}

/** In pieces of this size the takers keep to the rate within each second. */
export const sliceOf = (rate: number): number => Math.max(1_024, Math.min(65_536, Math.floor(rate * SLICE_S)));
