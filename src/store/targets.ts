/** Targets of a wave: who is in it, who can be offered now, who cannot and why, and how far all of them are. */
import type { ErrorCode } from "../domain/errors.ts";
import type { TargetChange } from "../domain/rollout/attempt-facts.ts";
import type { OfferHost } from "../domain/rollout/judge-offer.ts";
import type { Direction, Phase } from "../domain/rollout/phases.ts";
import type { Member } from "../domain/rollout/waves.ts";
import type { Db } from "./database.ts";

export type Candidate = OfferHost & {
  host: string;
  attempt: number;
  wave: number | null;
  wayBack: string;
  /** Null: the platform's artifact is not there yet, or its release was revoked. */
  artifactState: "verified" | "fetching" | "failed" | null;
  /** What the collector reports now. */
  version: string;
  config: string | null;
  configStatus: number;
  unhealthy: string[];
  updaterConnected: boolean;
  /** It is in this fleet still. */
  isMember: boolean;
  target: TargetChange;
};

/** Targets whose current attempt waits, with everything that decides whether it can be offered. `$1` fleet, `$2` n. */
const CANDIDATES = `
  select t.host, a.attempt, a.wave, t.ord, t.way_back as "wayBack", c.host_name as "hostName",
    c.service_name as "serviceName", c.os, c.arch, c.capabilities, c.version, c.connected,
    missing_components(case when a.direction = 'back' then t.from_config_hash else t.to_config_hash end, c.credential,
      c.components_hash) as missing, encode(c.remote_config_hash, 'hex') as config, c.remote_config_status as "configStatus",
    c.unhealthy_components as unhealthy, coalesce(w.fleet = t.fleet, false) as "isMember", a.not_before,
    case when u.uid is null then null else jsonb_build_object('capabilities', u.capabilities::text, 'link', u.link,
      'linkReason', u.link_reason) end as updater, coalesce(u.connected, false) as "updaterConnected",
    case when a.direction = 'back' then t.from_version else t.to_version end as goal_version,
    jsonb_build_object('fromVersion', t.from_version, 'toVersion', t.to_version,
      'fromConfig', encode(t.from_config_hash, 'hex'), 'toConfig', encode(t.to_config_hash, 'hex'),
      'unhealthyBefore', t.unhealthy_before) as target
  from targets t join attempts a using (fleet, n, host, attempt) join agents c on c.uid = t.host
    left join wanted w on w.host = t.host
    left join lateral (select * from agents where collector_uid = t.host and kind = 'updater'
      order by (link = 'linked') desc, connected desc, last_seen_at desc limit 1) u on true
  where t.fleet = $1 and t.n = $2 and a.finished_at is null and a.phase = 'pending'`;

/** The same targets with no more than it takes to count and choose: read on every look at a wave. */
const WAITING = `
  select t.host, t.ord, a.wave, c.connected, a.not_before
  from targets t join attempts a using (fleet, n, host, attempt) join agents c on c.uid = t.host
  where t.fleet = $1 and t.n = $2 and a.finished_at is null and a.phase = 'pending'`;

/**
 * Can be offered now: connected, backoff over, nothing else open for the host; and going back, no newer wave is on its way.
 * `$3` now, `$4` direction.
 */
const READY = `x.connected and (x.not_before is null or x.not_before <= $3)
  and not exists (select from offers o where o.host = x.host and o.closed_at is null)
  and not exists (select from attempts y where y.host = x.host and y.finished_at is null and y.phase <> 'pending')
  and ($4 = 'forward' or coalesce(x.wave, -1) >= (select max(coalesce(b.wave, -1)) from attempts b join agents d on d.uid = b.host
    where b.fleet = $1 and b.n = $2 and b.finished_at is null
      and (b.phase <> 'pending' or (b.direction = 'back' and d.connected))))`;

type RawCandidate = Omit<Candidate, "updater" | "artifactState"> & {
  updater: { capabilities: string; link: "none" | "linked" | "mismatch"; linkReason: string } | null;
  artifactState: Candidate["artifactState"];
};

/** The next targets to offer, at most `limit`. Forward in the order of the plan; back the newest wave first. */
export async function readCandidates(
  db: Db,
  at: { fleet: string; n: number; k: number | null; direction: Direction; now: Date; limit: number },
): Promise<Candidate[]> {
  const order = at.direction === "back" ? "x.wave desc nulls last, x.ord desc" : "x.ord";
  const { rows } = await db.query<RawCandidate>(
    `with chosen as materialized (
       select x.host from (${WAITING} and a.direction = $4 and ($5::int is null or a.wave = $5)) x
        where ${READY} order by ${order} limit $6)
     select x.*, f.state as "artifactState" from (${CANDIDATES} and t.host in (select host from chosen)) x
       left join artifacts f on f.distribution = x."serviceName" and f.version = x.goal_version and f.os = x.os and f.arch = x.arch
         and f.state <> 'removed' and revoked_hold(f.distribution, f.version) is null
      order by ${order}`,
    [at.fleet, at.n, at.now, at.direction, at.k, at.limit],
  );
  return rows.map(({ updater, ...row }) => ({
    ...row,
    updater: updater === null ? null : { ...updater, capabilities: BigInt(updater.capabilities) },
  }));
}

/** All targets that wait for their first wave, connected or not: who counts, and who cannot be offered at all. */
export async function readUnassigned(db: Db, fleet: string, n: number): Promise<Candidate[]> {
  const { rows } = await db.query<RawCandidate>(
    `select x.*, null as "artifactState" from (${CANDIDATES} and a.wave is null and a.direction = 'forward') x order by x.ord`,
    [fleet, n],
  );
  return rows.map(({ updater, ...row }) => ({
    ...row,
    updater: updater === null ? null : { ...updater, capabilities: BigInt(updater.capabilities) },
  }));
}

/** Everybody who counts for shares. */
export async function readMembers(db: Db, fleet: string, n: number): Promise<Member[]> {
  const { rows } = await db.query<Member & { phase: Phase; offered: boolean; wave: number | null }>(
    `select t.host, t.ord, t.matches, t.joined, a.phase, t.wave
       from targets t join attempts a using (fleet, n, host, attempt) where t.fleet = $1 and t.n = $2 order by t.ord`,
    [fleet, n],
  );
  return rows.map(({ host, ord, matches, joined, phase, wave }) => ({
    host,
    ord,
    matches,
    joined,
    state: phase === "cancelled" ? "out" : wave === null ? "free" : "taken",
  }));
}

/** Puts these hosts into wave `k`. */
export async function assignWave(tx: Db, fleet: string, n: number, k: number, hosts: readonly string[]): Promise<void> {
  await tx.query(
    `with moved as (update targets set wave = $3 where fleet = $1 and n = $2 and host = any($4::uuid[]) returning host, attempt)
     update attempts a set wave = $3 from moved m where a.fleet = $1 and a.n = $2 and a.host = m.host and a.attempt = m.attempt`,
    [fleet, n, k, hosts],
  );
}

export type Cancellation = { host: string; code: ErrorCode | CancelCode; message: string };
/** Why a target ends without having been tried; none of them is a failure. */
export type CancelCode = "moved" | "deleted" | "aborted" | "superseded" | "rolled_back" | "withdrawn" | "offline";

/** Ends attempts that wait. Returns how many did. */
export async function cancelPending(
  tx: Db,
  fleet: string,
  n: number,
  cancellations: readonly Cancellation[],
  now: Date,
): Promise<number> {
  const { rowCount } = await tx.query(
    `update attempts a set phase = 'cancelled', code = x.code, error = x.message, finished_at = $3, since = $3,
        failure_class = case when x.code = 'incompatible' then x.code else a.failure_class end
       from unnest($4::uuid[], $5::text[], $6::text[]) as x(host, code, message), targets t
      where a.fleet = $1 and a.n = $2 and a.host = x.host and a.phase = 'pending' and a.finished_at is null
        and t.fleet = a.fleet and t.n = a.n and t.host = a.host and t.attempt = a.attempt`,
    [
      fleet,
      n,
      now,
      cancellations.map((one) => one.host),
      cancellations.map((one) => one.code),
      cancellations.map((one) => one.message),
    ],
  );
  return rowCount ?? 0;
}

/** Not before that moment again: what it needs is on its way. */
export async function postpone(tx: Db, fleet: string, n: number, hosts: readonly string[], until: Date): Promise<void> {
  await tx.query(
    `update attempts a set not_before = $4 from targets t
      where t.fleet = $1 and t.n = $2 and t.host = any($3::uuid[]) and a.fleet = t.fleet and a.n = t.n and a.host = t.host
        and a.attempt = t.attempt and a.phase = 'pending'`,
    [fleet, n, hosts, until],
  );
}

export type Begin = {
  host: string;
  attempt: number;
  part: "package" | "config" | null;
  phase: "offered" | "health_wait";
  unhealthy: string[];
};

/** Marks attempts as offered; what was unhealthy before is what the health wait compares with. */
export async function beginAttempts(
  tx: Db,
  fleet: string,
  n: number,
  begins: readonly Begin[],
  now: Date,
  deadline: { offered: Date; healthWait: Date },
): Promise<void> {
  await tx.query(
    `with b as (select * from jsonb_to_recordset($3) as b(host uuid, attempt int, part text, phase text, unhealthy text[])),
     seen as (update targets t set unhealthy_before = b.unhealthy from b, attempts a
        where t.fleet = $1 and t.n = $2 and t.host = b.host and a.fleet = t.fleet and a.n = t.n and a.host = t.host
          and a.attempt = b.attempt and a.direction = 'forward')
     update attempts a set phase = b.phase, part = coalesce(b.part, 'package'), since = $4, progress_at = $4, offered_at = $4,
        deadline_at = case when b.phase = 'offered' then $5::timestamptz else $6 end, not_before = null
       from b where a.fleet = $1 and a.n = $2 and a.host = b.host and a.attempt = b.attempt and a.phase = 'pending'`,
    [fleet, n, JSON.stringify(begins), now, deadline.offered, deadline.healthWait],
  );
}

export type WaveCounts = {
  /** By phase, of current attempts. */
  phases: Partial<Record<Phase, number>>;
  /** Waiting and possible to offer now. */
  ready: number;
  /** Waiting for a host that is not connected. */
  offline: number;
  /** When the next backoff is over. */
  nextBeforeMs: number | null;
};

export async function countWave(
  db: Db,
  at: { fleet: string; n: number; k: number | null; direction: Direction; now: Date },
): Promise<WaveCounts> {
  const values = [at.fleet, at.n, at.now, at.direction, at.k];
  const phases = await db.query<{ phase: Phase; count: number }>(
    `select a.phase, count(*)::int as count from targets t join attempts a using (fleet, n, host, attempt)
      where t.fleet = $1 and t.n = $2 and a.direction = $3 and ($4::int is null or a.wave = $4) group by 1`,
    [at.fleet, at.n, at.direction, at.k],
  );
  const waiting = await db.query<{ ready: number; offline: number; next: Date | null }>(
    `select count(*) filter (where ${READY})::int as ready, count(*) filter (where not x.connected)::int as offline,
        min(x.not_before) filter (where x.not_before > $3) as next
       from (${WAITING} and a.direction = $4 and ($5::int is null or a.wave = $5)) x`,
    values,
  );
  const { ready = 0, offline = 0, next = null } = waiting.rows[0] ?? {};
  return {
    phases: Object.fromEntries(phases.rows.map((row) => [row.phase, row.count])),
    ready,
    offline,
    nextBeforeMs: next?.getTime() ?? null,
  };
}

/**
 * For a rollback: every target that this rollout changed and that has ended gets an attempt back to its from-state.
 * Those still in flight follow when they have ended. Returns how many were opened.
 */
export async function openBackAttempts(tx: Db, fleet: string, n: number, now: Date): Promise<number> {
  const { rowCount } = await tx.query(
    `with changed as (
       update targets t set attempt = t.attempt + 1 from attempts a, agents c
        where t.fleet = $1 and t.n = $2 and a.fleet = t.fleet and a.n = t.n and a.host = t.host and a.attempt = t.attempt
          and a.direction = 'forward' and a.finished_at is not null and a.offered_at is not null and c.uid = t.host
          and (a.phase = 'succeeded' or (t.to_version is not null and c.version = t.to_version)
            or (t.to_config_hash is not null and c.remote_config_hash = t.to_config_hash))
          and not exists (select from offers o where o.host = t.host and o.closed_at is null)
        returning t.host, t.attempt, coalesce(a.wave, t.wave) as wave)
     insert into attempts (fleet, n, host, attempt, direction, wave, since, progress_at)
     select $1, $2, host, attempt, 'back', wave, $3, $3 from changed`,
    [fleet, n, now],
  );
  return rowCount ?? 0;
}
