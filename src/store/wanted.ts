/** What each collector should have, and why; and what the planner reads of collectors. Never what is being offered. */
import { parse } from "yaml";
import { needsOf } from "../domain/agents/config-needs.ts";
import type { FleetAgent } from "../domain/fleet/agent.ts";
import type { Snapshot } from "../domain/gitops/snapshot.ts";
import type { Phase } from "../domain/rollout/phases.ts";
import type { TriedChange } from "../domain/rollout/plan-target.ts";
import type { Db } from "./database.ts";

export type PlanAgent = FleetAgent & {
  /** Hash of ours that it reports as applied. Hexadecimal. */
  appliedConfig: string | null;
  hasConfig: boolean;
  unhealthy: string[];
  /** Of its available components; hexadecimal. */
  componentsHash: string | null;
  firstSeenAt: Date;
  lastSeenAt: Date;
};

/** Every collector. */
export async function readPlanAgents(db: Db): Promise<PlanAgent[]> {
  const { rows } = await db.query<PlanAgent & { credentialName: string | null }>(
    `select a.uid, a.host_name as "hostName", a.os, a.arch, a.service_name as "serviceName", a.version, a.credential,
        e.name as "credentialName", a.credential_labels as "credentialLabels", a.attributes, a.connected as live,
        a.first_seen_at as "firstSeenAt", a.last_seen_at as "lastSeenAt", a.unhealthy_components as unhealthy, encode(a.components_hash, 'hex') as "componentsHash", c.hash is not null as "hasConfig",
        case when a.remote_config_status = 1 then encode(c.hash, 'hex') end as "appliedConfig"
       from agents a left join configs c on c.hash = a.remote_config_hash
         left join enrollment_tokens e on a.credential = 'token:' || e.id::text
      where a.kind = 'collector' order by a.uid`,
  );
  return rows.map(({ credentialName, ...row }) => (credentialName === null ? row : { ...row, credentialName }));
}

/** A number that changes whenever planning could come to another result, except what a rollout itself moves. */
export async function planFingerprint(db: Db): Promise<string> {
  const { rows } = await db.query<{ print: string }>(
    `select (select generation::text from gitops_state) || ':' ||
        (select count(*)::text from attempts where finished_at is null and (n = 0 or code = 'moved')) || ':' || coalesce((select
        count(*)::text || ':' || sum(hashtextextended(concat_ws('|', uid, kind, host_name, service_name, os, arch, credential,
          credential_labels, attributes, remote_config_hash is null, connected, components_hash), 0))::text
        from agents where kind = 'collector'), '') || ':' || (select count(*)::text from component_sets) as print`,
  );
  return rows[0]?.print ?? "";
}

/** The snapshot of a commit that was applied once. */
export async function readSnapshotOf(db: Db, commit: string): Promise<Snapshot | undefined> {
  const { rows } = await db.query<Omit<Snapshot, "generation"> & { generation: bigint }>(
    "select commit, generation, author, subject, objects from snapshots where commit = $1",
    [commit],
  );
  const row = rows[0];
  return row === undefined ? undefined : { ...row, generation: Number(row.generation) };
}

/** Keeps rendered bytes under their hash, with what they ask of a collector. */
export async function putConfigs(db: Db, configs: ReadonlyMap<string, Uint8Array>): Promise<void> {
  if (configs.size === 0) return;
  const { rows: known } = await db.query<{ hash: string }>(
    `select encode(c.hash, 'hex') as hash from unnest($1::text[]) as h(hash) join configs c on c.hash = decode(h.hash, 'hex')
      where c.components is not null`,
    [[...configs.keys()]],
  );
  const kept = new Set(known.map((row) => row.hash));
  const rows = [...configs].flatMap(([hash, bytes]) => (kept.has(hash) ? [] : [configRow(hash, bytes)]));
  for (let at = 0; at < rows.length; at += PUT_ROWS)
    await db.query(
      `insert into configs (hash, body, components, pipelines)
       select decode(c.hash, 'hex'), decode(c.body, 'hex'), c.components, c.pipelines
         from jsonb_to_recordset($1) as c(hash text, body text, components text[], pipelines text[])
       on conflict (hash) do update set components = excluded.components, pipelines = excluded.pipelines`,
      [JSON.stringify(rows.slice(at, at + PUT_ROWS))],
    );
}
const PUT_ROWS = 500;

const configRow = (hash: string, bytes: Uint8Array) => {
  const body = Buffer.from(bytes);
  return { hash, body: body.toString("hex"), ...needsOf(parse(body.toString("utf8"))) };
};

export type Wanted = {
  host: string;
  fleet: string | null;
  reason: string;
  distribution: string | null;
  version: string | null;
  config: string | null;
  renderError: string | null;
  commit: string;
  /** Why it is left as it is; null: nothing keeps it from moving. */
  left: { code: string; message: string } | null;
};

/**
 * Writes what these hosts should have. `since` moves only when version or configuration do; a row that says all of it
 * already is not written.
 */
export async function writeWanted(tx: Db, rows: readonly Wanted[], now: Date): Promise<void> {
  if (rows.length === 0) return;
  await tx.query(
    `insert into wanted (host, fleet, fleet_reason, distribution, version, config_hash, render_error, commit, since, left_code,
       left_note)
     select w.host, w.fleet, w.reason, w.distribution, w.version, decode(w.config, 'hex'), w."renderError", w.commit, $2,
         w."leftCode", w."leftNote"
       from jsonb_to_recordset($1) as w(host uuid, fleet text, reason text, distribution text, version text, config text,
         "renderError" text, commit text, "leftCode" text, "leftNote" text) join agents a on a.uid = w.host
         left join wanted x on x.host = w.host
      where x.host is null or (x.fleet, x.fleet_reason, x.distribution, x.version, x.config_hash, x.render_error, x.commit,
          x.left_code, x.left_note) is distinct from (w.fleet, w.reason, w.distribution, w.version, decode(w.config, 'hex'),
          w."renderError", w.commit, w."leftCode", w."leftNote")
     on conflict (host) do update set fleet = excluded.fleet, fleet_reason = excluded.fleet_reason,
       distribution = excluded.distribution, version = excluded.version, config_hash = excluded.config_hash,
       render_error = excluded.render_error, commit = excluded.commit, left_code = excluded.left_code,
       left_note = excluded.left_note,
       since = case when wanted.version is not distinct from excluded.version
         and wanted.config_hash is not distinct from excluded.config_hash then wanted.since else excluded.since end`,
    [
      JSON.stringify(
        rows.map(({ left, ...row }) => ({ ...row, leftCode: left?.code ?? null, leftNote: left?.message ?? "" })),
      ),
      now,
    ],
  );
}

/** Unassigned hosts keep version and configuration: only the fleet and its reason change. */
export async function writeUnassigned(
  db: Db,
  rows: readonly { host: string; reason: string }[],
  commit: string,
): Promise<void> {
  if (rows.length === 0) return;
  await db.query(
    `insert into wanted (host, fleet, fleet_reason, commit)
     select w.host, null, w.reason, $2 from jsonb_to_recordset($1) as w(host uuid, reason text) join agents a on a.uid = w.host
     on conflict (host) do update set fleet = null, fleet_reason = excluded.fleet_reason, left_code = null, left_note = ''
      where (wanted.fleet, wanted.fleet_reason, wanted.left_code) is distinct from (null, excluded.fleet_reason, null)`,
    [JSON.stringify(rows), commit],
  );
}

export type HostHistory = {
  host: string;
  beforeVersion: string | null;
  beforeConfig: string | null;
  isKnown: boolean;
  openIn: "none" | "catch_up" | "rollout";
  isTarget: boolean;
  stepDown: string | null;
  last: { phase: Phase; direction: string; toVersion: string | null; toConfig: string | null } | null;
  hasArtifact: boolean;
  /** What its catch-up was refused a short while ago, for a reason that nobody has taken away. */
  refused: TriedChange | null;
  /** What a person stopped its last catch-up from. */
  aborted: TriedChange | null;
};

/** Refusals that only a change at the host ends; one that nobody sees is asked again after a while. */
const LASTING_REFUSALS = [
  "capability_off",
  "updater_missing",
  "updater_mismatch",
  "wrong_distribution",
  "unsupported_platform",
];
const UPDATER_REFUSALS = ["updater_missing", "updater_mismatch"];
const REFUSED_MS = 10 * 60_000;

/** What the engine did with these hosts before. `activeN` is the active rollout of the fleet. */
export async function readHistories(
  db: Db,
  fleet: string,
  hosts: readonly string[],
  activeN: number | null,
  now: Date,
): Promise<Map<string, HostHistory>> {
  const { rows } = await db.query<HostHistory>(
    `select c.uid as host, w.version as "beforeVersion", encode(w.config_hash, 'hex') as "beforeConfig",
        w.host is not null as "isKnown", coalesce(o.where, 'none') as "openIn",
        exists (select from targets t where t.fleet = $1 and t.n = $3 and t.host = c.uid) as "isTarget",
        d.step_down as "stepDown", l.last,
        case when l.n = 0 and l.last->>'phase' = 'cancelled' and l.code = any($4) and l.finished_at > $5
            and not (l.code = any($6) and exists (select from agents u where u.collector_uid = c.uid and u.link = 'linked'))
          then l.last end as refused,
        case when l.n = 0 and l.last->>'phase' = 'cancelled' and (l.code = 'aborted' or l.failure_class = 'withdrawn')
          then l.last end as aborted,
        exists (select from artifacts f where f.distribution = c.service_name and f.version = c.version and f.os = c.os
          and f.arch = c.arch and f.state = 'verified' and revoked_hold(f.distribution, f.version) is null) as "hasArtifact"
       from unnest($2::uuid[]) as h(uid) join agents c on c.uid = h.uid left join wanted w on w.host = c.uid
         left join lateral (select case when r.kind = 'catch_up' then 'catch_up' else 'rollout' end as where
           from attempts a join rollouts r using (fleet, n) join targets t using (fleet, n, host)
           where a.host = c.uid and a.finished_at is null and a.attempt = t.attempt
             and (a.phase <> 'pending' or r.finished_at is null)
           order by (r.kind = 'catch_up') desc limit 1) o on true
         left join lateral (select case when a.direction = 'back' then t.to_version else t.from_version end as step_down
           from attempts a join targets t using (fleet, n, host)
           where a.host = c.uid and a.phase = 'succeeded' and t.to_version is not null
           order by a.finished_at desc limit 1) d on true
         left join lateral (select a.n, a.code, a.failure_class, a.finished_at, jsonb_build_object('fromVersion', t.from_version,
             'fromConfig', encode(t.from_config_hash, 'hex'), 'phase', a.phase, 'direction', a.direction, 'toVersion', t.to_version,
             'toConfig', encode(t.to_config_hash, 'hex')) as last
           from attempts a join targets t using (fleet, n, host)
           where a.host = c.uid and a.finished_at is not null order by a.finished_at desc limit 1) l on true`,
    [fleet, hosts, activeN, LASTING_REFUSALS, new Date(now.getTime() - REFUSED_MS), UPDATER_REFUSALS],
  );
  return new Map(rows.map((row) => [row.host, row]));
}
