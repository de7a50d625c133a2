/** Reads what the explanation of one agent is made from. All sentences come from the domain. */
import type { z } from "zod";
import type { explanation } from "../domain/rest/agent.ts";
import { explainHost, type HostFacts, type HostTarget } from "../domain/rollout/explain-host.ts";
import { trailOf } from "../domain/rollout/explain-trail.ts";
import {
  currentAttempt,
  walkConfig,
  walkVersion,
  whatBroughtConfig,
  whatBroughtVersion,
  type Brought,
  type HostAttempt,
} from "../domain/rollout/explain-walk.ts";
import { isHeld } from "../domain/rollout/holds.ts";
import { isFinalState } from "../domain/rollout/phases.ts";
import type { AgentDetailView } from "../store/agent-list.ts";
import { artifactFor } from "../store/artifacts.ts";
import type { Pool } from "../store/database.ts";
import { readHostAttempts, readNamesakes } from "../store/host-attempts.ts";
import { getRollout, listTargets, readFleet, readRollout } from "../store/rollouts.ts";
import { readSnapshotOf } from "../store/wanted.ts";
import { explainAgent, healthOf, stateOf } from "./explain-agent.ts";
import { currentOf, explainedRollout, explainRow, showNext } from "./show-target.ts";

/** The whole answer: the sentence first, then both walks, then each reason by itself. */
export async function explainWhole(
  pool: Pool,
  agent: AgentDetailView,
  now: Date,
): Promise<z.output<typeof explanation>> {
  const attempts = agent.kind === "collector" ? await readHostAttempts(pool, agent.uid) : [];
  const current = currentAttempt(attempts);
  const target = current === undefined ? null : await readTarget(pool, current, agent.uid, now);
  const fleet = agent.fleet === null ? undefined : await readFleet(pool, agent.fleet);
  const { verdict, says, next, waitsFor, todo } = explainHost(hostFacts(agent, target, fleet?.held ?? null, now));
  return {
    uid: agent.uid,
    hostName: agent.hostName,
    verdict,
    says,
    next: showNext(next),
    waitsFor,
    todo,
    ...(await readWalks(pool, agent, attempts)),
    because: explainAgent(agent, now),
  };
}

function hostFacts(agent: AgentDetailView, target: HostTarget | null, held: HostFacts["held"], now: Date): HostFacts {
  const left = agent.leftCode === null ? null : { code: agent.leftCode, note: agent.leftNote };
  return {
    ...agent,
    lastSeenMs: agent.lastSeenAt.getTime(),
    config: stateOf(agent, now),
    left,
    health: healthOf(agent),
    target,
    held,
  };
}

async function readTarget(pool: Pool, at: HostAttempt, host: string, now: Date): Promise<HostTarget | null> {
  const rollout = await getRollout(pool, at.fleet, at.n);
  const row = (await listTargets(pool, at.fleet, at.n, { host }))[0];
  if (rollout === undefined || row === undefined) return null;
  const { phase, direction, code } = currentOf(row);
  const isBack = direction === "back";
  return {
    rollout: `${at.fleet}/${at.n}`,
    phase,
    code,
    goal: isBack
      ? { version: row.fromVersion, config: row.fromConfig }
      : { version: row.toVersion, config: row.toConfig },
    isHeld: isHeld(rollout.holds) && !isFinalState(rollout.state),
    explained: explainRow(row, explainedRollout(rollout), now),
  };
}

type Walks = Pick<z.output<typeof explanation>, "version" | "configuration">;

async function readWalks(pool: Pool, agent: AgentDetailView, attempts: readonly HostAttempt[]): Promise<Walks> {
  if (agent.kind !== "collector") return { version: [], configuration: [] };
  const { hostName, version, serviceName, os, arch, configHash } = agent;
  const ofVersion = whatBroughtVersion(attempts, version);
  const ofConfig = whatBroughtConfig(attempts, configHash);
  const broughtVersion = ofVersion === undefined ? null : await readBrought(pool, ofVersion, agent.uid);
  const broughtConfig =
    ofConfig === ofVersion ? broughtVersion : ofConfig && (await readBrought(pool, ofConfig, agent.uid));
  const facts = {
    hostName,
    version,
    distribution: serviceName,
    platform: `${os}/${arch}`,
    configHash,
    artifact: (await artifactFor(pool, serviceName, version, os, arch)) ?? null,
    broughtVersion,
    broughtConfig: broughtConfig ?? null,
  };
  return { version: walkVersion(facts), configuration: walkConfig(facts) };
}

async function readBrought(pool: Pool, at: HostAttempt, uid: string): Promise<Brought> {
  const rollout = await readRollout(pool, at.fleet, at.n);
  const snapshot = await readSnapshotOf(pool, at.commit);
  const claimants = await readNamesakes(pool, uid);
  const self = claimants.find((one) => one.uid === uid);
  const peers = claimants.filter((one) => one.uid !== uid);
  const trail = snapshot === undefined || self === undefined ? undefined : trailOf(snapshot, at.fleet, self, peers);
  return { ...at, trail: trail ?? null, approvals: rollout?.approvals[String(at.wave)] ?? [] };
}
