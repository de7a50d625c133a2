/**
 * Worker processes and their staging folders. A row counts only while its process listens (store/listen), so a killed
 * worker is gone at once; `draining` ones take nothing new.
 */
import type { Db } from "./database.ts";
import { isListening } from "./listen.ts";

export type WorkerRow = { id: string; holder: string; draining: { since: Date; until: Date } | null };

/** Notes a worker that has started; rows of dead ones go. */
export async function noteWorker(db: Db, it: { id: string; holder: string; staging: string }): Promise<void> {
  await db.query(`delete from workers w where w.id <> $1 and not ${isListening("w.id")}`, [it.id]);
  await db.query(
    `insert into workers (id, holder, staging) values ($1, $2, $3)
     on conflict (id) do update set holder = excluded.holder, staging = excluded.staging`,
    [it.id, it.holder, it.staging],
  );
}

/** It was told to end and waits until what is staged is replicated, at most until then. */
export async function noteDraining(db: Db, id: string, since: Date, until: Date): Promise<void> {
  await db.query("update workers set draining_since = $2, drain_until = $3 where id = $1", [id, since, until]);
}

/** Workers that live, the one that started last first. `staging`: only those with this folder. */
export async function livingWorkers(db: Db, staging?: string): Promise<WorkerRow[]> {
  const { rows } = await db.query<WorkerRow & { since: Date | null; until: Date | null }>(
    `select w.id, w.holder, w.draining_since as since, w.drain_until as until from workers w
     where ${isListening("w.id")} and ($1::uuid is null or w.staging = $1) order by w.started_at desc, w.id`,
    [staging ?? null],
  );
  return rows.map(({ id, holder, since, until }) => ({
    id,
    holder,
    draining: since === null || until === null ? null : { since, until },
  }));
}
