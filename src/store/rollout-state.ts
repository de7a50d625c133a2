/**
 * The state of a rollout as its workflow holds it, and the one writer of state, reason and next. Each change announces
 * itself: `CHANNELS.rollouts` wakes observers, an event wakes pages.
 */
import { CHANNELS } from "../domain/channels.ts";
import { takeUp } from "../domain/gitops/share.ts";
import type { DecideView } from "../domain/rollout/decide.ts";
import { deriveState } from "../domain/rollout/derive-state.ts";
import type { ControlView } from "../domain/rollout/judge-control.ts";
import type { PhaseCounts, RolloutState, WaveState } from "../domain/rollout/phases.ts";
import { judgeThreshold, type ThresholdVerdict } from "../domain/rollout/threshold.ts";
import { windowsAt } from "../domain/rollout/windows.ts";
import { notify, type Db } from "./database.ts";
import { appendEvent } from "./events.ts";
import { getRollout, readRollout, readWaves, type RolloutRow, type WaveRow } from "./rollouts.ts";

/** What the workflow carries: plain JSON, a few hundred bytes, never a list of hosts. */
export type RolloutView = DecideView & {
  fleet: string;
  n: number;
  kind: "change" | "catch_up";
  commit: string;
  version: string | null;
  run: number;
  state: RolloutState;
  reason: string;
  next: { what: string; at: string | null } | null;
  counts: Partial<PhaseCounts>;
  total: number;
  control: ControlView;
};

const windowOf = (row: RolloutRow, now: Date): number | null => {
  const at = windowsAt(row.policy.windows, now.getTime());
  return at.open ? null : (at.opensMs ?? Number.MAX_SAFE_INTEGER);
};

/** Undefined when there is no such rollout. */
export async function readView(db: Db, fleet: string, n: number, now: Date): Promise<RolloutView | undefined> {
  const found = await getRollout(db, fleet, n);
  if (found === undefined) return undefined;
  const { counts, waves, total, policy } = found;
  const asked = waves.find((wave) => wave.state === "waiting_approval")?.askedAt ?? null;
  return {
    fleet,
    n,
    kind: found.kind,
    commit: found.commit,
    version: found.version,
    run: found.run,
    state: found.state,
    reason: found.reason,
    next: found.next === null ? null : { what: found.next.what, at: found.next.at?.toISOString() ?? null },
    holds: found.holds,
    ending: found.ending,
    prepared: found.preparedAt !== null,
    approvals: found.approvals,
    waves: waves.map(({ k, name, approval, state, bakeMs }) => ({ k, name, approval, state, bakeMs })),
    counts: Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)),
    total,
    inFlight: total - counts.pending - counts.succeeded - counts.failed - counts.rolled_back - counts.cancelled,
    succeeded: counts.succeeded,
    approvalDeadlineMs:
      asked === null || policy.approvalTimeoutMs === null ? null : asked.getTime() + policy.approvalTimeoutMs,
    windowOpensMs: windowOf(found, now),
    control: found.control,
  };
}

/** Derives state, reason and next again from the rows, and announces the rollout. Call it after every change. */
export async function refreshState(tx: Db, fleet: string, n: number, now: Date): Promise<void> {
  const row = await readRollout(tx, fleet, n);
  if (row === undefined) return;
  const waves = await readWaves(tx, fleet, n);
  const derived = deriveState({
    ...row,
    prepared: row.preparedAt !== null,
    waves: waves.map(toFacts),
    ...limits(row, now),
  });
  const wave = waves.find(({ state }) => state === "running" || state === "baking" || state === "waiting_approval");
  await tx.query(
    `update rollouts set state = $3, reason = $4, next_what = $5, next_at = $6, wave = $7,
        started_at = case when $3 in ('running', 'baking') then coalesce(started_at, $8) else started_at end
      where fleet = $1 and n = $2`,
    [
      fleet,
      n,
      derived.state,
      derived.reason,
      derived.next?.what ?? null,
      derived.next?.atMs === null || derived.next === null ? null : new Date(derived.next.atMs),
      wave?.k ?? null,
      now,
    ],
  );
  await announce(tx, fleet, n, derived.state);
}

const toFacts = ({ k, name, approval, state, askedAt, bakeUntil }: WaveRow) => ({
  k,
  name,
  approval,
  state,
  askedMs: askedAt?.getTime() ?? null,
  bakeUntilMs: bakeUntil?.getTime() ?? null,
});

function limits(row: RolloutRow, now: Date): { approvalTimeoutMs: number | null; closedUntilMs?: number | null } {
  const at = windowsAt(row.policy.windows, now.getTime());
  return { approvalTimeoutMs: row.policy.approvalTimeoutMs, ...(at.open ? {} : { closedUntilMs: at.opensMs }) };
}

/** Tells observers and pages that something of this rollout changed; they read the rows. */
export async function announce(tx: Db, fleet: string, n: number, state: RolloutState): Promise<void> {
  await notify(tx, CHANNELS.rollouts, `${fleet}/${n}`);
  await appendEvent(tx, `rollout:${fleet}/${n}`, { fleet, n, state });
}

/** Marks the artifacts as ready. */
export async function markPrepared(tx: Db, fleet: string, n: number, now: Date): Promise<void> {
  await tx.query("update rollouts set prepared_at = coalesce(prepared_at, $3) where fleet = $1 and n = $2", [
    fleet,
    n,
    now,
  ]);
  await refreshState(tx, fleet, n, now);
}

export async function setWave(
  tx: Db,
  fleet: string,
  n: number,
  k: number,
  state: WaveState,
  now: Date,
  size?: number,
): Promise<void> {
  await tx.query(
    `update waves set state = $4, size = coalesce($6, size),
        asked_at = case when $4 = 'waiting_approval' then coalesce(asked_at, $5) else asked_at end,
        started_at = case when $4 = 'running' then coalesce(started_at, $5) else started_at end,
        bake_until = case when $4 = 'baking' then coalesce(bake_until, $5::timestamptz + bake_ms * interval '1 ms') else bake_until end,
        finished_at = case when $4 in ('ended', 'skipped', 'cancelled') then $5 else null end
      where fleet = $1 and n = $2 and k = $3`,
    [fleet, n, k, state, now, size ?? null],
  );
}

/** Checks the failures of a wave and of its rollout against the policy. Call it with the rollout's row locked. */
export async function judgeTallies(tx: Db, row: RolloutRow, k: number | null): Promise<ThresholdVerdict> {
  const { rows } = await tx.query<{ wave: number; rollout: number; size: number | null; returning: number }>(
    `select count(distinct host) filter (where wave = $3)::int as wave, count(distinct host)::int as rollout,
        (select size from waves where fleet = $1 and n = $2 and k = $3) as size,
        (select count(distinct host)::int from attempts where fleet = $1 and n = $2 and direction = 'back') as returning
       from attempts
      where fleet = $1 and n = $2 and direction = $5 and (phase in ('failed', 'rolled_back') or regressed_at is not null)
        and coalesce(failure_class, '') <> 'withdrawn' and code is distinct from 'moved' and coalesce(regressed_at, finished_at) > $4`,
    [row.fleet, row.n, k, row.failuresFrom ?? "-infinity", row.ending === "rollback" ? "back" : "forward"],
  );
  const tally = rows[0] ?? { wave: 0, rollout: 0, size: 0, returning: 0 };
  // Going back has no waves: the share of a wave is taken of all that return.
  if (row.ending === "rollback") {
    const all = { size: tally.returning, failures: tally.rollout };
    return judgeThreshold(row.policy.threshold, { wave: all, rollout: all });
  }
  return judgeThreshold(row.policy.threshold, {
    wave: { size: tally.size ?? row.size, failures: k === null ? 0 : tally.wave },
    rollout: { size: row.size, failures: tally.rollout },
  });
}

/** How many targets of this fleet may be in flight, and how many are, over all of its rollouts. */
export async function readSlots(db: Db, row: RolloutRow): Promise<{ cap: number; inFlight: number }> {
  const { rows } = await db.query<{ hosts: number; inFlight: number }>(
    `select (select count(*)::int from wanted where fleet = $1) as hosts,
        (select count(*)::int from attempts where fleet = $1 and finished_at is null and phase <> 'pending'
          and code is distinct from 'moved') as "inFlight"`,
    [row.fleet],
  );
  const { hosts, inFlight } = rows[0] ?? { hosts: 0, inFlight: 0 };
  const share = row.policy.maxConcurrent;
  const cap = "count" in share ? Math.max(1, share.count) : takeUp(share, Math.max(hosts, row.size, 1));
  return { cap, inFlight };
}
