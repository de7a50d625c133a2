/**
 * How many connections are accepted per second. After a restart every agent of the fleet knocks in the same second: those
 * over the rate are told when to come back, each at another moment (design/opamp, 2.6).
 */
export type Quota = { tokens: number; atMs: number };
export type Admission = { admitted: true; quota: Quota } | { admitted: false; quota: Quota; retryAfterS: number };

/** `perSecond`: the rate, and the burst that is allowed at once. `chance` in [0, 1) spreads those who must come back. */
export function admit(quota: Quota, perSecond: number, nowMs: number, chance: number): Admission {
  const refilled = Math.min(perSecond, quota.tokens + ((nowMs - quota.atMs) / 1000) * perSecond);
  if (refilled >= 1) return { admitted: true, quota: { tokens: refilled - 1, atMs: nowMs } };
  // The more were refused already, the further the next are spread: `tokens` below zero is their number.
  const waiting = refilled - 1;
  const spreadS = Math.min(60, 2 - (2 * waiting) / perSecond);
  return {
    admitted: false,
    quota: { tokens: Math.max(waiting, -60 * perSecond), atMs: nowMs },
    retryAfterS: 1 + Math.floor(chance * spreadS),
  };
}
