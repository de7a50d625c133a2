/**
 * How many connections are accepted per second. After a restart every agent of the fleet knocks in the same second: those
 * over the rate are told when to come back, one after the other (design/opamp, 2.6). Each refused one is promised a place in
 * the seconds to come, so that the places are used: told a moment by chance alone, most would come back to a full second,
 * and be refused again with a longer wait (2,000 agents at 200 per second: 81 s until all are back, with promises 12 s).
 */
/** `tokens`: places that are free now. `promised`: refused ones that are still expected. */
type Quota = { tokens: number; promised: number; atMs: number };
type Admission = { admitted: true; quota: Quota } | { admitted: false; quota: Quota; retryAfterS: number };

/** Nobody is promised a place further away: who is refused beyond it comes back at any moment of the later half. */
const HORIZON_S = 60;

export const freshQuota = (perSecond: number, nowMs: number): Quota => ({
  tokens: perSecond,
  promised: 0,
  atMs: nowMs,
});

/** `perSecond`: the rate, and the burst that is allowed at once. `chance` in [0, 1) spreads those who must come back. */
export function admit(quota: Quota, perSecond: number, nowMs: number, chance: number): Admission {
  // A clock that is set back must not take places away.
  const refill = (Math.max(0, nowMs - quota.atMs) / 1000) * perSecond;
  const tokens = Math.min(perSecond, quota.tokens + refill);
  const promised = Math.max(0, quota.promised - refill);
  if (tokens >= 1) return { admitted: true, quota: { tokens: tokens - 1, promised, atMs: nowMs } };
  const slotS = (promised + 1) / perSecond;
  const spreadS = slotS < HORIZON_S ? slotS + chance : (HORIZON_S / 2) * (1 + chance);
  return {
    admitted: false,
    quota: { tokens, promised: Math.min(promised + 1, HORIZON_S * perSecond), atMs: nowMs },
    retryAfterS: 1 + Math.floor(spreadS),
  };
}
