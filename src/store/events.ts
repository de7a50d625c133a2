/**
 * Events for pages and scripts, kept ten minutes. A position is (transaction, id): rows become readable in that order
 * once no older transaction is open, so that whoever resumes from a position misses nothing.
 */
import { CHANNELS } from "../domain/channels.ts";
import { notify, type Db } from "./database.ts";

export type StoredEvent = { position: Position; at: Date; topic: string; data: Record<string, unknown> };
export type Position = { tx: bigint; id: bigint };

export const EVENTS_KEPT_MS = 600_000;
/** Read at once; more follow in the next read. */
const BATCH = 500;

/** Appends one event and wakes the readers when the caller's transaction commits. `data` never holds a secret. */
export async function appendEvent(db: Db, topic: string, data: Record<string, unknown>): Promise<void> {
  await db.query("insert into events (topic, data) values ($1, $2)", [topic, JSON.stringify(data)]);
  await notify(db, CHANNELS.events);
}

type Row = { tx: string; id: bigint; at: Date; topic: string; data: Record<string, unknown> };

/**
 * The events after `position`, oldest first. `more` says to read again at once; `waiting` that rows exist which an older
 * open transaction still holds back.
 */
export async function eventsAfter(
  db: Db,
  position: Position,
): Promise<{ events: StoredEvent[]; more: boolean; waiting: boolean }> {
  // events.tx: the column of the answer is text, and '999' sorts after '1000'
  const { rows } = await db.query<Row & { final: boolean }>(
    `select tx::text, id, at, topic, data, tx < pg_snapshot_xmin(pg_current_snapshot()) as final
       from events where (tx, id) > ($1::xid8, $2) order by events.tx, id limit $3`,
    [position.tx.toString(), position.id, BATCH],
  );
  const final = rows.filter((row) => row.final);
  const events = final.map(({ tx, id, at, topic, data }) => ({ position: { tx: BigInt(tx), id }, at, topic, data }));
  return { events, more: final.length === BATCH, waiting: final.length < rows.length };
}

/** The position of the newest readable event; (0, 0) when there is none. */
export async function newestPosition(db: Db): Promise<Position> {
  const { rows } = await db.query<{ tx: string; id: bigint }>(
    `select tx::text, id from events where tx < pg_snapshot_xmin(pg_current_snapshot()) order by events.tx desc, id desc limit 1`,
  );
  const row = rows[0];
  return row === undefined ? { tx: 0n, id: 0n } : { tx: BigInt(row.tx), id: row.id };
}

/** Whether one can resume after `position`: its own event is still kept, so nothing after it was pruned. */
export async function isKept(db: Db, position: Position): Promise<boolean> {
  const { rowCount } = await db.query("select 1 from events where tx = $1::xid8 and id = $2", [
    position.tx.toString(),
    position.id,
  ]);
  return rowCount === 1;
}

/** Removes events older than ten minutes. */
export async function pruneEvents(db: Db, now: Date): Promise<void> {
  await db.query("delete from events where at < $1", [new Date(now.getTime() - EVENTS_KEPT_MS)]);
}

export const comparePositions = (a: Position, b: Position): number =>
  a.tx === b.tx ? Number(a.id - b.id) : a.tx < b.tx ? -1 : 1;

/** `<tx>-<id>`: the id of a server-sent event. */
export const formatPosition = ({ tx, id }: Position): string => `${tx}-${id}`;

/** Undefined for anything that `formatPosition` did not write. */
export function parsePosition(text: string): Position | undefined {
  const match = /^(\d{1,19})-(\d{1,18})$/.exec(text);
  return match === null ? undefined : { tx: BigInt(match[1] ?? 0), id: BigInt(match[2] ?? 0) };
}
