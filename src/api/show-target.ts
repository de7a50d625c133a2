/** One target as the API shows it: phase, since when, and what it waits for or why it ended so. */
import type { z } from "zod";
import { FAILURE_CLASSES, type FailureClass } from "../domain/brand.ts";
import { ERRORS, type ErrorCode } from "../domain/errors.ts";
import type { attempt, target } from "../domain/rest/rollout.ts";
import type { Phase } from "../domain/rollout/phases.ts";
import type { AttemptView, TargetView } from "../store/rollouts.ts";

/** The current attempt is the last one. */
export function showTarget(it: TargetView): z.output<typeof target> {
  const current = it.attempts.at(-1);
  if (current === undefined) throw new Error(`target ${it.host} has no attempt`);
  return {
    host: it.host,
    hostName: it.hostName,
    ord: it.ord,
    wave: it.wave,
    fromVersion: it.fromVersion,
    toVersion: it.toVersion,
    fromConfig: it.fromConfig,
    toConfig: it.toConfig,
    wayBack: it.wayBack,
    connected: it.connected,
    runs: it.version,
    phase: current.phase,
    since: current.since.toISOString(),
    why: whyOf(it, current),
    attempts: it.attempts.map(showAttempt),
  };
}

const WAITS: Record<Phase, string> = {
  pending: "waits for its wave or a free slot",
  offered: "the offer is open; the host has not begun",
  downloading: "the host downloads the archive",
  verifying: "the host verifies checksum, signature and version",
  installing: "the host activates the new binary",
  restarting: "the host restarts the supervisor",
  health_check: "the host checks the health of the new version",
  rolling_back: "the host returns to the version before",
  applying: "the collector applies the configuration",
  health_wait: "the collector reported it; it must stay healthy",
  succeeded: "the collector reported it and stayed healthy",
  failed: "it failed",
  rolled_back: "it failed and returned to the version before",
  cancelled: "it takes no part any more",
};

function whyOf(it: TargetView, current: AttemptView): string {
  if (current.error !== "")
    return current.failureClass === null ? current.error : `${current.failureClass}: ${current.error}`;
  if (current.code !== null)
    return current.code in ERRORS ? `${WAITS[current.phase]} (${current.code as ErrorCode})` : current.code;
  if (current.phase === "pending" && !it.connected) return "offline: it is offered when it returns";
  const until =
    current.deadlineAt === null || current.finishedAt !== null
      ? ""
      : `, until ${current.deadlineAt.toISOString()} at most`;
  return `${WAITS[current.phase]}${until}`;
}

const isClass = (text: string | null): text is FailureClass => FAILURE_CLASSES.some((known) => known === text);

const showAttempt = (it: AttemptView): z.output<typeof attempt> => ({
  attempt: it.attempt,
  direction: it.direction,
  wave: it.wave,
  phase: it.phase,
  since: it.since.toISOString(),
  deadlineAt: it.deadlineAt?.toISOString() ?? null,
  notBefore: it.notBefore?.toISOString() ?? null,
  offeredAt: it.offeredAt?.toISOString() ?? null,
  finishedAt: it.finishedAt?.toISOString() ?? null,
  failureClass: isClass(it.failureClass) ? it.failureClass : null,
  code: it.code,
  error: it.error,
  steps: it.steps,
});
