/**
 * The attempt as a state machine (contract, "Update health component").
 *
 *   downloading → verifying → installing → restarting → health_check → succeeded
 *        │            │           │ stop        │             │
 *        └────────────┴───────────┤             └──────┬──────┘
 *                failed           └ after the stop → rolling_back → rolled_back
 *                                                         └────────→ failed, unhealthy
 *
 * The supervisor is stopped inside `installing`. Before that moment an attempt can be withdrawn and a failure changes
 * nothing on the host; after it the attempt runs to its end.
 */
import type { Step } from "../brand.ts";

export const OUTCOMES = ["succeeded", "failed", "rolled_back"] as const;
export type AttemptOutcome = (typeof OUTCOMES)[number];

/** What follows a step that is done. */
export const NEXT = {
  downloading: "verifying",
  verifying: "installing",
  installing: "restarting",
  restarting: "health_check",
  health_check: "succeeded",
  rolling_back: "rolled_back",
} as const satisfies Record<Step, Step | AttemptOutcome>;

export type RunningAttempt = {
  kind: "running";
  step: Step;
  /** From the moment the stop is asked for: the host may be changed. */
  supervisorStopped: boolean;
  /** Only while rolling back: why. */
  cause?: string;
};
export type EndedAttempt = { kind: "ended"; outcome: AttemptOutcome; cause?: string; healthy: boolean };
export type Attempt = RunningAttempt | EndedAttempt;

/** Which versions the texts of an attempt name; `from` is empty when nothing was active before. */
export type Versions = { version: string; from: string };

export const beginAttempt = (): RunningAttempt => ({ kind: "running", step: "downloading", supervisorStopped: false });

/** Marks the point of no return. Only `installing` has it. */
export function supervisorStopping(attempt: RunningAttempt): RunningAttempt {
  return attempt.step === "installing" ? { ...attempt, supervisorStopped: true } : attempt;
}

/** The step ended well. */
export function stepDone(attempt: RunningAttempt, versions: Versions): Attempt {
  const next = NEXT[attempt.step];
  if (next === "succeeded") return { kind: "ended", outcome: next, healthy: true };
  if (next === "rolled_back")
    return { kind: "ended", outcome: next, cause: rolledBackText(attempt, versions), healthy: true };
  return { ...attempt, step: next };
}

/** The step ended with an error. Without a previous version there is nothing to roll back to. */
export function stepFailed(attempt: RunningAttempt, cause: string, versions: Versions): Attempt {
  if (attempt.step === "rolling_back")
    return { kind: "ended", outcome: "failed", cause: rollbackFailedText(attempt, cause, versions), healthy: false };
  if (!attempt.supervisorStopped) return { kind: "ended", outcome: "failed", cause, healthy: true };
  if (versions.from === "")
    return {
      kind: "ended",
      outcome: "failed",
      cause: `${failedText(cause, versions)}; there is no previous version to roll back to`,
      healthy: false,
    };
  return { ...attempt, step: "rolling_back", cause };
}

/** Takes the attempt back, or answers undefined when the stop was asked for already (decisions, "Withdrawal"). */
export function withdraw(attempt: RunningAttempt): EndedAttempt | undefined {
  if (attempt.supervisorStopped) return undefined;
  return { kind: "ended", outcome: "failed", cause: `withdrawn: ${WITHDRAWN}`, healthy: true };
}

export const WITHDRAWN = "another set of packages was offered before the supervisor was stopped";

const failedText = (cause: string, { version }: Versions): string => `update to v${version} failed: ${cause}`;

/** The contract's text, word by word. */
const rolledBackText = (attempt: RunningAttempt, versions: Versions): string =>
  `${failedText(attempt.cause ?? "", versions)}; rolled back to v${versions.from}`;

/** Both causes; the class in front is the one that counts now: the host needs a person. */
const rollbackFailedText = (attempt: RunningAttempt, cause: string, versions: Versions): string =>
  `rollback_failed: ${failedText(attempt.cause ?? "", versions)}; rollback to v${versions.from} failed: ${cause}`;
