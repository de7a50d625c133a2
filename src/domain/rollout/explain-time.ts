/** Instants and lengths in sentences for people; always UTC, never a locale. */
import { DateTime } from "luxon";

/** `2026-11-29 02:14:07Z`, as every list shows it. */
export const instantText = (ms: number): string =>
  DateTime.fromMillis(ms, { zone: "utc" }).toFormat("yyyy-MM-dd HH:mm:ss'Z'");

/** The same of an instant as rows have it. */
export const isoText = (iso: string): string => instantText(DateTime.fromISO(iso).toMillis());

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

/** The two largest units: `1 h 30 min`, `45 s`; `0 s` when nothing is left. */
export function lengthText(ms: number): string {
  let rest = Math.max(0, Math.round(ms / 1_000)) * 1_000;
  const parts = UNITS.map(([name, unit]): [string, number] => {
    const count = Math.floor(rest / unit);
    rest -= count * unit;
    return [name, count];
  });
  const first = parts.findIndex(([, count]) => count > 0);
  if (first === -1) return "0 s";
  const shown = parts.slice(first, first + 2).filter(([, count]) => count > 0);
  return shown.map(([name, count]) => `${count} ${name}`).join(" ");
}
