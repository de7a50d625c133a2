/** When a client that lost its server tries again: at once but spread, then ever later, never before the server said. */

const FIRST_SPREAD_MS = 500;
const BASE_MS = 500;
const FACTOR = 1.5;
const CAP_MS = 60_000;

/**
 * Milliseconds until attempt number `attempt` (0: the first after a connection that worked). `chance` in [0, 1) spreads
 * it: a server that comes back must not meet all its agents in one second. `atLeastMs` is the server's own wish
 * (Retry-After, retry_info): the wait is between one and one and a half times of it, and never shorter.
 */
export function reconnectDelayMs(attempt: number, chance: number, atLeastMs = 0): number {
  const own = attempt === 0 ? FIRST_SPREAD_MS * chance : Math.min(CAP_MS, BASE_MS * FACTOR ** attempt) * (0.5 + chance);
  return Math.round(Math.max(own, atLeastMs * (1 + chance / 2)));
}

/** Reads an HTTP Retry-After: seconds or a date. Undefined when there is none or it says nothing. */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header.trim()) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}
