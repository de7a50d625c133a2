/** Rollouts as pages, myrctl and workflows read them: state, waves, counts per phase, targets with their attempts. */
import type { Share } from "../domain/gitops/share.ts";
import { controlViewOf } from "../domain/rollout/control-view.ts";
import type { Holds } from "../domain/rollout/holds.ts";
import type { ApprovalEntry, ControlView } from "../domain/rollout/judge-control.ts";
import {
  noCounts,
  type Direction,
  type Ending,
  type Part,
  type Phase,
  type PhaseCounts,
  type RolloutState,
  type WaveState,
} from "../domain/rollout/phases.ts";
import type { Approval, FrozenPolicy } from "../domain/rollout/policy.ts";
import type { StepReport } from "../domain/update/health-report.ts";
import type { Db } from "./database.ts";

export type RolloutRow = {
  fleet: string;
  n: number;
  kind: "change" | "catch_up";
  wantedKey: string;
  commit: string;
  distribution: string | null;
  version: string | null;
  state: RolloutState;
  /** One sentence: why this state. */
  reason: string;
  /** What happens by itself next, or whom it waits for. */
  next: { what: string; at: Date | null } | null;
  holds: Holds;
  ending: Ending | null;
  policy: FrozenPolicy;
  /** Approvals by wave number. */
  approvals: Record<string, ApprovalEntry[]>;
  run: number;
  size: number;
  /** k of the wave that it is in. */
  wave: number | null;
  preparedAt: Date | null;
  failuresFrom: Date | null;
  createdAt: Date;
  startedAt: Date | null;
  finishedAt: Date | null;
};
export type WaveRow = {
  k: number;
  name: string;
  approval: Approval;
  bakeMs: number;
  state: WaveState;
  size: number | null;
  upTo: Share | null;
  selects: boolean;
  /** An approval is waited for since. */
  askedAt: Date | null;
  bakeUntil: Date | null;
  startedAt: Date | null;
  finishedAt: Date | null;
};
export type WaveView = WaveRow & { counts: PhaseCounts };
/** `counts` has every phase, of the current attempt of each target. */
export type RolloutSummary = RolloutRow & { counts: PhaseCounts; total: number };
export type RolloutDetail = RolloutSummary & { waves: WaveView[]; control: ControlView };

export type AttemptView = {
  attempt: number;
  direction: Direction;
  wave: number | null;
  phase: Phase;
  part: Part | null;
  since: Date;
  progressAt: Date;
  deadlineAt: Date | null;
  notBefore: Date | null;
  offeredAt: Date | null;
  /** Start of the unbroken health that counts. */
  healthFrom: Date | null;
  steps: StepReport[];
  failureClass: string | null;
  code: string | null;
  error: string;
  finishedAt: Date | null;
};
export type TargetView = {
  host: string;
  hostName: string;
  ord: number;
  wave: number | null;
  fromVersion: string | null;
  fromConfig: string | null;
  toVersion: string | null;
  toConfig: string | null;
  wayBack: string;
  connected: boolean;
  /** Null: its agent is gone. */
  lastSeenAt: Date | null;
  /** Version that its collector reports. */
  version: string;
  /** The last one is the current one. */
  attempts: AttemptView[];
};

const ROLLOUT = `r.fleet, r.n, r.kind, r.wanted_key as "wantedKey", r.commit, r.distribution, r.version, r.state, r.reason,
  case when r.next_what is null then null else jsonb_build_object('what', r.next_what) end as next, r.next_at as "nextAt",
  r.holds, r.ending, r.policy, r.approvals, r.run, r.size, r.wave, r.prepared_at as "preparedAt", nullif(r.failures_from, '-infinity') as "failuresFrom",
  r.created_at as "createdAt", r.started_at as "startedAt", r.finished_at as "finishedAt"`;

type RawRollout = Omit<RolloutRow, "next"> & { next: { what: string } | null; nextAt: Date | null };
const toRow = ({ nextAt, next, ...rest }: RawRollout): RolloutRow => ({
  ...rest,
  next: next === null ? null : { what: next.what, at: nextAt },
});

/** The row alone. `lock` keeps it for the transaction: `update` for whoever changes it, `share` for whoever relies on it. */
export async function readRollout(
  db: Db,
  fleet: string,
  n: number,
  lock?: "update" | "share",
): Promise<RolloutRow | undefined> {
  const forLock = lock === undefined ? "" : `for ${lock}`;
  const { rows } = await db.query<RawRollout>(
    `select ${ROLLOUT} from rollouts r where r.fleet = $1 and r.n = $2 ${forLock}`,
    [fleet, n],
  );
  return rows[0] === undefined ? undefined : toRow(rows[0]);
}

export async function readWaves(db: Db, fleet: string, n: number): Promise<WaveRow[]> {
  const { rows } = await db.query<Omit<WaveRow, "bakeMs"> & { bakeMs: bigint }>(
    `select k, name, approval, bake_ms as "bakeMs", state, size, up_to as "upTo", selects,
        asked_at as "askedAt", bake_until as "bakeUntil", started_at as "startedAt", finished_at as "finishedAt"
       from waves where fleet = $1 and n = $2 order by k`,
    [fleet, n],
  );
  return rows.map((row) => ({ ...row, bakeMs: Number(row.bakeMs) }));
}

export type ListFilter = { fleet?: string | undefined; limit?: number | undefined; before?: Date | undefined };

/** Newest first. Standing catch-ups (n = 0) are among them. */
export async function listRollouts(db: Db, { fleet, limit = 50, before }: ListFilter = {}): Promise<RolloutSummary[]> {
  const { rows } = await db.query<RawRollout>(
    `select ${ROLLOUT} from rollouts r
      where ($1::text is null or r.fleet = $1) and ($2::timestamptz is null or r.created_at < $2)
      order by r.created_at desc, r.fleet, r.n desc limit $3`,
    [fleet ?? null, before ?? null, limit],
  );
  const counts = await countPhases(db, rows);
  return rows.map((raw) => summary(toRow(raw), counts));
}

/** Everything of one rollout but its targets. */
export async function getRollout(db: Db, fleet: string, n: number): Promise<RolloutDetail | undefined> {
  const row = await readRollout(db, fleet, n);
  if (row === undefined) return undefined;
  const counts = await countPhases(db, [row]);
  const waves = (await readWaves(db, fleet, n)).map((wave) => ({
    ...wave,
    counts: counts.get(`${fleet}/${n}`)?.get(wave.k) ?? noCounts(),
  }));
  return { ...summary(row, counts), waves, control: await readControlView(db, row, waves) };
}

type Counts = Map<string, Map<number | null, PhaseCounts>>;

async function countPhases(db: Db, of: readonly { fleet: string; n: number }[]): Promise<Counts> {
  const { rows } = await db.query<{ fleet: string; n: number; wave: number | null; phase: Phase; count: number }>(
    `select t.fleet, t.n, a.wave, a.phase, count(*)::int as count
       from targets t join attempts a using (fleet, n, host, attempt)
       join unnest($1::text[], $2::int[]) as asked(fleet, n) on asked.fleet = t.fleet and asked.n = t.n
      group by 1, 2, 3, 4`,
    [of.map((one) => one.fleet), of.map((one) => one.n)],
  );
  const counts: Counts = new Map();
  for (const { fleet, n, wave, phase, count } of rows) {
    const byWave = counts.get(`${fleet}/${n}`) ?? new Map<number | null, PhaseCounts>();
    const one = byWave.get(wave) ?? noCounts();
    one[phase] += count;
    counts.set(`${fleet}/${n}`, byWave.set(wave, one));
  }
  return counts;
}

function summary(row: RolloutRow, all: Counts): RolloutSummary {
  const counts = noCounts();
  for (const one of all.get(`${row.fleet}/${row.n}`)?.values() ?? [])
    for (const [phase, count] of Object.entries(one)) counts[phase as Phase] += count;
  return { ...row, counts, total: Object.values(counts).reduce((sum, count) => sum + count, 0) };
}

/** Targets that trying again could help: their host is there, is this fleet's still, and its way is allowed. `a`: the attempt. */
export const MAY_RETRY = `coalesce(a.code, '') not in ('moved', 'superseded', 'deleted', 'downgrade_not_allowed', 'render_failed')
  and exists (select from agents h where h.uid = a.host)`;

/** What controls are judged by. */
export async function readControlView(db: Db, row: RolloutRow, waves?: readonly WaveRow[]): Promise<ControlView> {
  const { rows } = await db.query<{ updated: number; unsuccessful: number; newest: boolean; returning: number }>(
    `select
       (select count(*)::int from targets t join attempts a using (fleet, n, host, attempt)
         where t.fleet = $1 and t.n = $2 and a.offered_at is not null
           and not (a.direction = 'back' and a.phase = 'succeeded')
           and a.phase not in ('rolled_back', 'cancelled')) as updated,
       (select count(*)::int from targets t join attempts a using (fleet, n, host, attempt)
         where t.fleet = $1 and t.n = $2 and a.finished_at is not null
           and not (a.direction = 'forward' and a.phase = 'succeeded') and ${MAY_RETRY}) as unsuccessful,
       (select count(*)::int from attempts where fleet = $1 and n = $2 and direction = 'back' and finished_at is null
           and phase <> 'pending') as returning,
       $2 = 0 or not exists (select from rollouts o where o.fleet = $1 and o.kind = 'change' and o.n > $2) as newest`,
    [row.fleet, row.n],
  );
  const facts = rows[0] ?? { updated: 0, unsuccessful: 0, newest: false, returning: 0 };
  return controlViewOf(row, waves ?? (await readWaves(db, row.fleet, row.n)), facts);
}

type FlatTarget = Omit<TargetView, "attempts"> & { attempts: (AttemptView & Record<string, unknown>)[] };
export type TargetFilter = {
  phase?: Phase | undefined;
  wave?: number | undefined;
  host?: string | undefined;
  /** Case does not count. */
  hostName?: string | undefined;
  limit?: number | undefined;
  afterOrd?: number | undefined;
};

/** Targets in the order of the plan. `limit` at most 1,000; go on with the last `ord`. */
export async function listTargets(db: Db, fleet: string, n: number, filter: TargetFilter = {}): Promise<TargetView[]> {
  const { rows } = await db.query<FlatTarget>(
    `select t.host, t.host_name as "hostName", t.ord, cur.wave, t.from_version as "fromVersion",
        encode(t.from_config_hash, 'hex') as "fromConfig", t.to_version as "toVersion",
        encode(t.to_config_hash, 'hex') as "toConfig", t.way_back as "wayBack",
        coalesce(g.connected, false) as connected, coalesce(g.version, '') as version,
        g.last_seen_at as "lastSeenAt",
        (select jsonb_agg(jsonb_build_object('attempt', a.attempt, 'direction', a.direction, 'wave', a.wave,
            'phase', a.phase, 'part', a.part, 'since', a.since, 'progressAt', a.progress_at,
            'deadlineAt', a.deadline_at, 'notBefore', a.not_before, 'offeredAt', a.offered_at, 'healthFrom', a.health_from,
            'steps', a.steps,
            'failureClass', a.failure_class, 'code', a.code, 'error', a.error, 'finishedAt', a.finished_at)
            order by a.attempt)
           from attempts a where a.fleet = t.fleet and a.n = t.n and a.host = t.host) as attempts
       from targets t join attempts cur using (fleet, n, host, attempt) left join agents g on g.uid = t.host
      where t.fleet = $1 and t.n = $2 and t.ord > $3 and ($4::text is null or cur.phase = $4)
        and ($5::int is null or cur.wave = $5) and ($6::uuid is null or t.host = $6)
        and ($8::text is null or lower(t.host_name) = lower($8))
      order by t.ord limit $7`,
    [
      fleet,
      n,
      filter.afterOrd ?? -1,
      filter.phase ?? null,
      filter.wave ?? null,
      filter.host ?? null,
      Math.min(filter.limit ?? 1000, 1000),
      filter.hostName ?? null,
    ],
  );
  return rows.map((row) => ({ ...row, attempts: row.attempts.map(withDates) }));
}

const DATES = ["since", "progressAt", "deadlineAt", "notBefore", "offeredAt", "healthFrom", "finishedAt"] as const;

/** JSON has no dates: what PostgreSQL put into the array comes back as text. */
function withDates(attempt: AttemptView & Record<string, unknown>): AttemptView {
  const dated: Record<string, unknown> = { ...attempt };
  for (const key of DATES) {
    const value = dated[key];
    dated[key] = typeof value === "string" ? new Date(value) : null;
  }
  return dated as AttemptView;
}

export type FleetRow = {
  name: string;
  provenVersion: string | null;
  provenCommit: string | null;
  held: HeldChange | null;
  nextN: number;
  changeKey: string | null;
  plannedKey: string | null;
  seenCommit: string | null;
  catchUpAbortedKey: string | null;
};
/** The change that is not planned again until someone changes their mind. */
export type HeldChange = { n: number; wantedKey: string; because: string; at: string };

const FLEET = `name, proven_version as "provenVersion", proven_commit as "provenCommit", held, next_n as "nextN",
  change_key as "changeKey", planned_key as "plannedKey", seen_commit as "seenCommit",
  catch_up_aborted_key as "catchUpAbortedKey"`;

export async function readFleets(db: Db): Promise<FleetRow[]> {
  return (await db.query<FleetRow>(`select ${FLEET} from fleets order by name`)).rows;
}

/** The row of a fleet as it is, or as it would be made. */
export async function readFleet(db: Db, name: string): Promise<FleetRow> {
  const { rows } = await db.query<FleetRow>(`select ${FLEET} from fleets where name = $1`, [name]);
  return rows[0] ?? { ...NEW_FLEET, name };
}
const NEW_FLEET: Omit<FleetRow, "name"> = {
  provenVersion: null,
  provenCommit: null,
  held: null,
  nextN: 1,
  changeKey: null,
  plannedKey: null,
  seenCommit: null,
  catchUpAbortedKey: null,
};

/** The row of a fleet, made if there is none, locked for the transaction: one planner at a time for each fleet. */
export async function lockFleet(tx: Db, name: string): Promise<FleetRow> {
  await tx.query("insert into fleets (name) values ($1) on conflict do nothing", [name]);
  const { rows } = await tx.query<FleetRow>(`select ${FLEET} from fleets where name = $1 for update`, [name]);
  const row = rows[0];
  if (row === undefined) throw new Error(`the row of fleet ${name} is gone`);
  return row;
}
