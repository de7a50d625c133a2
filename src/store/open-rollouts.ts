/** Rollouts that need a workflow, and those that have ended before some of their hosts. */
import type { ActiveRollout } from "../domain/rollout/plan.ts";
import type { Db } from "./database.ts";

export type OpenRollout = {
  run: number;
  fleet: string;
  n: number;
  kind: "change" | "catch_up";
  commit: string;
  version: string | null;
};

/** Open changes, and catch-ups that end, or have a host that can be offered now or is in flight. */
export async function openRollouts(db: Db, now: Date): Promise<OpenRollout[]> {
  const { rows } = await db.query<OpenRollout>(
    `select r.fleet, r.n, r.kind, r.commit, r.version, r.run from rollouts r
      where r.state not in ('succeeded', 'failed', 'aborted', 'rolled_back', 'superseded')
        and (r.kind = 'change' or r.ending is not null or exists (select from targets t join attempts a using (fleet, n, host, attempt)
          join agents c on c.uid = t.host where t.fleet = r.fleet and t.n = r.n and a.finished_at is null
            and (a.phase <> 'pending' or (c.connected and (a.not_before is null or a.not_before <= $1)))))
      order by r.fleet, r.n`,
    [now],
  );
  return rows;
}

/** Ended rollouts with attempts in flight: hosts past the stop, which always run to their end. */
export async function stragglers(db: Db): Promise<{ fleet: string; n: number }[]> {
  const { rows } = await db.query<{ fleet: string; n: number }>(
    `select distinct a.fleet, a.n from attempts a join rollouts r using (fleet, n)
      where a.finished_at is null and a.phase <> 'pending' and r.finished_at is not null`,
  );
  return rows;
}

/** The active change of a fleet, as the planner sees it. */
export async function activeRollout(db: Db, fleet: string): Promise<ActiveRollout | null> {
  const { rows } = await db.query<ActiveRollout>(
    `select n, wanted_key as "wantedKey", ending, policy->>'onNewChange' as "onNewChange" from rollouts
      where fleet = $1 and kind = 'change' and state not in ('succeeded', 'failed', 'aborted', 'rolled_back', 'superseded')`,
    [fleet],
  );
  return rows[0] ?? null;
}

/** The newest change of a fleet, whatever became of it. */
export async function newestChange(db: Db, fleet: string): Promise<{ wantedKey: string; state: string } | null> {
  const { rows } = await db.query<{ wantedKey: string; state: string }>(
    `select wanted_key as "wantedKey", state from rollouts where fleet = $1 and kind = 'change' order by n desc limit 1`,
    [fleet],
  );
  return rows[0] ?? null;
}

/** Open changes of fleets that are not among these. */
export async function orphanedRollouts(db: Db, fleets: readonly string[]): Promise<{ fleet: string; n: number }[]> {
  const { rows } = await db.query<{ fleet: string; n: number }>(
    `select fleet, n from rollouts where kind = 'change' and finished_at is null and ending is null
       and not fleet = any($1::text[])`,
    [fleets],
  );
  return rows;
}
