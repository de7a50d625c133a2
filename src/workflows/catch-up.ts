/**
 * The standing catch-up of a fleet: hosts that no commit moved (joined, returned, first configuration) are brought to the
 * proven state, without waves and approval. Its row stands; this workflow runs while there is something to do.
 */
import { condition, continueAsNew, proxyActivities, workflowInfo } from "@temporalio/workflow";
import type { RolloutActivities } from "../activities/rollouts.ts";
import { HOLDS, isHeld } from "../domain/rollout/holds.ts";
import { QUEUES } from "./messages.ts";
import { RETRY, openBook, readBook, settleMessages } from "./rollout-book.ts";
import { BATCH, CONTINUE_AFTER_EVENTS } from "./wave.ts";

export type CatchUpInput = { fleet: string };

const short = proxyActivities<RolloutActivities>({ startToCloseTimeout: "2m", retry: RETRY });
const { observeWave } = proxyActivities<RolloutActivities>({
  taskQueue: QUEUES.observe,
  startToCloseTimeout: "70m",
  heartbeatTimeout: "12s",
  retry: { ...RETRY, initialInterval: "1s", backoffCoefficient: 1.5 },
});
const QUANTUM_MS = 3_600_000;
const WAVE = { n: 0, k: 0, direction: "forward" } as const;

export async function catchUp({ fleet }: CatchUpInput): Promise<void> {
  const book = openBook(fleet, 0);
  for (;;) {
    const view = await readBook(book);
    if (view.ending === "abort")
      await short.endRollout.executeWithOptions({ summary: "end: aborted" }, [
        { fleet, n: 0, outcome: "aborted", because: null },
      ]);
    else if (isHeld(view.holds) && view.inFlight === 0) await condition(() => book.stale);
    else if ((await round(fleet, HOLDS.filter((hold) => view.holds[hold] !== undefined).join(","))) === "again")
      book.stale = true;
    if (!book.stale) {
      await settleMessages();
      // A message that came last may have brought new work.
      if (!book.stale) return;
    }
    if (workflowInfo().historyLength > CONTINUE_AFTER_EVENTS || book.signals >= 200) {
      await settleMessages();
      await continueAsNew<typeof catchUp>({ fleet });
    }
  }
}

/** Offers and watches once. */
async function round(fleet: string, holds: string): Promise<"again" | "over"> {
  const offered = await short.openOffers.executeWithOptions({ summary: "open offers" }, [
    { ...WAVE, fleet, limit: BATCH },
  ]);
  if (offered.opened === BATCH) return "again";
  const seen = await observeWave.executeWithOptions({ summary: "watch" }, [
    { ...WAVE, fleet, holds, quantumMs: QUANTUM_MS },
  ]);
  return seen.reason === "done" || seen.reason === "ending" ? "over" : "again";
}
