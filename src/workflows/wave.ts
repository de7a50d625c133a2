/**
 * One wave: offers in bounded batches, then one activity that watches the rows until a decision is needed. Two activities a
 * round, whatever the number of hosts (docs/adr/0005).
 */
import { continueAsNew, getExternalWorkflowHandle, proxyActivities, workflowInfo } from "@temporalio/workflow";
import type { RolloutActivities } from "../activities/rollouts.ts";
import { QUEUES, refresh } from "./messages.ts";
import { RETRY } from "./rollout-book.ts";

export type WaveInput = {
  fleet: string;
  n: number;
  /** Null: the whole rollout, for going back and for draining. */
  k: number | null;
  direction: "forward" | "back";
  /** Holds that the rollout knows. */
  holds: string;
};
export type WaveResult = { reason: "done" | "ending" };

/** Offers opened in one transaction. */
export const BATCH = 500;
const QUANTUM_MS = 3_600_000;
/** Far below 4,000 events, also on a slow server. */
export const CONTINUE_AFTER_EVENTS = 2_000;

const { openOffers } = proxyActivities<RolloutActivities>({ startToCloseTimeout: "2m", retry: RETRY });
const { observeWave } = proxyActivities<RolloutActivities>({
  taskQueue: QUEUES.observe,
  startToCloseTimeout: "70m",
  heartbeatTimeout: "12s",
  retry: { ...RETRY, initialInterval: "1s", backoffCoefficient: 1.5 },
});

export async function wave(input: WaveInput): Promise<WaveResult> {
  const { fleet, n, k, direction } = input;
  const what = direction === "back" ? "back" : `wave ${k === null ? "*" : k + 1}`;
  let { holds } = input;
  for (;;) {
    const offered = await openOffers.executeWithOptions({ summary: `${what}: open offers` }, [
      { fleet, n, k, direction, limit: BATCH },
    ]);
    if (offered.opened === BATCH) continue;
    const seen = await observeWave.executeWithOptions({ summary: `${what}: watch` }, [
      { fleet, n, k, direction, holds, quantumMs: QUANTUM_MS },
    ]);
    if (seen.reason === "done" || seen.reason === "ending") return { reason: seen.reason };
    if (seen.reason === "holds") {
      ({ holds } = seen);
      await tellRollout();
    }
    if (workflowInfo().historyLength > CONTINUE_AFTER_EVENTS) await continueAsNew<typeof wave>({ ...input, holds });
  }
}

/** The rollout reads its rows again: its state, its details page, and what it waits for. */
async function tellRollout(): Promise<void> {
  const { parent } = workflowInfo();
  if (parent !== undefined) await getExternalWorkflowHandle(parent.workflowId).signal(refresh, { cause: "holds" });
}
