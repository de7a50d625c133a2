/**
 * The policy as a plan freezes it: plain numbers, every default filled in, the last wave added. A later commit to the
 * policy changes later rollouts only.
 */
import { durationMs } from "../gitops/duration.ts";
import type { RolloutPolicy } from "../gitops/kinds.ts";
import type { Selector } from "../gitops/kinds/fields.ts";
import { shareOf, type Share } from "../gitops/share.ts";

export type Approval = "none" | "required" | "two_person";
export type FrozenWave = {
  name: string;
  /** Cumulative; null takes whatever is left. */
  upTo: Share | null;
  selector: Selector | null;
  approval: Approval;
  bakeMs: number;
};
export type Window = RolloutPolicy["spec"]["maintenanceWindows"][number];
export type FrozenPolicy = {
  name: string;
  waves: FrozenWave[];
  maxConcurrent: Share;
  healthWaitMs: number;
  targetTimeoutMs: number;
  targetMaxTimeMs: number | null;
  threshold: { wave: Share | null; rollout: Share | null };
  onThreshold: "pause" | "abort" | "rollback";
  /** `afterMs` null waits for ever. */
  offline: { action: "skip" | "wait"; afterMs: number | null };
  onNewChange: "supersede" | "queue";
  windows: Window[];
  spacingMs: number;
  approvalTimeoutMs: number | null;
};

const optionalMs = (text: string | undefined): number | null => (text === undefined ? null : durationMs(text));

/** Freezes a policy. Its last wave takes everything that is left, so that no target is without a wave. */
export function freezePolicy(name: string, spec: RolloutPolicy["spec"]): FrozenPolicy {
  const waves = spec.waves.map((wave): FrozenWave => ({
    name: wave.name,
    upTo: wave.upTo === undefined ? null : shareOf(wave.upTo),
    selector: wave.selector ?? null,
    approval: wave.approval,
    bakeMs: optionalMs(wave.bake) ?? 0,
  }));
  return {
    name,
    waves: takesTheRest(waves.at(-1)) ? waves : [...waves, restWave(waves)],
    maxConcurrent: shareOf(spec.maxConcurrent),
    healthWaitMs: durationMs(spec.healthWait),
    targetTimeoutMs: durationMs(spec.targetTimeout),
    targetMaxTimeMs: optionalMs(spec.targetMaxTime),
    threshold: {
      wave: spec.failureThreshold.wave === undefined ? null : shareOf(spec.failureThreshold.wave),
      rollout: spec.failureThreshold.rollout === undefined ? null : shareOf(spec.failureThreshold.rollout),
    },
    onThreshold: spec.onThreshold,
    offline: { action: spec.offline.action, afterMs: optionalMs(spec.offline.after) },
    onNewChange: spec.onNewChange,
    windows: spec.maintenanceWindows,
    spacingMs: optionalMs(spec.spacing) ?? 0,
    approvalTimeoutMs: optionalMs(spec.approvalTimeout),
  };
}

const takesTheRest = (wave: FrozenWave | undefined): boolean =>
  wave !== undefined &&
  wave.selector === null &&
  wave.upTo !== null &&
  "percent" in wave.upTo &&
  wave.upTo.percent >= 100;

/** Named `rest`, unless a wave of the policy has that name already. */
function restWave(waves: readonly FrozenWave[]): FrozenWave {
  const taken = new Set(waves.map((wave) => wave.name));
  let name = "rest";
  while (taken.has(name)) name += "-rest";
  return { name, upTo: null, selector: null, approval: "none", bakeMs: 0 };
}
