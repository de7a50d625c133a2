/**
 * A configuration that failed is taken back at once; if the second part of two fails, both return. A package alone is
 * never taken back here: the host does that itself, and a version that it accepted stays until someone asks.
 */
import type { FailureClass } from "../brand.ts";
import { hasConfig } from "./applied-config.ts";
import {
  CONFIG_STATUS,
  partsOf,
  type Evidence,
  type Opening,
  type TargetChange,
  type Transition,
} from "./attempt-facts.ts";
import type { Part } from "./phases.ts";

/** The end of a part that failed: what was begun is taken back, else the attempt is final. */
export function failOrTakeBack(
  at: Evidence,
  failureClass: FailureClass,
  error: string,
  end: "failed" | "rolled_back" = "failed",
): Transition {
  const final: Transition = { phase: end, failureClass, error, close: end };
  if (at.attempt.direction === "back") return final;
  const open = takeBacks(at.target, at.attempt.part, at.attempt.phase === "health_wait")[0];
  if (open === undefined) return final;
  const deadlineMs = at.nowMs + at.timing.targetTimeoutMs;
  return {
    phase: "rolling_back",
    part: open.kind,
    failureClass,
    error,
    close: end,
    open,
    deadlineMs,
    healthFromMs: null,
  };
}

/** What to offer, in order, to return the parts that were begun; empty when no configuration is among them or no way leads back. */
export function takeBacks(target: TargetChange, failing: Part, afterAll = false): Opening[] {
  const parts = partsOf(target, "forward");
  const begun = afterAll ? parts : parts.slice(0, parts.indexOf(failing) + 1);
  if (!begun.includes("config") || target.fromConfig === null) return [];
  // The host returns a package that fails by itself: only the configuration before it is ours to take back.
  const ours = failing === "package" && !afterAll ? begun.filter((part) => part === "config") : begun;
  return ours
    .toReversed()
    .map((part) =>
      part === "package"
        ? { kind: "package", direction: "take_back", version: target.fromVersion, config: null }
        : { kind: "config", direction: "take_back", version: null, config: target.fromConfig },
    );
}

/** Judges an attempt whose open offer takes something back. */
export function judgeTakeBack(at: Evidence): Transition | undefined {
  const { attempt, collector, target, nowMs } = at;
  const isBack =
    collector !== null &&
    collector.connected &&
    collector.healthy &&
    (attempt.part === "package"
      ? collector.version === target.fromVersion
      : target.fromConfig !== null && hasConfig(collector, target.fromConfig, nowMs - attempt.sinceMs));
  if (isBack) return nextTakeBack(at) ?? { phase: "rolled_back", close: "taken back" };
  const hasFailed =
    attempt.part === "config" &&
    collector?.configHash === target.fromConfig &&
    collector.configStatus === CONFIG_STATUS.failed;
  if (!hasFailed && (attempt.deadlineMs === null || nowMs < attempt.deadlineMs)) return undefined;
  return {
    phase: "failed",
    failureClass: "rollback_failed",
    error: `${attempt.error}; it could not be taken back`,
    close: "failed",
  };
}

/** Two parts return one after the other, the one that was begun last first. */
function nextTakeBack({ attempt, target, collector, nowMs, timing }: Evidence): Transition | undefined {
  const parts = partsOf(target, "forward");
  const before = parts[parts.indexOf(attempt.part) - 1];
  if (before === undefined) return undefined;
  const isThere =
    before === "package" ? collector?.version === target.fromVersion : collector?.configHash === target.fromConfig;
  if (isThere) return undefined;
  const open: Opening =
    before === "package"
      ? { kind: "package", direction: "take_back", version: target.fromVersion, config: null }
      : { kind: "config", direction: "take_back", version: null, config: target.fromConfig };
  return { phase: "rolling_back", part: before, close: "taken back", open, deadlineMs: nowMs + timing.targetTimeoutMs };
}
