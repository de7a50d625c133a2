/** The end of a rollout: targets not begun are closed, the change is held or proven, and pages learn why. */
import type { HeldChange } from "./rollouts.ts";
import type { FinalState } from "../domain/rollout/phases.ts";
import { appendAudit } from "./audit.ts";
import type { Db } from "./database.ts";
import { announce } from "./rollout-state.ts";
import { getRollout, lockFleet, readRollout, type RolloutRow } from "./rollouts.ts";

/** Waiting targets of an ending that is for good; after a success or failure those left offline go to catch-up as they are. */
const CANCELS: Partial<Record<FinalState, string>> = {
  aborted: "aborted",
  superseded: "superseded",
  rolled_back: "rolled_back",
};

/** Ends the rollout. Nothing happens when it has ended already. `because` is shown, if the outcome does not speak for itself. */
export async function endRolloutRow(
  tx: Db,
  fleet: string,
  n: number,
  outcome: FinalState,
  because: string | null,
  now: Date,
): Promise<void> {
  const owner = await lockFleet(tx, fleet);
  const row = await readRollout(tx, fleet, n, "update");
  if (row === undefined || row.finishedAt !== null) return;
  const code = CANCELS[outcome];
  if (code !== undefined) await cancelWaiting(tx, row, code, now);
  await tx.query(
    `update waves set state = 'cancelled', finished_at = $3
      where fleet = $1 and n = $2 and state not in ('ended', 'skipped')`,
    [fleet, n, now],
  );
  const reason = because ?? (await sentence(tx, row, outcome));
  await tx.query(
    `update rollouts set state = $3, reason = $4, next_what = null, next_at = null, wave = null, finished_at = $5,
        ending = case when $3 = 'aborted' then 'abort' when $3 = 'superseded' then 'supersede' else ending end
      where fleet = $1 and n = $2`,
    [fleet, n, outcome, reason, now],
  );
  const isCurrent = owner.changeKey === row.wantedKey;
  if (outcome !== "succeeded" && outcome !== "superseded" && isCurrent) await holdChange(tx, row, outcome, reason, now);
  if (row.kind === "catch_up" && outcome === "aborted")
    await tx.query("update fleets set catch_up_aborted_key = change_key where name = $1", [fleet]);
  await proveNewest(tx, fleet);
  const object = `rollout/${fleet}/${n}`;
  await appendAudit(
    tx,
    { principal: "system", action: "rollout.end", object, outcome: "accepted", detail: { outcome, reason } },
    now,
  );
  await announce(tx, fleet, n, outcome);
}

async function cancelWaiting(tx: Db, { fleet, n }: RolloutRow, code: string, now: Date): Promise<void> {
  await tx.query(
    `update attempts a set phase = 'cancelled', code = $3, finished_at = $4, since = $4
       from targets t where a.fleet = $1 and a.n = $2 and a.phase = 'pending' and a.finished_at is null
        and t.fleet = a.fleet and t.n = a.n and t.host = a.host and t.attempt = a.attempt`,
    [fleet, n, code, now],
  );
}

async function sentence(tx: Db, { fleet, n }: RolloutRow, outcome: FinalState): Promise<string> {
  const counts = (await getRollout(tx, fleet, n))?.counts;
  if (counts === undefined) return outcome;
  const parts = (["succeeded", "failed", "rolled_back", "cancelled", "pending"] as const)
    .filter((phase) => counts[phase] > 0)
    .map((phase) => `${counts[phase]} ${phase === "pending" ? "left offline" : phase.replace("_", " ")}`);
  const list = parts.length === 0 ? "no targets" : parts.join(", ");
  return outcome === "failed" ? `no target succeeded: ${list}` : list;
}

/** The same wanted state is not planned again until someone changes their mind; the fleet's page says so. */
async function holdChange(tx: Db, row: RolloutRow, outcome: FinalState, reason: string, now: Date): Promise<void> {
  const held: HeldChange = {
    n: row.n,
    wantedKey: row.wantedKey,
    because: `rollout ${row.n} was ${outcome.replace("_", " ")}: ${reason}`,
    at: now.toISOString(),
  };
  await tx.query("update fleets set held = $2 where name = $1", [row.fleet, JSON.stringify(held)]);
}

/** Proven is what the newest rollout that succeeded, and was not rolled back since, has brought. */
async function proveNewest(tx: Db, fleet: string): Promise<void> {
  await tx.query(
    `update fleets f set proven_version = p.version, proven_commit = p.commit
       from (select version, commit from rollouts where fleet = $1 and kind = 'change' and state = 'succeeded'
         order by n desc limit 1) p
      where f.name = $1`,
    [fleet],
  );
}
