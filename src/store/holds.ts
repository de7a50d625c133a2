/**
 * What depots must not drop by a mistake: artifacts that are pinned, installed, or on their way to a host (depot-anchors,
 * invariant 15). Decided once per execution and kept with it, so that every node is told the same.
 */
import type { Db } from "./database.ts";
import { usersOfAll, type UserKind } from "./release-users.ts";

export type Holds = { held: string[]; released: string[] };

/** A name in Git alone holds nothing: whoever changes Git changes it. */
const HOLDING: readonly UserKind[] = ["pin", "installed", "before", "offer", "rollout"];

/**
 * `held`: wanted digests of releases in use. `released`: digests that were verified once and that nobody wants now: they
 * were dropped on purpose, through the one path that asks who needs them.
 */
export async function readHolds(db: Db): Promise<Holds> {
  const users = await usersOfAll(db);
  const inUse = Array.from(users).flatMap(([key, needs]) =>
    needs.some(({ kind }) => HOLDING.includes(kind)) ? [key] : [],
  );
  const { rows } = await db.query<Holds>(
    `select coalesce((select array_agg(distinct encode(sha256, 'hex')) from artifacts
         where wanted and distribution || ' ' || version = any($1)), '{}') as held,
       coalesce((select array_agg(distinct encode(a.sha256, 'hex')) from artifacts a
         where not a.wanted and a.verification is not null and a.sha256 is not null
           and not exists (select from artifacts o where o.wanted and o.sha256 = a.sha256)), '{}') as released`,
    [inUse],
  );
  const { held, released } = rows[0] ?? { held: [], released: [] };
  return { held: held.toSorted(), released: released.toSorted() };
}

export async function saveHolds(db: Db, execution: string): Promise<void> {
  const { held, released } = await readHolds(db);
  await db.query("update replication_executions set held = $2, released = $3 where id = $1 and held is null", [
    execution,
    held,
    released,
  ]);
}

/** As the execution decided them; empty: says nothing about holds (one that was begun by an earlier version). */
export async function holdsOf(db: Db, execution: string): Promise<Partial<Holds>> {
  const { rows } = await db.query<{ held: string[] | null; released: string[] | null }>(
    "select held, released from replication_executions where id = $1",
    [execution],
  );
  const { held, released } = rows[0] ?? { held: null, released: null };
  return held === null || released === null ? {} : { held, released };
}
