/** A rollout in Markdown for the details page of its workflow. */
import type { PhaseCounts, RolloutState, WaveState } from "./phases.ts";

type Described = {
  fleet: string;
  n: number;
  version: string | null;
  commit: string;
  state: RolloutState;
  reason: string;
  next: { what: string; at: string | null } | null;
  counts: Partial<PhaseCounts>;
  waves: readonly { name: string; state: WaveState }[];
};

export function describeNext({ fleet, n, version, commit, state, reason, next, counts, waves }: Described): string {
  const to = version === null ? "configuration" : `v${version}`;
  const phases = Object.entries(counts).map(([phase, count]) => `${count} ${phase}`);
  const waiting = next === null ? [] : [`**Next:** ${next.what}${next.at === null ? "" : ` at ${next.at}`}`];
  return [
    `### Fleet ${fleet}, rollout ${n} → ${to}`,
    `**${state}**: ${reason === "" ? "…" : reason}`,
    ...waiting,
    `Hosts: ${phases.length === 0 ? "none" : phases.join(", ")}`,
    ...(waves.length === 0 ? [] : [`Waves: ${waves.map((wave) => `${wave.name} (${wave.state})`).join(" → ")}`]),
    `Commit \`${commit.slice(0, 12)}\``,
  ].join("\n\n");
}
