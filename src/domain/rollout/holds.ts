/**
 * Holds: reasons why a rollout opens no forward offers. One party's hold is not another's (a pause is not a threshold);
 * any of them stops, `resume` shows and clears all but `revoked`.
 */
export const HOLDS = ["operator", "threshold", "approval_timeout", "revoked"] as const;
export type Hold = (typeof HOLDS)[number];
export type HoldEntry = { at: string; by: string; reason: string };
export type Holds = Partial<Record<Hold, HoldEntry>>;

export const heldBy = (holds: Holds): Hold[] => HOLDS.filter((hold) => holds[hold] !== undefined);
export const isHeld = (holds: Holds): boolean => heldBy(holds).length > 0;
/** What is left after `resume`, `retry` or `rollback`: only a revoked release goes on holding. */
export const clearedHolds = (holds: Holds): Holds => (holds.revoked === undefined ? {} : { revoked: holds.revoked });
/** What is left when one of them is lifted. */
export const withoutHold = (holds: Holds, lifted: Hold): Holds =>
  Object.fromEntries(Object.entries(holds).filter(([hold]) => hold !== lifted));
/** For people: "paused by ada: disk alarm; threshold: 2 of 8 failed". */
export const describeHolds = (holds: Holds): string =>
  HOLDS.flatMap((hold) => {
    const entry = holds[hold];
    if (entry === undefined) return [];
    const why = entry.reason === "" ? "" : `: ${entry.reason}`;
    return [hold === "operator" ? `paused by ${entry.by}${why}` : `${hold}${why}`];
  }).join("; ");
