/** How long something takes on different hosts: always the same, anything between two bounds, or with a long tail. */
import { z } from "zod";
import { durationMs } from "../domain/config/units.ts";

export type Spread =
  | { kind: "fixed"; ms: number }
  | { kind: "uniform"; minMs: number; maxMs: number }
  | { kind: "tail"; medianMs: number; p99Ms: number };

/** The longest time that a timer knows; a longer one would be over at once. */
export const LONGEST_MS = 2 ** 31 - 1;
export const duration = durationMs.refine((ms) => ms <= LONGEST_MS, "longer than 24 days");

/** Nothing takes longer than this many times its 99th percentile: a scenario has an end. */
const LONGEST = 10;

const range = z
  .strictObject({ min: duration, max: duration })
  .refine(({ min, max }) => min <= max, "min is longer than max")
  .transform(({ min, max }): Spread => ({ kind: "uniform", minMs: min, maxMs: max }));
const tail = z
  .strictObject({ median: duration, p99: duration })
  .refine(({ median, p99 }) => median <= p99, "median is longer than p99")
  .transform(({ median, p99 }): Spread => ({ kind: "tail", medianMs: median, p99Ms: p99 }));

/** `2s`, `{min: 1s, max: 5s}` or `{median: 2s, p99: 30s}`. */
export const spread = z.union([duration.transform((ms): Spread => ({ kind: "fixed", ms })), range, tail], {
  error: "write a duration, {min, max} or {median, p99}",
});

/** Milliseconds for a `chance` in [0, 1). The tail is a log-logistic one: half are below the median, one in a hundred above p99. */
export function sample(of: Spread, chance: number): number {
  if (of.kind === "fixed") return of.ms;
  if (of.kind === "uniform") return Math.round(of.minMs + (of.maxMs - of.minMs) * chance);
  if (of.medianMs === 0) return 0;
  const exponent = Math.log(of.p99Ms / of.medianMs) / Math.log(99);
  return Math.round(Math.min(of.medianMs * (chance / (1 - chance)) ** exponent, of.p99Ms * LONGEST, LONGEST_MS));
}
