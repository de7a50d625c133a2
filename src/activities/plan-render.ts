/** What every agent of a snapshot should have: assigned, rendered, and compared with what its build can run. */
import { createHash } from "node:crypto";
import { identifier, type Assignment } from "../domain/fleet/assign.ts";
import { desiredVersion } from "../domain/fleet/desired-version.ts";
import { renderConfig } from "../domain/fleet/render.ts";
import { matches } from "../domain/fleet/selector.ts";
import type { Fleet } from "../domain/gitops/kinds.ts";
import { findObject, fleets, policyOf, type Objects } from "../domain/gitops/snapshot.ts";
import type { WantedState } from "../domain/rollout/plan.ts";
import { freezePolicy, type FrozenPolicy } from "../domain/rollout/policy.ts";
import { pairingKey, type Pairing } from "../store/agent-components.ts";
import type { PlanAgent } from "../store/wanted.ts";

export const sha256 = (bytes: Uint8Array): Uint8Array => createHash("sha256").update(bytes).digest();
export const hex = (text: string): string => createHash("sha256").update(text).digest("hex");
/** Agents that are rendered between two heartbeats: rendering keeps the thread busy. */
const CHUNK = 200;

export type Rendered = {
  agent: PlanAgent;
  want: WantedState;
  error: string | null;
  matches: number[];
  /** Components of the wanted configuration that its build does not have. */
  missing: readonly string[];
};
export type FleetWork = { fleet: Fleet; policy: FrozenPolicy; hosts: Rendered[] };
/** Bytes by their hash, hexadecimal. */
export type Configs = Map<string, Uint8Array>;

/** Renders for every agent that has a fleet. `beat` is called between chunks of work. */
export async function renderAll(
  snapshot: Objects,
  agents: readonly PlanAgent[],
  assigned: ReadonlyMap<string, Assignment>,
  beat: () => void,
): Promise<{ work: FleetWork[]; configs: Configs }> {
  const identify = identifier(snapshot, agents);
  const work = new Map(
    fleets(snapshot).map((fleet): [string, FleetWork] => {
      const { name, spec } = policyOf(snapshot, fleet);
      return [fleet.name, { fleet, policy: freezePolicy(name, spec), hosts: [] }];
    }),
  );
  const configs: Configs = new Map();
  let done = 0;
  for (const agent of agents) {
    const one = work.get(assigned.get(agent.uid)?.fleet ?? "");
    if (one === undefined) continue;
    const identity = identify(agent);
    const version = desiredVersion(one.fleet)?.version ?? null;
    const { config, error } = renderInto(configs, snapshot, one.fleet, agent, version, identity);
    const selected = one.policy.waves.flatMap(({ selector }, k) =>
      selector !== null && matches(selector, identity.labels) ? [k] : [],
    );
    one.hosts.push({ agent, want: { version, config }, error, matches: selected, missing: [] });
    done += 1;
    if (done % CHUNK === 0) await yieldThread(beat);
  }
  return { work: [...work.values()], configs };
}

/** Renders for one agent and keeps the bytes. `version`: what the fleet gives; without one the agent's own counts. */
function renderInto(
  configs: Configs,
  snapshot: Objects,
  fleet: Fleet,
  agent: PlanAgent,
  version: string | null,
  identity: ReturnType<ReturnType<typeof identifier>>,
): { config: string | null; error: string | null } {
  const rendered = renderConfig(snapshot, fleet, agent, version ?? agent.version, sha256, identity);
  if (!rendered.ok) return { config: null, error: rendered.message };
  const config = Buffer.from(rendered.hash).toString("hex");
  configs.set(config, rendered.bytes);
  return { config, error: null };
}

/** Heartbeats and connections of this process go on between chunks. */
const yieldThread = (beat: () => void): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(() => {
      beat();
      resolve();
    });
  });

/** Notes which wanted configuration a host's build cannot run; `read` knows what is missing for each pairing. */
export async function noteMissing(
  work: readonly FleetWork[],
  read: (pairings: readonly Pairing[]) => Promise<Map<string, string[]>>,
): Promise<void> {
  const hosts = work.flatMap((one) => one.hosts);
  const found = await read(hosts.flatMap((host) => pairingOf(host) ?? []));
  if (found.size === 0) return;
  for (const host of hosts) {
    const pairing = pairingOf(host);
    host.missing = (pairing && found.get(pairingKey(pairing))) ?? [];
  }
}

const pairingOf = ({ agent: { credential, componentsHash }, want }: Rendered): Pairing | undefined =>
  want.config === null || componentsHash === null
    ? undefined
    : { config: want.config, credential, components: componentsHash };

/** What another snapshot wants of these hosts of a fleet: the state that catch-up goes to while a change is under way or held. */
export function renderProven(
  proven: Objects,
  name: string,
  provenVersion: string | null,
  hosts: readonly Rendered[],
): { states: Map<string, WantedState>; configs: Configs } {
  const fleet = findObject(proven, "Fleet", name);
  const configs: Configs = new Map();
  if (fleet === undefined) return { states: new Map(), configs };
  const identify = identifier(
    proven,
    hosts.map(({ agent }) => agent),
  );
  const states = hosts.map(({ agent }): [string, WantedState] => {
    const { config } = renderInto(configs, proven, fleet, agent, provenVersion, identify(agent));
    return [agent.uid, { version: provenVersion, config }];
  });
  return { states: new Map(states), configs };
}
