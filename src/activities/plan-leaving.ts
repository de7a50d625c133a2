/** The planner's sweep over targets whose host was deleted, came back as another agent, or moved to another fleet. */
import type { Assignment } from "../domain/fleet/assign.ts";
import { judgeLeaving } from "../domain/rollout/judge-leaving.ts";
import { transaction } from "../store/database.ts";
import { cancelLeaving, lockRollout, markMoved, type Leaving, type OpenAttempt } from "../store/stray-targets.ts";
import { withdrawBeforeStop } from "./offering.ts";
import type { RolloutDeps } from "./rollout-deps.ts";

type Facts = {
  assigned: ReadonlyMap<string, Assignment>;
  successors: ReadonlyMap<string, string>;
};
type Group = { fleet: string; n: number; ending: Leaving[]; finishing: Leaving[] };

/**
 * Ends them, each rollout in one transaction. `opened` was read before the agents were: an agent that is missing among them
 * is gone. Afterwards no target that has not begun belongs to a host of another fleet.
 */
export async function endLeaving(
  { pool, now }: Pick<RolloutDeps, "pool" | "now">,
  opened: readonly OpenAttempt[],
  facts: Facts,
): Promise<void> {
  for (const { fleet, n, ending, finishing } of groupLeaving(opened, facts))
    await transaction(pool, async (tx) => {
      const row = await lockRollout(tx, fleet, n);
      if (row === undefined) return;
      const at = now();
      await cancelLeaving(tx, row, ending, at);
      if (finishing.length === 0) return;
      const hosts = new Set(finishing.map(({ host }) => host));
      await withdrawBeforeStop(tx, row, "the host moved to another fleet", at, hosts);
      await markMoved(tx, row, finishing, at);
    });
}

function groupLeaving(opened: readonly OpenAttempt[], { assigned, successors }: Facts): Group[] {
  const groups = new Map<string, Group>();
  for (const { fleet, n, host, phase, code } of opened) {
    const assignment = assigned.get(host);
    const verdict = judgeLeaving(fleet, phase, {
      isKnown: assignment !== undefined,
      successor: successors.get(host) ?? null,
      fleet: assignment?.fleet ?? null,
    });
    if (verdict === undefined || (verdict.finishes && code === "moved")) continue;
    const key = `${fleet}/${n}`;
    const group = groups.get(key) ?? { fleet, n, ending: [], finishing: [] };
    groups.set(key, group);
    const { finishes, ...leaving } = verdict;
    (finishes ? group.finishing : group.ending).push({ host, ...leaving });
  }
  return [...groups.values()];
}
