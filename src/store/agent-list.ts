/** Agents as pages and myrctl read them: what they report, what they should have, what is offered to them, and why. */
import type { Db } from "./database.ts";

export type AgentView = {
  uid: string;
  kind: "collector" | "updater" | "unknown";
  kindReason: string;
  hostName: string;
  serviceName: string;
  version: string;
  os: string;
  arch: string;
  connected: boolean;
  firstSeenAt: Date;
  lastSeenAt: Date;
  healthy: boolean;
  healthySince: Date | null;
  healthStatus: string;
  lastError: string;
  configHash: string | null;
  configStatus: number;
  configError: string;
  sentHash: string | null;
  sentAt: Date | null;
  sentBy: "offer" | "resync" | "take_back" | null;
  failedHash: string | null;
  failedError: string;
  /** Null: not judged. */
  drift: string[] | null;
  driftOf: string | null;
  /** Of the wanted configuration; null: not known. */
  missing: string[] | null;
  pipelines: string[] | null;
  expectedPipelines: string[] | null;
  /** Of the updater: the agent itself, or the one that names this collector. */
  updaterAttributes: Record<string, unknown> | null;
  package: { status: string; version: string; offeredVersion: string; error: string } | null;
  fleet: string | null;
  fleetReason: string;
  /** A planning has seen it. */
  isPlanned: boolean;
  wantedVersion: string | null;
  wantedConfig: string | null;
  renderError: string | null;
  /** Why the planner leaves it as it is; null: nothing keeps it from moving. */
  leftCode: string | null;
  leftNote: string;
  offer: {
    kind: "package" | "config" | "withdraw";
    version: string | null;
    openedAt: string;
    sentAt: string | null;
  } | null;
  phase: string | null;
  phaseSince: Date | null;
  link: "none" | "linked" | "mismatch";
  linkReason: string;
  linkUid: string | null;
};
export type AgentDetailView = AgentView & {
  attributes: Record<string, unknown>;
  labels: Record<string, string>;
  unhealthyComponents: string[];
  packageStatus: unknown;
  updateAttempt: unknown;
  connections: { at: Date; event: string; detail: string }[];
};

export type AgentFilter = {
  kind?: string | undefined;
  fleet?: string | undefined;
  unassigned?: boolean | undefined;
  connected?: boolean | undefined;
  healthy?: boolean | undefined;
  version?: string | undefined;
  host?: string | undefined;
  /** The last row of the page before. */
  after?: { hostName: string; uid: string } | undefined;
  limit: number;
};

const VIEW = `a.uid, a.kind, a.kind_reason as "kindReason", a.host_name as "hostName", a.service_name as "serviceName",
  a.version, a.os, a.arch, a.connected, a.first_seen_at as "firstSeenAt", a.last_seen_at as "lastSeenAt", a.healthy,
  a.healthy_since as "healthySince", a.health_status as "healthStatus", a.last_error as "lastError",
  encode(a.remote_config_hash, 'hex') as "configHash", a.remote_config_status as "configStatus",
  a.remote_config_error as "configError", encode(a.sent_config_hash, 'hex') as "sentHash", a.sent_config_at as "sentAt",
  a.sent_config_by as "sentBy", encode(a.failed_config_hash, 'hex') as "failedHash",
  a.failed_config_error as "failedError", a.drift, encode(a.drift_of, 'hex') as "driftOf",
  missing_components(w.config_hash, a.credential, a.components_hash) as missing, a.pipelines,
  (select x.pipelines from configs x where x.hash = a.remote_config_hash) as "expectedPipelines",
  case a.kind when 'collector' then u.attributes when 'updater' then a.attributes end as "updaterAttributes",
  case a.kind when 'collector' then u.package_status when 'updater' then a.package_status end as package, w.fleet, coalesce(w.fleet_reason, 'not planned yet') as "fleetReason",
  w.host is not null as "isPlanned",
  w.version as "wantedVersion", encode(w.config_hash, 'hex') as "wantedConfig", w.render_error as "renderError",
  w.left_code as "leftCode", coalesce(w.left_note, '') as "leftNote",
  case when o.id is null then null else jsonb_build_object('kind', o.kind, 'version', o.version, 'openedAt', o.opened_at,
    'sentAt', o.sent_at) end as offer,
  p.phase, p.since as "phaseSince",
  case when a.kind = 'collector' then coalesce(u.link, 'none') else a.link end as link,
  case when a.kind = 'collector' then coalesce(u.link_reason, 'no updater names this collector') else a.link_reason end
    as "linkReason",
  case when a.kind = 'collector' then u.uid else a.collector_uid end as "linkUid"`;
const FROM = `agents a
  left join wanted w on w.host = a.uid
  left join offers o on o.host = a.uid and o.closed_at is null
  left join (select distinct on (host) host, phase, since from attempts where finished_at is null
    order by host, since desc) p on p.host = a.uid
  left join lateral (select c.uid, c.link, c.link_reason, c.attributes, c.package_status from agents c where c.collector_uid = a.uid and c.kind = 'updater'
    order by c.link = 'linked' desc, c.last_seen_at desc limit 1) u on a.kind = 'collector'`;

/** By host name, then UID. */
export async function listAgents(db: Db, filter: AgentFilter): Promise<AgentView[]> {
  const { rows } = await db.query<AgentView>(
    `select ${VIEW} from ${FROM}
      where ($1::text is null or a.kind = $1) and ($2::text is null or w.fleet = $2)
        and ($3::boolean is null or $3 = (w.fleet is null)) and ($4::boolean is null or a.connected = $4)
        and ($5::boolean is null or a.healthy = $5) and ($6::text is null or a.version = $6)
        and ($7::text is null or position(lower($7) in lower(a.host_name)) > 0)
        and ($8::text is null or (a.host_name, a.uid) > ($8, $9::uuid))
      order by a.host_name, a.uid limit $10`,
    [
      filter.kind ?? null,
      filter.fleet ?? null,
      filter.unassigned ?? null,
      filter.connected ?? null,
      filter.healthy ?? null,
      filter.version ?? null,
      filter.host ?? null,
      filter.after?.hostName ?? null,
      filter.after?.uid ?? null,
      filter.limit,
    ],
  );
  return rows;
}

/** Everything about one agent, with its newest connection events. */
export async function readAgent(db: Db, uid: string): Promise<AgentDetailView | undefined> {
  const { rows } = await db.query<Omit<AgentDetailView, "connections">>(
    `select ${VIEW}, a.attributes, a.credential_labels as labels, a.unhealthy_components as "unhealthyComponents",
       a.package_status as "packageStatus", a.update_attempt as "updateAttempt" from ${FROM} where a.uid = $1`,
    [uid],
  );
  if (rows[0] === undefined) return undefined;
  const connections = await db.query<{ at: Date; event: string; detail: string }>(
    "select at, event, detail from agent_connections where uid = $1 order by at desc limit 20",
    [uid],
  );
  return { ...rows[0], connections: connections.rows };
}
