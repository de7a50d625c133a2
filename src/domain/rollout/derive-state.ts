/** State, reason and next of a rollout, derived from its rows in one place: no two writers can disagree (rollouts, "States"). */
import { describeHolds, isHeld, type Holds } from "./holds.ts";
import { isApproved, type ApprovalEntry } from "./judge-control.ts";
import { isFinalState, type Ending, type RolloutState, type WaveState } from "./phases.ts";
import type { Approval } from "./policy.ts";

export type StateFacts = {
  kind: "change" | "catch_up";
  state: RolloutState;
  reason: string;
  holds: Holds;
  ending: Ending | null;
  prepared: boolean;
  approvals: Record<string, ApprovalEntry[]>;
  waves: readonly {
    k: number;
    name: string;
    approval: Approval;
    state: WaveState;
    askedMs: number | null;
    bakeUntilMs: number | null;
  }[];
  approvalTimeoutMs: number | null;
  /** Outside all maintenance windows: when the next one opens. Absent inside one. */
  closedUntilMs?: number | null;
};
export type Derived = { state: RolloutState; reason: string; next: { what: string; atMs: number | null } | null };

export function deriveState(facts: StateFacts): Derived {
  if (isFinalState(facts.state)) return { state: facts.state, reason: facts.reason, next: null };
  if (facts.ending === "rollback") return rollingBack(facts);
  const wave = facts.waves.find(({ state }) => state !== "ended" && state !== "skipped" && state !== "cancelled");
  if (facts.ending !== null) return ending(facts);
  if (isHeld(facts.holds))
    return {
      state: "paused",
      reason: describeHolds(facts.holds),
      next: { what: "a person resumes, aborts or rolls back", atMs: null },
    };
  if (!facts.prepared)
    return {
      state: "preparing",
      reason: "artifacts are fetched, verified and replicated",
      next: { what: "the artifacts are ready", atMs: null },
    };
  if (wave === undefined)
    return { state: "running", reason: "every wave has ended", next: { what: "the rollout ends", atMs: null } };
  const isWaiting =
    wave.state === "waiting_approval" && !isApproved(wave.approval, facts.approvals[String(wave.k)] ?? []);
  if (isWaiting) {
    const atMs =
      facts.approvalTimeoutMs === null || wave.askedMs === null ? null : wave.askedMs + facts.approvalTimeoutMs;
    const what =
      atMs === null ? `a person approves wave ${wave.name}` : `a person approves wave ${wave.name}, or it pauses`;
    return { state: "waiting_approval", reason: `wave ${wave.name} needs an approval`, next: { what, atMs } };
  }
  if (wave.state === "baking")
    return {
      state: "baking",
      reason: `wave ${wave.name} bakes`,
      next: { what: `the bake of wave ${wave.name} ends`, atMs: wave.bakeUntilMs },
    };
  if (facts.closedUntilMs !== undefined) {
    const reason =
      wave.state === "running"
        ? `the maintenance window has closed; hosts in flight finish`
        : "outside all maintenance windows";
    return {
      state: "waiting_window",
      reason,
      next: { what: "the maintenance window opens", atMs: facts.closedUntilMs },
    };
  }
  if (facts.kind === "catch_up")
    return {
      state: "running",
      reason: "it stands by: hosts that join, return or drift are brought to the proven state",
      next: { what: "hosts report", atMs: null },
    };
  return { state: "running", reason: `wave ${wave.name}`, next: { what: "hosts report", atMs: null } };
}

function rollingBack({ holds }: StateFacts): Derived {
  return isHeld(holds)
    ? {
        state: "paused",
        reason: `rolling back; ${describeHolds(holds)}`,
        next: { what: "a person resumes or aborts", atMs: null },
      }
    : {
        state: "rolling_back",
        reason: "every updated host returns to its state before",
        next: { what: "hosts report", atMs: null },
      };
}

function ending({ ending, holds, state }: StateFacts): Derived {
  const shown = isHeld(holds) ? "paused" : state === "paused" ? "running" : state;
  return ending === "abort"
    ? { state: shown, reason: "it is being aborted", next: { what: "the abort ends", atMs: null } }
    : {
        state: shown,
        reason: "a newer change waits; hosts in flight finish",
        next: { what: "the last host in flight ends", atMs: null },
      };
}
