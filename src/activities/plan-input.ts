/** Everything that the planner is told of one fleet, read in one transaction. The preview reads the same, and writes nothing. */
import { desiredVersion } from "../domain/fleet/desired-version.ts";
import type { ActiveRollout, PlanHost, PlanInput, WantedState } from "../domain/rollout/plan.ts";
import type { Db } from "../store/database.ts";
import { activeRollout, newestChange } from "../store/open-rollouts.ts";
import type { FleetRow } from "../store/rollouts.ts";
import { readHistories, readSnapshotOf, type HostHistory } from "../store/wanted.ts";
import { hex, renderProven, type Configs, type FleetWork, type Rendered } from "./plan-render.ts";

export type FleetInput = {
  plan: PlanInput;
  active: ActiveRollout | null;
  /** Of the proven state: kept before a target refers to them. */
  configs: Configs;
};
export type InputContext = { commit: string; successors: ReadonlyMap<string, string>; now: Date };

/** `row` as the caller has locked it, or as it is. */
export async function readFleetInput(
  db: Db,
  row: FleetRow,
  { fleet, hosts }: FleetWork,
  { commit, successors, now }: InputContext,
): Promise<FleetInput> {
  const active = await activeRollout(db, fleet.name);
  const newest = await newestChange(db, fleet.name);
  const uids = hosts.map(({ agent }) => agent.uid);
  const histories = await readHistories(db, fleet.name, uids, active?.n ?? null, now);
  const { proven, configs } = await readProven(db, row, { fleet, hosts }, commit);
  const plan: PlanInput = {
    fleet: fleet.name,
    commit,
    allowDowngrade: desiredVersion(fleet)?.allowDowngrade ?? false,
    hosts: hosts.map((host) => toPlanHost(host, histories.get(host.agent.uid), successors.get(host.agent.uid) ?? null)),
    state: row,
    active,
    newest,
    proven: proven === null ? null : (uid) => proven.get(uid) ?? null,
    order: (uid) => hex(`${fleet.name}/${uid}`),
    keyOf: hex,
  };
  return { plan, active, configs };
}

function toPlanHost(
  { agent, want, error, matches, missing }: Rendered,
  history: HostHistory | undefined,
  supersededBy: string | null,
): PlanHost {
  const last = history?.last ?? null;
  const isSame = (to: string | null, wanted: string | null): boolean => to === null || to === wanted;
  const hasEndedBadly =
    last !== null && last.direction === "forward" && (last.phase === "failed" || last.phase === "rolled_back");
  return {
    uid: agent.uid,
    hostName: agent.hostName,
    want,
    renderError: error,
    isIncompatible: missing.length > 0,
    before:
      history === undefined || !history.isKnown
        ? null
        : { version: history.beforeVersion, config: history.beforeConfig },
    is: { version: agent.version, config: agent.appliedConfig, hasConfig: agent.hasConfig },
    matches,
    unhealthy: agent.unhealthy,
    stepDown: history?.stepDown ?? null,
    wayBack: history?.hasArtifact === true ? "yes" : "no_way_back",
    hasFailed: hasEndedBadly && isSame(last.toVersion, want.version) && isSame(last.toConfig, want.config),
    refused: history?.refused ?? null,
    aborted: history?.aborted ?? null,
    supersededBy,
    openIn: history?.openIn ?? "none",
    isTarget: history?.isTarget ?? false,
  };
}

/** What the commit of the last success wants of each host; null before the first one. */
async function readProven(
  db: Db,
  row: FleetRow,
  { fleet, hosts }: Pick<FleetWork, "fleet" | "hosts">,
  commit: string,
): Promise<{ proven: Map<string, WantedState> | null; configs: Configs }> {
  if (row.provenCommit === null) return { proven: null, configs: new Map() };
  // The commit in force is the proven one: it is rendered already.
  if (row.provenCommit === commit && row.provenVersion === (desiredVersion(fleet)?.version ?? null))
    return { proven: new Map(hosts.map(({ agent, want }) => [agent.uid, want])), configs: new Map() };
  const snapshot = await readSnapshotOf(db, row.provenCommit);
  if (snapshot === undefined) return { proven: new Map(), configs: new Map() };
  const { states, configs } = renderProven(snapshot, fleet.name, row.provenVersion, hosts);
  return { proven: states, configs };
}
