/**
 * Planning all fleets: assign, render, then one transaction for each fleet that compares, decides and writes. Replicas that
 * plan at once wait for each other at the fleet's row, and the later one finds the change planned.
 */
import { assignAgents, type Assignment } from "../domain/fleet/assign.ts";
import { desiredVersion } from "../domain/fleet/desired-version.ts";
import { findSuccessors } from "../domain/fleet/successors.ts";
import type { Snapshot } from "../domain/gitops/snapshot.ts";
import { planFleet, type LeftOut } from "../domain/rollout/plan.ts";
import { readMissing } from "../store/agent-components.ts";
import { transaction, type Db } from "../store/database.ts";
import { orphanedRollouts } from "../store/open-rollouts.ts";
import { createRollout, joinRollout, planCatchUp, supersedeRollout, writeFleetState } from "../store/plan-write.ts";
import { lockFleet } from "../store/rollouts.ts";
import { readOpenAttempts } from "../store/stray-targets.ts";
import { putConfigs, readPlanAgents, writeUnassigned, writeWanted, type Wanted } from "../store/wanted.ts";
import { readFleetInput } from "./plan-input.ts";
import { endLeaving } from "./plan-leaving.ts";
import { noteMissing, renderAll, type FleetWork, type Rendered } from "./plan-render.ts";
import type { RolloutDeps } from "./rollout-deps.ts";

/** Planning itself starts no workflow and waits for nobody. */
export type PlanDeps = Pick<RolloutDeps, "pool" | "now">;
export type PlanReport = { commit: string | null; agents: number; created: string[]; superseded: string[] };

/** Plans every fleet of the snapshot. `beat` is called between chunks of work. */
export async function planAll(deps: PlanDeps, snapshot: Snapshot, beat: () => void): Promise<PlanReport> {
  const { pool, now } = deps;
  const opened = await readOpenAttempts(pool);
  const agents = await readPlanAgents(pool);
  const assigned = assignAgents(snapshot, agents);
  const successors = findSuccessors(agents);
  const { work, configs } = await renderAll(snapshot, agents, assigned, beat);
  await putConfigs(pool, configs);
  await noteMissing(work, (pairings) => readMissing(pool, pairings));
  await endLeaving(deps, opened, { assigned, successors });
  const report: PlanReport = { commit: snapshot.commit, agents: agents.length, created: [], superseded: [] };
  for (const one of work) {
    await transaction(pool, (tx) => planOne(tx, snapshot, one, { assigned, successors, report, now: now() }));
    beat();
  }
  const unassigned = agents.filter((agent) => assigned.get(agent.uid)?.fleet === null);
  await writeUnassigned(
    pool,
    unassigned.map(({ uid }) => ({ host: uid, reason: assigned.get(uid)?.reason ?? "" })),
    snapshot.commit,
  );
  await endOrphans(deps, work, report);
  return report;
}

type PlanContext = {
  assigned: ReadonlyMap<string, Assignment>;
  successors: ReadonlyMap<string, string>;
  report: PlanReport;
  now: Date;
};

async function planOne(
  tx: Db,
  snapshot: Snapshot,
  work: FleetWork,
  { assigned, successors, report, now }: PlanContext,
): Promise<void> {
  const { fleet, policy, hosts } = work;
  const { commit } = snapshot;
  // The statements are short and their cost is guessed high: compiling each of them costs more than running it.
  await tx.query("set local jit = off");
  const row = await lockFleet(tx, fleet.name);
  const input = await readFleetInput(tx, row, work, { commit, successors, now });
  await putConfigs(tx, input.configs);
  const plan = planFleet(input.plan);
  const left = new Map(plan.leftOut.map((one) => [one.host, one]));
  await writeWanted(
    tx,
    hosts.map((host) => toWanted(host, work, { assigned, commit, left })),
    now,
  );
  const wants = desiredVersion(fleet);
  const common = {
    fleet: fleet.name,
    commit,
    distribution: wants?.distribution ?? null,
    version: wants?.version ?? null,
    policy,
  };
  const { action, changeKey, joiners, catchUp, settles } = plan;
  const isPlanned = action.do === "create" || settles;
  const isNew = changeKey !== row.changeKey;
  await writeFleetState(tx, fleet.name, { commit, changeKey, isPlanned, isNew });
  if (action.do === "create") {
    const { targets, leftOut } = action;
    const n = await createRollout(tx, row, { ...common, wantedKey: changeKey, targets, leftOut }, now);
    report.created.push(`${fleet.name}/${n}`);
  }
  if (action.do === "supersede") {
    await supersedeRollout(tx, fleet.name, action.n, `commit ${commit.slice(0, 12)} wants something else`, now);
    report.superseded.push(`${fleet.name}/${action.n}`);
  }
  if (input.active !== null) await joinRollout(tx, fleet.name, input.active.n, joiners, now);
  if (catchUp.length > 0) await planCatchUp(tx, { ...common, targets: catchUp }, now);
}

type WantedContext = {
  assigned: ReadonlyMap<string, Assignment>;
  commit: string;
  left: ReadonlyMap<string, LeftOut>;
};

const toWanted = (
  { agent, want, error }: Rendered,
  { fleet }: FleetWork,
  { assigned, commit, left }: WantedContext,
): Wanted => ({
  host: agent.uid,
  fleet: fleet.name,
  reason: assigned.get(agent.uid)?.reason ?? "",
  distribution: desiredVersion(fleet)?.distribution ?? null,
  version: want.version,
  config: want.config,
  renderError: error,
  commit,
  left: left.get(agent.uid) ?? null,
});

/** A fleet that Git has no more cancels its rollout. */
async function endOrphans({ pool, now }: PlanDeps, work: readonly FleetWork[], report: PlanReport): Promise<void> {
  const names = work.map(({ fleet }) => fleet.name);
  for (const { fleet, n } of await orphanedRollouts(pool, names)) {
    await transaction(pool, async (tx) => {
      await lockFleet(tx, fleet);
      await supersedeRollout(tx, fleet, n, "the fleet is not in Git any more", now());
    });
    report.superseded.push(`${fleet}/${n}`);
  }
}
