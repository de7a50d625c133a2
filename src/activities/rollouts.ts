/** All activities of the rollout engine, for the worker. `observeWave`, `watchFleets` and `ensureArtifacts` run long: queue `observe`. */
import { createControlActivities } from "./controls.ts";
import { createPlanActivities } from "./plan.ts";
import type { RolloutDeps } from "./rollout-deps.ts";
import { createStepActivities } from "./rollout-steps.ts";
import { createTargetActivities } from "./targets.ts";

export function createRolloutActivities(deps: RolloutDeps) {
  return {
    ...createPlanActivities(deps),
    ...createStepActivities(deps),
    ...createTargetActivities(deps),
    ...createControlActivities(deps),
  };
}
export type RolloutActivities = ReturnType<typeof createRolloutActivities>;
