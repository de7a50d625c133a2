/** A database of its own for each integration test file, on the server of the global set-up, with every migration applied. */
import { randomBytes } from "node:crypto";
import pg from "pg";
import { inject } from "vitest";
import { openPool, type Pool } from "../../src/store/database.ts";
import { migrate } from "../../src/store/migrate.ts";

export type TestDatabase = {
  url: string;
  pool: Pool;
  /** Closes the pool and drops the database, whoever is still connected. */
  drop(): Promise<void>;
};

export async function createTestDatabase(serverUrl: string = inject("databaseUrl")): Promise<TestDatabase> {
  const name = `t_${randomBytes(6).toString("hex")}`;
  await onServer(serverUrl, `create database ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  // A session that `drop` or a test ends while idle is no failure of the test.
  const pool = openPool(url.href, () => undefined);
  await migrate(pool);
  return {
    url: url.href,
    pool,
    drop: async () => {
      await pool.end();
      await onServer(serverUrl, `drop database if exists ${name} with (force)`);
    },
  };
}

async function onServer(serverUrl: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
