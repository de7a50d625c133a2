/** What a commit says of one host: the fleet object, the frame of its version, what renders, and the labels that matched. */
import { isSecretKey, MASK } from "../agents/redact-config.ts";
import type { FleetAgent } from "../fleet/agent.ts";
import { identifier } from "../fleet/assign.ts";
import { chainOf } from "../gitops/chain.ts";
import { findObject, inventories, type Snapshot } from "../gitops/snapshot.ts";
import type { Fleet, GitObject } from "../gitops/kinds.ts";

/** `fleets/edge.yaml:3`. */
export type ObjectName = { kind: string; name: string; at: string };
export type GitTrail = {
  commit: string;
  author: string;
  subject: string;
  fleet: ObjectName;
  /** How the fleet object gives the version; null: it manages configuration only. */
  version: string | null;
  /** From the root ancestor down. */
  blueprints: ObjectName[];
  /** The object with the host's entry; null: none, or its host name is contested. */
  inventory: ObjectName | null;
  /** Conditions of the fleet's selector with what the host has, and where it has it from. */
  labels: string[];
};

const nameOf = ({ kind, name, source }: GitObject): ObjectName => ({ kind, name, at: `${source.file}:${source.line}` });

/** Undefined when the commit has no such fleet. `peers`: agents that claim the same host name. */
export function trailOf(
  snapshot: Snapshot,
  fleetName: string,
  agent: FleetAgent,
  peers: readonly FleetAgent[],
): GitTrail | undefined {
  const fleet = findObject(snapshot, "Fleet", fleetName);
  if (fleet === undefined) return undefined;
  const { labels, entry } = identifier(snapshot, [agent, ...peers])(agent);
  const chain = chainOf(snapshot, fleet.spec.blueprint);
  const inventory = entry && inventories(snapshot).find(({ spec }) => spec.entries.includes(entry));
  const from = (key: string): string =>
    entry?.labels !== undefined && Object.hasOwn(entry.labels, key)
      ? "inventory"
      : Object.hasOwn(agent.credentialLabels, key)
        ? "enrollment token"
        : "reported by the agent";
  const { commit, author, subject } = snapshot;
  return {
    commit,
    author,
    subject,
    fleet: nameOf(fleet),
    version: versionText(fleet),
    blueprints: chain.ok ? chain.blueprints.map(nameOf) : [],
    inventory: inventory === undefined ? null : nameOf(inventory),
    labels: labelTexts(fleet, labels, from),
  };
}

function versionText({ spec: { version } }: Fleet): string | null {
  if (version === undefined) return null;
  if (version.target !== undefined) return `target ${version.target} of ${version.distribution}`;
  const { choice } = version;
  if (choice === undefined) return null;
  const frame = choice.range ?? `one of ${(choice.list ?? []).join(", ")}`;
  return `the default ${choice.default} of its choice (${frame}) of ${version.distribution}`;
}

function labelTexts(
  { spec: { selector } }: Fleet,
  labels: Readonly<Record<string, string>>,
  from: (key: string) => string,
): string[] {
  const has = (key: string): string =>
    Object.hasOwn(labels, key)
      ? `the host has ${key}=${isSecretKey(key) ? MASK : (labels[key] ?? "")} (${from(key)})`
      : `the host has no ${key}`;
  const exact = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => `${key} = ${value}: ${has(key)}`);
  const conditions = (selector.matchExpressions ?? []).map(({ key, operator, values }) => {
    const wanted = values === undefined ? "" : ` ${values.join(", ")}`;
    return `${key} ${operator}${wanted}: ${has(key)}`;
  });
  return [...exact, ...conditions];
}
