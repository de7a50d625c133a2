/**
 * Attempts in flight: read with everything the host reports, and moved on by compare-and-set. A transition is written only
 * onto the row that it was judged from, so an observer that was overtaken changes nothing.
 */
import type { FailureClass } from "../domain/brand.ts";
import type {
  AttemptFacts,
  CollectorFacts,
  OfferFacts,
  Opening,
  PackageStatus,
  TargetChange,
  Transition,
  UpdaterFacts,
} from "../domain/rollout/attempt-facts.ts";
import { isFinalPhase, type Direction, type InFlightPhase, type Part } from "../domain/rollout/phases.ts";
import type { StepReport, UpdateAttempt } from "../domain/update/health-report.ts";
import type { Db } from "./database.ts";
import { closeOffers, openOffers, openWithdrawals, type NewOffer } from "./offers.ts";

export type InFlight = {
  host: string;
  attempt: number;
  wave: number | null;
  target: TargetChange;
  facts: AttemptFacts;
  offer: OfferFacts | null;
  collector: CollectorFacts | null;
  updater: UpdaterFacts | null;
};

type Row = {
  host: string;
  attempt: number;
  wave: number | null;
  phase: InFlightPhase;
  direction: Direction;
  part: Part;
  since: Date;
  deadlineAt: Date | null;
  offeredAt: Date;
  hostAttemptNanos: bigint | null;
  percent: number;
  steps: StepReport[];
  healthFrom: Date | null;
  silentFrom: Date | null;
  failureClass: FailureClass | null;
  error: string;
  /** Elements of arrays come as text, unlike single values. */
  taken: (bigint | string)[];
  target: TargetChange;
  known: boolean;
  connected: boolean;
  version: string;
  healthy: boolean;
  healthySince: Date | null;
  unhealthyComponents: string[];
  lastSeenAt: Date;
  lastError: string;
  configHash: string | null;
  configStatus: number;
  configError: string;
  pipelines: string[] | null;
  expectedPipelines: string[] | null;
  failedConfigHash: string | null;
  failedConfigError: string;
  effectiveOf: string | null;
  missing: string[] | null;
  hasUpdater: boolean;
  updateAttempt: UpdateAttempt | null;
  packageStatus: PackageStatus | null;
  offerDirection: OfferFacts["direction"] | null;
  packagesHash: string | null;
  sent: boolean;
};

/** Every attempt of this rollout from `offered` to the end of its health wait. */
export async function readInFlight(db: Db, fleet: string, n: number): Promise<InFlight[]> {
  const { rows } = await db.query<Row>(
    `select a.host, a.attempt, a.wave, a.phase, a.direction, a.part, a.since, a.deadline_at as "deadlineAt",
        coalesce(a.offered_at, a.since) as "offeredAt", a.host_attempt_nanos as "hostAttemptNanos", a.percent, a.steps,
        a.health_from as "healthFrom", a.silent_from as "silentFrom", a.failure_class as "failureClass", a.error,
        array(select x.host_attempt_nanos from attempts x where x.host = a.host and x.host_attempt_nanos is not null
          and (x.fleet, x.n, x.attempt) <> (a.fleet, a.n, a.attempt)) as taken,
        jsonb_build_object('fromVersion', t.from_version, 'toVersion', t.to_version,
          'fromConfig', encode(t.from_config_hash, 'hex'), 'toConfig', encode(t.to_config_hash, 'hex'),
          'unhealthyBefore', t.unhealthy_before) as target,
        c.uid is not null as known, c.connected, c.version, c.healthy, c.healthy_since as "healthySince",
        c.unhealthy_components as "unhealthyComponents", c.last_seen_at as "lastSeenAt", c.last_error as "lastError",
        encode(c.remote_config_hash, 'hex') as "configHash", c.remote_config_status as "configStatus",
        c.remote_config_error as "configError", c.pipelines,
        (select pipelines from configs where hash = coalesce(g.config, c.remote_config_hash)) as "expectedPipelines",
        encode(c.failed_config_hash, 'hex') as "failedConfigHash", c.failed_config_error as "failedConfigError",
        case when c.drift = '{}' then encode(c.drift_of, 'hex') end as "effectiveOf",
        missing_components(g.config, c.credential, c.components_hash) as missing, u.uid is not null as "hasUpdater",
        u.update_attempt as "updateAttempt", u.package_status as "packageStatus", o.direction as "offerDirection",
        encode(o.packages_hash, 'hex') as "packagesHash", o.sent_at is not null as sent
       from attempts a join targets t using (fleet, n, host)
         cross join lateral (select case when a.direction = 'back' then t.from_config_hash else t.to_config_hash end as config) g
         left join agents c on c.uid = a.host
         left join lateral (select * from agents where collector_uid = a.host and link = 'linked'
           order by connected desc, last_seen_at desc limit 1) u on true
         left join offers o on o.host = a.host and o.closed_at is null and o.fleet = a.fleet and o.n = a.n
           and o.attempt = a.attempt
      where a.fleet = $1 and a.n = $2 and a.finished_at is null and a.phase <> 'pending'`,
    [fleet, n],
  );
  return rows.map(toInFlight);
}

const ms = (at: Date | null): number | null => at?.getTime() ?? null;

function toInFlight(row: Row): InFlight {
  const { host, attempt, wave, target, known, hasUpdater, offerDirection } = row;
  return {
    host,
    attempt,
    wave,
    target,
    facts: {
      phase: row.phase,
      direction: row.direction,
      part: row.part,
      sinceMs: row.since.getTime(),
      deadlineMs: ms(row.deadlineAt),
      offeredMs: row.offeredAt.getTime(),
      hostAttemptNanos: row.hostAttemptNanos,
      percent: row.percent,
      steps: row.steps,
      healthFromMs: ms(row.healthFrom),
      silentFromMs: ms(row.silentFrom),
      failureClass: row.failureClass,
      error: row.error,
      takenNanos: row.taken.map(BigInt),
    },
    offer:
      offerDirection === null ? null : { direction: offerDirection, packagesHash: row.packagesHash, sent: row.sent },
    collector: known ? toCollector(row) : null,
    updater: hasUpdater ? { attempt: row.updateAttempt, packageStatus: row.packageStatus } : null,
  };
}

const toCollector = (row: Row): CollectorFacts => ({
  connected: row.connected,
  version: row.version,
  healthy: row.healthy,
  healthySinceMs: ms(row.healthySince),
  unhealthyComponents: row.unhealthyComponents,
  lastSeenMs: row.lastSeenAt.getTime(),
  lastError: row.lastError,
  configHash: row.configHash,
  configStatus: row.configStatus,
  configError: row.configError,
  pipelines: row.pipelines,
  expectedPipelines: row.expectedPipelines,
  failedConfig: row.failedConfigHash === null ? null : { hash: row.failedConfigHash, error: row.failedConfigError },
  effectiveOf: row.effectiveOf,
  missing: row.missing,
});

export type Move = { from: InFlight; to: Transition };

/**
 * Writes transitions with what they do to offers. Call it in a transaction that holds the rollout's row. Returns the
 * moves that took effect: the others were judged from rows that somebody else has moved on meanwhile.
 */
export async function applyMoves(tx: Db, fleet: string, n: number, moves: readonly Move[], now: Date): Promise<Move[]> {
  const { rows } = await tx.query<{ host: string; attempt: number }>(
    `update attempts a set phase = m.phase, part = m.part, since = case when a.phase = m.phase then a.since else $4 end,
        progress_at = case when m.progress then $4 else a.progress_at end, deadline_at = m.deadline_at,
        host_attempt_nanos = m.host_attempt_nanos, percent = m.percent, steps = m.steps, health_from = m.health_from,
        silent_from = m.silent_from, not_before = coalesce(m.not_before, a.not_before),
        failure_class = m.failure_class, error = m.error,
        offered_at = case when m.phase = 'pending' then null else a.offered_at end,
        finished_at = case when m.final then $4 end
       from jsonb_to_recordset($3) as m(host uuid, attempt int, was text, was_health_from timestamptz,
         was_silent_from timestamptz, phase text, part text, progress boolean, deadline_at timestamptz,
         host_attempt_nanos bigint, percent real, steps jsonb, health_from timestamptz, silent_from timestamptz,
         not_before timestamptz, failure_class text, error text, final boolean)
      where a.fleet = $1 and a.n = $2 and a.host = m.host and a.attempt = m.attempt and a.finished_at is null
        and a.phase = m.was and a.health_from is not distinct from m.was_health_from
        and a.silent_from is not distinct from m.was_silent_from
      returning a.host, a.attempt`,
    [fleet, n, JSON.stringify(moves.map(toRecord)), now],
  );
  const done = new Set(rows.map((row) => `${row.host}/${row.attempt}`));
  const applied = moves.filter(({ from }) => done.has(`${from.host}/${from.attempt}`));
  await moveOffers(tx, fleet, n, applied, now);
  return applied;
}

const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
const kept = <T>(next: T | undefined, now: T): T => (next === undefined ? now : next);

function toRecord({ from: { host, attempt, facts }, to }: Move): Record<string, unknown> {
  return {
    host,
    attempt,
    was: facts.phase,
    was_health_from: iso(facts.healthFromMs),
    was_silent_from: iso(facts.silentFromMs),
    phase: to.phase,
    part: to.part ?? facts.part,
    progress: to.progress ?? false,
    deadline_at: to.phase === "pending" ? null : iso(kept(to.deadlineMs, facts.deadlineMs)),
    host_attempt_nanos: kept(to.hostAttemptNanos, facts.hostAttemptNanos)?.toString() ?? null,
    percent: to.percent ?? facts.percent,
    steps: to.steps ?? facts.steps,
    health_from: iso(kept(to.healthFromMs, facts.healthFromMs)),
    silent_from: iso(kept(to.silentFromMs, facts.silentFromMs)),
    not_before: iso(to.notBeforeMs ?? null),
    failure_class: to.failureClass ?? facts.failureClass,
    error: to.error ?? facts.error,
    final: isFinalPhase(to.phase),
  };
}

async function moveOffers(tx: Db, fleet: string, n: number, moves: readonly Move[], now: Date): Promise<void> {
  const closing = moves.filter(({ to }) => to.close !== undefined);
  if (closing.length === 0) return;
  const at = { fleet, n, now };
  await closeOffers(
    tx,
    at,
    closing.map(({ from, to }) => ({ host: from.host, attempt: from.attempt, reason: to.close ?? "" })),
  );
  const opening = moves.flatMap(({ from, to }): NewOffer[] =>
    to.open === undefined ? [] : [{ host: from.host, attempt: from.attempt, ...openingFields(to.open) }],
  );
  const impossible = await openOffers(tx, at, opening);
  await failImpossible(tx, at, impossible);
  await openWithdrawals(
    tx,
    at,
    moves.filter(({ to }) => to.withdraw === true).map(({ from }) => from.host),
  );
}

const openingFields = ({ kind, direction, version, config }: Opening) => ({ kind, direction, version, config });

/** The way back needs an artifact or an updater that is not there: the attempt ends as it stands, and says so. */
async function failImpossible(
  tx: Db,
  { fleet, n, now }: { fleet: string; n: number; now: Date },
  hosts: readonly NewOffer[],
): Promise<void> {
  if (hosts.length === 0) return;
  await tx.query(
    `update attempts a set phase = 'failed', finished_at = $5, code = 'no_way_back',
        error = a.error || case when a.error = '' then '' else '; ' end || 'there is no way back from the server'
       from unnest($3::uuid[], $4::int[]) as x(host, attempt)
      where a.fleet = $1 and a.n = $2 and a.host = x.host and a.attempt = x.attempt and a.finished_at is null`,
    [fleet, n, hosts.map((one) => one.host), hosts.map((one) => one.attempt), now],
  );
}
