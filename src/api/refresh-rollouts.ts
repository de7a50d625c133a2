/** Tells the workflows of rollouts that their rows have changed, in bounded time. */
import { WorkflowNotFoundError, type Client } from "@temporalio/client";
import type { Logger } from "pino";
import { refresh, WORKFLOW_IDS } from "../workflows/messages.ts";
import type { RolloutName } from "../store/releases.ts";

const WITHIN_MS = 2_000;

/** Whether each was told. Offers need no workflow to be stopped, but a rollout that waits goes on only when it is told. */
export const createRefresh =
  (client: Client, log: Pick<Logger, "warn">) =>
  async (rollouts: readonly RolloutName[], cause: string): Promise<boolean> => {
    const told = rollouts.map(({ fleet, n }) => {
      const id = n === 0 ? WORKFLOW_IDS.catchUp(fleet) : WORKFLOW_IDS.rollout(fleet, n);
      return client
        .withDeadline(Date.now() + WITHIN_MS, () => client.workflow.getHandle(id).signal(refresh, { cause }))
        .catch((error: unknown) => {
          // no workflow runs: whoever starts it reads the rows
          if (!(error instanceof WorkflowNotFoundError)) throw error;
        });
    });
    const failed = (await Promise.allSettled(told)).filter((result) => result.status === "rejected");
    for (const { reason } of failed) log.warn({ error: String(reason) }, "a rollout was not told of a change");
    return failed.length === 0;
  };
