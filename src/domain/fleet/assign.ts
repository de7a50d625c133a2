/** Which agent belongs to which fleet (gitops-schema, Fleet and Inventory). */
import type { Fleet } from "../gitops/kinds.ts";
import type { InventoryEntry } from "../gitops/kinds/inventory.ts";
import { compareText } from "../gitops/plain.ts";
import { fleets, inventories, type Objects } from "../gitops/snapshot.ts";
import type { FleetAgent } from "./agent.ts";
import { matches } from "./selector.ts";

export type { FleetAgent } from "./agent.ts";
export type Assignment = {
  fleet: string | null;
  /** For people: why this fleet, or why none. */
  reason: string;
  /** Other fleets of the same priority that match too: the name that sorts first won. */
  tiedWith: string[];
};
export type Identity = {
  /** One merged set: inventory over credential over what the agent reports. */
  labels: Record<string, string>;
  entry: InventoryEntry | undefined;
  /** Set when the inventory knows the host but another live agent claims it too. */
  conflict: string | undefined;
};

/** Assigns every agent. The result has exactly the given agents; `null` means unassigned: it keeps what it has. */
export function assignAgents(snapshot: Objects, agents: readonly FleetAgent[]): Map<string, Assignment> {
  const identify = identifier(snapshot, agents);
  const order = fleets(snapshot).toSorted(byPriority);
  return new Map(agents.map((agent) => [agent.uid, assign(order, identify(agent))]));
}

/** Whose labels and inventory entry an agent gets, among all agents that there are. */
export function identifier(snapshot: Objects, agents: readonly FleetAgent[]): (agent: FleetAgent) => Identity {
  const entries = entriesOf(snapshot);
  const claims = new Map<string, string[]>();
  for (const agent of agents) {
    const entry = entries.get(fold(agent.hostName));
    if (entry === undefined || agent.live === false || !isPinned(entry, agent)) continue;
    claims.set(fold(entry.host), [...(claims.get(fold(entry.host)) ?? []), agent.uid]);
  }
  return (agent) => {
    const entry = entries.get(fold(agent.hostName));
    if (entry === undefined || !isPinned(entry, agent)) return identity(agent, undefined);
    const others = (claims.get(fold(entry.host)) ?? []).filter((uid) => uid !== agent.uid);
    if (others.length === 0 || agent.live === false) return identity(agent, entry);
    return identity(agent, undefined, `${others.join(", ")} claims the host name ${agent.hostName} too`);
  };
}

const entryMaps = new WeakMap<Objects["objects"], Map<string, InventoryEntry>>();

/** The entries by host; of two for one host (validation refuses them) the first counts. */
function entriesOf(snapshot: Objects): Map<string, InventoryEntry> {
  const known = entryMaps.get(snapshot.objects);
  if (known !== undefined) return known;
  const all = inventories(snapshot).flatMap(({ spec }) => spec.entries);
  const entries = new Map(all.toReversed().map((entry) => [fold(entry.host), entry]));
  entryMaps.set(snapshot.objects, entries);
  return entries;
}

/** Host names compare without case; only ASCII letters have one there. */
const fold = (host: string): string => host.toLowerCase();

/** A pinned entry belongs to one agent or credential; an unpinned one to whoever has the host name. */
function isPinned(entry: InventoryEntry, agent: FleetAgent): boolean {
  if (entry.instanceUid !== undefined && entry.instanceUid.toLowerCase() !== agent.uid.toLowerCase()) return false;
  if (entry.credential === undefined) return true;
  const subject = agent.credential.slice(agent.credential.indexOf(":") + 1);
  return [agent.credential, subject, agent.credentialName].includes(entry.credential);
}

function identity(agent: FleetAgent, entry: InventoryEntry | undefined, conflict?: string): Identity {
  const reported = Object.entries(agent.attributes).flatMap(([key, value]): [string, string][] =>
    typeof value === "string" || typeof value === "number" || typeof value === "boolean" || typeof value === "bigint"
      ? [[key, String(value)]]
      : [],
  );
  const merged = new Map([
    ...reported,
    ...Object.entries(agent.credentialLabels),
    ...Object.entries(entry?.labels ?? {}),
  ]);
  return { labels: Object.fromEntries(merged), entry, conflict };
}

const byPriority = (a: Fleet, b: Fleet): number => b.spec.priority - a.spec.priority || compareText(a.name, b.name);

function assign(order: readonly Fleet[], { labels, conflict }: Identity): Assignment {
  const because = conflict === undefined ? "" : `; inventory not used: ${conflict}`;
  const [first, ...rest] = order.filter((fleet) => matches(fleet.spec.selector, labels));
  if (first === undefined) return { fleet: null, reason: `no fleet's selector matches${because}`, tiedWith: [] };
  const tiedWith = rest.filter((fleet) => fleet.spec.priority === first.spec.priority).map((fleet) => fleet.name);
  const tie = tiedWith.length === 0 ? "" : `, before ${tiedWith.join(", ")} of the same priority`;
  return {
    fleet: first.name,
    reason: `selector matches with priority ${first.spec.priority}${tie}${because}`,
    tiedWith,
  };
}
