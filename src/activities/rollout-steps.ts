/** Activities of a rollout between its waves: read it, make its artifacts ready, let an approval run out, end it. */
import type { FinalState } from "../domain/rollout/phases.ts";
import { CHANNELS } from "../domain/channels.ts";
import { appendAudit } from "../store/audit.ts";
import { setHolds } from "../store/controls.ts";
import { transaction } from "../store/database.ts";
import { markPrepared, readView, refreshState, type RolloutView } from "../store/rollout-state.ts";
import { endRolloutRow } from "../store/rollout-end.ts";
import { readRollout } from "../store/rollouts.ts";
import { prepareArtifacts, type Prepared } from "./prepare-artifacts.ts";
import { pokeReconcile } from "./start-workflows.ts";
import { withdrawBeforeStop } from "./offering.ts";
import { mustView, type RolloutDeps } from "./rollout-deps.ts";
import { createAlarm } from "./wake.ts";

export type RolloutRef = { fleet: string; n: number };

export function createStepActivities(deps: RolloutDeps) {
  const { pool, now } = deps;
  const load = async ({ fleet, n }: RolloutRef): Promise<RolloutView> =>
    mustView(await readView(pool, fleet, n, now()), fleet, n);
  return {
    /** The rollout as its rows say. */
    loadRollout: load,

    /**
     * Starts what fetches the artifacts and waits until each is verified and replicated. Returns early when the rollout
     * ends. Heartbeats.
     */
    async ensureArtifacts(ref: RolloutRef): Promise<Prepared> {
      const alarm = createAlarm(deps.listener, {
        [CHANNELS.artifacts]: () => true,
        [CHANNELS.rollouts]: (payload) => payload === `${ref.fleet}/${ref.n}`,
      });
      try {
        for (;;) {
          const prepared = await prepareArtifacts(deps, ref.fleet, ref.n);
          if (prepared.state === "ready") await transaction(pool, (tx) => markPrepared(tx, ref.fleet, ref.n, now()));
          if (prepared.state !== "waiting") return prepared;
          await alarm.wait(now().getTime(), null);
        }
      } finally {
        alarm.close();
      }
    },

    /** An approval that did not come in time holds the rollout; it never goes on by itself. */
    async expireApproval({ fleet, n }: RolloutRef): Promise<RolloutView> {
      await transaction(pool, async (tx) => {
        const row = await readRollout(tx, fleet, n, "update");
        if (row === undefined || row.finishedAt !== null || row.holds.approval_timeout !== undefined) return;
        const entry = { at: now().toISOString(), by: "system", reason: "nobody approved in time" };
        await setHolds(tx, row, { ...row.holds, approval_timeout: entry });
        const object = `rollout/${fleet}/${n}`;
        await appendAudit(
          tx,
          { principal: "system", action: "rollout.approval_timeout", object, outcome: "accepted" },
          now(),
        );
        await refreshState(tx, fleet, n, now());
      });
      return load({ fleet, n });
    },

    /** The window that the state tells of has opened or closed. */
    async noteWindow({ fleet, n }: RolloutRef): Promise<RolloutView> {
      await transaction(pool, (tx) => refreshState(tx, fleet, n, now()));
      return load({ fleet, n });
    },

    /**
     * Ends the rollout. An abort first takes back what hosts have not stopped their supervisor for; hosts past the stop are
     * recorded to their end by the planner's watch. Safe to repeat.
     */
    async endRollout({ fleet, n, outcome, because }: RolloutRef & { outcome: FinalState; because: string | null }) {
      await transaction(pool, async (tx) => {
        if (outcome === "aborted") {
          const row = await readRollout(tx, fleet, n, "update");
          if (row !== undefined) await withdrawBeforeStop(tx, row, "aborted", now());
        }
      });
      await transaction(pool, (tx) => endRolloutRow(tx, fleet, n, outcome, because, now()));
      await pokeReconcile(deps.client, `rollout ${fleet}/${n} ended`);
      return load({ fleet, n });
    },
  };
}
