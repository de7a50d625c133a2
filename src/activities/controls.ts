/** Controls inside the worker: the same transaction as the API's, and the rollout as it is afterwards. */
import { applyControl, type Applied, type ControlCall } from "../store/controls.ts";
import { readView, type RolloutView } from "../store/rollout-state.ts";
import { mustView, type RolloutDeps } from "./rollout-deps.ts";

export type ControlOutcome = { applied: Applied; view: RolloutView };

export function createControlActivities({ pool, now, log }: RolloutDeps) {
  return {
    /** Judges, applies and audits one control; the same key never takes effect twice. A refusal is a result. */
    async applyControl(call: ControlCall): Promise<ControlOutcome> {
      const applied = await applyControl(pool, call, now());
      const { fleet, n, control, via } = call;
      log.info({ fleet, n, control, via, outcome: applied.outcome }, "control");
      return { applied, view: mustView(await readView(pool, fleet, n, now()), fleet, n) };
    },
  };
}
