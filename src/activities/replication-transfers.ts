/**
 * The transfers of one execution, one activity per node. Work and outcome are rows: a repeated activity goes on with what
 * is pending, and who waits for a source is woken when its row ends. A node that is unreachable or says that we are out
 * of date ends its own work only.
 */
import { cancellationSignal, heartbeat } from "@temporalio/activity";
import type { DepotClient } from "../depot/client.ts";
import { nextSource } from "../domain/depot/plan-replication.ts";
import { CHANNELS } from "../domain/channels.ts";
import { failure, isFailure, type Failure } from "../domain/errors.ts";
import { transaction } from "../store/database.ts";
import * as rows from "../store/depots.ts";
import type { ReplicationDeps } from "./replication.ts";

export type NodeWork = { execution: string; epoch: string; generation: number; node: string };

const TRIES = 3;
const RETRY_MS = 500;
const PUTS_AT_ONCE = 2;
const COPIES_AT_ONCE = 4;
const JOB_WAIT_MS = 10_000;
/** How long a copy waits for its planned source while others have the artifact already. */
const PLANNED_SOURCE_MS = 15_000;

/** Puts what is staged on this host to every node that is to get it. All of that has ended afterwards. */
export async function pushStaged(deps: ReplicationDeps, it: Omit<NodeWork, "node">): Promise<void> {
  const planned = await rows.plannedNodes(deps.pool, it.execution);
  const mine = planned.filter(({ kind, source }) => kind === "put" && source === deps.staging.holder);
  const ends = await Promise.allSettled(mine.map(({ node }) => pushNode(deps, { ...it, node })));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

/** Puts what is staged on this host to the node. Everything it was to do has ended afterwards. */
export async function pushNode(deps: ReplicationDeps, task: NodeWork): Promise<void> {
  await work(deps, task, "put", PUTS_AT_ONCE, async (client, row, tries) => {
    // after a cut it goes on where the node has it to
    const offset = tries > 1 ? await client.partial(row.sha256) : 0;
    const { size, body } = await deps.staging.open(row.sha256, offset);
    try {
      const answer = await client.put(row.sha256, task, size, body, offset);
      return { disks: answer.successful_writes, bytes: size, usedSource: deps.staging.holder };
    } catch (error) {
      // either the way or our own copy is bad; the latter must not stay
      if (isFailure(error) && error.code === "depot_digest_mismatch") await deps.staging.check(row.sha256);
      throw error;
    }
  });
}

/** Lets the node copy from others. Everything it was to do has ended afterwards. */
export async function pullNode(deps: ReplicationDeps, task: NodeWork): Promise<void> {
  const failed = new Map<string, Set<string>>();
  await work(deps, task, "copy", COPIES_AT_ONCE, async (client, row) => {
    const tried = failed.get(row.sha256) ?? new Set<string>();
    failed.set(row.sha256, tried);
    const source = await waitForSource(deps, task, row, tried);
    try {
      const { job } = await client.copyFromDepot(row.sha256, task, source.readUrl);
      const ended = await waitForJob(client, job);
      return { disks: ended.disks, bytes: ended.bytes, usedSource: source.id };
    } catch (error) {
      tried.add(source.id);
      throw error;
    }
  });
}

type Made = { disks: number; bytes: number; usedSource: string };
type OneTransfer = (client: DepotClient, row: rows.WorkRow, tries: number) => Promise<Made>;

/** Does the node's pending work of one kind, a few pieces at once, each with a bounded number of tries. */
async function work(
  deps: ReplicationDeps,
  task: NodeWork,
  kind: rows.WorkRow["kind"],
  atOnce: number,
  transfer: OneTransfer,
): Promise<void> {
  const depot = await rows.depotById(deps.pool, task.node);
  const all = await rows.workOf(deps.pool, task.execution, task.node, kind);
  // what another host has staged is that host's to put
  const pending = all.filter(
    (row) => row.state === "pending" && (kind === "copy" || row.source === deps.staging.holder),
  );
  const client = depot && deps.depots.of(depot);
  let over: Failure | undefined = client ? undefined : failure("not_found", { what: `depot ${task.node}` });
  const beat = setInterval(() => heartbeat(), HEARTBEAT_MS);
  const worker = async (): Promise<void> => {
    for (let row = pending.shift(); row !== undefined; row = pending.shift()) {
      cancellationSignal().throwIfAborted();
      const ended = over ?? (await oneWork(deps, task, row, client as DepotClient, transfer));
      if (ended === undefined) continue;
      if (endsTheNode(ended)) over = ended;
      const outcome = { state: "failed", tries: TRIES, code: ended.code, message: ended.message } as const;
      await rows.endWork(deps.pool, keyOf(task, row), outcome);
    }
  };
  try {
    await Promise.all(Array.from({ length: atOnce }, worker));
  } finally {
    clearInterval(beat);
  }
}
const HEARTBEAT_MS = 3_000;

/** Undefined: done, and said so in the rows. Else what it failed with. */
async function oneWork(
  deps: ReplicationDeps,
  task: NodeWork,
  row: rows.WorkRow,
  client: DepotClient,
  transfer: OneTransfer,
): Promise<Failure | undefined> {
  for (let tries = 1; ; tries++) {
    try {
      const { disks, ...made } = await transfer(client, row, tries);
      await transaction(deps.pool, async (tx) => {
        await rows.copyMade(tx, task.node, row.sha256, disks);
        await rows.endWork(tx, keyOf(task, row), { state: "done", tries, ...made });
      });
      return undefined;
    } catch (error) {
      cancellationSignal().throwIfAborted();
      if (!isFailure(error)) throw error;
      if (tries >= TRIES || error.handling === "halt" || error.code === "no_source") return error;
      await pause(RETRY_MS * tries);
    }
  }
}

const keyOf = ({ execution, node }: NodeWork, { sha256 }: rows.WorkRow) => ({ execution, nodeId: node, sha256 });

/** Nothing else will succeed at this node in this execution. */
const endsTheNode = (cause: Failure): boolean =>
  ["depot_generation", "depot_epoch", "depot_unreachable", "depot_stopping", "depot_full", "not_found"].includes(
    cause.code,
  );

/**
 * The planned source, once it has the artifact; another that has it when the planned one failed or takes too long. Fails
 * with `no_source` when nobody has it and nobody is still to get it.
 */
async function waitForSource(
  { pool, listener }: ReplicationDeps,
  task: NodeWork,
  row: rows.WorkRow,
  tried: ReadonlySet<string>,
): Promise<{ id: string; readUrl: string }> {
  const signal = cancellationSignal();
  const since = performance.now();
  for (;;) {
    signal.throwIfAborted();
    const changed = listener.next(CHANNELS.artifacts, 1_000, (payload) => payload === row.sha256, signal);
    const [have, works] = await Promise.all([
      rows.sourcesOf(pool, task.execution, row.sha256),
      rows.workOn(pool, task.execution, row.sha256),
    ]);
    const usable = have.filter((source) => !tried.has(source.id) && source.id !== task.node);
    const planned = usable.find((source) => source.id === row.source);
    if (planned !== undefined) return planned;
    const comes = works.some((other) => other.nodeId === row.source && other.state === "pending");
    const me = { id: task.node, zone: have.find((source) => source.id === task.node)?.zone ?? "" };
    const other = nextSource(me, usable, tried);
    const late = performance.now() - since > PLANNED_SOURCE_MS;
    if (other !== undefined && (!comes || tried.has(row.source ?? "") || late))
      return usable.find((source) => source.id === other) as { id: string; readUrl: string };
    if (usable.length === 0 && !mayCome(task.node, works, have.length > 0 && !late))
      throw failure("no_source", { sha256: row.sha256 });
    await changed;
  }
}

/**
 * Whether somebody else is still to get it: by a put, or by a copy while there are `sources` for copies. Copies without a
 * source would wait for each other for ever.
 */
const mayCome = (me: string, works: readonly rows.WorkRow[], sources: boolean): boolean =>
  works.some((one) => one.nodeId !== me && one.state === "pending" && (one.kind === "put" || sources));

async function waitForJob(client: DepotClient, id: string): Promise<{ disks: number; bytes: number }> {
  for (;;) {
    const job = await client.job(id, JOB_WAIT_MS, cancellationSignal());
    if (job.state === "done") return { disks: job.successful_writes, bytes: job.bytes };
    if (job.state === "failed") throw failure("depot_source_failed", { message: job.message ?? job.code ?? "" });
  }
}

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
