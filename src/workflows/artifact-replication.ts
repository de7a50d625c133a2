/**
 * Keeps every wanted artifact on every depot (contract, artifact-replication, "Nexus implementation"). One singleton
 * decides when; one child workflow per execution does all six steps, and its history is the record of it.
 */
import {
  ActivityCancellationType,
  ActivityFailure,
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  executeChild,
  isCancellation,
  ParentClosePolicy,
  patched,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  TimeoutFailure,
  workflowInfo,
} from "@temporalio/workflow";
import type { Execution, Planned, Reason, ReplicationActivities, Summary } from "../activities/replication.ts";
import { poke, progress, QUEUES, stagingQueue, WORKFLOW_IDS } from "./messages.ts";

const control = proxyActivities<ReplicationActivities>({
  startToCloseTimeout: "60 s",
  retry: { maximumInterval: "30 s" },
});
const transfers = {
  startToCloseTimeout: "6 h",
  heartbeatTimeout: "30 s",
  retry: { maximumAttempts: 3 },
  cancellationType: ActivityCancellationType.TRY_CANCEL,
} as const;
const observing = proxyActivities<ReplicationActivities>({ ...transfers, taskQueue: QUEUES.observe });
const watching = proxyActivities<ReplicationActivities>({
  taskQueue: QUEUES.observe,
  startToCloseTimeout: "20 min",
  heartbeatTimeout: "20 s",
  cancellationType: ActivityCancellationType.TRY_CANCEL,
});
/** Activities on the disk of one host; a host that does not take them within a minute counts as gone. */
const onHost = (holder: string, { hostTimeoutMs = HOST_TIMEOUT_MS }: ExecutionInput) =>
  proxyActivities<ReplicationActivities>({
    ...transfers,
    taskQueue: stagingQueue(holder),
    scheduleToStartTimeout: hostTimeoutMs,
  });

const HOST_TIMEOUT_MS = 60_000;
const WATCHDOG_MS = 5 * 60_000;
const FIRST_RETRY_MS = 5_000;
const MAX_RETRY_MS = 60_000;
const EXECUTIONS_PER_RUN = 100;

export type ReplicationState = { executions?: number; cause?: string };
export type ExecutionInput = { cause: string; generation: number; epoch: string; hostTimeoutMs?: number };
export type ExecutionResult = {
  state: "ended" | "stale" | "superseded";
  moved: number;
  failed: number;
  released: number;
};

/** Started by a change of generation, a depot that joins or returns, a poke, and a watchdog. Never ends. */
export async function artifactReplication(state: ReplicationState): Promise<void> {
  let executions = state.executions ?? 0;
  let cause: string | undefined = state.cause ?? "start";
  let last: ExecutionResult | undefined;
  let retryMs = FIRST_RETRY_MS;
  setHandler(poke, (poked) => void (cause = poked.cause));
  setHandler(progress, () => ({ executions, cause, last }));

  for (let runs = 0; ; runs++) {
    if (runs >= EXECUTIONS_PER_RUN || workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished);
      await continueAsNew<typeof artifactReplication>({ executions, ...(cause !== undefined && { cause }) });
    }
    const at = await control.readGeneration();
    const why = cause ?? "watchdog";
    cause = undefined;
    executions++;
    const watch = startWatch(at.generation);
    last = await execute({ ...at, cause: why }, executions, watch);
    const waitMs = pauseAfter(last, retryMs);
    retryMs = last.failed > 0 ? Math.min(retryMs * 2, MAX_RETRY_MS) : FIRST_RETRY_MS;
    setCurrentDetails(`execution ${executions}: ${last.state}, ${last.moved} transfers, ${last.failed} failed`);
    if (waitMs > 0) await condition(() => cause !== undefined || watch.reason !== undefined, waitMs);
    cause ??= watch.reason ?? (last.moved > 0 ? "after transfers" : undefined);
    watch.stop();
  }
}

/** After transfers at once: the next execution releases the staging that they made superfluous. */
function pauseAfter({ state, failed, moved }: ExecutionResult, retryMs: number): number {
  if (state === "superseded") return 0;
  if (failed > 0) return retryMs;
  return moved > 0 ? 0 : WATCHDOG_MS;
}

type Watch = { reason: Reason | undefined; stop(): void };

/** Looks for a reason to run again while an execution runs and after it. */
function startWatch(generation: number): Watch {
  const scope = new CancellationScope();
  const watch: Watch = { reason: undefined, stop: () => scope.cancel() };
  const seen = scope.run(() => watching.watchReplication({ generation, atMostMs: WATCHDOG_MS + 60_000 }));
  seen.then(
    (reason) => (watch.reason = reason),
    // stopped, or no worker took it: the watchdog remains
    () => undefined,
  );
  return watch;
}

/** Runs one execution as a child; it is cancelled as soon as the generation moves. */
async function execute(input: ExecutionInput, n: number, watch: Watch): Promise<ExecutionResult> {
  const scope = new CancellationScope();
  const child = scope.run(() =>
    executeChild(replicationExecution, {
      workflowId: `${WORKFLOW_IDS.artifactReplication}/g${input.generation}/n${n}`,
      args: [input],
      parentClosePolicy: ParentClosePolicy.TERMINATE,
      staticSummary: `generation ${input.generation}, because of ${input.cause}`,
    }),
  );
  let ended = false;
  const done = child.finally(() => (ended = true));
  done.catch(() => undefined); // awaited below
  await condition(() => ended || watch.reason === "generation");
  if (!ended) scope.cancel();
  try {
    return await done;
  } catch (error) {
    if (isCancellation(error) && watch.reason === "generation")
      return { state: "superseded", moved: 0, failed: 0, released: 0 };
    if (isCancellation(error)) throw error;
    return { state: "ended", moved: 0, failed: 1, released: 0 };
  }
}

/** One execution: all six steps, all possible work. */
export async function replicationExecution(input: ExecutionInput): Promise<ExecutionResult> {
  const { workflowId, runId } = workflowInfo();
  const it: Execution = { execution: `${workflowId}/${runId}`, epoch: input.epoch, generation: input.generation };
  const done = { lost: 0, released: 0, skipped: [] as string[] };
  const close = async (state: ExecutionResult["state"]): Promise<ExecutionResult> => {
    const summary = await control.closeExecution({ execution: it.execution, state, ...done });
    setCurrentDetails(detailsOf(input, state, summary, done));
    return { state, moved: summary.puts + summary.copies, failed: summary.failed, released: done.released };
  };
  try {
    // 1. the configuration: what is wanted, at which generation
    const wanted = await control.openExecution({ ...it, cause: input.cause });
    if (wanted.generation !== it.generation) return await close("superseded");
    // 2. every node gets it, 3. every node says what it has; who disagrees on the generation ends this execution
    const probes = await inWindows(wanted.nodes, (node) => control.probeNode({ ...it, node }));
    done.skipped = probes.filter(({ answer }) => answer === "silent").map(({ node }) => node);
    if (probes.some(({ answer }) => answer === "superseded")) return await close("superseded");
    if (probes.some(({ answer }) => answer === "stale")) return await close("stale");
    // 4. staged copies of what is replicated often enough go
    const released = await Promise.all(wanted.holders.map((holder) => release(input, it, holder)));
    done.released = released.reduce((sum, count) => sum + count, 0);
    // 5. puts of what is staged, 6. copies among the nodes, each as soon as its own source has it
    const plan = await control.planWork(it);
    done.lost = plan.lost;
    await transfer(input, it, plan);
    return await close("ended");
  } catch (error) {
    if (!isCancellation(error)) throw error;
    await CancellationScope.nonCancellable(() => close("superseded"));
    throw error;
  }
}

async function release(input: ExecutionInput, it: Execution, holder: string): Promise<number> {
  try {
    return await onHost(holder, input).releaseStaging(it);
  } catch (error) {
    if (isCancellation(error)) throw error;
    await hostFailed(error, holder);
    return 0;
  }
}

/** Activities that do not come back end their own work as failed; nobody waits for it then. */
async function transfer(input: ExecutionInput, it: Execution, plan: Planned): Promise<void> {
  const { pushes, pulls, holders = [...new Set(pushes.map(({ holder }) => holder))] } = plan;
  const push = async ({ holder, node }: Planned["pushes"][number]): Promise<void> => {
    try {
      await onHost(holder, input).pushNode({ ...it, node });
    } catch (error) {
      if (isCancellation(error)) throw error;
      await control.failPending({ execution: it.execution, node, kind: "put" });
      await hostFailed(error, holder);
    }
  };
  // one for all nodes: puts go to nodes at random, so that one per node would double the history
  const pushAll = async (holder: string): Promise<void> => {
    try {
      await onHost(holder, input).pushStaged(it);
    } catch (error) {
      if (isCancellation(error)) throw error;
      await control.failPuts({ execution: it.execution, holder });
      await hostFailed(error, holder);
    }
  };
  const pull = async (node: string): Promise<void> => {
    try {
      await observing.pullNode({ ...it, node });
    } catch (error) {
      if (isCancellation(error)) throw error;
      await control.failPending({ execution: it.execution, node, kind: "copy" });
    }
  };
  // puts first: copies wait for them. A pull that waits for a source of a later window ends with it, not before it.
  const puts = patched("push-per-holder")
    ? holders.map((holder) => () => pushAll(holder))
    : pushes.map((one) => () => push(one));
  const works = [...puts, ...pulls.map((node) => () => pull(node))];
  await inWindows(works, (work) => work());
}

/** So many activities that no workflow task carries more commands than one message holds (4 MiB). */
const WINDOW = 200;
const ALL_AT_ONCE = 500;

/** All at once for up to 500; above, as many at a time as fit into one message, the next as soon as one has ended. */
async function inWindows<T, R>(all: readonly T[], work: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let i = next++; i < all.length; i = next++) results[i] = await work(all[i] as T);
  };
  const lanes = all.length > ALL_AT_ONCE ? WINDOW : all.length;
  await Promise.all(Array.from({ length: lanes }, lane));
  return results;
}

/** A host that took nothing within a minute is gone; what only it had staged is fetched again by the next execution. */
async function hostFailed(error: unknown, holder: string): Promise<void> {
  const timeout = error instanceof ActivityFailure && error.cause instanceof TimeoutFailure ? error.cause : undefined;
  if (timeout?.timeoutType === "SCHEDULE_TO_START") await control.abandonStaging(holder);
}

type Done = { lost: number; released: number; skipped: string[] };

function detailsOf({ cause, generation }: ExecutionInput, state: string, it: Summary, done: Done): string {
  return [
    `Generation ${generation}, because of ${cause}: **${state}**`,
    `- nodes that answered: ${it.nodes}; skipped: ${done.skipped.length === 0 ? "none" : done.skipped.join(", ")}`,
    `- put ${it.puts}, copied ${it.copies}, failed ${it.failed}, ${it.bytes} bytes`,
    `- have per node ${it.have} of ${it.want}; lost ${done.lost}; staged copies released ${done.released}`,
  ].join("\n");
}
