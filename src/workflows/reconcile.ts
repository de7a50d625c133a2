/**
 * The only planner. Wakes when Git, a version choice or an agent changed (coalesced for a second), plans every fleet, and
 * makes sure that each open rollout has its workflow: also those that Temporal has lost.
 */
import {
  ActivityCancellationType,
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  sleep,
} from "@temporalio/workflow";
import type { RolloutActivities } from "../activities/rollouts.ts";
import { poke, QUEUES } from "./messages.ts";

export type ReconcileInput = { poked?: boolean };

const COALESCE_MS = 1_000;
/** Without any change it plans again after this time. */
const WATCHDOG_MS = 60_000;
const ROUNDS = 100;

const { planFleets, ensureWorkflows } = proxyActivities<RolloutActivities>({
  startToCloseTimeout: "10m",
  heartbeatTimeout: "30s",
  retry: { maximumInterval: "10s" },
});
const { watchFleets } = proxyActivities<RolloutActivities>({
  taskQueue: QUEUES.observe,
  startToCloseTimeout: "10m",
  heartbeatTimeout: "12s",
  // A poke does not wait for the watcher to notice: it changes nothing that another watcher would not.
  cancellationType: ActivityCancellationType.TRY_CANCEL,
  retry: { maximumInterval: "10s" },
});

export async function reconcile(_input: ReconcileInput): Promise<void> {
  let causes: string[] = ["start"];
  setHandler(poke, ({ cause }) => void causes.push(cause));
  for (let round = 0; round < ROUNDS; round += 1) {
    causes = [];
    const plan = await planFleets.executeWithOptions({ summary: "plan every fleet" }, []);
    const { started } = await ensureWorkflows.executeWithOptions({ summary: "start what was planned" }, []);
    setCurrentDetails(
      `Commit \`${plan.commit?.slice(0, 12) ?? "none"}\`, ${plan.agents} agents. Last round: ${plan.created.length} planned, ${plan.superseded.length} superseded, ${started.length} started.`,
    );
    await untilChanged(plan.fingerprint, () => causes.length > 0);
  }
  await continueAsNew<typeof reconcile>({ poked: causes.length > 0 });
}

/** Returns a second after the first change, or when the watchdog is over. */
async function untilChanged(fingerprint: string, isPoked: () => boolean): Promise<void> {
  const scope = new CancellationScope();
  let isChanged = false;
  const watching = scope.run(() =>
    watchFleets.executeWithOptions({ summary: "watch agents" }, [{ fingerprint, quantumMs: WATCHDOG_MS }]),
  );
  const over = watching.then(
    () => {
      isChanged = true;
    },
    (error: unknown) => {
      if (!isCancellation(error)) throw error;
    },
  );
  await condition(() => isChanged || isPoked());
  if (!isChanged) {
    await sleep(COALESCE_MS);
    scope.cancel();
  }
  await over;
}
