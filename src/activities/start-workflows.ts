/** Starting other workflows from activities: idempotent, "already started" is success. */
import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError, type Client } from "@temporalio/client";
import { platformText, type ArtifactRef } from "../domain/artifact/asset.ts";
import { poke, QUEUES, refresh, WORKFLOW_IDS } from "../workflows/messages.ts";

/** Starts the fetch of one artifact unless one is running. */
export async function startFetch(client: Client, ref: ArtifactRef): Promise<void> {
  await startOnce(() =>
    client.workflow.start("artifactFetch", {
      workflowId: fetchId(ref),
      taskQueue: QUEUES.control,
      args: [ref],
      staticSummary: `${ref.distribution} v${ref.version} ${platformText(ref)}`,
    }),
  );
}

const fetchId = (ref: ArtifactRef): string =>
  WORKFLOW_IDS.artifactFetch(ref.distribution, ref.version, platformText(ref));

export async function isFetchRunning(client: Client, ref: ArtifactRef): Promise<boolean> {
  try {
    return (await client.workflow.getHandle(fetchId(ref)).describe()).status.name === "RUNNING";
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

export async function startOnce(start: () => Promise<unknown>): Promise<boolean> {
  try {
    await start();
    return true;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
    throw error;
  }
}

/** Wakes the planner; starts it if there is none. */
export async function pokeReconcile(client: Client, cause: string): Promise<void> {
  await client.workflow.signalWithStart("reconcile", {
    workflowId: WORKFLOW_IDS.reconcile,
    taskQueue: QUEUES.control,
    args: [{}],
    signal: poke,
    signalArgs: [{ cause }],
    staticSummary: "plans rollouts and catch-up",
  });
}

type Startable = {
  fleet: string;
  n: number;
  kind: "change" | "catch_up";
  commit: string;
  version: string | null;
  run: number;
};

/** Starts the workflow of an open rollout, with what the Temporal UI lists. Returns false when it runs already. */
export async function startRollout(client: Client, it: Startable): Promise<boolean> {
  if (it.kind === "catch_up") return startCatchUp(client, it.fleet);
  const to = it.version === null ? "configuration" : `v${it.version}`;
  return startOnce(() =>
    client.workflow.start("rollout", {
      workflowId: WORKFLOW_IDS.rollout(it.fleet, it.n),
      taskQueue: QUEUES.control,
      args: [{ fleet: it.fleet, n: it.n }],
      memo: { run: it.run },
      staticSummary: `fleet ${it.fleet} → ${to}`,
      staticDetails: `Rollout ${it.n} of fleet ${it.fleet}, commit ${it.commit.slice(0, 12)}`,
    }),
  );
}

/** Wakes the catch-up of a fleet with a signal, so that one that is just ending sees the new work. */
async function startCatchUp(client: Client, fleet: string): Promise<boolean> {
  await client.workflow.signalWithStart("catchUp", {
    workflowId: WORKFLOW_IDS.catchUp(fleet),
    taskQueue: QUEUES.control,
    args: [{ fleet }],
    signal: refresh,
    signalArgs: [{ cause: "planned" }],
    staticSummary: `fleet ${fleet}: hosts that came late`,
  });
  return false;
}
