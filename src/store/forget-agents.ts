/** Agents that are gone: deleted by a person, or away for longer than anybody waits. */
import { CHANNELS } from "../domain/channels.ts";
import { notify, type Db } from "./database.ts";
import { endTargetsOf } from "./stray-targets.ts";

export type Deletion = { hostName: string; outcome: "deleted" | "in_flight" };

/**
 * Removes an agent; whichever process holds its connection ends it. What was planned for it ends as `cancelled` in the same
 * transaction. `in_flight`: an update of it has begun and it was left alone; undefined: there is none.
 */
export async function deleteAgent(
  tx: Db,
  uid: string,
  force: boolean,
  now: Date = new Date(),
): Promise<Deletion | undefined> {
  const found = await readName(tx, uid);
  if (found === undefined) return undefined;
  if (!force && (await hasOpenAttempt(tx, uid, found.collector)))
    return { hostName: found.hostName, outcome: "in_flight" };
  await endTargetsOf(tx, [uid], "the agent was deleted", now);
  const row = await readName(tx, uid, "for update");
  if (row === undefined) return undefined;
  await tx.query("delete from agents where uid = $1", [uid]);
  await notify(tx, CHANNELS.connections, `deleted ${uid}`);
  return { hostName: row.hostName, outcome: "deleted" };
}

async function readName(tx: Db, uid: string, lock: "" | "for update" = "") {
  const { rows } = await tx.query<{ hostName: string; collector: string | null }>(
    `select host_name as "hostName", collector_uid as collector from agents where uid = $1 ${lock}`,
    [uid],
  );
  return rows[0];
}

/** Of the host itself, or of the collector that an updater manages. One that waits for its turn has not begun. */
async function hasOpenAttempt(tx: Db, uid: string, collector: string | null): Promise<boolean> {
  const { rowCount } = await tx.query(
    "select from attempts where host = any($1::uuid[]) and finished_at is null and phase <> 'pending' limit 1",
    [[uid, collector].filter((id) => id !== null)],
  );
  return (rowCount ?? 0) > 0;
}

/** Who an attempt in flight belongs to has a deadline: it is forgotten when that is over. */
const AWAY = `not a.connected and a.last_seen_at < $1
  and not exists (select from attempts t where t.host = a.uid and t.finished_at is null and t.phase <> 'pending')`;

/**
 * Forgets at most `limit` agents that were not heard since `before`, the longest away first. What was planned for them ends
 * as `cancelled`; who has an attempt in flight is kept until that has ended. Returns how many.
 */
export async function forgetAway(db: Db, before: Date, limit: number, now: Date = new Date()): Promise<number> {
  const { rows } = await db.query<{ uid: string }>(
    `select a.uid from agents a where ${AWAY} order by a.last_seen_at limit $2`,
    [before, limit],
  );
  if (rows.length === 0) return 0;
  const uids = rows.map(({ uid }) => uid);
  await endTargetsOf(db, uids, "the agent was not heard for agents.forgetAfter and is forgotten", now);
  const { rowCount } = await db.query(
    `delete from agents where uid in (
       select a.uid from agents a where a.uid = any($2::uuid[]) and ${AWAY} for update skip locked)`,
    [before, uids],
  );
  return rowCount ?? 0;
}
