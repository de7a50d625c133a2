/**
 * A rollout in memory behind the activities of its workflow: rows, controls and hosts, decided by the same pure functions
 * that the database's are. For tests of what the workflow does with its answers, on a server that skips time.
 */
import { controlViewOf } from "../../src/domain/rollout/control-view.ts";
import type { DecideView } from "../../src/domain/rollout/decide.ts";
import { clearedHolds, isHeld } from "../../src/domain/rollout/holds.ts";
import { isApproved, judgeControl } from "../../src/domain/rollout/judge-control.ts";
import { isFinalState, type FinalState, type RolloutState, type WaveState } from "../../src/domain/rollout/phases.ts";
import type { Approval } from "../../src/domain/rollout/policy.ts";
import type { RolloutActivities } from "../../src/activities/rollouts.ts";
import type { Applied, ControlCall } from "../../src/store/controls.ts";
import type { RolloutView } from "../../src/store/rollout-state.ts";

export type MemoryWave = { name: string; approval?: Approval; size?: number };
export type MemoryRollout = {
  activities: Pick<
    RolloutActivities,
    | "loadRollout"
    | "applyControl"
    | "openWave"
    | "openOffers"
    | "observeWave"
    | "ensureArtifacts"
    | "endRollout"
    | "expireApproval"
    | "noteWindow"
  >;
  /** Every control that was judged, in order. */
  calls: ControlCall[];
  state(): RolloutState;
  waves(): WaveState[];
  /** Hosts that run the new version. */
  updated(): number;
  /** Waves wait for this before they are done. */
  gate: { open: boolean };
};

type Options = { waves: MemoryWave[]; approvalTimeoutMs?: number; failing?: boolean; now: () => Promise<number> };

export function createMemoryRollout({ waves: asked, approvalTimeoutMs, failing = false, now }: Options): MemoryRollout {
  const waves = asked.map((wave, k) => ({
    k,
    name: wave.name,
    approval: wave.approval ?? "none",
    state: "pending" as WaveState,
    bakeMs: 0,
    size: wave.size ?? 1,
  }));
  const row = {
    kind: "change" as const,
    state: "preparing" as RolloutState,
    holds: {} as DecideView["holds"],
    ending: null as DecideView["ending"],
    approvals: {} as DecideView["approvals"],
    prepared: false,
    askedMs: null as number | null,
    updated: 0,
    unsuccessful: 0,
    run: 1,
  };
  const answers = new Map<string, Applied>();
  const calls: ControlCall[] = [];
  const gate = { open: true };
  const derive = (): void => {
    if (isFinalState(row.state)) return;
    const waiting = waves.find((wave) => wave.state === "waiting_approval");
    if (row.ending === "rollback") row.state = "rolling_back";
    else if (isHeld(row.holds)) row.state = "paused";
    else row.state = waiting === undefined ? "running" : "waiting_approval";
  };
  const view = (): RolloutView => {
    derive();
    const facts = { updated: row.updated, unsuccessful: row.unsuccessful, newest: true };
    return {
      fleet: "demo",
      n: 1,
      kind: "change",
      commit: "c0ffee",
      version: "0.162.0",
      run: row.run,
      state: row.state,
      reason: "",
      next: null,
      holds: { ...row.holds },
      ending: row.ending,
      prepared: row.prepared,
      approvals: { ...row.approvals },
      waves: waves.map(({ k, name, approval, state, bakeMs }) => ({ k, name, approval, state, bakeMs })),
      counts: {},
      total: waves.length,
      inFlight: 0,
      succeeded: row.updated,
      approvalDeadlineMs:
        row.askedMs === null || approvalTimeoutMs === undefined ? null : row.askedMs + approvalTimeoutMs,
      windowOpensMs: null,
      control: controlViewOf(row, waves, facts),
    };
  };
  const effects: Record<ControlCall["control"], (call: ControlCall) => void> = {
    pause: ({ principal }) => void (row.holds = { ...row.holds, operator: { at: "", by: principal, reason: "" } }),
    resume: () => void (row.holds = clearedHolds(row.holds)),
    abort: () => void (row.ending = "abort"),
    approve: ({ principal }) => {
      const wave = waves.find(({ state }) => state === "waiting_approval");
      if (wave !== undefined)
        row.approvals[String(wave.k)] = [...(row.approvals[String(wave.k)] ?? []), { principal, at: "", reason: "" }];
    },
    retry: () => {
      row.holds = clearedHolds(row.holds);
      row.unsuccessful = 0;
    },
    rollback: () => {
      row.holds = clearedHolds(row.holds);
      row.ending = "rollback";
    },
  };
  const end = (outcome: FinalState): void => void (row.state = outcome);

  const activities: MemoryRollout["activities"] = {
    loadRollout: async () => view(),
    applyControl: async (call) => {
      const before = answers.get(call.key);
      if (before !== undefined) return { applied: before, view: view() };
      calls.push(call);
      const verdict = judgeControl(view().control, call);
      if (verdict.do === "apply") effects[call.control](call);
      derive();
      const applied: Applied =
        verdict.do === "refuse"
          ? { outcome: "refused", code: verdict.code, because: verdict.because }
          : { outcome: "applied", changed: verdict.do === "apply", state: row.state, message: "", reopened: false };
      answers.set(call.key, applied);
      return { applied, view: view() };
    },
    openWave: async ({ k }) => {
      const wave = waves[k];
      if (wave === undefined || isHeld(row.holds)) return view();
      if (wave.size > 0 && !isApproved(wave.approval, row.approvals[String(k)] ?? [])) {
        wave.state = "waiting_approval";
        row.askedMs = await now();
      } else wave.state = wave.size === 0 ? "skipped" : "running";
      return view();
    },
    openOffers: async () => ({ opened: 0, cancelled: 0 }),
    observeWave: async ({ k, direction, holds }) => {
      const text = Object.keys(row.holds).join(",");
      const answer = (reason: "done" | "ending" | "holds" | "quantum") => ({ reason, holds: text, counts: {} });
      if (direction === "back") {
        row.updated = 0;
        return answer("done");
      }
      const endMs = Date.now() + 30_000;
      for (;;) {
        if (row.ending !== null) return answer("ending");
        const now = Object.keys(row.holds).join(",");
        if (now !== holds) return { reason: "holds", holds: now, counts: {} };
        if (gate.open && now === "" && (!failing || row.unsuccessful === 0)) break;
        if (Date.now() > endMs) return answer("quantum");
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      const wave = waves[k ?? 0];
      if (wave !== undefined) wave.state = "ended";
      row.updated += wave?.size ?? 0;
      return answer("done");
    },
    ensureArtifacts: async () => {
      row.prepared = true;
      return { state: "ready" as const };
    },
    endRollout: async ({ outcome }) => {
      end(outcome);
      return view();
    },
    expireApproval: async () => {
      row.holds = { ...row.holds, approval_timeout: { at: "", by: "system", reason: "nobody approved in time" } };
      return view();
    },
    noteWindow: async () => view(),
  };
  return {
    activities,
    calls,
    state: () => view().state,
    waves: () => waves.map((wave) => wave.state),
    updated: () => row.updated,
    gate,
  };
}
