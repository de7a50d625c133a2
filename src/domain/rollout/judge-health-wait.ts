/**
 * The health wait: the collector itself reports the version (and the configuration APPLIED) and stays healthy unbroken
 * for `healthWait`. Silence stops the clock and does not reset it; a restart or an unhealthy report starts it again.
 */
import { judgeHealth, type HealthVerdict } from "../agents/judge-health.ts";
import { hasConfig } from "./applied-config.ts";
import {
  CONFIG_STATUS,
  goalOf,
  type AttemptFacts,
  type CollectorFacts,
  type Evidence,
  type TargetChange,
  type Transition,
} from "./attempt-facts.ts";
import { failOrTakeBack } from "./take-back.ts";

/** Components that are unhealthy now and were not before the update. */
export const newlyUnhealthy = (collector: CollectorFacts, target: TargetChange): string[] =>
  collector.unhealthyComponents.filter((name) => !target.unhealthyBefore.includes(name));

export function judgeHealthWait(at: Evidence): Transition | undefined {
  const { attempt, collector, nowMs, timing } = at;
  if (collector === null || !collector.connected) {
    if (attempt.silentFromMs !== null) return undefined;
    return { phase: "health_wait", silentFromMs: Math.max(collector?.lastSeenMs ?? nowMs, attempt.sinceMs) };
  }
  if (hasConfigFailed(at)) {
    return failOrTakeBack(
      at,
      "configuration",
      `configuration: ${collector.configError || "the host could not apply it"}`,
    );
  }
  const from = healthyFrom(at, collector);
  if (from !== null && nowMs - from >= timing.healthWaitMs) return { phase: "succeeded", close: "succeeded" };
  if (from === attempt.healthFromMs && attempt.silentFromMs === null) return undefined;
  return { phase: "health_wait", healthFromMs: from, silentFromMs: null };
}

function hasConfigFailed({ target, attempt, collector }: Evidence): boolean {
  const { config } = goalOf(target, attempt.direction);
  return config !== null && collector?.configHash === config && collector.configStatus === CONFIG_STATUS.failed;
}

/** Start of the unbroken health that counts, shifted by silence; null while it is not as it should be. */
function healthyFrom({ attempt, target, nowMs }: Evidence, collector: CollectorFacts): number | null {
  if (!isAsItShouldBe(attempt, target, collector, nowMs) || collector.healthySinceMs === null) return null;
  if (attempt.healthFromMs === null)
    return collector.healthySinceMs > attempt.sinceMs ? collector.healthySinceMs : nowMs;
  const silentMs = attempt.silentFromMs === null ? 0 : Math.max(0, nowMs - attempt.silentFromMs);
  return Math.max(attempt.healthFromMs + silentMs, collector.healthySinceMs);
}

function isAsItShouldBe(
  { direction, offeredMs }: AttemptFacts,
  target: TargetChange,
  collector: CollectorFacts,
  nowMs: number,
): boolean {
  const goal = goalOf(target, direction);
  if (goal.config !== null && !hasConfig(collector, goal.config, nowMs - offeredMs)) return false;
  return healthOf(collector, goal.version).ok && newlyUnhealthy(collector, target).length === 0;
}

/** The collector's own health: running what it should run, not only saying so. */
export const healthOf = (collector: CollectorFacts, wantedVersion: string | null): HealthVerdict =>
  judgeHealth({
    healthy: collector.healthy,
    version: collector.version,
    wantedVersion,
    pipelines: collector.pipelines ?? null,
    expected: collector.expectedPipelines ?? null,
  });
