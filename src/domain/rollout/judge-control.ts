/**
 * Which control is possible now, and what it would do (rollouts, "Controls"). One judgement for the API, for the
 * workflow's validators, for raw signals and for the buttons of the page: none of them can disagree.
 */
import { clearedHolds, heldBy, isHeld, type Holds } from "./holds.ts";
import { isFinalState, type Ending, type RolloutState } from "./phases.ts";
import type { Approval } from "./policy.ts";

export type ControlName = "pause" | "resume" | "abort" | "approve" | "retry" | "rollback";
export type ApprovalEntry = { principal: string; at: string; reason: string };
/** What the judgement needs of a rollout. */
export type ControlView = {
  kind: "change" | "catch_up";
  state: RolloutState;
  holds: Holds;
  ending: Ending | null;
  /** The wave that waits for an approval, also while paused. */
  waiting: { name: string; approval: Approval; approvals: ApprovalEntry[] } | null;
  /** Names of waves that need no approval any more: approved, running or ended. */
  passed: string[];
  /** It is the fleet's newest rollout, and no other one is active. */
  newest: boolean;
  /** Targets that this rollout changed. */
  updated: number;
  /** Targets that began and did not succeed. */
  unsuccessful: number;
  /** Targets on their way back, of a rollback that was aborted: what they have begun they finish. */
  returning?: number;
};
export type ControlAsk = {
  control: ControlName;
  wave?: string | undefined;
  reason?: string | undefined;
  principal: string;
  via: "api" | "signal";
};
export type Verdict =
  | { do: "apply" }
  | { do: "nothing"; message: string }
  | { do: "refuse"; code: "control_conflict" | "reason_required"; because: string };

const conflict = (because: string): Verdict => ({ do: "refuse", code: "control_conflict", because });
const nothing = (message: string): Verdict => ({ do: "nothing", message });
const APPLY: Verdict = { do: "apply" };

/** Judges one control. `nothing` succeeds with `changed: false`; `refuse` is 409 or 400 (a raw signal is ignored). */
export function judgeControl(view: ControlView, ask: ControlAsk): Verdict {
  if (isFinalState(view.state)) return judgeFinal(view, ask);
  return JUDGES[ask.control](view, ask);
}

function judgeFinal(view: ControlView, { control }: ControlAsk): Verdict {
  if (view.state === "superseded") return conflict("a newer change superseded this rollout");
  if (control !== "retry" && control !== "rollback") return conflict(`the rollout has ended (${view.state})`);
  if (!view.newest) return conflict("a newer rollout of this fleet exists");
  if (view.kind === "catch_up" && control === "rollback") return conflict(NOTHING_BEHIND);
  const { returning = 0 } = view;
  // They would end where they came from, and the rollout would say that it succeeded.
  if (control === "retry" && returning > 0)
    return conflict(`${returning} hosts are still on their way back; retry when they have ended`);
  if (control === "retry") return view.unsuccessful > 0 ? APPLY : conflict("every target has succeeded");
  if (view.state === "rolled_back") return conflict("it was rolled back already");
  return view.updated > 0 ? APPLY : conflict("no target was updated");
}

const NOTHING_BEHIND = "catch-up brings hosts to the proven state; there is nothing to return to";
type Judge = (view: ControlView, ask: ControlAsk) => Verdict;
const JUDGES: Record<ControlName, Judge> = {
  pause: ({ holds }) => (holds.operator === undefined ? APPLY : nothing("it is paused already")),
  resume: ({ holds }, { reason = "" }) => {
    if (!isHeld(holds)) return nothing("it is not paused");
    if (heldBy(clearedHolds(holds)).length === heldBy(holds).length) return nothing("a revoked release holds it");
    if (holds.threshold !== undefined && reason.trim() === "")
      return { do: "refuse", code: "reason_required", because: "resume after a threshold" };
    return APPLY;
  },
  abort: ({ ending }) => (ending === "abort" ? nothing("it is being aborted") : APPLY),
  approve: judgeApproval,
  retry: ({ kind, holds, ending, unsuccessful }) => {
    if (ending !== null) return conflict(`it is ending (${ending})`);
    // A standing catch-up has no end to wait for: hosts that it gave up are tried again while it brings others.
    if (kind === "change" && !isHeld(holds))
      return conflict("retry is possible while it is paused or after it has ended");
    return unsuccessful > 0 ? APPLY : nothing("no target has failed");
  },
  rollback: ({ ending, updated, kind }) => {
    if (kind === "catch_up") return conflict(NOTHING_BEHIND);
    if (ending === "rollback") return nothing("it is rolling back already");
    if (ending === "abort") return conflict("it is being aborted");
    return updated > 0 ? APPLY : conflict("no target was updated");
  },
};

function judgeApproval({ waiting, passed, ending }: ControlView, { wave, principal, via }: ControlAsk): Verdict {
  if (ending !== null) return conflict(`it is ending (${ending})`);
  if (wave !== undefined && wave !== waiting?.name) {
    if (passed.includes(wave)) return nothing(`wave ${wave} needs no approval any more`);
    return conflict(waiting === null ? "no wave waits for an approval" : `wave ${waiting.name} waits, not ${wave}`);
  }
  if (waiting === null) return conflict("no wave waits for an approval");
  if (waiting.approval !== "two_person") return APPLY;
  if (via === "signal") return conflict("this wave needs two persons, and a signal is none: use the API");
  const mine = waiting.approvals.some((entry) => entry.principal === principal);
  return mine ? nothing("a second person must approve") : APPLY;
}

/** Does this wave have every approval that it needs? */
export const isApproved = (approval: Approval, entries: readonly ApprovalEntry[]): boolean =>
  approval === "none" || entries.length >= (approval === "two_person" ? 2 : 1);

/** Controls that need a reason (API). Resume needs one only after a threshold. */
export const needsReason = (control: ControlName, holds: Holds): boolean =>
  control === "abort" || control === "rollback" || (control === "resume" && holds.threshold !== undefined);

export const CONTROL_EFFECTS: Record<ControlName, string> = {
  pause: "no new offers; what a host has begun it finishes",
  resume: "clears the holds; offers go on",
  abort:
    "stops for good: offers not past the host's stop are withdrawn, targets not begun are cancelled, the change is held",
  approve: "the waiting wave may start",
  retry: "targets that did not succeed are offered again, health wait from zero",
  rollback: "everything this rollout changed returns to its state before, newest wave first",
};
