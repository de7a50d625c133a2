/** Wakes singletons by their signal, in bounded time. */
import type { Client } from "@temporalio/client";
import { poke, WORKFLOW_IDS } from "../workflows/messages.ts";

const WITHIN_MS = 2_000;

const createPoke =
  (workflowId: string) =>
  (client: Client) =>
  (cause: string): Promise<void> =>
    client.withDeadline(Date.now() + WITHIN_MS, () => client.workflow.getHandle(workflowId).signal(poke, { cause }));

/** Rejects when Temporal does not answer within two seconds or the sync does not run; the delivery's row stays. */
export const createGitSyncPoke = createPoke(WORKFLOW_IDS.gitSync);
/** Rejects likewise; the watchdog of replication starts an execution some minutes later. */
export const createReplicationPoke = createPoke(WORKFLOW_IDS.artifactReplication);
