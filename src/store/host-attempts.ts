/** Every attempt of one host, in all rollouts and catch-ups: how it came to what it runs. */
import type { FleetAgent } from "../domain/fleet/agent.ts";
import type { HostAttempt } from "../domain/rollout/explain-walk.ts";
import type { Db } from "./database.ts";

type Row = Omit<HostAttempt, "sinceMs" | "offeredMs" | "finishedMs"> & {
  since: Date;
  offeredAt: Date | null;
  finishedAt: Date | null;
};
const MAX_ATTEMPTS = 200;

/** Newest first, at most 200. Open ones first: they are what it waits for now. */
export async function readHostAttempts(db: Db, host: string): Promise<HostAttempt[]> {
  const { rows } = await db.query<Row>(
    `select r.fleet, r.n, r.kind, r.commit, r.state, a.attempt, a.direction, a.wave, a.phase, t.from_version as "fromVersion",
        t.to_version as "toVersion", encode(t.from_config_hash, 'hex') as "fromConfig",
        encode(t.to_config_hash, 'hex') as "toConfig", a.since, a.offered_at as "offeredAt", a.finished_at as "finishedAt"
       from attempts a join targets t on t.fleet = a.fleet and t.n = a.n and t.host = a.host
         join rollouts r on r.fleet = a.fleet and r.n = a.n
      where a.host = $1 order by a.finished_at desc nulls first, a.since desc limit $2`,
    [host, MAX_ATTEMPTS],
  );
  return rows.map(({ since, offeredAt, finishedAt, ...row }) => ({
    ...row,
    sinceMs: since.getTime(),
    offeredMs: offeredAt?.getTime() ?? null,
    finishedMs: finishedAt?.getTime() ?? null,
  }));
}

/** One namesake is enough to contest a name; agents without a host name are all namesakes. */
const MAX_NAMESAKES = 100;

/** The collector first, then others that claim its host name, as assignment sees them. */
export async function readNamesakes(db: Db, uid: string): Promise<FleetAgent[]> {
  const { rows } = await db.query<FleetAgent & { credentialName: string | null }>(
    `select a.uid, a.host_name as "hostName", a.os, a.arch, a.service_name as "serviceName", a.version, a.credential,
        e.name as "credentialName", a.credential_labels as "credentialLabels", a.attributes, a.connected as live
       from agents a left join enrollment_tokens e on a.credential = 'token:' || e.id::text
      where a.kind = 'collector' and lower(a.host_name) = (select lower(b.host_name) from agents b where b.uid = $1)
      order by (a.uid = $1) desc limit $2`,
    [uid, MAX_NAMESAKES],
  );
  return rows.map(({ credentialName, ...row }) => (credentialName === null ? row : { ...row, credentialName }));
}
