/**
 * `gitops/preview`: the plan that the planner would make of a revision now. The same code as the planner's, in one read-only
 * transaction: nothing is written, started or offered.
 */
import { parse } from "yaml";
import { needsOf } from "../domain/agents/config-needs.ts";
import { assignAgents } from "../domain/fleet/assign.ts";
import { desiredVersion } from "../domain/fleet/desired-version.ts";
import { findSuccessors } from "../domain/fleet/successors.ts";
import type { GitObject } from "../domain/gitops/kinds.ts";
import { previewFleet, type FleetPreview } from "../domain/rollout/preview.ts";
import { buildKey, pairingKey, readComponentNames, type Pairing } from "../store/agent-components.ts";
import { transaction, type Db, type Pool } from "../store/database.ts";
import { readOfferFacts } from "../store/offer-facts.ts";
import { orphanedRollouts } from "../store/open-rollouts.ts";
import { readFleet } from "../store/rollouts.ts";
import { readPlanAgents } from "../store/wanted.ts";
import { readFleetInput, type InputContext } from "./plan-input.ts";
import { noteMissing, renderAll, type Configs, type FleetWork } from "./plan-render.ts";

export type Preview = {
  agents: number;
  unassigned: number;
  /** Host names by UID, of the targets. */
  hostNames: ReadonlyMap<string, string>;
  fleets: FleetPreview[];
  /** Open rollouts of fleets that the revision does not have: they would be cancelled. */
  cancelled: { fleet: string; n: number }[];
};
export type PreviewRevision = {
  /** Null: files that are no commit. */
  commit: string | null;
  objects: GitObject[];
};

const UNCOMMITTED = "uncommitted";

/** Sees one moment of the database, whatever happens meanwhile. */
export function previewPlan(pool: Pool, revision: PreviewRevision, now: Date): Promise<Preview> {
  return transaction(pool, async (tx) => {
    await tx.query("set transaction isolation level repeatable read, read only");
    return previewAll(tx, revision, now);
  });
}

async function previewAll(tx: Db, { commit, objects }: PreviewRevision, now: Date): Promise<Preview> {
  const snapshot = { objects };
  const agents = await readPlanAgents(tx);
  const assigned = assignAgents(snapshot, agents);
  const { work, configs } = await renderAll(snapshot, agents, assigned, () => undefined);
  await noteMissing(work, (pairings) => missingIn(tx, pairings, configs));
  const context = { commit: commit ?? UNCOMMITTED, successors: findSuccessors(agents), now };
  const fleets: FleetPreview[] = [];
  for (const one of work) fleets.push(await previewOne(tx, one, context));
  return {
    agents: agents.length,
    unassigned: agents.filter(({ uid }) => assigned.get(uid)?.fleet === null).length,
    hostNames: new Map(agents.map(({ uid, hostName }) => [uid, hostName])),
    fleets: fleets.toSorted((a, b) => (a.fleet < b.fleet ? -1 : 1)),
    cancelled: await orphanedRollouts(
      tx,
      work.map(({ fleet }) => fleet.name),
    ),
  };
}

async function previewOne(tx: Db, work: FleetWork, context: InputContext): Promise<FleetPreview> {
  const { fleet, policy, hosts } = work;
  const row = await readFleet(tx, fleet.name);
  const { plan } = await readFleetInput(tx, row, work, context);
  const wants = desiredVersion(fleet);
  const version = wants?.version ?? null;
  const facts = await readOfferFacts(
    tx,
    hosts.map(({ agent }) => agent.uid),
    version,
  );
  const missing = new Map(hosts.map((host) => [host.agent.uid, host.missing]));
  return previewFleet({
    plan,
    policy,
    distribution: wants?.distribution ?? null,
    version,
    hostOf: (uid) => {
      const found = facts.get(uid);
      return found && { ...found, missing: missing.get(uid) ?? null };
    },
    held: row.held === null ? null : { n: row.held.n, because: row.held.because },
    nowMs: context.now.getTime(),
  });
}

/** As the database compares them when the configurations are stored. */
async function missingIn(tx: Db, pairings: readonly Pairing[], configs: Configs): Promise<Map<string, string[]>> {
  const names = await readComponentNames(tx, pairings);
  const needs = new Map<string, string[]>();
  const missing = new Map<string, string[]>();
  for (const pairing of pairings) {
    const has = names.get(buildKey(pairing));
    const bytes = configs.get(pairing.config);
    if (has === undefined || bytes === undefined || missing.has(pairingKey(pairing))) continue;
    const needed = needs.get(pairing.config) ?? needsOf(parse(Buffer.from(bytes).toString("utf8"))).components;
    needs.set(pairing.config, needed);
    const lacking = needed.filter((name) => !has.has(name.replaceAll("_", "")));
    if (lacking.length > 0) missing.set(pairingKey(pairing), lacking);
  }
  return missing;
}
