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
export const pickWave = (rule: WaveRule, members: readonly Member[]): string[] =>
  pickFrom(rule, inOrderOf(members)).map(({ host }) => host);

const inOrderOf = (members: readonly Member[]): Member[] =>
  members.filter((member) => member.state !== "out").toSorted((a, b) => a.ord - b.ord);

/** `inPlay` in the frozen order. */
function pickFrom({ k, upTo, selects, last }: WaveRule, inPlay: readonly Member[]): Member[] {
  if (last) return inPlay.filter(({ state }) => state === "free");
  const pool = inPlay.filter((member) => !member.joined && (!selects || member.matches.includes(k)));
  const free = pool.filter(({ state }) => state === "free");
  const upToCount = upTo === null ? pool.length : takeUp(upTo, pool.length);
  return free.slice(0, Math.max(0, upToCount - (pool.length - free.length)));
}

/** Hosts of all waves when they start one after the other from here: what plan and preview show. */
export function assignWaves(rules: readonly WaveRule[], members: readonly Member[]): string[][] {
  const now = inOrderOf(members).map((member) => ({ ...member }));
  return rules.map((rule) =>
    pickFrom(rule, now).map((member) => {
      member.state = "taken";
      return member.host;
    }),
  );
}

/** Sizes of all waves. */
export const previewWaves = (rules: readonly WaveRule[], members: readonly Member[]): number[] =>
  assignWaves(rules, members).map(({ length }) => length);
