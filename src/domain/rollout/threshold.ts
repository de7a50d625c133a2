/** How many failures a policy allows (gitops-schema, failureThreshold): rounded down, checked against each that is given. */
import { allowDown, type Share } from "../gitops/share.ts";

/** Targets in play at the start, and how many of them failed, rolled back or regressed since the counts began. */
export type Tally = { size: number; failures: number };
export type Threshold = { wave: Share | null; rollout: Share | null };
export type ThresholdVerdict =
  | { broken: false }
  | { broken: true; of: "wave" | "rollout"; failures: number; allowed: number };

export function judgeThreshold(threshold: Threshold, tallies: { wave: Tally; rollout: Tally }): ThresholdVerdict {
  // Not named `of`: Node's type stripping reads `const of of` as an empty declaration.
  for (const scope of ["wave", "rollout"] as const) {
    const share = threshold[scope];
    if (share === null) continue;
    const allowed = allowDown(share, tallies[scope].size);
    if (tallies[scope].failures > allowed)
      return { broken: true, of: scope, failures: tallies[scope].failures, allowed };
  }
  return { broken: false };
}

export const describeThreshold = (verdict: Extract<ThresholdVerdict, { broken: true }>): string =>
  `${verdict.failures} failed in this ${verdict.of}, ${verdict.allowed} ${verdict.allowed === 1 ? "is" : "are"} allowed`;
