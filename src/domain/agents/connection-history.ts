/**
 * Which connection events are worth a row. The history shows changes: an agent that goes and comes within one batch did not
 * change, and one that flaps gets a single line until it has been quiet for a while (decisions, "Server").
 */
export type ConnectionChange = { at: Date; event: "connected" | "disconnected"; detail: string };
export type HistoryRow = { at: Date; event: "connected" | "disconnected" | "flapping"; detail: string };
export type Flapping = { recentMs: readonly number[]; flapping: boolean };

const WINDOW_MS = 60_000;
const MAX_CHANGES = 6;

export const QUIET: Flapping = { recentMs: [], flapping: false };

/** `changes`: of one agent since the last batch, in their order. */
export function worthARow(
  changes: readonly ConnectionChange[],
  before: Flapping,
): { rows: HistoryRow[]; after: Flapping } {
  const last = changes.at(-1);
  if (last === undefined) return { rows: [], after: before };
  const nowMs = last.at.getTime();
  const recentMs = [...before.recentMs, ...changes.map(({ at }) => at.getTime())]
    .filter((ms) => nowMs - ms < WINDOW_MS)
    .slice(-MAX_CHANGES - 1);
  const flapping = recentMs.length > MAX_CHANGES;
  const after = { recentMs, flapping };
  if (flapping && before.flapping) return { rows: [], after };
  if (flapping)
    return { rows: [{ at: last.at, event: "flapping", detail: "comes and goes; single changes are left out" }], after };
  return { rows: netChanges(changes), after };
}

/** Pairs of going and coming within the batch cancel each other. */
function netChanges(changes: readonly ConnectionChange[]): ConnectionChange[] {
  const first = changes[0];
  const last = changes.at(-1);
  if (first === undefined || last === undefined) return [];
  // It ends as it began: connected all along, or never there.
  if (first.event !== last.event && changes.length > 1) return [];
  return [last];
}
