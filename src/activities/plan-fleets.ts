/**
 * Planning all fleets: assign, render, then one transaction for each fleet that compares, decides and writes. Replicas that
 * plan at once wait for each other at the fleet's row, and the later one finds the change planned.
 */
import { createHash } from "node:crypto";
import { assignAgents, identifier, type Assignment } from "../domain/fleet/assign.ts";
import { desiredVersion } from "../domain/fleet/desired-version.ts";
import { renderConfig } from "../domain/fleet/render.ts";
import { matches } from "../domain/fleet/selector.ts";
import type { Fleet } from "../domain/gitops/kinds.ts";
import { findObject, fleets, policyOf, type Snapshot } from "../domain/gitops/snapshot.ts";
import { planFleet, type PlanHost, type WantedState } from "../domain/rollout/plan.ts";
import { freezePolicy, type FrozenPolicy } from "../domain/rollout/policy.ts";
import { pairingKey, readMissing, type Pairing } from "../store/agent-components.ts";
import { transaction, type Db } from "../store/database.ts";
import { activeRollout, newestChange, orphanedRollouts } from "../store/open-rollouts.ts";
import { createRollout, joinRollout, planCatchUp, supersedeRollout, writeFleetState } from "../store/plan-write.ts";
import { lockFleet, type FleetRow } from "../store/rollouts.ts";
import {
  putConfigs,
  readHistories,
  readPlanAgents,
  readSnapshotOf,
  writeUnassigned,
  writeWanted,
  type HostHistory,
  type PlanAgent,
  type Wanted,
} from "../store/wanted.ts";
import type { RolloutDeps } from "./rollout-deps.ts";

export type PlanReport = { commit: string | null; agents: number; created: string[]; superseded: string[] };

const sha256 = (bytes: Uint8Array): Uint8Array => createHash("sha256").update(bytes).digest();
const hex = (text: string): string => createHash("sha256").update(text).digest("hex");
/** Agents that are rendered between two heartbeats: rendering keeps the thread busy. */
const CHUNK = 200;

type Rendered = {
  agent: PlanAgent;
  want: WantedState;
  error: string | null;
  matches: number[];
  /** Components of the wanted configuration that its build does not have. */
  missing: readonly string[];
};
type FleetWork = { fleet: Fleet; policy: FrozenPolicy; hosts: Rendered[] };

/** Plans every fleet of the snapshot. `beat` is called between chunks of work. */
export async function planAll(deps: RolloutDeps, snapshot: Snapshot, beat: () => void): Promise<PlanReport> {
  const { pool, now } = deps;
  const agents = await readPlanAgents(pool);
  const assigned = assignAgents(snapshot, agents);
  const work = await renderAll(deps, snapshot, agents, assigned, beat);
  const report: PlanReport = { commit: snapshot.commit, agents: agents.length, created: [], superseded: [] };
  for (const one of work) {
    await transaction(pool, (tx) => planOne(tx, snapshot, one, { assigned, report, now: now() }));
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

async function renderAll(
  deps: RolloutDeps,
  snapshot: Snapshot,
  agents: readonly PlanAgent[],
  assigned: ReadonlyMap<string, Assignment>,
  beat: () => void,
): Promise<FleetWork[]> {
  const identify = identifier(snapshot, agents);
  const work = new Map(
    fleets(snapshot).map((fleet): [string, FleetWork] => {
      const { name, spec } = policyOf(snapshot, fleet);
      return [fleet.name, { fleet, policy: freezePolicy(name, spec), hosts: [] }];
    }),
  );
  const configs = new Map<string, Uint8Array>();
  let done = 0;
  for (const agent of agents) {
    const one = work.get(assigned.get(agent.uid)?.fleet ?? "");
    if (one === undefined) continue;
    const identity = identify(agent);
    const version = desiredVersion(one.fleet)?.version ?? null;
    const rendered = renderConfig(snapshot, one.fleet, agent, version ?? agent.version, sha256, identity);
    const config = rendered.ok ? Buffer.from(rendered.hash).toString("hex") : null;
    if (rendered.ok && config !== null) configs.set(config, rendered.bytes);
    const selected = one.policy.waves.flatMap(({ selector }, k) =>
      selector !== null && matches(selector, identity.labels) ? [k] : [],
    );
    const error = rendered.ok ? null : rendered.message;
    one.hosts.push({ agent, want: { version, config }, error, matches: selected, missing: [] });
    done += 1;
    if (done % CHUNK === 0) await yieldThread(beat);
  }
  await putConfigs(deps.pool, configs);
  await noteMissing(deps, [...work.values()]);
  return [...work.values()];
}

/** Which wanted configuration a host's build cannot run. */
async function noteMissing({ pool }: RolloutDeps, work: readonly FleetWork[]): Promise<void> {
  const pairingOf = ({ agent: { credential, componentsHash }, want }: Rendered): Pairing | undefined =>
    want.config === null || componentsHash === null
      ? undefined
      : { config: want.config, credential, components: componentsHash };
  const hosts = work.flatMap((one) => one.hosts);
  const found = await readMissing(
    pool,
    hosts.flatMap((host) => pairingOf(host) ?? []),
  );
  if (found.size === 0) return;
  for (const host of hosts) {
    const pairing = pairingOf(host);
    host.missing = (pairing && found.get(pairingKey(pairing))) ?? [];
  }
}

/** Heartbeats and connections of this process go on between chunks. */
const yieldThread = (beat: () => void): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(() => {
      beat();
      resolve();
    });
  });

type PlanContext = { assigned: ReadonlyMap<string, Assignment>; report: PlanReport; now: Date };

async function planOne(
  tx: Db,
  snapshot: Snapshot,
  work: FleetWork,
  { assigned, report, now }: PlanContext,
): Promise<void> {
  const { fleet, policy, hosts } = work;
  const row = await lockFleet(tx, fleet.name);
  const active = await activeRollout(tx, fleet.name);
  const newest = await newestChange(tx, fleet.name);
  const uids = hosts.map(({ agent }) => agent.uid);
  const histories = await readHistories(tx, fleet.name, uids, active?.n ?? null, now);
  const proven = await provenStates(tx, row, fleet.name, hosts);
  const wants = desiredVersion(fleet);
  const plan = planFleet({
    fleet: fleet.name,
    commit: snapshot.commit,
    allowDowngrade: wants?.allowDowngrade ?? false,
    hosts: hosts.map((host) => toPlanHost(host, histories.get(host.agent.uid))),
    state: row,
    active,
    newest,
    proven: proven === null ? null : (uid) => proven.get(uid) ?? null,
    order: (uid) => hex(`${fleet.name}/${uid}`),
    keyOf: hex,
  });
  await writeWanted(
    tx,
    hosts.map((host) => toWanted(host, work, assigned, snapshot.commit)),
    now,
  );
  const distribution = wants?.distribution ?? null;
  const common = { fleet: fleet.name, commit: snapshot.commit, distribution, version: wants?.version ?? null, policy };
  const { action, changeKey, joiners, catchUp, settles } = plan;
  const isPlanned = action.do === "create" || settles;
  const isNew = changeKey !== row.changeKey;
  await writeFleetState(tx, fleet.name, { commit: snapshot.commit, changeKey, isPlanned, isNew });
  if (action.do === "create") {
    const n = await createRollout(tx, row, { ...common, wantedKey: changeKey, targets: action.targets }, now);
    report.created.push(`${fleet.name}/${n}`);
  }
  if (action.do === "supersede") {
    await supersedeRollout(
      tx,
      fleet.name,
      action.n,
      `commit ${snapshot.commit.slice(0, 12)} wants something else`,
      now,
    );
    report.superseded.push(`${fleet.name}/${action.n}`);
  }
  if (active !== null) await joinRollout(tx, fleet.name, active.n, joiners, now);
  if (catchUp.length > 0) await planCatchUp(tx, { ...common, targets: catchUp }, now);
}

function toPlanHost({ agent, want, error, matches, missing }: Rendered, history: HostHistory | undefined): PlanHost {
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
    openIn: history?.openIn ?? "none",
    isTarget: history?.isTarget ?? false,
  };
}

const toWanted = (
  { agent, want, error }: Rendered,
  { fleet }: FleetWork,
  assigned: ReadonlyMap<string, Assignment>,
  commit: string,
): Wanted => ({
  host: agent.uid,
  fleet: fleet.name,
  reason: assigned.get(agent.uid)?.reason ?? "",
  distribution: desiredVersion(fleet)?.distribution ?? null,
  version: want.version,
  config: want.config,
  renderError: error,
  commit,
});

/** What the commit of the last success wants of each host: the state that catch-up goes to while a change is under way or held. */
async function provenStates(
  tx: Db,
  row: FleetRow,
  name: string,
  hosts: readonly Rendered[],
): Promise<Map<string, WantedState> | null> {
  if (row.provenCommit === null) return null;
  const proven = await readSnapshotOf(tx, row.provenCommit);
  const fleet = proven === undefined ? undefined : findObject(proven, "Fleet", name);
  if (proven === undefined || fleet === undefined) return new Map();
  if (row.seenCommit === row.provenCommit) return new Map(hosts.map(({ agent, want }) => [agent.uid, want]));
  const identify = identifier(
    proven,
    hosts.map(({ agent }) => agent),
  );
  const configs = new Map<string, Uint8Array>();
  const states = hosts.map(({ agent }): [string, WantedState] => {
    const rendered = renderConfig(proven, fleet, agent, row.provenVersion ?? agent.version, sha256, identify(agent));
    const config = rendered.ok ? Buffer.from(rendered.hash).toString("hex") : null;
    if (rendered.ok && config !== null) configs.set(config, rendered.bytes);
    return [agent.uid, { version: row.provenVersion, config }];
  });
  await putConfigs(tx, configs);
  return new Map(states);
}

/** A fleet that Git has no more cancels its rollout. */
async function endOrphans({ pool, now }: RolloutDeps, work: readonly FleetWork[], report: PlanReport): Promise<void> {
  const names = work.map(({ fleet }) => fleet.name);
  for (const { fleet, n } of await orphanedRollouts(pool, names)) {
    await transaction(pool, async (tx) => {
      await lockFleet(tx, fleet);
      await supersedeRollout(tx, fleet, n, "the fleet is not in Git any more", now());
    });
    report.superseded.push(`${fleet}/${n}`);
  }
}
