/** What the hosts of each fleet run and are offered, counted in the database. */
import type { Db } from "./database.ts";

export type FleetCounts = {
  fleet: string | null;
  version: string;
  hosts: number;
  connected: number;
  healthy: number;
  configPending: number;
  renderErrors: number;
};

/** RemoteConfigStatuses_APPLIED of OpAMP. */
const APPLIED = 1;

/** Collectors by fleet (null: unassigned) and the version that they report. */
export async function countFleetHosts(db: Db): Promise<FleetCounts[]> {
  const { rows } = await db.query<FleetCounts>(
    `select w.fleet, a.version, count(*)::int as hosts, count(*) filter (where a.connected)::int as connected,
        count(*) filter (where a.connected and a.healthy)::int as healthy,
        count(*) filter (where w.config_hash is not null and (a.remote_config_hash is distinct from w.config_hash
          or a.remote_config_status <> ${APPLIED}))::int as "configPending",
        count(*) filter (where w.render_error is not null)::int as "renderErrors"
       from agents a left join wanted w on w.host = a.uid where a.kind = 'collector'
      group by 1, 2 order by 1, 2`,
  );
  return rows;
}

export type OfferCounts = {
  fleet: string;
  kind: "package" | "config" | "withdraw";
  version: string | null;
  hosts: number;
};

/** Open offers by fleet, kind and version. */
export async function countOpenOffers(db: Db): Promise<OfferCounts[]> {
  const { rows } = await db.query<OfferCounts>(
    `select fleet, kind, version, count(*)::int as hosts from offers where closed_at is null
      group by 1, 2, 3 order by 1, 2, 3`,
  );
  return rows;
}

export type NewestRollout = {
  fleet: string;
  n: number;
  state: string;
  reason: string;
  createdAt: Date;
  finishedAt: Date | null;
};

/** The newest rollout of a change of each fleet. */
export async function newestRollouts(db: Db): Promise<NewestRollout[]> {
  const { rows } = await db.query<NewestRollout>(
    `select distinct on (fleet) fleet, n, state, reason, created_at as "createdAt", finished_at as "finishedAt"
       from rollouts where kind = 'change' order by fleet, n desc`,
  );
  return rows;
}
