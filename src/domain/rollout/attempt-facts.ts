/** What is known of one attempt when it is judged: its row, its open offer, and what the host reports. Times in ms. */
import type { FailureClass } from "../brand.ts";
import type { StepReport, UpdateAttempt } from "../update/health-report.ts";
import { compareVersions } from "../update/version.ts";
import type { Direction, InFlightPhase, Part, Phase } from "./phases.ts";

/** RemoteConfigStatuses of OpAMP. */
export const CONFIG_STATUS = { unset: 0, applied: 1, applying: 2, failed: 3 } as const;

/** Hashes are hexadecimal. */
export type TargetChange = {
  fromVersion: string | null;
  toVersion: string | null;
  fromConfig: string | null;
  toConfig: string | null;
  unhealthyBefore: readonly string[];
};
export type AttemptFacts = {
  phase: InFlightPhase;
  direction: Direction;
  part: Part;
  sinceMs: number;
  deadlineMs: number | null;
  offeredMs: number;
  hostAttemptNanos: bigint | null;
  percent: number;
  steps: readonly StepReport[];
  healthFromMs: number | null;
  silentFromMs: number | null;
  failureClass: FailureClass | null;
  error: string;
  /** Start times of host attempts that other attempts have taken. */
  takenNanos: readonly bigint[];
};
export type OfferFacts = { direction: "forward" | "back" | "take_back"; packagesHash: string | null; sent: boolean };
export type CollectorFacts = {
  connected: boolean;
  version: string;
  healthy: boolean;
  healthySinceMs: number | null;
  unhealthyComponents: readonly string[];
  lastSeenMs: number;
  lastError: string;
  configHash: string | null;
  configStatus: number;
  configError: string;
  /** Pipelines in its health report, and those of the configuration that it should run; null: not known. */
  pipelines?: readonly string[] | null;
  expectedPipelines?: readonly string[] | null;
  /** It refused this configuration, whatever it says now. */
  failedConfig?: { hash: string; error: string } | null;
  /** The configuration of ours that its effective one holds in full. */
  effectiveOf?: string | null;
  /** Components of the configuration that it should get, and does not have. */
  missing?: readonly string[] | null;
};
export type PackageStatus = {
  allPackagesHash: string;
  status: string;
  version: string;
  offeredVersion: string;
  error: string;
  percent: number | null;
};
export type UpdaterFacts = { attempt: UpdateAttempt | null; packageStatus: PackageStatus | null };
export type Timing = { healthWaitMs: number; targetTimeoutMs: number; targetMaxTimeMs: number | null };

export type Evidence = {
  target: TargetChange;
  attempt: AttemptFacts;
  offer: OfferFacts | null;
  collector: CollectorFacts | null;
  updater: UpdaterFacts | null;
  timing: Timing;
  nowMs: number;
};

export type Opening = {
  kind: Part;
  direction: "forward" | "back" | "take_back";
  version: string | null;
  config: string | null;
};
/** The next row of the attempt. What is not named stays. Written by compare-and-set on the phase that was judged. */
export type Transition = {
  phase: Phase;
  part?: Part;
  /** Something moved: the deadline starts again. */
  progress?: boolean;
  deadlineMs?: number | null;
  hostAttemptNanos?: bigint;
  percent?: number;
  steps?: readonly StepReport[];
  healthFromMs?: number | null;
  silentFromMs?: number | null;
  notBeforeMs?: number;
  failureClass?: FailureClass;
  error?: string;
  /** The open offer closes, because of this. */
  close?: string;
  open?: Opening;
  /** The host may still take the attempt back: offer it what it runs. */
  withdraw?: true;
};

export type Goal = { version: string | null; config: string | null };
/** What the attempt brings the host to: forward to the new state, back to the one before. */
export const goalOf = (target: TargetChange, direction: Direction): Goal => {
  const back = direction === "back";
  return {
    version: target.toVersion === null ? null : back ? target.fromVersion : target.toVersion,
    config: target.toConfig === null ? null : back ? target.fromConfig : target.toConfig,
  };
};

/** Order of the parts: up, the package first; down, the configuration first (rollouts, "Version and configuration"). */
export function partsOf(target: TargetChange, direction: Direction): Part[] {
  const goal = goalOf(target, direction);
  if (goal.version === null) return goal.config === null ? [] : ["config"];
  if (goal.config === null) return ["package"];
  const start = direction === "back" ? target.toVersion : target.fromVersion;
  const isDown = start !== null && start !== "" && compareVersions(goal.version, start) < 0;
  return isDown ? ["config", "package"] : ["package", "config"];
}

export const openingOf = (target: TargetChange, direction: Direction, part: Part): Opening => {
  const goal = goalOf(target, direction);
  return part === "package"
    ? { kind: "package", direction, version: goal.version, config: null }
    : { kind: "config", direction, version: null, config: goal.config };
};
