/**
 * One pass over the attempts of a rollout that are in flight: judge each by what its host reports, write what follows, and
 * stop the rollout at once when too many failed. Every pass is one transaction at most.
 */
import { UNANSWERED_MS } from "../domain/agents/config-state.ts";
import { describeThreshold } from "../domain/rollout/threshold.ts";
import { judgeAttempt } from "../domain/rollout/judge-attempt.ts";
import { isFinalState } from "../domain/rollout/phases.ts";
import type { FrozenPolicy } from "../domain/rollout/policy.ts";
import { applyMoves, readInFlight, type InFlight, type Move } from "../store/attempts.ts";
import { appendAudit } from "../store/audit.ts";
import { setEnding, setHolds, unsend } from "../store/controls.ts";
import { transaction, type Db, type Pool } from "../store/database.ts";
import { judgeTallies, refreshState } from "../store/rollout-state.ts";
import { readRollout, type RolloutRow } from "../store/rollouts.ts";

export type Settled = {
  /** Attempts that moved, among them notes that change no phase. */
  moved: number;
  inFlight: number;
  /** When the next deadline or health wait is over. */
  nextMs: number | null;
};

/** Judges and writes. Undefined when there is no such rollout. */
export async function settleRollout(pool: Pool, fleet: string, n: number, now: Date): Promise<Settled | undefined> {
  const row = await readRollout(pool, fleet, n);
  if (row === undefined) return undefined;
  const inFlight = await readInFlight(pool, fleet, n);
  const moves = inFlight.flatMap((from): Move[] => {
    const to = judgeOne(from, row.policy, now);
    return to === undefined ? [] : [{ from, to }];
  });
  const applied = moves.length === 0 ? [] : await transaction(pool, (tx) => writeMoves(tx, row, moves, now));
  return { moved: applied.length, inFlight: inFlight.length, nextMs: nextMoment(inFlight, row.policy, now.getTime()) };
}

const judgeOne = ({ target, facts, offer, collector, updater }: InFlight, policy: FrozenPolicy, now: Date) =>
  judgeAttempt({ target, attempt: facts, offer, collector, updater, timing: policy, nowMs: now.getTime() });

async function writeMoves(tx: Db, { fleet, n }: RolloutRow, moves: readonly Move[], now: Date): Promise<Move[]> {
  const row = await readRollout(tx, fleet, n, "update");
  if (row === undefined) return [];
  const applied = await applyMoves(tx, fleet, n, moves, now);
  const visible = applied.filter(({ from, to }) => to.phase !== from.facts.phase || to.progress === true);
  const failed = applied.filter(({ to }) => to.phase === "failed" || to.phase === "rolled_back");
  if (failed.length > 0) await checkThreshold(tx, row, new Set(failed.map(({ from }) => from.wave)), now);
  if (visible.length > 0) await refreshState(tx, fleet, n, now);
  return applied;
}

/** Holds or ends the rollout when a wave of these, or all of it, has more failures than its policy allows. */
export async function checkThreshold(
  tx: Db,
  row: RolloutRow,
  waves: ReadonlySet<number | null>,
  now: Date,
): Promise<boolean> {
  if (isFinalState(row.state) || row.ending === "abort" || row.ending === "supersede") return false;
  if (row.holds.threshold !== undefined) return false;
  for (const k of waves) {
    const verdict = await judgeTallies(tx, row, k);
    if (!verdict.broken) continue;
    await stopFor(tx, row, describeThreshold(verdict), now);
    return true;
  }
  return false;
}

async function stopFor(tx: Db, row: RolloutRow, reason: string, now: Date): Promise<void> {
  // Going back, and catching up, have nothing to return to: they wait for a person.
  const action = row.ending === "rollback" || row.kind === "catch_up" ? "pause" : row.policy.onThreshold;
  if (action === "pause")
    await setHolds(tx, row, { ...row.holds, threshold: { at: now.toISOString(), by: "system", reason } });
  else await setEnding(tx, row, action);
  if (action === "rollback") await setHolds(tx, row, row.holds, now);
  await unsend(tx, row, now);
  const object = `rollout/${row.fleet}/${row.n}`;
  const detail = { reason, action };
  await appendAudit(tx, { principal: "system", action: "rollout.threshold", object, outcome: "accepted", detail }, now);
  await refreshState(tx, row.fleet, row.n, now);
}

function nextMoment(inFlight: readonly InFlight[], policy: FrozenPolicy, nowMs: number): number | null {
  const moments = inFlight.flatMap(({ facts, collector }) => {
    const isCounting = facts.phase === "health_wait" && facts.healthFromMs !== null && collector?.connected === true;
    const healthy = isCounting ? [(facts.healthFromMs ?? 0) + policy.healthWaitMs] : [];
    const longest = policy.targetMaxTimeMs === null ? [] : [facts.offeredMs + policy.targetMaxTimeMs];
    // A configuration that nobody answers for is judged by what the collector runs.
    const unansweredMs = facts.sinceMs + UNANSWERED_MS;
    const isAsked = facts.part === "config" && (facts.phase === "offered" || facts.phase === "rolling_back");
    const unanswered = isAsked && unansweredMs > nowMs ? [unansweredMs] : [];
    return [...healthy, ...longest, ...unanswered, ...(facts.deadlineMs === null ? [] : [facts.deadlineMs])];
  });
  return moments.length === 0 ? null : Math.min(...moments);
}
