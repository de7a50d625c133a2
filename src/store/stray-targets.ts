/**
 * Targets whose host is not theirs any more (decisions, "Waves and targets"): deleted, forgotten, come back under another
 * UID, or moved to another fleet. They end as `cancelled` with that reason, free their slot, and are no failure.
 */
import { CHANNELS } from "../domain/channels.ts";
import type { Direction, Phase } from "../domain/rollout/phases.ts";
import type { Db } from "./database.ts";
import { announce } from "./rollout-state.ts";
import { lockFleet, readRollout, type RolloutRow } from "./rollouts.ts";
import type { CancelCode } from "./targets.ts";

export type OpenAttempt = {
  fleet: string;
  n: number;
  host: string;
  phase: Phase;
  direction: Direction;
  /** Set when it is known already that the host has moved, and only its end is waited for. */
  code: string | null;
};

/** Every attempt that has not ended. Read before agents are: who is missing there is gone. */
export async function readOpenAttempts(db: Db): Promise<OpenAttempt[]> {
  const { rows } = await db.query<OpenAttempt>(
    `select a.fleet, a.n, a.host, a.phase, a.direction, a.code from attempts a join targets t using (fleet, n, host)
      where a.finished_at is null and a.attempt = t.attempt order by a.fleet, a.n`,
  );
  return rows;
}

export type Leaving = { host: string; code: Extract<CancelCode, "deleted" | "superseded" | "moved">; message: string };

/** Locks a rollout as everybody does: its fleet first. Undefined when it has gone. */
export async function lockRollout(tx: Db, fleet: string, n: number): Promise<RolloutRow | undefined> {
  await lockFleet(tx, fleet);
  return readRollout(tx, fleet, n, "update");
}

/**
 * Ends the open attempts of these hosts in one rollout, whose row the caller has locked, and closes their offers. `moved`
 * ends those that have not begun only. Returns how many ended.
 */
export async function cancelLeaving(tx: Db, row: RolloutRow, leaving: readonly Leaving[], now: Date): Promise<number> {
  const { fleet, n } = row;
  const { rows } = await tx.query<{ host: string }>(
    `update attempts a set phase = 'cancelled', code = x.code, error = x.message, since = $3, finished_at = $3
       from unnest($4::uuid[], $5::text[], $6::text[]) as x(host, code, message)
      where a.fleet = $1 and a.n = $2 and a.host = x.host and a.finished_at is null
        and (x.code <> 'moved' or a.phase = 'pending')
        and (x.code <> 'deleted' or not exists (select from agents c where c.uid = a.host))
      returning a.host`,
    [fleet, n, now, ...columns(leaving)],
  );
  await closeOffersOf(
    tx,
    fleet,
    n,
    rows.map(({ host }) => host),
    now,
  );
  if (rows.length > 0) await show(tx, row);
  return rows.length;
}

const columns = (leaving: readonly Leaving[]): [string[], string[], string[]] => [
  leaving.map(({ host }) => host),
  leaving.map(({ code }) => code),
  leaving.map(({ message }) => message),
];

async function closeOffersOf(tx: Db, fleet: string, n: number, hosts: readonly string[], now: Date): Promise<void> {
  await tx.query(
    `with closed as (update offers set closed_at = $4, close_reason = 'its target was cancelled'
       where fleet = $1 and n = $2 and host = any($3::uuid[]) and closed_at is null and attempt is not null
       returning recipient)
     select pg_notify($5, recipient::text) from closed`,
    [fleet, n, hosts, now, CHANNELS.offers],
  );
}

/** Counts and targets have changed, the state has not: pages and watchers read again. */
const show = (tx: Db, { fleet, n, state }: RolloutRow): Promise<void> => announce(tx, fleet, n, state);

/**
 * What these hosts have begun they finish, and it is recorded to its end; it counts for no cap and no threshold of the
 * fleet that they left.
 */
export async function markMoved(tx: Db, row: RolloutRow, leaving: readonly Leaving[], now: Date): Promise<void> {
  const { rowCount } = await tx.query(
    `update attempts a set code = x.code, error = case when a.error = '' then x.message else a.error end
       from unnest($3::uuid[], $4::text[], $5::text[]) as x(host, code, message)
      where a.fleet = $1 and a.n = $2 and a.host = x.host and a.code is distinct from x.code
        and (a.finished_at is null or a.failure_class = 'withdrawn' and a.finished_at = $6)`,
    [row.fleet, row.n, ...columns(leaving), now],
  );
  if ((rowCount ?? 0) > 0) await show(tx, row);
}

/**
 * Ends whatever is open for hosts whose agents go away in this transaction. Called before their rows are locked: planner
 * and controls lock fleet, rollout, agent in this order. Attempts in flight are ended too.
 */
export async function endTargetsOf(tx: Db, hosts: readonly string[], message: string, now: Date): Promise<void> {
  const { rows } = await tx.query<{ fleet: string; n: number }>(
    `select distinct fleet, n from attempts where host = any($1::uuid[]) and finished_at is null order by fleet, n`,
    [hosts],
  );
  for (const { fleet, n } of rows) {
    const row = await lockRollout(tx, fleet, n);
    if (row === undefined) continue;
    const { rowCount } = await tx.query(
      `update attempts set phase = 'cancelled', code = 'deleted', error = $4, since = $5, finished_at = $5
        where fleet = $1 and n = $2 and host = any($3::uuid[]) and finished_at is null`,
      [fleet, n, hosts, message, now],
    );
    await closeOffersOf(tx, fleet, n, hosts, now);
    if ((rowCount ?? 0) > 0) await show(tx, row);
  }
  await tx.query(
    "update offers set closed_at = $2, close_reason = $3 where host = any($1::uuid[]) and closed_at is null",
    [hosts, now, message],
  );
}
