/**
 * Rows of staged artifacts: which worker's disk has bytes that are not replicated enough yet. A row is written after the
 * file is durable and removed before the file is; both under one lock per digest (an advisory lock of the session, so
 * that it outlives the transaction and dies with the process).
 */
import type pg from "pg";
import { failure } from "../domain/errors.ts";
import type { Db, Pool } from "./database.ts";

const LOCK_SPACE = 7_319_044;
const UPLOAD_LOCK_SPACE = 7_319_045;

/** Runs `work` while no other process stages or releases this digest. */
export const withStagingLock = <T>(
  pool: Pool,
  sha256: string,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> =>
  withLock(
    pool,
    sha256,
    async (client, key) => void (await client.query("select pg_advisory_lock($1, $2)", [LOCK_SPACE, key])),
    LOCK_SPACE,
    work,
  );

/** Runs `work` as the only writer of the partial upload of this digest; fails with `upload_busy` when there is one. */
export const withUploadLock = <T>(
  pool: Pool,
  { fileName, sha256 }: { fileName: string; sha256: string },
  work: () => Promise<T>,
): Promise<T> =>
  withLock(
    pool,
    sha256,
    async (client, key) => {
      const { rows } = await client.query<{ ours: boolean }>("select pg_try_advisory_lock($1, $2) as ours", [
        UPLOAD_LOCK_SPACE,
        key,
      ]);
      if (rows[0]?.ours !== true) throw failure("upload_busy", { asset: fileName });
    },
    UPLOAD_LOCK_SPACE,
    work,
  );

async function withLock<T>(
  pool: Pool,
  sha256: string,
  take: (client: pg.PoolClient, key: number) => Promise<void>,
  space: number,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  const key = Buffer.from(sha256, "hex").readInt32BE(0);
  let broken: Error | undefined;
  // While `work` takes its time nobody else would hear that the connection, and the lock with it, is gone.
  const onLost = (error: Error): void => void (broken = error);
  client.on("error", onLost);
  try {
    await take(client, key);
    try {
      return await work(client);
    } finally {
      await client.query("select pg_advisory_unlock($1, $2)", [space, key]).catch(onLost);
    }
  } finally {
    client.off("error", onLost);
    client.release(broken);
  }
}

export async function noteStaged(db: Db, sha256: string, holder: string, path: string): Promise<void> {
  await db.query(
    `insert into staging (sha256, holder, path) values (decode($1, 'hex'), $2, $3)
     on conflict (sha256, holder) do update set path = excluded.path`,
    [sha256, holder, path],
  );
}

export async function forgetStaged(db: Db, sha256: string, holder: string): Promise<void> {
  await db.query("delete from staging where sha256 = decode($1, 'hex') and holder = $2", [sha256, holder]);
}

export async function stagedAt(db: Db, sha256: string, holder: string): Promise<string | undefined> {
  const { rows } = await db.query<{ path: string }>(
    "select path from staging where sha256 = decode($1, 'hex') and holder = $2",
    [sha256, holder],
  );
  return rows[0]?.path;
}

/** Holders of staged bytes that could go: those of releases that the last probe found everywhere often enough. */
export async function stagingHolders(db: Db): Promise<string[]> {
  return (await db.query<{ holder: string }>("select distinct holder from staging order by holder")).rows.map(
    (row) => row.holder,
  );
}

/**
 * Digests staged at `holder` that may be released (contract, step 4): every wanted artifact of each release that has
 * them is listed by `minCopies` nodes that answered this execution at this generation. What no artifact wants any more
 * goes as well, unless a fetch or an upload that is not finished has staged it.
 */
export async function releasable(
  db: Db,
  holder: string,
  proof: { execution: string; generation: number; minCopies: number },
): Promise<string[]> {
  const { rows } = await db.query<{ sha256: string }>(
    `with counts as (
       select a.distribution, a.version, a.sha256, (select count(*) from copies c join depots d using (node_id)
         where c.sha256 = a.sha256 and c.disks > 0 and d.state = 'active' and d.execution = $2 and d.generation = $3
           and c.seen_at <= d.answered_at)
         as n
       from artifacts a where a.wanted)
     select encode(s.sha256, 'hex') as sha256 from staging s
     where s.holder = $1 and not exists (
       select 1 from counts mine join counts release using (distribution, version)
       where mine.sha256 = s.sha256 and release.n < $4)
       and not exists (select 1 from artifacts f where f.sha256 = s.sha256 and not f.wanted and f.state = 'fetching')
       and not exists (select 1 from uploads u where s.sha256 = any(u.digests))`,
    [holder, proof.execution, proof.generation, proof.minCopies],
  );
  return rows.map((row) => row.sha256);
}

/**
 * Releases one digest if it still may be: generation and counts are read again in this transaction, and the generation
 * cannot move before it ends. Call it under the digest's staging lock. Whether the row is gone.
 */
export async function releaseStaged(
  tx: Db,
  sha256: string,
  holder: string,
  proof: { execution: string; generation: number; minCopies: number },
): Promise<boolean> {
  const now = await tx.query<{ generation: number }>(
    "select generation::float8 as generation from artifact_config for update",
  );
  if (now.rows[0]?.generation !== proof.generation) return false;
  if (!(await releasable(tx, holder, proof)).includes(sha256)) return false;
  await forgetStaged(tx, sha256, holder);
  return true;
}

/**
 * Archives staged at `holder` that depots still lack: each needs `minCopies` nodes that answer, or all that are active
 * when those are fewer. Without any depot nothing can be waited for, and nothing is lacked.
 */
export async function unreplicated(db: Db, holder: string, minCopies: number): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `select count(distinct s.sha256)::int as n from staging s join artifacts a using (sha256)
     where s.holder = $1 and (a.wanted or a.state = 'fetching') and (
       select count(*) from copies c join depots d using (node_id)
         where c.sha256 = s.sha256 and c.disks > 0 and d.state = 'active' and d.error is null)
       < least($2, (select count(*) from depots where state = 'active'))`,
    [holder, minCopies],
  );
  return rows[0]?.n ?? 0;
}

/** Forgets what a host that does not answer had staged; when it returns it removes files that no row names. */
export async function abandonHolder(db: Db, holder: string): Promise<void> {
  await db.query("delete from staging where holder = $1", [holder]);
}
