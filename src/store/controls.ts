/**
 * One control in one transaction: judged on the locked row, applied, audited, announced, and its answer kept under the
 * idempotency key. API and worker both come here, so a pause holds whether or not a worker lives.
 */
import { describeHolds, clearedHolds, type HoldEntry, type Holds } from "../domain/rollout/holds.ts";
import {
  judgeControl,
  type ApprovalEntry,
  type ControlAsk,
  type ControlName,
} from "../domain/rollout/judge-control.ts";
import { isFinalState, type Ending, type RolloutState } from "../domain/rollout/phases.ts";
import { appendAudit } from "./audit.ts";
import { transaction, type Db, type Pool } from "./database.ts";
import { refreshState } from "./rollout-state.ts";
import { lockFleet, MAY_RETRY, readControlView, readRollout, readWaves, type RolloutRow } from "./rollouts.ts";

export type ControlCall = ControlAsk & {
  fleet: string;
  n: number;
  /** The same key never takes effect twice. */
  key: string;
  /** What a raw signal says of its sender. */
  claimed?: string | undefined;
};
export type Applied =
  | { outcome: "applied"; changed: boolean; state: RolloutState; message: string; reopened: boolean }
  | { outcome: "refused"; code: "control_conflict" | "reason_required" | "not_found"; because: string };

/** Applies `call` at most once. A refusal is audited too and changes nothing. */
export async function applyControl(pool: Pool, call: ControlCall, now: Date): Promise<Applied> {
  return transaction(pool, async (tx) => {
    const { fleet, n, control } = call;
    const before = await recall(tx, call);
    if (before !== undefined) return before;
    // Planner, end of a rollout and this take their locks in one order: fleet, then rollout.
    if (control === "retry" || control === "rollback") await lockFleet(tx, fleet);
    const row = await readRollout(tx, fleet, n, "update");
    if (row === undefined) return refuse(tx, call, "not_found", `rollout ${fleet}/${n} does not exist`, now);
    const waves = await readWaves(tx, fleet, n);
    const verdict = judgeControl(await readControlView(tx, row, waves), call);
    if (verdict.do === "refuse") return refuse(tx, call, verdict.code, verdict.because, now);
    const reopened = verdict.do === "apply" && isFinalState(row.state);
    if (verdict.do === "apply") await EFFECTS[control](tx, row, call, now);
    if (verdict.do === "apply") await refreshState(tx, fleet, n, now);
    const after = (await readRollout(tx, fleet, n)) ?? row;
    const changed = verdict.do === "apply";
    const message = verdict.do === "nothing" ? verdict.message : describe(control, row.holds, after);
    const applied: Applied = { outcome: "applied", changed, state: after.state, message, reopened };
    await appendAudit(tx, { ...auditOf(call), outcome: "accepted", detail: { ...detailOf(call), changed } }, now);
    await tx.query("insert into idempotency (key, principal, action, answer, at) values ($1, $2, $3, $4, $5)", [
      keyOf(call),
      call.principal,
      actionOf(call),
      JSON.stringify(applied),
      now,
    ]);
    return applied;
  });
}

const actionOf = ({ control }: ControlCall): string => `rollout.${control}`;
/** A key is one person's and one action's: somebody else's key is another. */
const keyOf = (call: ControlCall): string => `control:${call.fleet}/${call.n}/${call.control}/${call.key}`;
const detailOf = ({ wave, reason, via }: ControlCall): Record<string, unknown> => ({
  via,
  ...(wave === undefined ? {} : { wave }),
  ...(reason === undefined || reason === "" ? {} : { reason }),
});
const auditOf = (call: ControlCall) => ({
  principal: call.principal,
  claimed: call.claimed,
  action: actionOf(call),
  object: `rollout/${call.fleet}/${call.n}`,
});

/** What the same call was answered before; undefined when it is new. */
export async function recallControl(db: Db, call: ControlCall): Promise<Applied | undefined> {
  const { rows } = await db.query<{ answer: Applied }>("select answer from idempotency where key = $1", [keyOf(call)]);
  return rows[0]?.answer;
}

async function recall(tx: Db, call: ControlCall): Promise<Applied | undefined> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended($1, 7))", [keyOf(call)]);
  return recallControl(tx, call);
}

async function refuse(
  tx: Db,
  call: ControlCall,
  code: "control_conflict" | "reason_required" | "not_found",
  because: string,
  now: Date,
): Promise<Applied> {
  await appendAudit(tx, { ...auditOf(call), outcome: "refused", code, detail: { ...detailOf(call), because } }, now);
  return { outcome: "refused", code, because };
}

function describe(control: ControlName, holds: Holds, after: RolloutRow): string {
  if (control === "resume") return `cleared: ${describeHolds(holds)}`;
  return after.next === null ? after.reason : `${after.reason}; next: ${after.next.what}`;
}

type Effect = (tx: Db, row: RolloutRow, call: ControlCall, now: Date) => Promise<void>;
const EFFECTS: Record<ControlName, Effect> = {
  pause: async (tx, row, call, now) => {
    await setHolds(tx, row, { ...row.holds, operator: entryOf(call, now) });
    await unsend(tx, row, now);
  },
  resume: async (tx, row, _call, now) => {
    await setHolds(tx, row, clearedHolds(row.holds), row.holds.threshold === undefined ? undefined : now);
    if (row.holds.approval_timeout !== undefined)
      await tx.query("update waves set asked_at = $3 where fleet = $1 and n = $2 and state = 'waiting_approval'", [
        row.fleet,
        row.n,
        now,
      ]);
  },
  abort: async (tx, row, _call, now) => {
    await setEnding(tx, row, "abort");
    await unsend(tx, row, now);
  },
  approve: async (tx, row, call, now) => {
    const waves = await readWaves(tx, row.fleet, row.n);
    const wave = waves.find(({ state }) => state === "waiting_approval");
    if (wave === undefined) return;
    const entry: ApprovalEntry = { principal: call.principal, at: now.toISOString(), reason: call.reason ?? "" };
    const approvals = { ...row.approvals, [wave.k]: [...(row.approvals[String(wave.k)] ?? []), entry] };
    await tx.query("update rollouts set approvals = $3 where fleet = $1 and n = $2", [
      row.fleet,
      row.n,
      JSON.stringify(approvals),
    ]);
  },
  retry: async (tx, row, _call, now) => {
    await setHolds(tx, row, clearedHolds(row.holds), now);
    if (isFinalState(row.state)) await reopen(tx, row, null);
    await retryTargets(tx, row, now);
  },
  rollback: async (tx, row, _call, now) => {
    await setHolds(tx, row, clearedHolds(row.holds), now);
    await unsend(tx, row, now);
    if (isFinalState(row.state)) await reopen(tx, row, "rollback");
    else await setEnding(tx, row, "rollback");
  },
};

const entryOf = (call: ControlCall, now: Date): HoldEntry => ({
  at: now.toISOString(),
  by: call.principal,
  reason: call.reason ?? "",
});

/** `countFrom`: both failure counts start at zero from then on. */
export async function setHolds(tx: Db, row: RolloutRow, holds: Holds, countFrom?: Date): Promise<void> {
  await tx.query(
    "update rollouts set holds = $3, failures_from = coalesce($4, failures_from) where fleet = $1 and n = $2",
    [row.fleet, row.n, JSON.stringify(holds), countFrom ?? null],
  );
}

export const setEnding = (tx: Db, row: RolloutRow, ending: Ending): Promise<unknown> =>
  tx.query("update rollouts set ending = $3 where fleet = $1 and n = $2", [row.fleet, row.n, ending]);

/** Forward offers that were opened and not sent go back to `pending`; a target between its two parts goes on. */
export async function unsend(tx: Db, row: RolloutRow, now: Date): Promise<void> {
  await tx.query(
    `with closed as (
       update offers o set closed_at = $3, close_reason = 'held before it was sent'
        where o.fleet = $1 and o.n = $2 and o.direction = 'forward' and o.sent_at is null and o.closed_at is null
          and not exists (select from offers e where e.fleet = o.fleet and e.n = o.n and e.host = o.host
            and e.attempt = o.attempt and e.sent_at is not null)
        returning o.host, o.attempt)
     update attempts a set phase = 'pending', part = null, since = $3, offered_at = null, deadline_at = null
       from closed where a.fleet = $1 and a.n = $2 and a.host = closed.host and a.attempt = closed.attempt
        and a.phase = 'offered'`,
    [row.fleet, row.n, now],
  );
}

/** A finished rollout runs again, as the next run of the same workflow id. Its hold on the change is lifted. */
async function reopen(tx: Db, row: RolloutRow, ending: Ending | null): Promise<void> {
  await tx.query(
    `update rollouts set run = run + 1, state = case when $3::text is null then 'preparing' else 'rolling_back' end,
        ending = $3, finished_at = null, approvals = case when state = 'aborted' then '{}' else approvals end,
        prepared_at = case when $3::text is null and kind = 'change' then null else prepared_at end
      where fleet = $1 and n = $2`,
    [row.fleet, row.n, ending],
  );
  if (ending === null)
    await tx.query("update waves set asked_at = null, bake_until = null where fleet = $1 and n = $2", [
      row.fleet,
      row.n,
    ]);
  await tx.query("update fleets set held = null where name = $1 and (held->>'n')::int = $2", [row.fleet, row.n]);
}

/**
 * The next attempt for every target that did not succeed. While a rollout runs they join the wave that it is in; a finished
 * one goes through the waves that they belong to again, and waves that never began begin.
 */
async function retryTargets(tx: Db, row: RolloutRow, now: Date): Promise<void> {
  const ended = isFinalState(row.state);
  const wave = ended ? null : await currentWave(tx, row);
  await tx.query(
    `with again as (
       update targets t set attempt = t.attempt + 1, wave = coalesce($4, t.wave)
         from attempts a
        where t.fleet = $1 and t.n = $2 and a.fleet = t.fleet and a.n = t.n and a.host = t.host and a.attempt = t.attempt
          and a.finished_at is not null and not (a.direction = 'forward' and a.phase = 'succeeded') and ${MAY_RETRY}
        returning t.host, t.attempt, t.wave, a.not_before)
     insert into attempts (fleet, n, host, attempt, direction, wave, since, progress_at, not_before)
     select $1, $2, host, attempt, 'forward', wave, $3, $3, not_before from again`,
    [row.fleet, row.n, now, wave],
  );
  if (!ended) return;
  await tx.query(
    `update waves w set state = case when $2 = 0 then 'running' else 'pending' end, finished_at = null where w.fleet = $1 and w.n = $2
        and (w.state in ('cancelled', 'skipped', 'waiting_approval', 'running', 'baking') or exists (select from attempts a
          where a.fleet = w.fleet and a.n = w.n and a.wave = w.k and a.finished_at is null))`,
    [row.fleet, row.n],
  );
}

/** k of the wave that is running, else of the next that will. */
async function currentWave(tx: Db, row: RolloutRow): Promise<number | null> {
  const waves = await readWaves(tx, row.fleet, row.n);
  const running = waves.find(({ state }) => state === "running" || state === "baking");
  const next = waves.find(({ state }) => state === "waiting_approval" || state === "pending");
  return (running ?? next ?? waves.at(-1))?.k ?? null;
}
