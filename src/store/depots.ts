/**
 * Rows of depots: which nodes there are, what they answered, what an execution of replication has to do and did. Lists
 * stay here; workflows carry ids and counts (temporal: payloads are references).
 */
import { CHANNELS } from "../domain/channels.ts";
import type { FindingsMark } from "../domain/depot/node-status.ts";
import type { Answering, Wanted, Work } from "../domain/depot/plan-replication.ts";
import { notify, type Db } from "./database.ts";
import { saveHolds } from "./holds.ts";
import { noteHistory } from "./replication-history.ts";

export type DepotRow = {
  nodeId: string;
  zone: string;
  controlUrl: string;
  readUrl: string;
  state: "active" | "draining" | "removed";
  answeredAt: Date | null;
  unansweredSince: Date | null;
  /** Of one that drains. */
  drain: { by: string; reason: string; at: string } | null;
  /** How far its findings were read. */
  findingsRead: FindingsMark | null;
  /** Why it did not answer, or did not accept our configuration; null when it did. */
  error: string | null;
  generation: number | null;
  disks: { path: string; state: string; freeBytes: number | null }[];
  copies: number;
};

const SELECT = `
  select d.node_id as "nodeId", d.zone, d.control_url as "controlUrl", d.read_url as "readUrl", d.state,
    d.answered_at as "answeredAt", d.unanswered_since as "unansweredSince", d.drain, d.findings_read as "findingsRead", d.error, d.generation::float8 as generation, d.disks,
    (select count(*)::int from copies c where c.node_id = d.node_id) as copies
  from depots d`;

/** Nodes that are not removed, by id. */
export async function listDepots(db: Db): Promise<DepotRow[]> {
  return (await db.query<DepotRow>(`${SELECT} where d.state <> 'removed' order by d.node_id`)).rows;
}

export async function depotById(db: Db, nodeId: string): Promise<DepotRow | undefined> {
  return (await db.query<DepotRow>(`${SELECT} where d.node_id = $1 and d.state <> 'removed'`, [nodeId])).rows[0];
}

export type Registration = { nodeId: string; zone: string; controlUrl: string; readUrl: string };

/**
 * Registers a node, or moves one to new addresses. One that was removed begins anew; one that drains goes on draining.
 * Whether anything changed; replication is woken then.
 */
export async function registerDepot(db: Db, depot: Registration): Promise<boolean> {
  const changed = await db.query(
    `insert into depots (node_id, zone, control_url, read_url) values ($1, $2, $3, $4)
     on conflict (node_id) do update set zone = excluded.zone, control_url = excluded.control_url,
       read_url = excluded.read_url, state = case when depots.state = 'removed' then 'active' else depots.state end,
       answered_at = case when depots.state = 'removed' then null else depots.answered_at end
     where depots.state = 'removed' or (depots.zone, depots.control_url, depots.read_url)
       is distinct from (excluded.zone, excluded.control_url, excluded.read_url)`,
    [depot.nodeId, depot.zone, depot.controlUrl, depot.readUrl],
  );
  if (changed.rowCount === 0) return false;
  await notify(db, CHANNELS.artifacts);
  return true;
}

export type WantedSet = { epoch: string; generation: number; artifacts: string[]; sizes: number[] };

/** The generation of the wanted set: the same epoch and generation are the same set. */
export async function readGeneration(db: Db): Promise<{ epoch: string; generation: number }> {
  const { rows } = await db.query<{ epoch: string; generation: number }>(
    "select i.epoch, c.generation::float8 as generation from installation i cross join artifact_config c",
  );
  if (rows[0] === undefined) throw new Error("the installation has no row");
  return rows[0];
}

/** The wanted set and its generation, from one snapshot. */
export async function readWantedSet(db: Db): Promise<WantedSet> {
  const { rows } = await db.query<WantedSet>(
    `select i.epoch, c.generation::float8 as generation,
       coalesce(array_agg(encode(w.sha256, 'hex') order by w.sha256) filter (where w.sha256 is not null), '{}') as artifacts,
       coalesce(array_agg(w.size order by w.sha256) filter (where w.sha256 is not null), '{}') as sizes
     from installation i cross join artifact_config c
       left join (select sha256, min(size_bytes)::float8 as size from artifacts where wanted group by sha256) w on true
     group by i.epoch, c.generation`,
  );
  const row = rows[0];
  if (row === undefined) throw new Error("the installation has no row");
  return row;
}

/** Opens the record of an execution. Repeating it changes nothing. Old records go; their work goes with them. */
export async function openExecution(
  db: Db,
  execution: { id: string; cause: string; epoch: string; generation: number },
): Promise<void> {
  await db.query(
    "insert into replication_executions (id, cause, epoch, generation) values ($1, $2, $3, $4) on conflict do nothing",
    [execution.id, execution.cause, execution.epoch, execution.generation],
  );
  await saveHolds(db, execution.id);
  await db.query("update outbox set done_at = now() where generation <= $1 and done_at is null", [
    execution.generation,
  ]);
  await db.query(
    `delete from replication_executions where id in
       (select id from replication_executions order by started_at desc offset $1)`,
    [KEPT_EXECUTIONS],
  );
}
const KEPT_EXECUTIONS = 200;

export type ListedCopies = { sha256: string; disks: number }[];

/** What a node answered in an execution: its copies are replaced as a whole. */
export async function depotAnswered(
  tx: Db,
  nodeId: string,
  answer: { execution: string; generation: number; disks: DepotRow["disks"]; copies: ListedCopies },
): Promise<void> {
  const before = await tx.query<{ error: string | null }>(
    "select error from depots where node_id = $1 and state <> 'removed' for update",
    [nodeId],
  );
  if (before.rows[0] === undefined) return; // removed while it was asked
  await tx.query(
    `update depots set answered_at = now(), error = null, unanswered_since = null, generation = $2, execution = $3,
       disks = $4 where node_id = $1`,
    [nodeId, answer.generation, answer.execution, JSON.stringify(answer.disks)],
  );
  if (before.rows[0].error !== null)
    await noteHistory(tx, [{ kind: "answering", at: new Date(), node: nodeId, sha256: null, detail: {} }]);
  // only what changed is written: an execution that finds nothing new writes nothing
  await tx.query(
    `with listed as materialized
         (select decode(c.sha256, 'hex') as sha256, c.disks from unnest($2::text[], $3::int[]) as c (sha256, disks)),
       gone as (delete from copies c where c.node_id = $1 and not exists (select from listed l where l.sha256 = c.sha256))
     insert into copies as c (node_id, sha256, disks)
     select $1, l.sha256, l.disks from listed l where not exists
       (select from copies k where k.node_id = $1 and k.sha256 = l.sha256 and k.disks = l.disks and k.seen_at <= now())
     on conflict (node_id, sha256) do update set disks = excluded.disks, seen_at = now()`,
    [nodeId, answer.copies.map(({ sha256 }) => sha256), answer.copies.map(({ disks }) => disks)],
  );
  await notify(tx, CHANNELS.artifacts, nodeId);
}

/** A node that did not answer, or not as it should. Its copies stay known, but count for nothing while `error` stands. */
export async function depotSilent(db: Db, nodeId: string, error: string): Promise<void> {
  const text = error.slice(0, 500);
  const { rows } = await db.query<{ fresh: boolean }>(
    `update depots d set error = $2, execution = null, unanswered_since = coalesce(d.unanswered_since, now())
     from (select node_id, error from depots where node_id = $1 for update) b
     where d.node_id = b.node_id and d.state <> 'removed' returning b.error is null as fresh`,
    [nodeId, text],
  );
  if (rows[0]?.fresh === true)
    await noteHistory(db, [{ kind: "silent", at: new Date(), node: nodeId, sha256: null, detail: { error: text } }]);
  await notify(db, CHANNELS.artifacts, nodeId);
}

/** A copy that an acknowledged put or copy made: it counts from now on, at the generation it was made at. */
export async function copyMade(db: Db, nodeId: string, sha256: string, disks: number): Promise<void> {
  await db.query(
    `insert into copies (node_id, sha256, disks)
       select node_id, decode($2, 'hex'), $3 from depots where node_id = $1 and state <> 'removed'
     on conflict (node_id, sha256) do update set disks = greatest(copies.disks, excluded.disks), seen_at = now()`,
    [nodeId, sha256, disks],
  );
}

/** Facts for the plan: the nodes that answered this execution, the wanted artifacts, who has them, where they are staged. */
export async function planFacts(db: Db, execution: string): Promise<{ nodes: Answering[]; wanted: Wanted[] }> {
  const nodes = await db.query<Answering>(
    `select node_id as id, zone, state = 'draining' as draining from depots
     where execution = $1 and state <> 'removed' order by node_id`,
    [execution],
  );
  const wanted = await db.query<Wanted>(
    `select encode(a.sha256, 'hex') as sha256, min(a.size_bytes)::float8 as bytes,
       coalesce((select array_agg(c.node_id order by c.node_id) from copies c join depots d using (node_id)
         where c.sha256 = a.sha256 and c.disks > 0 and d.execution = $1), '{}') as "heldBy",
       coalesce((select array_agg(s.holder order by s.holder) from staging s where s.sha256 = a.sha256), '{}') as "stagedAt"
     from artifacts a where a.wanted group by a.sha256 order by a.sha256`,
    [execution],
  );
  return { nodes: nodes.rows, wanted: wanted.rows };
}

/** Stores the plan as rows. A repeated activity finds it there and keeps it. */
export async function savePlan(tx: Db, execution: string, work: readonly Work[]): Promise<void> {
  const rows = work.map((w, ord) => ({ node: w.node, sha256: w.sha256, kind: w.kind, source: w.source, ord }));
  await tx.query(
    `insert into replication_work (execution, node_id, sha256, kind, source, ord)
     select $1, w.node, decode(w.sha256, 'hex'), w.kind, w.source, w.ord
     from jsonb_to_recordset($2::jsonb) as w (node text, sha256 text, kind text, source text, ord int)
     on conflict do nothing`,
    [execution, JSON.stringify(rows)],
  );
}

export type WorkRow = {
  nodeId: string;
  sha256: string;
  kind: "put" | "copy";
  source: string | null;
  usedSource: string | null;
  state: "pending" | "done" | "failed";
  bytes: number;
};
const WORK = `select node_id as "nodeId", encode(sha256, 'hex') as sha256, kind, source, used_source as "usedSource", state,
  bytes::float8 as bytes from replication_work`;

export async function workOf(db: Db, execution: string, nodeId: string, kind: WorkRow["kind"]): Promise<WorkRow[]> {
  const { rows } = await db.query<WorkRow>(`${WORK} where execution = $1 and node_id = $2 and kind = $3 order by ord`, [
    execution,
    nodeId,
    kind,
  ]);
  return rows;
}

/** Everything that an execution does with one artifact: who waits for whom. */
export async function workOn(db: Db, execution: string, sha256: string): Promise<WorkRow[]> {
  return (await db.query<WorkRow>(`${WORK} where execution = $1 and sha256 = decode($2, 'hex')`, [execution, sha256]))
    .rows;
}

export type WorkOutcome =
  | { state: "done"; bytes: number; tries: number; usedSource: string }
  | { state: "failed"; tries: number; code: string; message: string };

/** Ends one piece of work and wakes whoever waits for it. */
export async function endWork(
  db: Db,
  key: { execution: string; nodeId: string; sha256: string },
  outcome: WorkOutcome,
): Promise<void> {
  const done = outcome.state === "done";
  await db.query(
    `update replication_work set state = $4, tries = $5, bytes = $6, used_source = $7, error_code = $8, error_message = $9
     where execution = $1 and node_id = $2 and sha256 = decode($3, 'hex')`,
    [
      key.execution,
      key.nodeId,
      key.sha256,
      outcome.state,
      outcome.tries,
      done ? outcome.bytes : 0,
      done ? outcome.usedSource : null,
      done ? null : outcome.code,
      done ? null : outcome.message.slice(0, 500),
    ],
  );
  await notify(db, CHANNELS.artifacts, key.sha256);
}

/** Nodes that have the artifact by now in this execution, with the number of copies each has sent in it. */
export async function sourcesOf(
  db: Db,
  execution: string,
  sha256: string,
): Promise<{ id: string; zone: string; readUrl: string; sends: number }[]> {
  const { rows } = await db.query<{ id: string; zone: string; readUrl: string; sends: number }>(
    `select d.node_id as id, d.zone, d.read_url as "readUrl",
       (select count(*)::int from replication_work w where w.execution = $1 and w.used_source = d.node_id) as sends
     from copies c join depots d using (node_id)
     where c.sha256 = decode($2, 'hex') and c.disks > 0 and d.execution = $1 order by d.node_id`,
    [execution, sha256],
  );
  return rows;
}

export type ExecutionResult = {
  nodes: number;
  skipped: string[];
  puts: number;
  copies: number;
  failed: number;
  bytes: number;
  lost: number;
  released: number;
  /** Per answering node: wanted artifacts that it has after the execution. */
  have: Record<string, number>;
  want: number;
};

/** Closes the record of an execution with what it did, counted from rows. */
export async function closeExecution(
  db: Db,
  id: string,
  state: "ended" | "stale" | "superseded",
  extra: { lost: number; released: number; skipped: string[] },
): Promise<ExecutionResult> {
  const { rows } = await db.query<
    Omit<ExecutionResult, keyof typeof extra | "have"> & { have: Record<string, number> }
  >(
    `select (select count(*)::int from depots where execution = $1) as nodes,
       count(*) filter (where kind = 'put' and state = 'done')::int as puts,
       count(*) filter (where kind = 'copy' and state = 'done')::int as copies,
       count(*) filter (where state <> 'done')::int as failed,
       coalesce(sum(bytes), 0)::float8 as bytes,
       (select count(distinct sha256)::int from artifacts where wanted) as want,
       coalesce((select jsonb_object_agg(d.node_id, (select count(distinct c.sha256) from copies c join artifacts a
           using (sha256) where c.node_id = d.node_id and a.wanted and c.disks > 0))
         from depots d where d.execution = $1), '{}') as have
     from replication_work where execution = $1`,
    [id],
  );
  if (rows[0] === undefined) throw new Error("an aggregate has one row");
  const result = { ...rows[0], ...extra };
  await db.query(
    "update replication_executions set state = $2, finished_at = now(), result = $3 where id = $1 and state = 'running'",
    [id, state, JSON.stringify(result)],
  );
  return result;
}

export type ExecutionRow = {
  id: string;
  cause: string;
  generation: number;
  state: "running" | "ended" | "stale" | "superseded";
  startedAt: Date;
  finishedAt: Date | null;
  result: Record<string, unknown> | null;
};

/** The newest executions, newest first. */
export async function listExecutions(db: Db, limit: number): Promise<ExecutionRow[]> {
  const { rows } = await db.query<ExecutionRow>(
    `select id, cause, generation::float8 as generation, state, started_at as "startedAt", finished_at as "finishedAt", result
     from replication_executions order by started_at desc limit $1`,
    [limit],
  );
  return rows;
}

/** Nodes with work in an execution, with the staging host of their puts. */
export async function plannedNodes(
  db: Db,
  execution: string,
): Promise<{ node: string; kind: WorkRow["kind"]; source: string }[]> {
  const { rows } = await db.query<{ node: string; kind: WorkRow["kind"]; source: string }>(
    `select distinct node_id as node, kind, case when kind = 'put' then source else '' end as source
     from replication_work where execution = $1 order by 1, 2, 3`,
    [execution],
  );
  return rows;
}

/** Ends what one host was still to put as failed. */
export async function failPuts(db: Db, execution: string, holder: string): Promise<void> {
  const ended = await db.query<{ sha256: string }>(
    `update replication_work set state = 'failed', error_code = 'internal', error_message = 'its activity did not come back'
     where execution = $1 and source = $2 and kind = 'put' and state = 'pending' returning encode(sha256, 'hex') as sha256`,
    [execution, holder],
  );
  for (const sha256 of new Set(ended.rows.map((row) => row.sha256))) await notify(db, CHANNELS.artifacts, sha256);
}

/** Ends pending work of a node as failed. */
export async function failPending(db: Db, execution: string, nodeId: string, kind: WorkRow["kind"]): Promise<void> {
  const ended = await db.query<{ sha256: string }>(
    `update replication_work set state = 'failed', error_code = 'internal', error_message = 'its activity did not come back'
     where execution = $1 and node_id = $2 and kind = $3 and state = 'pending' returning encode(sha256, 'hex') as sha256`,
    [execution, nodeId, kind],
  );
  for (const { sha256 } of ended.rows) await notify(db, CHANNELS.artifacts, sha256);
}
