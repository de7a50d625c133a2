/**
 * Named moments of an attempt. In production nothing happens at them; tests let the process die there, to show that the
 * next start brings the host to exactly one of "old version healthy" or "new version healthy".
 */
export const CRASH_POINTS = [
  "downloaded",
  "verified",
  "staged",
  "marker_written",
  "placed",
  "journal_written",
  "stopped",
  "activated",
  "started",
  "healthy",
  "closed",
  "rollback_journaled",
  "rollback_stopped",
  "rollback_activated",
  "rollback_started",
  "rollback_healthy",
] as const;
type CrashPoint = (typeof CRASH_POINTS)[number];
export type Reached = (point: CrashPoint) => void;

/** For tests of whole processes: dies by SIGKILL at the named point, as a power cut would have it. */
export function crashAt(name: string | undefined): Reached {
  return (point) => {
    if (point === name) process.kill(process.pid, "SIGKILL");
  };
}
