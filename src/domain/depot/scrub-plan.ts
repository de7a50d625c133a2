/**
 * When a depot reads its copies again (design "Depots": light daily, deep weekly). Light compares sizes, deep reads all
 * bytes, so a deep scrub is a light one as well.
 */
export const SCRUB_KINDS = ["light", "deep"] as const;
export type ScrubKind = (typeof SCRUB_KINDS)[number];

/** What a node remembers of its scrubs. Times are of the wall clock, in milliseconds. */
export type ScrubHistory = {
  endedAtMs: Readonly<Record<ScrubKind, number | undefined>>;
  /** The one that was begun and has not ended: it goes on behind `after`. */
  running: { kind: ScrubKind; startedAtMs: number; after: string } | undefined;
};
export type ScrubEveryMs = Readonly<Record<ScrubKind, number>>;

export const NO_SCRUBS: ScrubHistory = { endedAtMs: { light: undefined, deep: undefined }, running: undefined };

/** What is to run now; undefined: nothing is due. One that was cut off goes first, unless a deep one takes its place. */
export function dueScrub(
  { endedAtMs, running }: ScrubHistory,
  nowMs: number,
  every: ScrubEveryMs,
): ScrubKind | undefined {
  if (running?.kind === "deep" || isDue(endedAtMs.deep, nowMs, every.deep)) return "deep";
  return running !== undefined || isDue(endedAtMs.light, nowMs, every.light) ? "light" : undefined;
}

/** A time to come (the clock was set back) counts by its distance, too: such a node must not rest for years. */
const isDue = (endedAtMs: number | undefined, nowMs: number, everyMs: number): boolean =>
  endedAtMs === undefined || Math.abs(nowMs - endedAtMs) >= everyMs;

/** Begun: behind what a run of the same kind has done, or at the front. */
export function begun(history: ScrubHistory, kind: ScrubKind, nowMs: number): ScrubHistory {
  if (history.running?.kind === kind) return history;
  return { ...history, running: { kind, startedAtMs: nowMs, after: "" } };
}

export const advanced = (history: ScrubHistory, after: string): ScrubHistory =>
  history.running === undefined ? history : { ...history, running: { ...history.running, after } };

/** Ended: a deep one has done the light one's work. */
export function ended({ endedAtMs, running }: ScrubHistory, nowMs: number): ScrubHistory {
  if (running === undefined) return { endedAtMs, running };
  const done = running.kind === "deep" ? { light: nowMs, deep: nowMs } : { ...endedAtMs, light: nowMs };
  return { endedAtMs: done, running: undefined };
}
