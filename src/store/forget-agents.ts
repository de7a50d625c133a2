/** Agents that are gone: deleted by a person, or away for longer than anybody waits. */
import { CHANNELS } from "../domain/channels.ts";
import { notify, type Db } from "./database.ts";

export type Deletion = { hostName: string; outcome: "deleted" | "in_flight" };

/**
 * Removes an agent; whichever process holds its connection ends it. `in_flight`: an update of it has begun and it was left
 * alone; undefined: there is none.
 */
export async function deleteAgent(tx: Db, uid: string, force: boolean): Promise<Deletion | undefined> {
  const { rows } = await tx.query<{ hostName: string; collector: string | null }>(
    `select host_name as "hostName", collector_uid as collector from agents where uid = $1 for update`,
    [uid],
  );
  const row = rows[0];
  if (row === undefined) return undefined;
  if (!force && (await hasOpenAttempt(tx, uid, row.collector))) return { hostName: row.hostName, outcome: "in_flight" };
  await tx.query("delete from agents where uid = $1", [uid]);
  await notify(tx, CHANNELS.connections, `deleted ${uid}`);
  return { hostName: row.hostName, outcome: "deleted" };
}

/** Of the host itself, or of the collector that an updater manages. One that waits for its turn has not begun. */
async function hasOpenAttempt(tx: Db, uid: string, collector: string | null): Promise<boolean> {
  const { rowCount } = await tx.query(
    "select from attempts where host = any($1::uuid[]) and finished_at is null and phase <> 'pending' limit 1",
    [[uid, collector].filter((id) => id !== null)],
  );
  return (rowCount ?? 0) > 0;
}

/**
 * Forgets at most `limit` agents that were not heard since `before`, the longest away first. Who has an unfinished attempt
 * is kept until that has ended: its rollout still counts it. Returns how many.
 */
export async function forgetAway(db: Db, before: Date, limit: number): Promise<number> {
  const { rowCount } = await db.query(
    `delete from agents where uid in (
       select a.uid from agents a where not a.connected and a.last_seen_at < $1
         and not exists (select from attempts t where t.host = a.uid and t.finished_at is null)
       order by a.last_seen_at limit $2 for update skip locked)`,
    [before, limit],
  );
  return rowCount ?? 0;
}
