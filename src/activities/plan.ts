/**
 * The planner's activities: render what every agent should have, plan each fleet in one transaction, and make sure that
 * every open rollout has its workflow. Only `reconcile` calls them.
 */
import { Context } from "@temporalio/activity";
import { CHANNELS } from "../domain/channels.ts";
import type { Snapshot } from "../domain/gitops/snapshot.ts";
import { readSnapshot } from "../store/gitops.ts";
import { closeWithdrawals } from "../store/offers.ts";
import { openRollouts, stragglers } from "../store/open-rollouts.ts";
import { planFingerprint } from "../store/wanted.ts";
import { planAll, type PlanReport } from "./plan-fleets.ts";
import { fetchForWaiting } from "./prepare-artifacts.ts";
import type { RolloutDeps } from "./rollout-deps.ts";
import { settleRollout } from "./settle.ts";
import { startRollout } from "./start-workflows.ts";
import { createAlarm } from "./wake.ts";

export type Watched = { reason: "changed" | "quantum"; fingerprint: string };

export function createPlanActivities(deps: RolloutDeps) {
  const { pool, client, now, log } = deps;
  // Rendering remembers by snapshot: the same revision must stay the same object.
  let kept: Snapshot | undefined;
  return {
    /** Plans every fleet. Afterwards `wanted` says what each agent should have, and each new change has its rollout. */
    async planFleets(): Promise<PlanReport & { fingerprint: string }> {
      const fingerprint = await planFingerprint(pool);
      const read = await readSnapshot(pool);
      const snapshot = read !== undefined && read.commit === kept?.commit ? kept : read;
      kept = snapshot;
      if (snapshot === undefined) return { commit: null, agents: 0, created: [], superseded: [], fingerprint };
      const report = await planAll(deps, snapshot, () => Context.current().heartbeat());
      if (report.created.length + report.superseded.length > 0) log.info(report, "planned");
      return { ...report, fingerprint };
    },

    /** Starts the workflow of every open rollout that Temporal does not have, and fetches that late hosts need. */
    async ensureWorkflows(): Promise<{ started: string[]; fetches: number }> {
      const started: string[] = [];
      for (const rollout of await openRollouts(pool, now())) {
        if (await startRollout(client, rollout)) started.push(`${rollout.fleet}/${rollout.n}`);
        Context.current().heartbeat();
      }
      return { started, fetches: await fetchForWaiting(deps) };
    },

    /**
     * Waits until planning could come to another result. Meanwhile it records hosts to their end whose rollout has ended
     * before them (aborted past the stop), and closes withdrawals that are over. Heartbeats.
     */
    async watchFleets(input: { fingerprint: string; quantumMs: number }): Promise<Watched> {
      const startedMs = now().getTime();
      const alarm = createAlarm(deps.listener, { [CHANNELS.agents]: () => true, [CHANNELS.rollouts]: () => true });
      let lookedMs = 0;
      try {
        for (;;) {
          const at = now();
          await settleStragglers(deps, at);
          await closeWithdrawals(pool, at);
          // The fingerprint reads every collector: once a second is often enough for a plan.
          if (at.getTime() - lookedMs >= 1000) {
            lookedMs = at.getTime();
            const fingerprint = await planFingerprint(pool);
            if (fingerprint !== input.fingerprint) return { reason: "changed", fingerprint };
          }
          if (at.getTime() - startedMs >= input.quantumMs) return { reason: "quantum", fingerprint: input.fingerprint };
          await alarm.wait(at.getTime(), at.getTime() + 1000);
        }
      } finally {
        alarm.close();
      }
    },
  };
}

async function settleStragglers({ pool }: RolloutDeps, at: Date): Promise<void> {
  for (const { fleet, n } of await stragglers(pool)) await settleRollout(pool, fleet, n, at);
}
