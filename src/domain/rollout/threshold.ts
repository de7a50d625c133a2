/** How many failures a policy allows (gitops-schema, failureThreshold): rounded down, checked against each that is given. */
import { allowDown, type Share } from "../gitops/share.ts";

/** Targets in play at the start, and how many of them failed, rolled back or regressed since the counts began. */
export type Tally = { size: number; failures: number };
export type Threshold = { wave: Share | null; rollout: Share | null };
export type ThresholdVerdict =
  | { broken: false }
  | { broken: true; of: "wave" | "rollout"; failures: number; allowed: number };

export function judgeThreshold(threshold: Threshold, tallies: { wave: Tally; rollout: Tally }): ThresholdVerdict {
  for (const of of ["wave", "rollout"] as const) {
    const share = threshold[of];
    if (share === null) continue;
    const allowed = allowDown(share, tallies[of].size);
    if (tallies[of].failures > allowed) return { broken: true, of, failures: tallies[of].failures, allowed };
  }
  return { broken: false };
}

export const describeThreshold = (verdict: Extract<ThresholdVerdict, { broken: true }>): string =>
  `${verdict.failures} failed in this ${verdict.of}, ${verdict.allowed} ${verdict.allowed === 1 ? "is" : "are"} allowed`;
