/** Wakes the sync of the repository by its workflow's signal, in bounded time. */
import type { Client } from "@temporalio/client";
import { poke, WORKFLOW_IDS } from "../workflows/messages.ts";

const WITHIN_MS = 2_000;

/** Rejects when Temporal does not answer within two seconds or the sync does not run; the delivery's row stays. */
export const createGitSyncPoke =
  (client: Client) =>
  (cause: string): Promise<void> =>
    client.withDeadline(Date.now() + WITHIN_MS, () =>
      client.workflow.getHandle(WORKFLOW_IDS.gitSync).signal(poke, { cause }),
    );
