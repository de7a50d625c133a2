/**
 * Watching a wave. Wakes on reports and at deadlines, settles what moved, and returns only when the workflow must decide:
 * so ten thousand hosts cost a few hundred events of history.
 */
import { CHANNELS } from "../domain/channels.ts";
import { heldBy, type Holds } from "../domain/rollout/holds.ts";
import { isFinalPhase, isFinalState, isInFlight, type Direction, type Phase } from "../domain/rollout/phases.ts";
import { windowsAt } from "../domain/rollout/windows.ts";
import { transaction, type Db } from "../store/database.ts";
import { lastOfferAt, markRegressed } from "../store/observations.ts";
import { readSlots, refreshState, setWave } from "../store/rollout-state.ts";
import { setHolds } from "../store/controls.ts";
import { readRollout, readWaves, type RolloutRow, type WaveRow } from "../store/rollouts.ts";
import { countWave, openBackAttempts, type WaveCounts } from "../store/targets.ts";
import { mayOffer } from "./offering.ts";
import type { RolloutDeps } from "./rollout-deps.ts";
import { checkThreshold, settleRollout } from "./settle.ts";
import { createAlarm } from "./wake.ts";

export type WatchInput = {
  fleet: string;
  n: number;
  /** Null: the whole rollout, for going back and for draining. */
  k: number | null;
  direction: Direction;
  /** Holds that the workflow knows; it is told when they are others. */
  holds: string;
  /** Return after this time in any case. */
  quantumMs: number;
};
export type Seen = {
  /**
   * `slots_free`: offers can be opened. `done`: nothing of it is left to do. `ending`: the rollout ends otherwise.
   * `holds`: a hold came or went. `quantum`: nothing happened for long.
   */
  reason: "slots_free" | "done" | "ending" | "holds" | "quantum";
  holds: string;
  counts: Partial<Record<Phase, number>>;
};

export const holdsText = (holds: Holds): string => heldBy(holds).join(",");

export async function watchWave(deps: RolloutDeps, input: WatchInput): Promise<Seen> {
  const { pool, listener, now } = deps;
  const startedMs = now().getTime();
  const alarm = createAlarm(listener, {
    [CHANNELS.agents]: () => true,
    // Other rollouts of the fleet share its slots and its hosts.
    [CHANNELS.rollouts]: (payload) => payload.startsWith(`${input.fleet}/`),
  });
  try {
    for (;;) {
      const at = now();
      const settled = await settleRollout(pool, input.fleet, input.n, at);
      const look = await lookAt(deps, input, at);
      if (look.seen !== undefined) return look.seen;
      if (at.getTime() - startedMs >= input.quantumMs)
        return { reason: "quantum", holds: input.holds, counts: look.counts };
      await alarm.wait(at.getTime(), soonest(settled?.nextMs ?? null, look.nextMs));
    }
  } finally {
    alarm.close();
  }
}

const soonest = (...moments: (number | null)[]): number | null => {
  const known = moments.filter((moment) => moment !== null);
  return known.length === 0 ? null : Math.min(...known);
};

type Look = { seen?: Seen; counts: WaveCounts["phases"]; nextMs: number | null };

async function lookAt({ pool }: RolloutDeps, input: WatchInput, now: Date): Promise<Look> {
  const { fleet, n, k, direction } = input;
  const row = await readRollout(pool, fleet, n);
  const over = (reason: Seen["reason"], counts: Seen["counts"]): Look => ({
    seen: { reason, holds: row === undefined ? "" : holdsText(row.holds), counts },
    counts,
    nextMs: null,
  });
  if (row === undefined || isFinalState(row.state)) return over("ending", {});
  if (direction === "back" && row.ending === "rollback")
    await transaction(pool, (tx) => openBackAttempts(tx, fleet, n, now));
  const counts = await countWave(pool, { fleet, n, k, direction, now });
  if (await isEnding(pool, row, direction)) return over("ending", counts.phases);
  if (holdsText(row.holds) !== input.holds) return over("holds", counts.phases);
  const wave = k === null ? undefined : (await readWaves(pool, fleet, n)).find((one) => one.k === k);
  const left = judgeLeft(row, wave, counts, now);
  if (left.do === "hold") {
    await transaction(pool, (tx) => holdForOffline(tx, row, counts.offline, now));
    return { counts: counts.phases, nextMs: now.getTime() };
  }
  if (left.do === "end" && (direction === "forward" || !(await hasForwardInFlight(pool, row)))) {
    const baked = await bakeOrEnd(pool, row, wave, now);
    if (baked === null) return over("done", counts.phases);
    return { counts: counts.phases, nextMs: baked };
  }
  await noteWindow(pool, row, now);
  const free = await freeSlots(pool, row, direction, counts, now);
  if (free.can) return over("slots_free", counts.phases);
  return { counts: counts.phases, nextMs: soonest(free.nextMs, left.nextMs, counts.nextBeforeMs) };
}

/** The direction that is watched has come to its end, for another reason than being done. */
async function isEnding(db: Db, row: RolloutRow, direction: Direction): Promise<boolean> {
  if (row.ending === null) return direction === "back";
  if (row.ending === "supersede") return !(await hasForwardInFlight(db, row));
  return direction === "back" ? row.ending === "abort" : true;
}

async function hasForwardInFlight(db: Db, { fleet, n }: RolloutRow): Promise<boolean> {
  const { phases } = await countWave(db, { fleet, n, k: null, direction: "forward", now: new Date(0) });
  return Object.keys(phases).some((phase) => isInFlight(phase as Phase));
}

type Left = { do: "go_on" | "end" | "hold"; nextMs: number | null };

/** Is anything left to do? Hosts that are not connected are left behind, or waited for, as the policy says. */
function judgeLeft(row: RolloutRow, wave: WaveRow | undefined, counts: WaveCounts, now: Date): Left {
  const open = Object.entries(counts.phases).filter(([phase]) => !isFinalPhase(phase as Phase));
  if (open.length === 0) return { do: "end", nextMs: null };
  const pending = counts.phases.pending ?? 0;
  if (open.some(([phase]) => phase !== "pending") || pending > counts.offline) return { do: "go_on", nextMs: null };
  // Catch-up waits for nobody: its workflow starts again when a host is back.
  if (row.kind === "catch_up") return { do: "end", nextMs: null };
  const { action, afterMs } = row.policy.offline;
  if (afterMs === null || row.holds.operator !== undefined) return { do: "go_on", nextMs: null };
  const sinceMs = (wave === undefined ? row.failuresFrom : wave.startedAt)?.getTime() ?? now.getTime();
  if (now.getTime() < sinceMs + afterMs) return { do: "go_on", nextMs: sinceMs + afterMs };
  return { do: action === "skip" ? "end" : "hold", nextMs: null };
}

async function holdForOffline(tx: Db, row: RolloutRow, offline: number, now: Date): Promise<void> {
  const locked = await readRollout(tx, row.fleet, row.n, "update");
  if (locked === undefined || locked.holds.operator !== undefined) return;
  const reason = `${offline} hosts did not come back in time`;
  await setHolds(tx, locked, { ...locked.holds, operator: { at: now.toISOString(), by: "system", reason } });
  await refreshState(tx, row.fleet, row.n, now);
}

/** Ends the wave, or lets it bake first: then the moment to look again. */
async function bakeOrEnd(
  pool: RolloutDeps["pool"],
  row: RolloutRow,
  wave: WaveRow | undefined,
  now: Date,
): Promise<number | null> {
  if (wave === undefined || row.kind === "catch_up") return null;
  const { fleet, n } = row;
  const { k, bakeMs, bakeUntil } = wave;
  const isBaked = bakeMs === 0 || (bakeUntil !== null && now >= bakeUntil);
  await transaction(pool, async (tx) => {
    const locked = await readRollout(tx, fleet, n, "update");
    if (locked === undefined || isFinalState(locked.state)) return;
    if (wave.state === "baking" && (await markRegressed(tx, fleet, n, k, now)) > 0)
      await checkThreshold(tx, locked, new Set([k]), now);
    if (!isBaked && wave.state === "baking") return;
    await setWave(tx, fleet, n, k, isBaked ? "ended" : "baking", now);
    await refreshState(tx, fleet, n, now);
  });
  return isBaked ? null : (bakeUntil?.getTime() ?? now.getTime() + bakeMs);
}

/** A window that opened or closed while the wave ran shows in the state. */
async function noteWindow(pool: RolloutDeps["pool"], row: RolloutRow, now: Date): Promise<void> {
  const { open } = windowsAt(row.policy.windows, now.getTime());
  if (row.ending !== null || heldBy(row.holds).length > 0 || (row.state === "waiting_window") !== open) return;
  await transaction(pool, (tx) => refreshState(tx, row.fleet, row.n, now));
}

type Free = { can: boolean; nextMs: number | null };

/** A tenth of the cap free is worth a batch; single slots of a large cap wait for company, so that history stays short. */
async function freeSlots(db: Db, row: RolloutRow, direction: Direction, counts: WaveCounts, now: Date): Promise<Free> {
  if (!mayOffer(row, direction, now)) {
    const window = windowsAt(row.policy.windows, now.getTime());
    return { can: false, nextMs: window.open ? window.closesMs : window.opensMs };
  }
  if (counts.ready === 0) return { can: false, nextMs: null };
  const { cap, inFlight } = await readSlots(db, row);
  if (row.policy.spacingMs > 0) {
    const last = await lastOfferAt(db, row.fleet, row.n);
    const nextMs = last === null ? 0 : last.getTime() + row.policy.spacingMs;
    if (now.getTime() < nextMs) return { can: false, nextMs };
    return { can: cap > inFlight, nextMs: null };
  }
  return { can: cap - inFlight >= Math.min(Math.ceil(cap / 10), counts.ready), nextMs: null };
}
