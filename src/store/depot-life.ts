/** A depot that is to go: it drains, leaves when everything it has is safe elsewhere, or is removed by a person. */
import { judgeLeaving, type Held, type Leaving } from "../domain/depot/leave.ts";
import { CHANNELS } from "../domain/channels.ts";
import { appendAudit } from "./audit.ts";
import { notify, type Db } from "./database.ts";
import type { DepotRow } from "./depots.ts";
import { noteHistory, releasesOf, type HistoryKind } from "./replication-history.ts";

type By = { by: string; reason: string };
export type StateChange = "changed" | "already" | "unknown" | "last";

/**
 * The node serves on and gets nothing new. `last`: no other node that takes copies answers, so nothing changed. Call it
 * inside a transaction.
 */
export async function drainDepot(tx: Db, nodeId: string, entry: By, now: Date): Promise<StateChange> {
  const state = await lockDepot(tx, nodeId);
  if (state === undefined) return "unknown";
  if (state === "draining") return "already";
  const others = await tx.query(
    `select from depots where node_id <> $1 and state = 'active' and answered_at is not null and error is null limit 1`,
    [nodeId],
  );
  if (others.rowCount === 0) return "last";
  const drain = { ...entry, at: now.toISOString() };
  await tx.query("update depots set state = 'draining', drain = $2 where node_id = $1", [
    nodeId,
    JSON.stringify(drain),
  ]);
  await record(tx, nodeId, { action: "depot.drain", kind: "draining" }, entry, {}, now);
  return "changed";
}

/** It takes copies again. Call it inside a transaction. */
export async function undrainDepot(tx: Db, nodeId: string, entry: By, now: Date): Promise<StateChange> {
  const state = await lockDepot(tx, nodeId);
  if (state === undefined) return "unknown";
  if (state === "active") return "already";
  await tx.query("update depots set state = 'active', drain = null where node_id = $1", [nodeId]);
  await record(tx, nodeId, { action: "depot.undrain", kind: "undrained" }, entry, {}, now);
  return "changed";
}

export type Cost = Leaving & { answers: boolean; names: Map<string, string[]> };

/** What becomes of wanted artifacts when this node goes; undefined: there is no such node. */
export async function costOfLeaving(db: Db, nodeId: string, minCopies: number): Promise<Cost | undefined> {
  const known = await db.query<{ answers: boolean; others: number }>(
    `select d.answered_at is not null and d.error is null as answers, (select count(*)::int from depots o
         where o.node_id <> d.node_id and o.state = 'active' and o.answered_at is not null and o.error is null) as others
     from depots d where d.node_id = $1 and d.state <> 'removed'`,
    [nodeId],
  );
  const node = known.rows[0];
  if (node === undefined) return undefined;
  const leaving = judgeLeaving(await heldBy(db, nodeId), minCopies, node.others);
  return { ...leaving, answers: node.answers, names: await releasesOf(db, [...leaving.lost, ...leaving.rare]) };
}

/** A copy elsewhere counts once its node has listed it, and while that node answers and stays. */
const COUNTS = "d.state = 'active' and d.error is null and c.seen_at <= d.answered_at";

/** What it has of the wanted set. */
async function heldBy(db: Db, nodeId: string): Promise<Held[]> {
  const { rows } = await db.query<Held>(
    `select encode(m.sha256, 'hex') as sha256,
       count(*) filter (where ${COUNTS})::int as elsewhere,
       count(*) filter (where d.node_id is not null and not coalesce(${COUNTS}, false))::int as otherwise,
       (select count(*)::int from staging s where s.sha256 = m.sha256) as staged
     from copies m
       left join copies c on c.sha256 = m.sha256 and c.node_id <> m.node_id and c.disks > 0
       left join depots d on d.node_id = c.node_id and d.state <> 'removed'
     where m.node_id = $1 and m.disks > 0 and m.sha256 in (select sha256 from artifacts where wanted)
     group by m.sha256 order by m.sha256`,
    [nodeId],
  );
  return rows;
}

/** Afterwards it is asked nothing and counts for nothing; its files stay where they are. Call it inside a transaction. */
export async function removeDepot(
  tx: Db,
  nodeId: string,
  entry: By,
  detail: Record<string, unknown>,
  now: Date,
): Promise<void> {
  await tx.query(
    "update depots set state = 'removed', drain = null, execution = null, error = null, disks = '[]' where node_id = $1",
    [nodeId],
  );
  await tx.query("delete from copies where node_id = $1", [nodeId]);
  await record(tx, nodeId, { action: "depot.remove", kind: "removed" }, entry, detail, now);
}

/** The state of a node, which nobody else changes until the transaction ends; undefined: unknown, or removed. */
export async function lockDepot(tx: Db, nodeId: string): Promise<DepotRow["state"] | undefined> {
  // leaving is decided by what others have: one decision at a time, with the wanted set as it is now
  await tx.query("select from artifact_config for update");
  const { rows } = await tx.query<{ state: DepotRow["state"] }>(
    "select state from depots where node_id = $1 and state <> 'removed' for update",
    [nodeId],
  );
  return rows[0]?.state;
}

/**
 * Lets draining nodes go whose every artifact the others listed in this execution, at this generation. Call it inside a
 * transaction, at the end of an execution. Those that left.
 */
export async function leaveDrained(
  tx: Db,
  { execution, minCopies }: { execution: string; minCopies: number },
  now: Date,
): Promise<string[]> {
  const draining = await tx.query<{ id: string; drain: By | null }>(
    "select node_id as id, drain from depots where state = 'draining' order by node_id",
  );
  if (draining.rows.length === 0) return [];
  // the wanted set does not move while it is decided, nor did it since the execution began
  const still = await tx.query(
    `select from artifact_config where generation = (select generation from replication_executions where id = $1)
     for update`,
    [execution],
  );
  if (still.rowCount === 0) return [];
  const left: string[] = [];
  for (const { id, drain } of draining.rows) {
    if ((await lockDepot(tx, id)) !== "draining") continue;
    if (!(await othersTookPart(tx, id, execution))) continue;
    const cost = await costOfLeaving(tx, id, minCopies);
    if (cost?.safe !== true) continue;
    const entry = { by: drain?.by ?? "system", reason: drain?.reason ?? "" };
    await removeDepot(tx, id, { ...entry, by: "system" }, { drained: true, drainedBy: entry.by }, now);
    left.push(id);
  }
  return left;
}

/** Whether every other active node that counts as answering answered in this execution, and there is one. */
async function othersTookPart(db: Db, nodeId: string, execution: string): Promise<boolean> {
  const { rows } = await db.query<{ others: number; missed: number }>(
    `select count(*)::int as others, count(*) filter (where execution is distinct from $2)::int as missed
     from depots where state = 'active' and node_id <> $1 and answered_at is not null and error is null`,
    [nodeId, execution],
  );
  return (rows[0]?.others ?? 0) > 0 && rows[0]?.missed === 0;
}

async function record(
  tx: Db,
  nodeId: string,
  { action, kind }: { action: string; kind: HistoryKind },
  { by, reason }: By,
  detail: Record<string, unknown>,
  now: Date,
): Promise<void> {
  const said = { reason, ...detail };
  await appendAudit(tx, { principal: by, action, object: nodeId, outcome: "accepted", detail: said }, now);
  await noteHistory(tx, [{ kind, at: now, node: nodeId, sha256: null, detail: { by, ...said } }]);
  await notify(tx, CHANNELS.artifacts, nodeId);
}
