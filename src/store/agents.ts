/**
 * Rows of agents: what each one reports of itself. Written in batches by the process that holds the connections, one
 * statement per table. The caller bounds texts; here only what PostgreSQL cannot hold (NUL) is replaced.
 */
import type { AgentKind } from "../domain/agents/classify.ts";
import type { HistoryRow } from "../domain/agents/connection-history.ts";
import { judgeLink, type Link } from "../domain/update/link.ts";
import type { Db } from "./database.ts";
import { isListening } from "./listen.ts";

/** One agent as memory and row both hold it. The effective configuration is written apart: it is not kept in memory. */
export type AgentRecord = {
  uid: string;
  kind: AgentKind;
  kindReason: string;
  /** `token:<enrollment token id>` */
  credential: string;
  credentialLabels: Record<string, string>;
  hostName: string;
  serviceName: string;
  /** As semver, without `v`, whenever it is semver. */
  version: string;
  os: string;
  arch: string;
  attributes: Record<string, unknown>;
  capabilities: bigint;
  connected: boolean;
  lastSeenAt: Date;
  sequenceNum: bigint;
  healthy: boolean;
  healthySince: Date | null;
  startTimeNanos: bigint;
  unhealthyComponents: string[];
  healthStatus: string;
  lastError: string;
  /** The ComponentHealth message as it was reported. */
  health: Buffer | null;
  remoteConfigHash: Buffer | null;
  remoteConfigStatus: number;
  remoteConfigError: string;
  /** Reported APPLIED last. */
  appliedConfigHash: Buffer | null;
  /** Reported FAILED last; null again once it was sent or applied again. */
  failedConfigHash: Buffer | null;
  failedConfigError: string;
  failedConfigAt: Date | null;
  /** Of the available components of its build. */
  componentsHash: Buffer | null;
  /** In the health report of a collector; null: not known. */
  pipelines: string[] | null;
  collectorUid: string | null;
  updateAttempt: unknown;
  packageStatus: unknown;
  /** Only when read: the process that held its connection last, if it lives. */
  replica?: string | null;
};
export type AgentWrite = { record: AgentRecord; effectiveConfig: Buffer | null };

const COLUMNS = `uid, kind, kind_reason as "kindReason", credential, credential_labels as "credentialLabels",
  host_name as "hostName", service_name as "serviceName", version, os, arch, attributes, capabilities, connected,
  last_seen_at as "lastSeenAt", sequence_num::text as "sequenceNum", healthy, healthy_since as "healthySince",
  start_time_nanos as "startTimeNanos", unhealthy_components as "unhealthyComponents",
  health_status as "healthStatus", last_error as "lastError", health, remote_config_hash as "remoteConfigHash",
  remote_config_status as "remoteConfigStatus", remote_config_error as "remoteConfigError",
  applied_config_hash as "appliedConfigHash", failed_config_hash as "failedConfigHash",
  failed_config_error as "failedConfigError", failed_config_at as "failedConfigAt", components_hash as "componentsHash",
  pipelines,
  collector_uid as "collectorUid", update_attempt as "updateAttempt", package_status as "packageStatus", replica`;

/** The rows of these agents that exist. */
export async function loadAgents(db: Db, uids: readonly string[]): Promise<Map<string, AgentRecord>> {
  // Once for each process that is named: the list of sessions is not read for each agent.
  const { rows } = await db.query<Omit<AgentRecord, "sequenceNum"> & { sequenceNum: string; dead: boolean }>(
    `with its as materialized (select ${COLUMNS} from agents where uid = any($1::uuid[])),
       holders as materialized (
         select replica, ${isListening("replica::text")} as lives from (select distinct replica from its) as named)
     select its.*, not coalesce(lives, false) as dead from its left join holders using (replica)`,
    [uids],
  );
  return new Map(
    rows.map(({ dead, ...row }) => [
      row.uid,
      { ...row, sequenceNum: BigInt(row.sequenceNum), ...(dead ? { replica: null } : {}) },
    ]),
  );
}

/** What neither text nor jsonb can hold becomes U+FFFD: NUL, and half of a surrogate pair (a text cut at its limit). */
const text = (value: string): string => value.replaceAll("\0", "\uFFFD").toWellFormed();

function storable(value: unknown): unknown {
  if (typeof value === "string") return text(value);
  if (Array.isArray(value)) return value.map(storable);
  if (typeof value !== "object" || value === null) return value;
  const clean = Object.create(null) as Record<string, unknown>;
  for (const [key, inner] of Object.entries(value)) clean[text(key)] = storable(inner);
  return clean;
}
const json = (value: unknown): string | null =>
  value === null || value === undefined ? null : JSON.stringify(storable(value));
/** bigint columns are signed: what does not fit becomes the largest that does. */
const int64 = (value: bigint): string => (value > 0x7fff_ffff_ffff_ffffn ? 0x7fff_ffff_ffff_ffffn : value).toString();

type Column = [name: string, type: string, of: (write: AgentWrite) => unknown];
const WRITTEN: readonly Column[] = [
  ["uid", "uuid", ({ record }) => record.uid],
  ["kind", "text", ({ record }) => record.kind],
  ["kind_reason", "text", ({ record }) => record.kindReason],
  ["credential", "text", ({ record }) => record.credential],
  ["credential_labels", "jsonb", ({ record }) => json(record.credentialLabels)],
  ["host_name", "text", ({ record }) => text(record.hostName)],
  ["service_name", "text", ({ record }) => text(record.serviceName)],
  ["version", "text", ({ record }) => text(record.version)],
  ["os", "text", ({ record }) => text(record.os)],
  ["arch", "text", ({ record }) => text(record.arch)],
  ["attributes", "jsonb", ({ record }) => json(record.attributes)],
  ["capabilities", "bigint", ({ record }) => int64(record.capabilities)],
  ["connected", "boolean", ({ record }) => record.connected],
  ["last_seen_at", "timestamptz", ({ record }) => record.lastSeenAt],
  ["sequence_num", "numeric", ({ record }) => record.sequenceNum.toString()],
  ["healthy", "boolean", ({ record }) => record.healthy],
  ["healthy_since", "timestamptz", ({ record }) => record.healthySince],
  ["start_time_nanos", "bigint", ({ record }) => int64(record.startTimeNanos)],
  ["unhealthy_components", "text", ({ record }) => json(record.unhealthyComponents)],
  ["health_status", "text", ({ record }) => text(record.healthStatus)],
  ["last_error", "text", ({ record }) => text(record.lastError)],
  ["health", "bytea", ({ record }) => record.health],
  ["remote_config_hash", "bytea", ({ record }) => record.remoteConfigHash],
  ["remote_config_status", "int", ({ record }) => record.remoteConfigStatus],
  ["remote_config_error", "text", ({ record }) => text(record.remoteConfigError)],
  ["applied_config_hash", "bytea", ({ record }) => record.appliedConfigHash],
  ["failed_config_hash", "bytea", ({ record }) => record.failedConfigHash],
  ["failed_config_error", "text", ({ record }) => text(record.failedConfigError)],
  ["failed_config_at", "timestamptz", ({ record }) => record.failedConfigAt],
  ["components_hash", "bytea", ({ record }) => record.componentsHash],
  ["pipelines", "text", ({ record }) => json(record.pipelines)],
  ["collector_uid", "uuid", ({ record }) => record.collectorUid],
  ["update_attempt", "jsonb", ({ record }) => json(record.updateAttempt)],
  ["package_status", "jsonb", ({ record }) => json(record.packageStatus)],
  ["effective_config", "bytea", ({ effectiveConfig }) => effectiveConfig],
];
/** Arrays go as JSON: of an array of arrays the database would make one. */
const ARRAYS: Readonly<Record<string, string>> = {
  unhealthy_components: "array(select jsonb_array_elements_text(r.unhealthy_components::jsonb))",
  pipelines: `case when r.pipelines is null then null
    else array(select jsonb_array_elements_text(r.pipelines::jsonb)) end`,
};
/**
 * A connection that ended says nothing about one that another process has taken over since; nor does what was last heard
 * over it count more than what that process has heard meanwhile (the `where` below).
 */
const SPECIAL: Readonly<Record<string, string>> = {
  connected: `case when excluded.connected then true
    when agents.replica is not distinct from excluded.replica then false else agents.connected end`,
  effective_config: "coalesce(excluded.effective_config, agents.effective_config)",
};
const UPSERT = (() => {
  const names = WRITTEN.map(([name]) => name);
  const values = names.map((name) => ARRAYS[name] ?? `r.${name}`);
  const changes = names.slice(1).map((name) => `${name} = ${SPECIAL[name] ?? `excluded.${name}`}`);
  return `insert into agents (${names.join(", ")}, replica, changed_at, first_seen_at, drift_due)
    select ${values.join(", ")}, $${names.length + 1}::text, $${names.length + 2}::timestamptz, r.last_seen_at,
      r.effective_config is not null
    from unnest(${WRITTEN.map(([, type], i) => `$${i + 1}::${type}[]`).join(", ")}) as r(${names.join(", ")})
    on conflict (uid) do update set ${changes.join(", ")}, changed_at = excluded.changed_at,
      drift_due = agents.drift_due or excluded.drift_due or (excluded.remote_config_status = 1
        and (agents.remote_config_status, agents.remote_config_hash) is distinct from (1, excluded.remote_config_hash)),
      replica = case when excluded.connected then excluded.replica else agents.replica end
    where excluded.connected or agents.replica is not distinct from excluded.replica
      or excluded.last_seen_at >= agents.last_seen_at`;
})();

/** Writes these agents as they are in memory of process `replica`. Afterwards each has a row. */
export async function writeAgents(db: Db, writes: readonly AgentWrite[], replica: string, now: Date): Promise<void> {
  if (writes.length === 0) return;
  // One order everywhere: two processes that write the same agents wait for each other and never deadlock.
  const ordered = writes.toSorted((a, b) => (a.record.uid < b.record.uid ? -1 : 1));
  await db.query(UPSERT, [...WRITTEN.map(([, , of]) => ordered.map(of)), replica, now]);
}

/** Of these, the UIDs that have a row; nobody deletes one of them before the transaction ends. */
export async function existingAgents(tx: Db, uids: readonly string[]): Promise<string[]> {
  const { rows } = await tx.query<{ uid: string }>(
    "select uid from agents where uid = any($1::uuid[]) order by uid for share",
    [uids],
  );
  return rows.map((row) => row.uid);
}

/** `health`: the latest report, when it differs from the row's in times only. */
export type Beat = { uid: string; seenAt: Date; sequenceNum: bigint; health: Buffer | null };

/**
 * Writes that these agents were heard. Returns the UIDs that have no row any more: somebody deleted them. It runs every
 * two seconds for every agent that spoke, so the arrays go as texts made here (the driver looks at each element for quotes),
 * and rows come back only when one is missing.
 */
export async function touchAgents(db: Db, beats: readonly Beat[]): Promise<string[]> {
  if (beats.length === 0) return [];
  const ordered = beats.toSorted((a, b) => (a.uid < b.uid ? -1 : 1));
  const uids = arrayText(ordered.map(({ uid }) => uid));
  const { rowCount } = await db.query(
    `update agents a set last_seen_at = to_timestamp(b.at / 1000.0), sequence_num = b.seq, connected = true
     from unnest($1::uuid[], $2::bigint[], $3::numeric[]) as b(uid, at, seq) where a.uid = b.uid`,
    [
      uids,
      arrayText(ordered.map(({ seenAt }) => seenAt.getTime())),
      arrayText(ordered.map(({ sequenceNum }) => sequenceNum)),
    ],
  );
  await writeHealth(db, ordered);
  if (rowCount === ordered.length) return [];
  const { rows } = await db.query<{ uid: string }>(
    "select uid from unnest($1::uuid[]) as b(uid) where not exists (select from agents a where a.uid = b.uid)",
    [uids],
  );
  return rows.map(({ uid }) => uid);
}

/** An array of what needs no quotes: UUIDs and numbers. */
const arrayText = (values: readonly (string | number | bigint)[]): string => `{${values.join(",")}}`;

async function writeHealth(db: Db, beats: readonly Beat[]): Promise<void> {
  const reports = beats.flatMap(({ uid, health }) => (health === null ? [] : [{ uid, health }]));
  if (reports.length === 0) return;
  // One binary value cut by the database: as elements of an array they would be sent as hexadecimal text.
  await db.query(
    `update agents a set health = substring($2::bytea from b.at for b.size)
     from unnest($1::uuid[], $3::int[], $4::int[]) as b(uid, at, size) where a.uid = b.uid`,
    [
      arrayText(reports.map(({ uid }) => uid)),
      Buffer.concat(reports.map(({ health }) => health)),
      arrayText(startsOf(reports.map(({ health }) => health.length))),
      arrayText(reports.map(({ health }) => health.length)),
    ],
  );
}

/** Where each part begins when they stand one after the other; the first byte is 1. */
function startsOf(sizes: readonly number[]): number[] {
  let at = 1;
  return sizes.map((size) => (at += size) - size);
}

/** Whoever was not heard since `before` is offline, whichever process held its connection. Returns their UIDs. */
export async function markSilent(db: Db, before: Date, now: Date): Promise<string[]> {
  const { rows } = await db.query<{ uid: string }>(
    "update agents set connected = false, changed_at = $2 where connected and last_seen_at < $1 returning uid",
    [before, now],
  );
  return rows.map((row) => row.uid);
}

export type LinkChange = { updater: string; collector: string; link: Link; before: Link["link"] };

/** Of the advisory lock under which links are judged. */
const LINK_LOCK = 7_319_045;

/**
 * Only one transaction at a time writes agents and judges their links: of two that each write one half of a pair, neither
 * would see the other half. Taken before any row, so that nobody waits for it with rows that its holder wants.
 */
export const lockLinks = (tx: Db): Promise<unknown> => tx.query("select pg_advisory_xact_lock($1)", [LINK_LOCK]);

/** Applies the linking rule to every pair in which one of these agents is a part. Returns what changed. */
export async function relink(db: Db, uids: readonly string[]): Promise<LinkChange[]> {
  const { rows } = await db.query<{
    updater: string;
    uCredential: string;
    uHost: string;
    named: string | null;
    before: Link["link"];
    beforeReason: string;
    kind: AgentKind | null;
    cCredential: string;
    cHost: string;
  }>(
    `select u.uid as updater, u.credential as "uCredential", u.host_name as "uHost", u.collector_uid as named,
       u.link as before, u.link_reason as "beforeReason", c.kind, c.credential as "cCredential", c.host_name as "cHost"
     from agents u left join agents c on c.uid = u.collector_uid
     where u.kind = 'updater' and (u.uid = any($1::uuid[]) or u.collector_uid = any($1::uuid[]))`,
    [uids],
  );
  const changes = rows.flatMap((row): (LinkChange & { same: boolean })[] => {
    const collector =
      row.kind === null ? undefined : { kind: row.kind, credential: row.cCredential, hostName: row.cHost };
    const link = judgeLink({ credential: row.uCredential, hostName: row.uHost }, row.named !== null, collector);
    const same = link.link === row.before && link.reason === row.beforeReason;
    return [{ updater: row.updater, collector: row.named ?? "", link, before: row.before, same }];
  });
  const changed = changes.filter(({ same }) => !same).toSorted((a, b) => (a.updater < b.updater ? -1 : 1));
  if (changed.length > 0)
    await db.query(
      `update agents a set link = l.link, link_reason = l.reason
       from unnest($1::uuid[], $2::text[], $3::text[]) as l(uid, link, reason) where a.uid = l.uid`,
      [changed.map((c) => c.updater), changed.map((c) => c.link.link), changed.map((c) => text(c.link.reason))],
    );
  return changed;
}

export type ConnectionEvent = { uid: string } & HistoryRow;
const KEPT_EVENTS = 20;

/** Keeps the newest twenty events of each agent. One that says what the newest row says already is no change. */
export async function addConnectionEvents(db: Db, events: readonly ConnectionEvent[]): Promise<void> {
  if (events.length === 0) return;
  await db.query(
    `insert into agent_connections (uid, at, event, detail)
     select e.uid, e.at, e.event, e.detail
     from unnest($1::uuid[], $2::timestamptz[], $3::text[], $4::text[]) as e(uid, at, event, detail) join agents using (uid)
       left join lateral (select c.event, c.detail from agent_connections c where c.uid = e.uid order by c.at desc limit 1)
         newest on true
     where newest.event is distinct from e.event or (e.event = 'connected' and newest.detail <> e.detail)`,
    [events.map((e) => e.uid), events.map((e) => e.at), events.map((e) => e.event), events.map((e) => text(e.detail))],
  );
  await db.query(
    `delete from agent_connections c using (
       select uid, at, row_number() over (partition by uid order by at desc) as n from agent_connections
       where uid = any($1::uuid[])) old
     where old.n > $2 and c.uid = old.uid and c.at = old.at`,
    [events.map((e) => e.uid), KEPT_EVENTS],
  );
}
