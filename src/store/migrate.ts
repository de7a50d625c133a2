/** Forward-only migrations: numbered SQL files, applied once each, under one advisory lock (docs/adr/0006). */
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { transaction, type Pool } from "./database.ts";

const FOLDER = fileURLToPath(new URL("./migrations/", import.meta.url));
/** Any process of any replica that migrates takes this lock first. */
const LOCK = 7_319_042;

/** Brings the schema up to this release. Afterwards every migration file is applied; concurrent callers wait. */
export async function migrate(pool: Pool, folder = FOLDER): Promise<{ applied: string[] }> {
  const files = (await readdir(folder)).filter((name) => /^\d{4}-.*\.sql$/.test(name)).toSorted();
  return transaction(pool, async (tx) => {
    await tx.query("select pg_advisory_xact_lock($1)", [LOCK]);
    await tx.query(
      "create table if not exists migrations (name text primary key, at timestamptz not null default now())",
    );
    const done = new Set((await tx.query<{ name: string }>("select name from migrations")).rows.map((row) => row.name));
    const applied = files.filter((name) => !done.has(name));
    for (const name of applied) {
      await tx.query(await readFile(folder + name, "utf8"));
      await tx.query("insert into migrations (name) values ($1)", [name]);
    }
    return { applied };
  });
}
