/** The hosts of a scenario: the same ones for the same scenario and seed. */
import type { Step } from "../domain/brand.ts";
import { shuffled } from "./draw.ts";
import type { Fault } from "./fault.ts";
import type { Group, Scenario } from "./scenario.ts";
import type { Spread } from "./spread.ts";

export type Timing = {
  latency: Spread;
  step: Spread;
  steps: Partial<Record<Step, Spread | undefined>>;
  /** From the start of a collector until it is healthy; absent: as a step. */
  start: Spread | undefined;
  /** From the start with a new configuration until the verdict on it. */
  apply: Spread;
};
export type HostProfile = {
  seed: number;
  /** In the whole scenario, from 0. */
  index: number;
  name: string;
  group: string;
  /** Whose instance UIDs it starts with: its own name, or for a clone that of another host. */
  uidOf: string;
  transport: "websocket" | "http";
  distribution: string;
  os: string;
  arch: string;
  /** What it runs when it is simulated for the first time. */
  version: string;
  attributes: Readonly<Record<string, string>>;
  /** `receivers/otlp` and so on; absent: it does not report any. */
  components: readonly string[] | undefined;
  download: "real" | "hash";
  timing: Timing;
  /** Those that this host has. */
  faults: readonly Fault[];
};

export function planHosts(scenario: Scenario): HostProfile[] {
  const counts = countsOf(scenario);
  return scenario.groups
    .flatMap((group, i) => planGroup(scenario.seed, group, counts[i] ?? 0))
    .map((host, index) => ({ ...host, index }));
}

/** Groups with a count have it; the others get their share of `hosts`, in whole hosts that add up. */
export function countsOf({ hosts, groups }: Scenario): number[] {
  const exact = groups.map((group) => group.hosts ?? (hosts ?? 0) * (group.share ?? 0));
  const counts = exact.map(Math.floor);
  const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0);
  const missing = Math.round(sum(exact)) - sum(counts);
  const byRest = exact.map((_, i) => i).toSorted((a, b) => rest(exact[b]) - rest(exact[a]));
  for (const i of byRest.slice(0, missing)) counts[i] = (counts[i] ?? 0) + 1;
  return counts;
}
const rest = (number = 0): number => number - Math.floor(number);

function planGroup(seed: number, group: Group, count: number): Omit<HostProfile, "index">[] {
  const names = Array.from({ length: count }, (_, i) => `${group.name}-${String(i + 1).padStart(4, "0")}`);
  const versions = versionsOf(seed, group, count);
  const faulty = group.faults.map((fault, i) => ({ fault, hosts: chosen(seed, names, fault, `${group.name} ${i}`) }));
  return names.map((name, i) => {
    const faults = faulty.filter(({ hosts }) => hosts.has(name)).map(({ fault }) => fault);
    const isClone = faults.some(({ kind }) => kind === "clone");
    return {
      ...group,
      seed,
      name,
      group: group.name,
      uidOf: isClone ? (names[0] ?? name) : name,
      version: versions[i] ?? group.version,
      faults,
    };
  });
}

/** Exactly the share of the hosts that the pattern names, rounded; at least one if there is a share at all. */
export function chosen(
  seed: number,
  names: readonly string[],
  { hosts, share }: Pick<Fault, "hosts" | "share">,
  question: string,
): Set<string> {
  const fitting = names.filter((name) => hosts.test(name));
  if (share === 1) return new Set(fitting);
  const many = share === 0 ? 0 : Math.max(1, Math.round(fitting.length * share));
  const order = shuffled(fitting.length, seed, "share", question).slice(0, many);
  return new Set(order.map((i) => fitting[i] ?? ""));
}

/** By index: each version has its part of the group, as exactly as whole hosts allow. */
function versionsOf(seed: number, { name, versions, version }: Group, count: number): string[] {
  const entries = Object.entries(versions);
  const total = entries.reduce((sum, [, weight]) => sum + weight, 0);
  if (total === 0) return Array.from({ length: count }, () => version);
  const result: string[] = [];
  for (const [position, i] of shuffled(count, seed, "version", name).entries()) {
    let upTo = 0;
    result[i] = entries.find(([, weight]) => (upTo += weight) * count > position * total)?.[0] ?? version;
  }
  return result;
}
