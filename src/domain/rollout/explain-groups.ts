/** A rollout's targets that did not arrive, grouped by cause: a person reads causes, not ten thousand rows. */
import { isFailureClass } from "../brand.ts";
import { isTargetCode, textOfCode, TO_DO } from "./explain-advice.ts";
import type { Direction, Phase } from "./phases.ts";

/** Targets with the same end, as rows count them. */
export type EndCount = {
  phase: Phase;
  direction: Direction;
  failureClass: string | null;
  code: string | null;
  count: number;
  /** The text of one of them. */
  example: string;
  /** Names of the first ones, in the order of the plan. */
  hosts: string[];
};
export const GROUP_KINDS = ["failed", "way_back_refused", "cannot_be_offered", "takes_no_part"] as const;
export type GroupKind = (typeof GROUP_KINDS)[number];
export type CauseGroup = {
  kind: GroupKind;
  /** A class or a code. */
  cause: string;
  says: string;
  count: number;
  hosts: string[];
  todo: string | null;
};

/** The worst first, then the largest. */
export const groupCauses = (ends: readonly EndCount[]): CauseGroup[] =>
  ends
    .map(groupOf)
    .toSorted(
      (a, b) =>
        GROUP_KINDS.indexOf(a.kind) - GROUP_KINDS.indexOf(b.kind) || b.count - a.count || (a.cause < b.cause ? -1 : 1),
    );

function groupOf(end: EndCount): CauseGroup {
  const { failureClass, code, count, hosts } = end;
  const kind = kindOf(end);
  const shared = { kind, count, hosts };
  // A class says more than a code: both stand in a row when the way back of a failure could not be offered.
  if (isFailureClass(failureClass))
    return { ...shared, cause: failureClass, says: exampleText(end, failureClass), todo: TO_DO[failureClass] };
  if (isTargetCode(code)) {
    const { says, todo } = textOfCode(code, end.example);
    return { ...shared, cause: code, says, todo };
  }
  const cause = code ?? "no_cause";
  const todo = code === null ? "read the server's log of that time" : `docs/errors.md explains ${code}`;
  return { ...shared, cause, says: exampleText(end, "no cause was recorded"), todo };
}

/** The rows of a group share their class, not their text: one text stands for itself. */
const exampleText = ({ example, count }: EndCount, none: string): string =>
  example === "" ? none : count === 1 ? example : `for example ${example}`;

/** Ends that say nothing of the host itself. */
const OF_THE_ROLLOUT = ["moved", "deleted", "aborted", "superseded", "rolled_back", "withdrawn"];

function kindOf({ phase, direction, failureClass, code }: EndCount): GroupKind {
  if (direction === "back")
    return phase === "cancelled" && code !== null && OF_THE_ROLLOUT.includes(code)
      ? "takes_no_part"
      : "way_back_refused";
  if (phase !== "cancelled") return "failed";
  if (failureClass === "withdrawn" || (code !== null && OF_THE_ROLLOUT.includes(code))) return "takes_no_part";
  return "cannot_be_offered";
}
