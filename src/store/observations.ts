/** Small things that a watched wave asks: who fell ill after the update, when the last offer was opened. */
import type { Db } from "./database.ts";

/** Targets of a baking wave that became unhealthy: they count against the threshold, their phase stays. */
export async function markRegressed(tx: Db, fleet: string, n: number, k: number, now: Date): Promise<number> {
  const { rowCount } = await tx.query(
    `update attempts a set regressed_at = $4, failure_class = 'regressed' from targets t, agents c
      where a.fleet = $1 and a.n = $2 and a.wave = $3 and a.direction = 'forward' and a.phase = 'succeeded'
        and a.regressed_at is null and t.fleet = a.fleet and t.n = a.n and t.host = a.host and t.attempt = a.attempt
        and c.uid = a.host and c.connected and (not c.healthy or not c.unhealthy_components <@ t.unhealthy_before)`,
    [fleet, n, k, now],
  );
  return rowCount ?? 0;
}

export async function lastOfferAt(db: Db, fleet: string, n: number): Promise<Date | null> {
  const { rows } = await db.query<{ at: Date | null }>(
    "select max(opened_at) as at from offers where fleet = $1 and n = $2 and direction in ('forward', 'back')",
    [fleet, n],
  );
  return rows[0]?.at ?? null;
}
