/**
 * What replication does outside its workflows: asking nodes, planning, releasing staging, watching for a reason to run
 * again. Inputs and outputs are references and counts; lists are rows.
 */
import { cancellationSignal, heartbeat } from "@temporalio/activity";
import type { Client } from "@temporalio/client";
import type { Logger } from "pino";
import { CHANNELS } from "../domain/channels.ts";
import type { FindingsMark } from "../domain/depot/node-status.ts";
import { planReplication, seededChoose } from "../domain/depot/plan-replication.ts";
import { failure, isFailure } from "../domain/errors.ts";
import { artifactsWithDigest } from "../store/artifacts.ts";
import { transaction, type Pool } from "../store/database.ts";
import { leaveDrained } from "../store/depot-life.ts";
import * as rows from "../store/depots.ts";
import { appendEvent } from "../store/events.ts";
import { holdsOf } from "../store/holds.ts";
import type { Listener } from "../store/listen.ts";
import { noteFindings, noteWords } from "../store/replication-history.ts";
import { abandonHolder, stagingHolders } from "../store/staging.ts";
import { withActivityFailures } from "./artifact-failure.ts";
import type { Staging } from "./artifact-staging.ts";
import type { DepotClients } from "./depot-clients.ts";
import { pullNode, pushNode, pushStaged, type NodeWork } from "./replication-transfers.ts";
import { startFetch } from "./start-workflows.ts";

export type ReplicationDeps = {
  pool: Pool;
  listener: Listener;
  client: Client;
  depots: DepotClients;
  staging: Staging;
  minCopies: number;
  log: Pick<Logger, "info" | "warn" | "error">;
};
export type ReplicationActivities = ReturnType<typeof createReplicationActivities>;
export type Execution = { execution: string; epoch: string; generation: number };
export type Probe = { node: string; answer: "ok" | "silent" | "stale" | "superseded" };
export type Planned = {
  /** Executions that began before `holders` was there push one node at a time. */
  pushes: { holder: string; node: string }[];
  /** Hosts with something to put. */
  holders?: string[];
  /** Nodes with something to copy. */
  pulls: string[];
  missing: number;
  lost: number;
};
export type Reason = "generation" | "depot" | "quantum";
export type Summary = {
  nodes: number;
  puts: number;
  copies: number;
  failed: number;
  bytes: number;
  have: string;
  want: number;
};

/** Queues: `releaseStaging` and `pushNode` on `staging-<host>`, `pullNode` and `watchReplication` on `observe`. */
export function createReplicationActivities(deps: ReplicationDeps) {
  const wantedSet = rememberSet(deps.pool);
  return withActivityFailures(
    {
      readGeneration: () => rows.readGeneration(deps.pool),
      /** Step 1: what is wanted now, and the nodes and staging hosts there are. */
      openExecution: (it: Execution & { cause: string }) => openExecution(deps, it),
      /** Steps 2 and 3 for one node: it gets the configuration, then says what it has. */
      probeNode: (it: Execution & { node: string }) => probeNode(deps, it, wantedSet),
      /** Step 4 for this host: copies that the execution proved to be replicated are removed. */
      releaseStaging: (it: Execution) => deps.staging.release({ ...it, minCopies: deps.minCopies }),
      /** Who gets what, as rows. Artifacts that nobody has are fetched again. */
      planWork: (it: Execution) => planWork(deps, it),
      /** Step 5 for everything that is staged on this host, to all nodes. */
      pushStaged: (it: Execution) => pushStaged(deps, it),
      /** Steps 5 and 6 for one node. */
      pushNode: (it: NodeWork) => pushNode(deps, it),
      pullNode: (it: NodeWork) => pullNode(deps, it),
      /** Work of an activity that did not come back is ended, so that nobody waits for it. */
      failPending: (it: { execution: string; node: string; kind: "put" | "copy" }) =>
        rows.failPending(deps.pool, it.execution, it.node, it.kind),
      failPuts: (it: { execution: string; holder: string }) => rows.failPuts(deps.pool, it.execution, it.holder),
      /** The host of a staging does not answer: what only it has is fetched again. */
      abandonStaging: (holder: string) => abandonHolder(deps.pool, holder),
      closeExecution: (it: {
        execution: string;
        state: "ended" | "stale" | "superseded";
        lost: number;
        released: number;
        skipped: string[];
      }) => closeExecution(deps, it),
      /** Waits for a reason to run: the generation moved, a depot joined or returned, or the time is over. */
      watchReplication: (it: { generation: number; atMostMs: number }) => watchReplication(deps, it),
    },
    deps.log,
  );
}

async function openExecution({ pool }: ReplicationDeps, it: Execution & { cause: string }) {
  const { epoch, generation } = await rows.readGeneration(pool);
  await rows.openExecution(pool, { id: it.execution, cause: it.cause, epoch, generation });
  const nodes = await rows.listDepots(pool);
  return { generation, nodes: nodes.map((node) => node.nodeId), holders: await stagingHolders(pool) };
}

/** The wanted set as it is now. It is read once per generation, whatever the number of nodes that are asked about it. */
function rememberSet(pool: Pool): () => Promise<rows.WantedSet> {
  let known: Promise<rows.WantedSet> | undefined;
  return async () => {
    const { epoch, generation } = await rows.readGeneration(pool);
    const before = await known?.catch(() => undefined);
    if (before?.epoch === epoch && before.generation === generation) return before;
    known = rows.readWantedSet(pool);
    return known;
  };
}

async function probeNode(
  deps: ReplicationDeps,
  it: Execution & { node: string },
  wantedSet: () => Promise<rows.WantedSet>,
): Promise<Probe> {
  const { pool } = deps;
  const { node } = it;
  const [wanted, all, holds] = await Promise.all([wantedSet(), rows.listDepots(pool), holdsOf(pool, it.execution)]);
  const depot = all.find(({ nodeId }) => nodeId === node);
  if (wanted.generation !== it.generation || depot === undefined) return { node, answer: "superseded" };
  const client = deps.depots.of(depot);
  const peers = all.map((other) => new URL(other.readUrl).origin);
  try {
    await client.putConfig({ ...wanted, ...holds }, peers);
    const { generation, epoch, copies: found, disks, findings } = await client.listOf(wanted.artifacts);
    if (generation !== it.generation || epoch !== it.epoch)
      throw failure("depot_generation", { sent: it.generation, current: generation });
    const copies = found.flatMap((it, i) => {
      const count = { none: 0, some: 1, all: disks.length }[it];
      return count === 0 ? [] : [{ sha256: wanted.artifacts[i] ?? "", disks: count }];
    });
    await transaction(pool, (tx) =>
      rows.depotAnswered(tx, node, { execution: it.execution, generation, disks, copies }),
    );
    await readFindings(deps, depot, findings);
    return { node, answer: "ok" };
  } catch (error) {
    if (!isFailure(error)) throw error;
    deps.log.warn({ node, code: error.code }, error.message);
    await rows.depotSilent(pool, node, `${error.code}: ${error.message}`);
    return { node, answer: OUT_OF_DATE.has(error.code) ? "stale" : "silent" };
  }
}

/** A node that found something on its disks since it was asked last is asked what. */
async function readFindings(
  { pool, depots }: ReplicationDeps,
  depot: rows.DepotRow,
  mark?: FindingsMark,
): Promise<void> {
  const { findingsRead: read } = depot;
  if (mark === undefined || mark.count === 0 || (mark.life === read?.life && mark.count === read.count)) return;
  const { findings } = await depots.of(depot).status();
  if (findings !== undefined) await transaction(pool, (tx) => noteFindings(tx, depot.nodeId, findings));
}

/** Answers of a node that knows another generation than we do. */
const OUT_OF_DATE = new Set(["depot_generation", "depot_set"]);

async function planWork(deps: ReplicationDeps, { execution }: Execution): Promise<Planned> {
  // what the nodes said is how things stand; what the transfers change is said at the end
  await transaction(deps.pool, (tx) => noteWords(tx, deps.minCopies, new Date()));
  const { nodes, wanted } = await rows.planFacts(deps.pool, execution);
  const { work, lost, missing } = planReplication(nodes, wanted, deps.minCopies, seededChoose(seedOf(execution)));
  await transaction(deps.pool, (tx) => rows.savePlan(tx, execution, work));
  for (const sha256 of lost) await bringBack(deps, sha256);
  const saved = await rows.plannedNodes(deps.pool, execution);
  return {
    pushes: [],
    holders: [...new Set(saved.flatMap(({ kind, source }) => (kind === "put" ? [source] : [])))],
    pulls: [...new Set(saved.flatMap(({ node, kind }) => (kind === "copy" ? [node] : [])))],
    missing,
    lost: lost.length,
  };
}

/** A wanted artifact without any copy within reach is said to be lost, and fetched again from its source. */
async function bringBack({ pool, client, log }: ReplicationDeps, sha256: string): Promise<void> {
  log.error({ sha256 }, "no node that answers has this artifact, and it is not staged: it is fetched again");
  await appendEvent(pool, "depots", { kind: "lost", sha256 });
  for (const artifact of await artifactsWithDigest(pool, sha256)) await startFetch(client, artifact);
}

/** Of the workflow, not of its run: the same execution makes the same plan whenever it is planned. */
const seedOf = (execution: string): number => {
  let seed = 0;
  for (const char of execution.slice(0, execution.lastIndexOf("/")))
    seed = (Math.imul(seed, 31) + (char.codePointAt(0) ?? 0)) | 0;
  return seed;
};

type Closing = {
  execution: string;
  state: "ended" | "stale" | "superseded";
  lost: number;
  released: number;
  skipped: string[];
};

async function closeExecution({ pool, minCopies, log }: ReplicationDeps, it: Closing): Promise<Summary> {
  const { lost, released, skipped } = it;
  const result = await rows.closeExecution(pool, it.execution, it.state, { lost, released, skipped });
  const { nodes, puts, copies, failed, bytes, want } = result;
  const left = await transaction(pool, async (tx) => {
    const gone = it.state === "ended" ? await leaveDrained(tx, { execution: it.execution, minCopies }, new Date()) : [];
    // the plan was made of how things stood, and that was said then
    const isAsPlanned = it.state === "ended" && puts + copies + failed === 0 && gone.length === 0;
    if (!isAsPlanned) await noteWords(tx, minCopies, new Date());
    return gone;
  });
  for (const node of left) log.info({ node }, "everything that this depot has is safe elsewhere: it left");
  await appendEvent(pool, "depots", {
    kind: "execution",
    id: it.execution,
    state: it.state,
    puts,
    copies,
    failed,
    lost,
    released,
  });
  const counts = Object.values(result.have);
  const have = counts.length === 0 ? "-" : `${Math.min(...counts)}..${Math.max(...counts)}`;
  return { nodes, puts, copies, failed, bytes, have, want };
}

const LOOK_EVERY_MS = 5_000;

async function watchReplication(deps: ReplicationDeps, it: { generation: number; atMostMs: number }): Promise<Reason> {
  const signal = cancellationSignal();
  const until = performance.now() + it.atMostMs;
  for (let looks = 0; ; looks++) {
    signal.throwIfAborted();
    heartbeat();
    const woken = deps.listener.next(CHANNELS.artifacts, LOOK_EVERY_MS, (payload) => payload === "", signal);
    const { generation } = await rows.readGeneration(deps.pool);
    if (generation !== it.generation) return "generation";
    // who was away a moment ago is not asked again at once
    if (await depotCame(deps, looks > 0)) return "depot";
    if (performance.now() >= until) return "quantum";
    await woken;
  }
}

/** A node that no execution has asked yet, or one that was unreachable and answers again. */
async function depotCame({ pool, depots }: ReplicationDeps, askAway: boolean): Promise<boolean> {
  const all = await rows.listDepots(pool);
  if (all.some((depot) => depot.answeredAt === null && depot.error === null)) return true;
  const away = all.filter((depot) => askAway && depot.error?.startsWith("depot_unreachable") === true);
  const answers = await Promise.all(away.map((depot) => depots.of(depot).answers()));
  return answers.includes(true);
}
