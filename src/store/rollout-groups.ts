/** How the targets of a rollout ended, counted by cause, and which of them have no way back. */
import type { EndCount } from "../domain/rollout/explain-groups.ts";
import type { Db } from "./database.ts";

/** Hosts that are named of each group; the count says how many there are. */
export const NAMED_HOSTS = 20;

/** Of current attempts that did not arrive, and of those that fell ill afterwards. */
export async function readEnds(db: Db, fleet: string, n: number): Promise<EndCount[]> {
  const { rows } = await db.query<EndCount>(
    `select a.phase, a.direction, a.failure_class as "failureClass", a.code, count(*)::int as count,
        coalesce(min(nullif(a.error, '')), '') as example, (array_agg(t.host_name order by t.ord))[1:${NAMED_HOSTS}] as hosts
       from targets t join attempts a using (fleet, n, host, attempt)
      where t.fleet = $1 and t.n = $2 and a.finished_at is not null
        and (a.phase <> 'succeeded' or a.failure_class is not null)
      group by a.phase, a.direction, a.failure_class, a.code`,
    [fleet, n],
  );
  return rows;
}

export type NoWayBack = { code: string; count: number; hosts: string[] };

/** Targets that could not be brought back from here, with the code that says why; said before anybody asks for it. */
export async function readNoWayBack(db: Db, fleet: string, n: number): Promise<NoWayBack[]> {
  const { rows } = await db.query<NoWayBack>(
    `select t.way_back as code, count(*)::int as count, (array_agg(t.host_name order by t.ord))[1:${NAMED_HOSTS}] as hosts
       from targets t where t.fleet = $1 and t.n = $2 and t.way_back <> 'yes' group by t.way_back order by t.way_back`,
    [fleet, n],
  );
  return rows;
}
