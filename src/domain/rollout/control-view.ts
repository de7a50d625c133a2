/** A rollout as controls see it, and the buttons that follow from it: what is possible, why not, what it would do. */
import type { Holds } from "./holds.ts";
import {
  CONTROL_EFFECTS,
  isApproved,
  judgeControl,
  needsReason,
  type ApprovalEntry,
  type ControlName,
  type ControlView,
} from "./judge-control.ts";
import type { Ending, RolloutState, WaveState } from "./phases.ts";
import type { Approval } from "./policy.ts";

type Rollout = {
  kind: "change" | "catch_up";
  state: RolloutState;
  holds: Holds;
  ending: Ending | null;
  approvals: Record<string, ApprovalEntry[]>;
};
type Wave = { k: number; name: string; approval: Approval; state: WaveState };
type Facts = { updated: number; unsuccessful: number; newest: boolean; returning?: number };

export function controlViewOf(rollout: Rollout, waves: readonly Wave[], facts: Facts): ControlView {
  const { kind, state, holds, ending, approvals } = rollout;
  const of = (wave: Wave): ApprovalEntry[] => approvals[String(wave.k)] ?? [];
  const waiting = waves.find((wave) => wave.state === "waiting_approval" && !isApproved(wave.approval, of(wave)));
  const passed = waves.filter((wave) => wave.state !== "pending" && wave.state !== "cancelled" && wave !== waiting);
  return {
    kind,
    state,
    holds,
    ending,
    waiting: waiting === undefined ? null : { name: waiting.name, approval: waiting.approval, approvals: of(waiting) },
    passed: passed.map((wave) => wave.name),
    ...facts,
  };
}

export type ControlButton = {
  name: ControlName;
  allowed: boolean;
  /** Error code and reason when it is not allowed. */
  code: string | null;
  reason: string | null;
  needsReason: boolean;
  effect: string;
};

/** All controls with what speaks against them, for pages and myrctl. Judged as an operator at the API would be. */
export const controlButtons = (view: ControlView): ControlButton[] =>
  (Object.keys(CONTROL_EFFECTS) as ControlName[]).map((name) => {
    const verdict = judgeControl(view, { control: name, principal: "", reason: "shown", via: "api" });
    const because = verdict.do === "refuse" ? verdict.because : verdict.do === "nothing" ? verdict.message : null;
    return {
      name,
      allowed: verdict.do === "apply",
      code: verdict.do === "refuse" ? verdict.code : null,
      reason: because,
      needsReason: needsReason(name, view.holds),
      effect: CONTROL_EFFECTS[name],
    };
  });
