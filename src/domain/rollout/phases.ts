/** Phases of an attempt and states of a rollout (rollouts, "Targets and attempts" and "States"). A final one never changes. */
import { STEPS } from "../brand.ts";

export const PHASES = [
  "pending",
  "offered",
  ...STEPS,
  "applying",
  "health_wait",
  "succeeded",
  "failed",
  "rolled_back",
  "cancelled",
] as const;
export type Phase = (typeof PHASES)[number];

export const FINAL_PHASES = ["succeeded", "failed", "rolled_back", "cancelled"] as const;
export type FinalPhase = (typeof FINAL_PHASES)[number];
export type OpenPhase = Exclude<Phase, FinalPhase>;
/** From `offered` to the end of `health_wait`: what the concurrency cap counts. */
export type InFlightPhase = Exclude<OpenPhase, "pending">;

export const isFinalPhase = (phase: Phase): phase is FinalPhase => (FINAL_PHASES as readonly Phase[]).includes(phase);
export const isInFlight = (phase: Phase): phase is InFlightPhase => phase !== "pending" && !isFinalPhase(phase);

/** Phases in which the host can still take an attempt back: the supervisor is not stopped yet. */
export const BEFORE_STOP: readonly Phase[] = ["pending", "offered", "downloading", "verifying"];

export const ROLLOUT_STATES = [
  "preparing",
  "waiting_window",
  "waiting_approval",
  "running",
  "baking",
  "paused",
  "rolling_back",
  "succeeded",
  "failed",
  "aborted",
  "rolled_back",
  "superseded",
] as const;
export type RolloutState = (typeof ROLLOUT_STATES)[number];

export const FINAL_STATES = ["succeeded", "failed", "aborted", "rolled_back", "superseded"] as const;
export type FinalState = (typeof FINAL_STATES)[number];
/** Ends that hold their change: it is not planned again until someone changes their mind. */
export const HELD_STATES = ["aborted", "failed", "rolled_back"] as const satisfies readonly FinalState[];
export const isFinalState = (state: RolloutState): state is FinalState =>
  (FINAL_STATES as readonly RolloutState[]).includes(state);

export type WaveState = "pending" | "skipped" | "waiting_approval" | "running" | "baking" | "ended" | "cancelled";
export type Direction = "forward" | "back";
/** Which of the two things an attempt changes is being offered. */
export type Part = "package" | "config";
/** Forward offers have stopped for good, and why. */
export type Ending = "abort" | "supersede" | "rollback";

export type PhaseCounts = Record<Phase, number>;
export const noCounts = (): PhaseCounts => Object.fromEntries(PHASES.map((phase) => [phase, 0])) as PhaseCounts;
