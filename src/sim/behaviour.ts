/** What a simulated host does and how long it takes: pure decisions of seed, host and occasion. */
import type { FailureClass, Step } from "../domain/brand.ts";
import { draw } from "./draw.ts";
import { faultFor } from "./fault.ts";
import type { HostProfile } from "./plan.ts";
import { sample } from "./spread.ts";

/** How an attempt goes that policy and archive do not end before. */
export type AttemptPlan = {
  failsAt: { step: Step; failureClass: FailureClass | undefined; text: string } | undefined;
  rollbackFails: boolean;
};

/** `n`: the how-manieth attempt of this host, from 1. */
export function decideAttempt(host: HostProfile, n: number, version: string): AttemptPlan {
  const fault = faultFor(host.faults, ["fail", "rolled_back", "rollback_failed"], { n, version });
  if (fault === undefined) return { failsAt: undefined, rollbackFails: false };
  const { kind, failureClass } = fault;
  const step = fault.step ?? (kind === "fail" ? "verifying" : "health_check");
  const failsAt = { step, failureClass, text: `scripted fault ${kind} at ${step}` };
  return { failsAt, rollbackFails: kind === "rollback_failed" };
}

/** Whether the host does anything about the offer that would become attempt `n`. */
export const decideReaction = (
  host: HostProfile,
  n: number,
  version: string | undefined,
): "follow" | "silent" | "vanish" => faultFor(host.faults, ["silent", "vanish"], { n, version })?.kind ?? "follow";

export type ConfigPlan = { do: "apply" | "fail" | "roll_back"; afterMs: number };
const SLOW_CONFIG_MS = 60_000;

/** `n`: the how-manieth configuration that this host received, from 1. */
export function decideConfig(host: HostProfile, n: number): ConfigPlan {
  const afterMs = sample(host.timing.apply, draw(host.seed, host.name, "apply", n));
  const fault = faultFor(host.faults, ["config_failed", "config_rolled_back", "config_slow"], { n });
  if (fault?.kind === "config_failed") return { do: "fail", afterMs };
  if (fault?.kind === "config_rolled_back") return { do: "roll_back", afterMs };
  return { do: "apply", afterMs: afterMs + (fault === undefined ? 0 : (fault.forMs ?? SLOW_CONFIG_MS)) };
}

export type Life =
  | { kind: "healthy" }
  | { kind: "unhealthy" }
  | { kind: "crash_loop"; everyMs: number }
  | { kind: "flapping"; everyMs: number; forMs: number };
const CRASH_EVERY_MS = 4_000;
const FLAP_EVERY_MS = 10_000;
const FLAP_FOR_MS = 1_000;

/** How a collector of this version fares on the host. */
export function decideLife(host: HostProfile, version: string): Life {
  const fault = faultFor(host.faults, ["unhealthy", "crash_loop", "flapping"], { version });
  if (fault === undefined) return { kind: "healthy" };
  const { kind, everyMs, forMs } = fault;
  if (kind === "unhealthy") return { kind };
  if (kind === "crash_loop") return { kind, everyMs: everyMs ?? CRASH_EVERY_MS };
  return { kind, everyMs: everyMs ?? FLAP_EVERY_MS, forMs: forMs ?? FLAP_FOR_MS };
}

export const neverConnects = (host: HostProfile): boolean => faultFor(host.faults, ["offline"]) !== undefined;

/** `n`: the attempt. */
export const stepMs = (host: HostProfile, n: number, step: Step): number =>
  sample(host.timing.steps[step] ?? host.timing.step, draw(host.seed, host.name, "step", n, step));

/** `n`: the how-manieth start of the collector. */
export const startMs = (host: HostProfile, n: number): number =>
  sample(host.timing.start ?? host.timing.step, draw(host.seed, host.name, "start", n));

/** How long message `n` of the server is under way to the host. */
export const latencyMs = (host: HostProfile, n: number): number =>
  sample(host.timing.latency, draw(host.seed, host.name, "latency", n));
