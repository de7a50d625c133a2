/**
 * What the reports of a host say of its attempt (rollouts, "Targets and attempts"). Pure and total: each phase against
 * each evidence; `undefined` means that nothing changes. Nothing here trusts an offer to have worked: only the
 * collector's own report does.
 *
 *   offered ─► downloading ─► verifying ─► installing ─► restarting ─► health_check ─► health_wait ─► succeeded
 *      │            (steps as the updater reports them; any may be skipped)      │            └─► failed (health)
 *      ├─► applying ─► health_wait                              failed, rolled_back ◄┘
 *      └─► pending (the host's backoff)          a configuration that fails: rolling_back ─► rolled_back | failed
 */
import { DateTime } from "luxon";
import { incompatibleText } from "../agents/config-state.ts";
import { BRAND, CONTRACT_DEFAULTS, type FailureClass, type Step } from "../brand.ts";
import { failureClassOf, isOutcome, type UpdateAttempt } from "../update/health-report.ts";
import { CLASS_OF_STEP } from "../update/step-error.ts";
import {
  CONFIG_STATUS,
  goalOf,
  openingOf,
  partsOf,
  type CollectorFacts,
  type Evidence,
  type Transition,
} from "./attempt-facts.ts";
import { hasConfig } from "./applied-config.ts";
import { healthOf, judgeHealthWait, newlyUnhealthy } from "./judge-health-wait.ts";
import { BEFORE_STOP, type Part } from "./phases.ts";
import { failOrTakeBack, judgeTakeBack } from "./take-back.ts";

/** The next state of an attempt that is in flight, or undefined when nothing changes. */
export function judgeAttempt(at: Evidence): Transition | undefined {
  if (at.offer?.direction === "take_back") return judgeTakeBack(at);
  const seen =
    at.attempt.phase === "health_wait"
      ? judgeHealthWait(at)
      : at.attempt.part === "package"
        ? judgePackage(at)
        : judgeConfig(at);
  if (seen !== undefined && seen.phase !== at.attempt.phase) return withDeadline(at, seen);
  return judgeDeadline(at) ?? (seen === undefined ? undefined : withDeadline(at, seen));
}

/** Progress starts the deadline again; the health wait has one of its own. */
function withDeadline({ timing, nowMs }: Evidence, next: Transition): Transition {
  if (next.deadlineMs !== undefined || next.progress !== true) return next;
  const lengthMs = timing.targetTimeoutMs + (next.phase === "health_wait" ? timing.healthWaitMs : 0);
  return { ...next, deadlineMs: nowMs + lengthMs };
}

function judgeDeadline(at: Evidence): Transition | undefined {
  const { attempt, nowMs, timing } = at;
  const longestMs = timing.targetMaxTimeMs === null ? null : attempt.offeredMs + timing.targetMaxTimeMs;
  const isOver = (limit: number | null): boolean => limit !== null && nowMs >= limit;
  if (!isOver(attempt.deadlineMs) && !isOver(longestMs)) return undefined;
  const { failureClass, error } = whyTooLate(at);
  const next = failOrTakeBack(at, failureClass, error);
  const isBeforeStop = attempt.part === "package" && BEFORE_STOP.includes(attempt.phase);
  return isBeforeStop && next.open === undefined ? { ...next, withdraw: true } : next;
}

function whyTooLate({ attempt, collector, target, nowMs }: Evidence): { failureClass: FailureClass; error: string } {
  const goal = goalOf(target, attempt.direction);
  if (attempt.phase !== "health_wait")
    return { failureClass: "timeout", error: `timeout: no progress in ${attempt.phase} until the deadline` };
  if (collector === null || !collector.connected)
    return { failureClass: "no_data", error: "no_data: the collector did not report until the deadline" };
  if (goal.version !== null && collector.version !== goal.version)
    return {
      failureClass: "timeout",
      error: `timeout: the collector still reports ${collector.version || "no version"}`,
    };
  if (goal.config !== null && !hasConfig(collector, goal.config, nowMs - attempt.offeredMs))
    return { failureClass: "configuration", error: "configuration: it was not applied until the deadline" };
  const worse = newlyUnhealthy(collector, target);
  const verdict = healthOf(collector, goal.version);
  const what =
    worse.length > 0
      ? `unhealthy: ${worse.slice(0, 5).join(", ")}`
      : collector.lastError || (verdict.ok ? "not healthy for long enough" : verdict.because);
  return { failureClass: "health", error: `health: ${what}` };
}

/** The attempt of the host that belongs to this one: same version, begun no earlier than two minutes before the offer. */
export function matchHostAttempt({ attempt, target, updater }: Evidence): UpdateAttempt | undefined {
  const reported = updater?.attempt ?? null;
  if (reported === null || reported.version !== goalOf(target, attempt.direction).version) return undefined;
  const start = BigInt(reported.startNanos);
  if (attempt.hostAttemptNanos !== null) return start === attempt.hostAttemptNanos ? reported : undefined;
  const earliestMs = attempt.offeredMs - CONTRACT_DEFAULTS.attemptStartToleranceMs;
  const fits = start >= BigInt(Math.floor(earliestMs)) * 1_000_000n && !attempt.takenNanos.includes(start);
  return fits ? reported : undefined;
}

function judgePackage(at: Evidence): Transition | undefined {
  const reported = matchHostAttempt(at);
  if (reported === undefined) return judgeWithoutHostAttempt(at);
  const hostAttemptNanos = BigInt(reported.startNanos);
  const taken = { hostAttemptNanos, steps: reported.steps };
  if (!isOutcome(reported.status)) return stepTransition(at, reported.status, taken);
  if (reported.status === "succeeded") {
    const next = partDone(at, "package");
    return next === undefined ? undefined : { ...next, ...taken };
  }
  const failureClass = classOf(reported);
  const error = reported.error;
  if (reported.status === "failed" && !reported.healthy)
    return { phase: "failed", close: "rollback failed", failureClass: "rollback_failed", error, ...taken };
  const ended = failOrTakeBack(at, failureClass, error, reported.status === "rolled_back" ? "rolled_back" : "failed");
  return { ...ended, ...taken };
}

/** The class that the error names, else the class of the step that failed. */
function classOf(reported: UpdateAttempt): FailureClass {
  const named = failureClassOf(reported.error);
  if (named !== undefined) return named;
  const failed = reported.steps.find((step) => step.status === "failed");
  return failed === undefined ? "install" : (failureClassOf(failed.error) ?? CLASS_OF_STEP[failed.step]);
}

type Taken = Pick<Transition, "hostAttemptNanos" | "steps">;
function stepTransition(at: Evidence, step: Step, taken: Taken): Transition | undefined {
  const { attempt, updater } = at;
  const percent = updater?.packageStatus?.percent ?? 0;
  const grew = percent > attempt.percent;
  const isSame = attempt.phase === step && attempt.hostAttemptNanos === taken.hostAttemptNanos;
  if (isSame && !grew && attempt.steps.length === (taken.steps?.length ?? 0)) return undefined;
  return { phase: step, progress: true, ...(grew ? { percent } : {}), ...taken };
}

/** No attempt of the host fits: it may have the version already, or wait out its backoff. */
function judgeWithoutHostAttempt(at: Evidence): Transition | undefined {
  const { attempt, offer, updater, collector, target } = at;
  const status = updater?.packageStatus ?? null;
  if (attempt.hostAttemptNanos !== null || offer === null || !offer.sent || status === null) return undefined;
  if (status.allPackagesHash !== offer.packagesHash) return undefined;
  const wanted = goalOf(target, attempt.direction).version;
  if (status.status === "installed" && collector?.version === wanted) return partDone(at, "package");
  if (status.status !== "install_failed") return undefined;
  const notBeforeMs = notBefore(status.error);
  if (notBeforeMs === undefined) return failedWithoutAttempt(at, status.error);
  if (notBeforeMs <= at.nowMs) return undefined;
  return {
    phase: "pending",
    close: "the host waits out its backoff",
    notBeforeMs,
    error: status.error,
    progress: false,
  };
}

/**
 * A failure that only the package status tells: of an updater that reports no attempts, and of a set that ours refuses before
 * an attempt begins. An updater of ours otherwise tells the attempt too, with its steps: that is waited for.
 */
function failedWithoutAttempt(at: Evidence, error: string): Transition | undefined {
  if (at.updater?.attempt != null && !error.startsWith(BRAND.unsupportedPackage)) return undefined;
  return failOrTakeBack(at, failureClassOf(error) ?? "install", error || "the updater says that it failed, not why");
}

/** The moment that a host names when it refuses a re-offer inside its backoff, in ms since 1970. */
export function notBefore(error: string): number | undefined {
  const text = /not before (\S+)/.exec(error)?.[1]?.replace(/[.,;)]+$/, "");
  const at = text === undefined ? undefined : DateTime.fromISO(text, { zone: "utc" });
  return at?.isValid === true ? at.toMillis() : undefined;
}

function judgeConfig(at: Evidence): Transition | undefined {
  const { attempt, collector, target, offer } = at;
  const wanted = goalOf(target, attempt.direction).config;
  if (collector === null || offer === null || !offer.sent || wanted === null) return undefined;
  if (collector.configHash !== wanted) return judgeOtherConfig(at, collector, wanted);
  if (collector.configStatus === CONFIG_STATUS.applied) return partDone(at, "config");
  if (collector.configStatus === CONFIG_STATUS.failed)
    return failOrTakeBack(
      at,
      "configuration",
      `configuration: ${collector.configError || "the host could not apply it"}`,
    );
  if (collector.configStatus !== CONFIG_STATUS.applying || attempt.phase === "applying") return undefined;
  return { phase: "applying", progress: true };
}

/** It reports another configuration than the one that was sent: it refused that one, or never answered. */
function judgeOtherConfig(at: Evidence, collector: CollectorFacts, wanted: string): Transition | undefined {
  const { attempt, target, nowMs } = at;
  const { failedConfig = null } = collector;
  if (failedConfig?.hash !== wanted)
    return hasConfig(collector, wanted, nowMs - attempt.sinceMs) ? partDone(at, "config") : undefined;
  const error = `configuration: ${failedConfig.error || "the host could not apply it"}`;
  const isBack = collector.configHash === target.fromConfig && collector.configStatus === CONFIG_STATUS.applied;
  const parts = partsOf(target, attempt.direction);
  if (!isBack || parts.length > 1 || attempt.direction === "back") return failOrTakeBack(at, "configuration", error);
  // Newer supervisors return by themselves: nothing is left to take back.
  const text = `${error}; the agent returned to the configuration before by itself`;
  return { phase: "rolled_back", failureClass: "configuration", error: text, close: "rolled back by the agent" };
}

/** A part is done: the next one is offered, after the last one the health wait begins. */
function partDone(at: Evidence, part: Part): Transition | undefined {
  const { target, attempt, collector, nowMs } = at;
  const parts = partsOf(target, attempt.direction);
  const next = parts[parts.indexOf(part) + 1];
  if (next === undefined)
    return { phase: "health_wait", progress: true, healthFromMs: collector?.healthy === true ? nowMs : null };
  if (part === "package" && collector?.version !== goalOf(target, attempt.direction).version) return undefined;
  const open = openingOf(target, attempt.direction, next);
  const missing = next === "config" ? (collector?.missing ?? []) : [];
  if (missing.length > 0) return refuseSecondPart(at, missing);
  return { phase: "offered", part: next, progress: true, close: `${part} is done`, open };
}

/** The new version runs and lacks components of the configuration that belongs to it: the version returns too. */
function refuseSecondPart({ target, attempt, nowMs, timing }: Evidence, missing: readonly string[]): Transition {
  const error = `incompatible: ${incompatibleText(missing)}`;
  const cause = { failureClass: "incompatible" as const, error };
  if (attempt.direction === "back" || target.fromVersion === null)
    return { phase: "failed", close: "failed", ...cause };
  const open = { kind: "package", direction: "take_back", version: target.fromVersion, config: null } as const;
  const deadlineMs = nowMs + timing.targetTimeoutMs;
  return {
    phase: "rolling_back",
    part: "package",
    close: "incompatible",
    open,
    deadlineMs,
    healthFromMs: null,
    ...cause,
  };
}
