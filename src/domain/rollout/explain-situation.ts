/** What an explanation of a target is made from, and what it says. Times in ms since 1970, hashes hexadecimal. */
import type { FailureClass } from "../brand.ts";
import type { Holds } from "./holds.ts";
import type { Direction, Ending, Part, Phase, RolloutState, WaveState } from "./phases.ts";

export type WaitsFor = "host" | "person" | "server" | "nobody";
export type Explained = {
  /** Where it is and why. */
  what: string;
  /** What happens next, and the moment if one is known; null: nothing happens any more, or only a person moves it. */
  next: { what: string; atMs: number | null } | null;
  waitsFor: WaitsFor;
  /** What an operator can do about it; null: nothing is needed. */
  todo: string | null;
};
export type ExplainRollout = {
  fleet: string;
  n: number;
  kind: "change" | "catch_up";
  state: RolloutState;
  reason: string;
  next: { what: string; atMs: number | null } | null;
  holds: Holds;
  ending: Ending | null;
  /** k of the wave that it is in. */
  wave: number | null;
  waves: readonly { k: number; name: string; state: WaveState }[];
  healthWaitMs: number;
};
export type Situation = {
  target: {
    fromVersion: string | null;
    toVersion: string | null;
    fromConfig: string | null;
    toConfig: string | null;
  };
  attempt: {
    phase: Phase;
    direction: Direction;
    part: Part | null;
    wave: number | null;
    sinceMs: number;
    deadlineMs: number | null;
    notBeforeMs: number | null;
    /** Start of the unbroken health that counts. */
    healthFromMs: number | null;
    failureClass: FailureClass | null;
    code: string | null;
    error: string;
  };
  rollout: ExplainRollout;
  /** Null: the agent is gone. */
  host: { connected: boolean; lastSeenMs: number; version: string } | null;
  nowMs: number;
};

const SHORT = 12;
/** Null: the attempt leaves the version as it is. */
export const wantedVersion = ({ target, attempt: { direction } }: Situation): string | null =>
  target.toVersion === null ? null : direction === "back" ? target.fromVersion : target.toVersion;
const wantedConfig = ({ target, attempt: { direction } }: Situation): string | null =>
  target.toConfig === null ? null : direction === "back" ? target.fromConfig : target.toConfig;

/** What the attempt brings the host to, in words: all of it, or one part. */
export function goalText(at: Situation, part?: Part): string {
  const version = part === "config" ? null : wantedVersion(at);
  const config = part === "package" ? null : wantedConfig(at);
  const parts = [
    ...(version === null ? [] : [version]),
    ...(config === null ? [] : [`configuration ${config.slice(0, SHORT)}`]),
  ];
  if (parts.length > 0) return parts.join(" with ");
  return at.attempt.direction === "back" ? "what it had before" : "the new state";
}
