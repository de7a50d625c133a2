/**
 * The connection to PostgreSQL and the two things that everyone does with it: one transaction, and listening.
 * Rows are read and written by one repository file per aggregate; each takes a `Db` so that it works inside a transaction.
 */
import pg from "pg";

/** A pool or a client inside a transaction. */
export type Db = pg.Pool | pg.PoolClient;
export type Pool = pg.Pool;

// bigint columns hold nanoseconds and counters: keep every digit.
pg.types.setTypeParser(pg.types.builtins.INT8, (text) => BigInt(text));

/** A server that swallows packets must not let a request hang for ever. */
const CONNECT_MS = 10_000;

/** Opens a pool. An idle client that loses its server is dropped and replaced; `onError` sees why. */
export function openPool(url: string, onError: (error: Error) => void, max = 10): Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    application_name: "myriarch",
    connectionTimeoutMillis: CONNECT_MS,
  });
  pool.on("error", onError);
  return pool;
}

/** Runs `work` in one transaction: committed when it returns, rolled back when it throws. */
export async function transaction<T>(pool: Pool, work: (tx: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  // A connection that ends between two statements has nobody else to tell, and would end the process. The next one fails.
  const onLost = (error: Error): void => void (broken = error);
  client.on("error", onLost);
  try {
    await client.query("begin");
    const result = await work(client);
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback").catch(onLost);
    throw error;
  } finally {
    client.off("error", onLost);
    client.release(broken);
  }
}

export const notify = (db: Db, channel: string, payload = ""): Promise<unknown> =>
  db.query("select pg_notify($1, $2)", [channel, payload]);
