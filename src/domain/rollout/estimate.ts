/**
 * When the waves of a plan would start and end under today's windows: what preview and `myrctl plan` show. An estimate:
 * each host takes its health wait and five minutes (the figure of `finishInWindow` before there are measurements),
 * approvals come at once, nothing fails, nobody is offline.
 */
import type { FrozenPolicy, Window } from "./policy.ts";
import { windowsAt, type WindowState } from "./windows.ts";

/** What an update takes beside its health wait, until a rollout has measured it. */
export const ASSUMED_HOST_MS = 5 * 60_000;

export type WaveTimes = { startsMs: number | null; endsMs: number | null };
type Timing = Pick<FrozenPolicy, "healthWaitMs" | "spacingMs"> & { windows: readonly Window[] };
export type EstimatedWave = { size: number; bakeMs: number };

/**
 * `cap`: hosts in flight at once. A wave of nobody takes no time and has no times. Null from where no window ever opens.
 */
export function estimateWaves(
  policy: Timing,
  waves: readonly EstimatedWave[],
  cap: number,
  nowMs: number,
): WaveTimes[] {
  const windows = createWindows(policy.windows);
  const hostMs = policy.healthWaitMs + ASSUMED_HOST_MS;
  let atMs: number | null = nowMs;
  return waves.map(({ size, bakeMs }) => {
    if (size === 0 || atMs === null) return { startsMs: null, endsMs: null };
    const startsMs = windows.open(atMs);
    let lastMs: number | null = startsMs;
    for (let left = size, at = startsMs; left > 0;) {
      lastMs = at === null ? null : windows.open(at);
      if (lastMs === null) break;
      const batch = Math.min(left, cap);
      left -= batch;
      // The last of a batch starts when the spacing has let all of it through; the next batch when slots are free.
      lastMs += (batch - 1) * policy.spacingMs + hostMs;
      at = lastMs;
    }
    atMs = lastMs === null ? null : lastMs + bakeMs;
    return { startsMs, endsMs: atMs };
  });
}

/** The first open moment from an instant on; what was looked up last is kept, because it is asked batch by batch. */
function createWindows(windows: readonly Window[]): { open: (ms: number) => number | null } {
  let known: { fromMs: number; state: WindowState } | undefined;
  const stateAt = (ms: number): WindowState => {
    const untilMs = known?.state.open === true ? (known.state.closesMs ?? Number.POSITIVE_INFINITY) : undefined;
    if (known !== undefined && untilMs !== undefined && known.fromMs <= ms && ms < untilMs) return known.state;
    known = { fromMs: ms, state: windowsAt(windows, ms) };
    return known.state;
  };
  return {
    open: (ms) => {
      const state = stateAt(ms);
      return state.open ? ms : state.opensMs;
    },
  };
}
