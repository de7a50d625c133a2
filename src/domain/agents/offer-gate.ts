/**
 * Whether an open offer may leave now. A hold stops what moves a fleet (forward, and going back as a rollout's rollback);
 * what mends one host (a taken-back configuration, a withdrawal) passes every hold (design/rollouts, "Wanted and offered").
 */
import { heldBy, type Holds } from "../rollout/holds.ts";

export type OfferDirection = "forward" | "back" | "take_back" | "withdraw";
export type GateFacts = {
  direction: OfferDirection;
  /** It was sent before: the host may have begun it, so a fresh copy changes nothing that a hold could stop. */
  sentBefore: boolean;
  holds: Holds;
  /** Forward offers of this rollout have stopped for good. */
  ending: boolean;
};

export function mayLeave({ direction, sentBefore, holds, ending }: GateFacts): boolean {
  if (direction === "take_back" || direction === "withdraw" || sentBefore) return true;
  // Going back is how a revoked release is left: that hold cannot stop it.
  if (direction === "back") return heldBy(holds).every((hold) => hold === "revoked");
  return !ending && heldBy(holds).length === 0;
}

/** Whether a package offer that is still open needs a fresh token: half of the TTL is over. A TTL of 0 never ages. */
export const tokenIsHalfSpent = (tokenAtMs: number, ttlMs: number, nowMs: number): boolean =>
  ttlMs > 0 && nowMs - tokenAtMs >= ttlMs / 2;
