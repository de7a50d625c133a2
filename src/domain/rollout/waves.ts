/**
 * Who is in a wave (decisions, "Waves and targets"): the share is cumulative, rounded up, counted when the wave starts
 * over the targets in play; what earlier waves took counts; joiners change no share and go to the last wave.
 */
import { takeUp, type Share } from "../gitops/share.ts";

export type WaveRule = { k: number; upTo: Share | null; selects: boolean; last: boolean };
export type Member = {
  host: string;
  /** Frozen order of the plan. */
  ord: number;
  /** Waves whose selector it matched when it was planned. */
  matches: readonly number[];
  joined: boolean;
  /** `free`: no wave has taken it yet; `out`: cancelled, moved or deleted, so it counts for nothing. */
  state: "free" | "taken" | "out";
};

/** Hosts that wave `k` takes now, in order. The last wave takes everything that is left. */
export function pickWave({ k, upTo, selects, last }: WaveRule, members: readonly Member[]): string[] {
  const inPlay = members.filter((member) => member.state !== "out").toSorted((a, b) => a.ord - b.ord);
  const free = (pool: readonly Member[]): string[] =>
    pool.filter((member) => member.state === "free").map((member) => member.host);
  if (last) return free(inPlay);
  const pool = inPlay.filter((member) => !member.joined && (!selects || member.matches.includes(k)));
  const taken = pool.filter((member) => member.state === "taken").length;
  const upToCount = upTo === null ? pool.length : takeUp(upTo, pool.length);
  return free(pool).slice(0, Math.max(0, upToCount - taken));
}

/** Sizes of all waves when every target is free: what plan and preview show. */
export function previewWaves(rules: readonly WaveRule[], members: readonly Member[]): number[] {
  let now: Member[] = members.map((member) => ({ ...member }));
  return rules.map((rule) => {
    const picked = new Set(pickWave(rule, now));
    now = now.map((member) => (picked.has(member.host) ? { ...member, state: "taken" } : member));
    return picked.size;
  });
}
