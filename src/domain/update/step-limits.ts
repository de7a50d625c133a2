/**
 * How long a step may take before the program counts as hanging. Each step has limits of its own (idle time, health
 * timeout, bounded tries) and ends by them; only something that no limit of ours covers, such as a file system that does
 * not answer, gets past these. Then the service manager restarts the program, and the journal repairs the host.
 */
import type { Step } from "../brand.ts";

/** What a running attempt does; `closing` is what follows its outcome: old versions, journal, the answer. */
export type Activity = {
  step: Step | "closing";
  /** When it last moved (a step began, bytes arrived); monotonic, milliseconds. */
  movedAtMs: number;
};

/** All in milliseconds. */
export type StepTimes = {
  idleTimeoutMs: number;
  stopTimeoutMs: number;
  healthTimeoutMs: number;
};

const MINUTE_MS = 60_000;
/** A server may put a download off twelve times, five minutes each with jitter. */
const LONGEST_THROTTLED_MS = 90 * MINUTE_MS;
/** Hash, unpack and two runs of the binary: 1 GiB on a slow disk, and bounded runs. */
const LONGEST_VERIFICATION_MS = 30 * MINUTE_MS;
/** A manager is asked a handful of questions (half a minute each at most), and leftovers get their signals. */
const MARGIN_MS = 5 * MINUTE_MS;

/** Past this the step hangs. */
export function stepLimitMs(step: Activity["step"], times: StepTimes): number {
  const { idleTimeoutMs, stopTimeoutMs, healthTimeoutMs } = times;
  const limits: Record<Activity["step"], number> = {
    downloading: LONGEST_THROTTLED_MS + 10 * idleTimeoutMs,
    verifying: LONGEST_VERIFICATION_MS,
    installing: 2 * stopTimeoutMs + MARGIN_MS,
    restarting: 2 * stopTimeoutMs + MARGIN_MS,
    health_check: 2 * healthTimeoutMs + MARGIN_MS,
    rolling_back: 4 * stopTimeoutMs + 2 * healthTimeoutMs + MARGIN_MS,
    closing: MARGIN_MS,
  };
  return limits[step];
}

/** Whether what is going on is past its own limit. Nothing going on never hangs. */
export const isHanging = (activity: Activity | undefined, nowMs: number, times: StepTimes): boolean =>
  activity !== undefined && nowMs - activity.movedAtMs > stepLimitMs(activity.step, times);
