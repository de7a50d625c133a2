/** What a plan writes: rollouts with their waves and targets, joiners, and the standing catch-up of a fleet. */
import type { LeftOut, PlanTarget } from "../domain/rollout/plan.ts";
import type { FrozenPolicy } from "../domain/rollout/policy.ts";
import { appendAudit } from "./audit.ts";
import type { Db } from "./database.ts";
import { refreshState } from "./rollout-state.ts";
import { readRollout, type FleetRow } from "./rollouts.ts";

export type NewRollout = {
  fleet: string;
  wantedKey: string;
  commit: string;
  distribution: string | null;
  version: string | null;
  policy: FrozenPolicy;
  targets: readonly PlanTarget[];
  /** Who would get it and may not: named on the rollout's page, ended before it begins. */
  leftOut?: readonly LeftOut[];
};

/** Creates the next rollout of a fleet whose row the caller has locked. Returns its n. */
export async function createRollout(tx: Db, row: FleetRow, it: NewRollout, now: Date): Promise<number> {
  const n = row.nextN;
  await tx.query(
    `insert into rollouts (fleet, n, kind, wanted_key, commit, distribution, version, policy, size, created_at)
     values ($1, $2, 'change', $3, $4, $5, $6, $7, $8, $9)`,
    [
      it.fleet,
      n,
      it.wantedKey,
      it.commit,
      it.distribution,
      it.version,
      JSON.stringify(it.policy),
      it.targets.length,
      now,
    ],
  );
  await tx.query(
    `insert into waves (fleet, n, k, name, up_to, selects, approval, bake_ms)
     select $1, $2, w.k, w.name, w."upTo", w.selects, w.approval, w."bakeMs"
       from jsonb_to_recordset($3) as w(k int, name text, "upTo" jsonb, selects boolean, approval text, "bakeMs" bigint)`,
    [it.fleet, n, JSON.stringify(it.policy.waves.map((wave, k) => ({ ...wave, k, selects: wave.selector !== null })))],
  );
  await insertTargets(tx, it.fleet, n, it.targets, { from: 0, joined: false, wave: null, now });
  await insertLeftOut(tx, it, n, now);
  await tx.query("update fleets set next_n = next_n + 1 where name = $1", [it.fleet]);
  const { leftOut = [] } = it;
  const left = leftOut.length === 0 ? {} : { leftOut: leftOut.length };
  const detail = { commit: it.commit, version: it.version, targets: it.targets.length, ...left };
  await appendAudit(
    tx,
    { principal: "system", action: "rollout.plan", object: `rollout/${it.fleet}/${n}`, outcome: "accepted", detail },
    now,
  );
  await refreshState(tx, it.fleet, n, now);
  return n;
}

type Insert = { from: number; joined: boolean; wave: number | null; now: Date };

async function insertTargets(
  tx: Db,
  fleet: string,
  n: number,
  targets: readonly PlanTarget[],
  at: Insert,
): Promise<void> {
  if (targets.length === 0) return;
  await tx.query(
    `with t as (
       insert into targets (fleet, n, host, host_name, ord, wave, from_version, from_config_hash, to_version, to_config_hash,
         way_back, unhealthy_before, matches, joined)
       select $1, $2, t.host, t."hostName", t.ord, $5, t."fromVersion", decode(t."fromConfig", 'hex'), t."toVersion",
         decode(t."toConfig", 'hex'), t."wayBack", t."unhealthyBefore", t.matches, $4
         from jsonb_to_recordset($3) as t(host uuid, "hostName" text, ord int, "fromVersion" text, "fromConfig" text,
           "toVersion" text, "toConfig" text, "wayBack" text, "unhealthyBefore" text[], matches int[])
       on conflict do nothing returning host, attempt)
     insert into attempts (fleet, n, host, attempt, direction, wave, since, progress_at)
     select $1, $2, host, attempt, 'forward', $5, $6, $6 from t`,
    [
      fleet,
      n,
      JSON.stringify(targets.map((target, i) => ({ ...target, ord: at.from + i }))),
      at.joined,
      at.wave,
      at.now,
    ],
  );
}

/** Targets that were cancelled before the rollout began: they count for no share and no threshold. */
async function insertLeftOut(tx: Db, it: NewRollout, n: number, now: Date): Promise<void> {
  const { fleet, targets, leftOut = [] } = it;
  if (leftOut.length === 0) return;
  await tx.query(
    `with x as (select * from jsonb_to_recordset($3) as x(host uuid, "hostName" text, code text, message text, ord int)),
     t as (
       insert into targets (fleet, n, host, host_name, ord, from_version, from_config_hash, to_version)
       select $1, $2, x.host, x."hostName", x.ord, nullif(c.version, ''), c.remote_config_hash,
           case when x.code = 'downgrade_not_allowed' then $4 end
         from x join agents c on c.uid = x.host on conflict do nothing returning host, attempt)
     insert into attempts (fleet, n, host, attempt, direction, phase, code, error, since, progress_at, finished_at)
     select $1, $2, t.host, t.attempt, 'forward', 'cancelled', x.code, x.message, $5, $5, $5 from t join x using (host)`,
    [fleet, n, JSON.stringify(leftOut.map((one, i) => ({ ...one, ord: targets.length + i }))), it.version, now],
  );
}

/** Hosts that came after the plan go to the last wave, at its end; they count for no share. */
export async function joinRollout(
  tx: Db,
  fleet: string,
  n: number,
  targets: readonly PlanTarget[],
  now: Date,
): Promise<void> {
  if (targets.length === 0) return;
  const { rows } = await tx.query<{ last: number; next: number; running: boolean }>(
    `select (select max(k) from waves where fleet = $1 and n = $2) as last,
        (select coalesce(max(ord) + 1, 0) from targets where fleet = $1 and n = $2) as next,
        exists (select from waves where fleet = $1 and n = $2 and state in ('running', 'baking')
          and k = (select max(k) from waves where fleet = $1 and n = $2)) as running`,
    [fleet, n],
  );
  const at = rows[0];
  if (at === undefined) return;
  await insertTargets(tx, fleet, n, targets, { from: at.next, joined: true, wave: at.running ? at.last : null, now });
  await refreshState(tx, fleet, n, now);
}

export type CatchUpPlan = Omit<NewRollout, "wantedKey" | "leftOut">;

/** The standing catch-up of a fleet takes these hosts, each as its next attempt. Hosts that it is busy with stay as they are. */
export async function planCatchUp(tx: Db, it: CatchUpPlan, now: Date): Promise<void> {
  const standing = await readRollout(tx, it.fleet, 0, "update");
  // A person has aborted it: that ends first, and is seen by the next plan.
  if (standing !== undefined && standing.ending !== null && standing.finishedAt === null) return;
  await tx.query(
    `insert into rollouts (fleet, n, kind, wanted_key, commit, distribution, version, policy, size, created_at, state, prepared_at, holds)
     values ($1, 0, 'catch_up', 'catch-up', $2, $3, $4, $5, $6, $7, 'running', $7, coalesce(revoked_hold($3, $4), '{}'))
     on conflict (fleet, n) do update set commit = excluded.commit, distribution = excluded.distribution,
       version = excluded.version, policy = excluded.policy, size = excluded.size,
       holds = (rollouts.holds - 'revoked') || excluded.holds, ending = null, finished_at = null, state = case when rollouts.finished_at is null then rollouts.state else 'running' end`,
    [it.fleet, it.commit, it.distribution, it.version, JSON.stringify(it.policy), it.targets.length, now],
  );
  await tx.query(
    `insert into waves (fleet, n, k, name, state, started_at, size) values ($1, 0, 0, 'catch-up', 'running', $2, $3)
     on conflict (fleet, n, k) do update set state = 'running', started_at = excluded.started_at, finished_at = null,
       size = excluded.size`,
    [it.fleet, now, it.targets.length],
  );
  await tx.query(
    `with wanted as (
       select * from jsonb_to_recordset($2) as t(host uuid, "hostName" text, ord int, "fromVersion" text, "fromConfig" text,
           "toVersion" text, "toConfig" text, "wayBack" text, "unhealthyBefore" text[], matches int[])
        where not exists (select from attempts a where a.fleet = $1 and a.n = 0 and a.host = t.host and a.finished_at is null)),
     t as (
       insert into targets (fleet, n, host, host_name, ord, wave, from_version, from_config_hash, to_version, to_config_hash,
         way_back, unhealthy_before)
       select $1, 0, w.host, w."hostName", w.ord, 0, w."fromVersion", decode(w."fromConfig", 'hex'), w."toVersion",
         decode(w."toConfig", 'hex'), w."wayBack", w."unhealthyBefore" from wanted w
       on conflict (fleet, n, host) do update set attempt = targets.attempt + 1, host_name = excluded.host_name,
         ord = excluded.ord, from_version = excluded.from_version, from_config_hash = excluded.from_config_hash,
         to_version = excluded.to_version, to_config_hash = excluded.to_config_hash, way_back = excluded.way_back,
         unhealthy_before = excluded.unhealthy_before
       returning host, attempt)
     insert into attempts (fleet, n, host, attempt, direction, wave, since, progress_at)
     select $1, 0, host, attempt, 'forward', 0, $3, $3 from t`,
    [it.fleet, JSON.stringify(it.targets.map((target, ord) => ({ ...target, ord }))), now],
  );
  await refreshState(tx, it.fleet, 0, now);
}

/** No new offers; what is in flight finishes, then the next change is planned. */
export async function supersedeRollout(tx: Db, fleet: string, n: number, because: string, now: Date): Promise<void> {
  const { rowCount } = await tx.query(
    "update rollouts set ending = 'supersede' where fleet = $1 and n = $2 and ending is null and finished_at is null",
    [fleet, n],
  );
  if (rowCount === 0) return;
  await tx.query(
    `with closed as (update offers set closed_at = $3, close_reason = 'superseded' where fleet = $1 and n = $2
       and direction = 'forward' and sent_at is null and closed_at is null returning host, attempt)
     update attempts a set phase = 'pending', part = null, since = $3, offered_at = null, deadline_at = null from closed
      where a.fleet = $1 and a.n = $2 and a.host = closed.host and a.attempt = closed.attempt and a.phase = 'offered'
        and a.host_attempt_nanos is null`,
    [fleet, n, now],
  );
  await appendAudit(
    tx,
    {
      principal: "system",
      action: "rollout.supersede",
      object: `rollout/${fleet}/${n}`,
      outcome: "accepted",
      detail: { because },
    },
    now,
  );
  await refreshState(tx, fleet, n, now);
}

/** What the planner has seen and decided of a fleet. A new change lifts the hold on the one before. */
export async function writeFleetState(
  tx: Db,
  name: string,
  at: { commit: string; changeKey: string; isPlanned: boolean; isNew: boolean },
): Promise<void> {
  await tx.query(
    `update fleets set seen_commit = $2, change_key = $3, planned_key = case when $4 then $3 else planned_key end,
        held = case when $5 then null else held end where name = $1`,
    [name, at.commit, at.changeKey, at.isPlanned, at.isNew],
  );
}
