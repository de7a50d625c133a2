/**
 * What a rollout does next: one answer for the loop of the workflow, for its query and for the sentence on the page.
 * Reads rows only, so a workflow that was lost goes on from them.
 */
import { describeHolds, isHeld, type Holds } from "./holds.ts";
import { isApproved, type ApprovalEntry } from "./judge-control.ts";
import { isFinalState, type Ending, type FinalState, type RolloutState, type WaveState } from "./phases.ts";
import type { Approval } from "./policy.ts";

export type DecideView = {
  state: RolloutState;
  holds: Holds;
  ending: Ending | null;
  /** Its artifacts are there, or it needs none. */
  prepared: boolean;
  waves: readonly { k: number; name: string; approval: Approval; state: WaveState; bakeMs: number }[];
  approvals: Record<string, ApprovalEntry[]>;
  /** Attempts between `offered` and the end of their health wait, of this rollout. */
  inFlight: number;
  succeeded: number;
  approvalDeadlineMs: number | null;
  /** Outside all maintenance windows until then. */
  windowOpensMs: number | null;
};
export type Next =
  | { do: "end"; outcome: FinalState }
  | { do: "prepare" }
  | { do: "roll_back" }
  | { do: "drain" }
  | { do: "open_wave"; k: number }
  | { do: "run_wave"; k: number }
  | { do: "wait"; for: "hold" | "approval" | "window"; what: string; untilMs: number | null };

/** The next action. `ended` is a row that is final already: nothing is left to do. */
export function decide(view: DecideView): Next | { do: "ended"; outcome: FinalState } {
  if (isFinalState(view.state)) return { do: "ended", outcome: view.state };
  if (view.ending === "abort") return { do: "end", outcome: "aborted" };
  if (view.ending === "rollback") return { do: "roll_back" };
  if (view.ending === "supersede") return view.inFlight > 0 ? { do: "drain" } : { do: "end", outcome: "superseded" };
  const wave = view.waves.find(({ state }) => state !== "ended" && state !== "skipped" && state !== "cancelled");
  if (wave === undefined) return { do: "end", outcome: view.succeeded > 0 ? "succeeded" : "failed" };
  // A wave that has begun is watched also while it is held: what a host has begun it finishes.
  if (wave.state === "running" || wave.state === "baking") return { do: "run_wave", k: wave.k };
  if (!view.prepared) return { do: "prepare" };
  if (isHeld(view.holds)) return { do: "wait", for: "hold", what: describeHolds(view.holds), untilMs: null };
  if (wave.state === "waiting_approval" && !isApproved(wave.approval, view.approvals[String(wave.k)] ?? []))
    return {
      do: "wait",
      for: "approval",
      what: `approval of wave ${wave.name}`,
      untilMs: view.approvalDeadlineMs,
    };
  if (view.windowOpensMs !== null)
    return { do: "wait", for: "window", what: "the maintenance window opens", untilMs: view.windowOpensMs };
  return { do: "open_wave", k: wave.k };
}
