/**
 * Maintenance windows (gitops-schema): by the wall clock of their zone, over midnight and the week's end; `days` is the
 * day of the start. A start in a daylight-saving gap moves to the gap's end; an hour that exists twice is open twice.
 */
import { DateTime } from "luxon";
import type { Window } from "./policy.ts";

const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;
/** A window that opens once a week opens within eight days, also when a gap swallowed one opening. */
const LOOK_AHEAD_DAYS = 15;

export type WindowState = { open: true; closesMs: number | null } | { open: false; opensMs: number | null };
type Span = { from: number; to: number };

/** Whether offers may be made at `nowMs`, and when that changes. No windows: always. */
export function windowsAt(windows: readonly Window[], nowMs: number): WindowState {
  if (windows.length === 0) return { open: true, closesMs: null };
  const spans = merge(windows.flatMap((window) => spansOf(window, nowMs)));
  const now = spans.find((span) => span.from <= nowMs && nowMs < span.to);
  if (now !== undefined) return { open: true, closesMs: now.to };
  return { open: false, opensMs: spans.find((span) => span.from > nowMs)?.from ?? null };
}

function spansOf({ days, start, end, timezone }: Window, nowMs: number): Span[] {
  const today = DateTime.fromMillis(nowMs, { zone: timezone }).startOf("day");
  const spans: Span[] = [];
  for (let offset = -2; offset <= LOOK_AHEAD_DAYS; offset += 1) {
    const day = today.plus({ days: offset });
    const name = DAYS[day.weekday - 1];
    if (name === undefined || !days.includes(name)) continue;
    const from = instant(day, start);
    const to = instant(
      end === "24:00" || end <= start ? day.plus({ days: 1 }) : day,
      end === "24:00" ? "00:00" : end,
      true,
    );
    if (to > from) spans.push({ from, to });
  }
  return spans;
}

/** The instant of a wall-clock time. In a gap it is the gap's end; of an hour that exists twice the first, or the last for an end. */
function instant(day: DateTime, clock: string, isEnd = false): number {
  const [hour = 0, minute = 0] = clock.split(":").map(Number);
  const at = day.set({ hour, minute });
  // luxon moves a time that does not exist forward by the gap: the gap ends where the offset changed.
  if (at.hour !== hour || at.minute !== minute) return gapEnd(at);
  const others = at.getPossibleOffsets().map((other) => other.toMillis());
  return isEnd ? Math.max(...others) : Math.min(...others);
}

function gapEnd(after: DateTime): number {
  let low = after.minus({ hours: 4 }).toMillis();
  let high = after.toMillis();
  const offsetAt = (ms: number): number => DateTime.fromMillis(ms, { zone: after.zone }).offset;
  const wanted = offsetAt(high);
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(middle) === wanted) high = middle;
    else low = middle;
  }
  return high;
}

function merge(spans: readonly Span[]): Span[] {
  const merged: Span[] = [];
  for (const span of spans.toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1);
    if (last !== undefined && span.from <= last.to) last.to = Math.max(last.to, span.to);
    else merged.push({ ...span });
  }
  return merged;
}
