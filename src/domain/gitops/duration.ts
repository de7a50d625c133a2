/** Durations as Go writes them: `90s`, `5m`, `1h30m`, `250ms` (gitops-schema, Envelope). */
const UNITS_MS: Record<string, number> = {
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
  ms: 1,
  us: 0.001,
  µs: 0.001,
  ns: 0.000_001,
};
const PART = /(\d+(?:\.\d+)?|\.\d+)(ms|us|µs|ns|h|m|s)/gy;
/** Longer than any rollout may be planned for, short enough for every timer and timestamp. */
const MAX_MS = 366 * 24 * 3_600_000;

/** The duration in whole milliseconds, or undefined when `text` is not one. Negative durations are not ones. */
export function parseDuration(text: string): number | undefined {
  if (text === "0") return 0;
  let ms = 0;
  let end = 0;
  for (const part of text.matchAll(PART)) {
    ms += Number(part[1]) * (UNITS_MS[part[2] ?? ""] ?? Number.NaN);
    end = part.index + part[0].length;
  }
  if (end === 0 || end !== text.length || !(ms <= MAX_MS)) return undefined;
  return Math.round(ms);
}

/** Milliseconds of a duration that validation has accepted. Throws on any other text: that is a defect of ours. */
export function durationMs(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new TypeError(`not a duration: ${text}`);
  return ms;
}
