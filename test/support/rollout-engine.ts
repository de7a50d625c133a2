/**
 * The rollout engine without database and clock: rows in memory, moved by the pure functions that the real one is moved by
 * (`judgeControl`, `decide`, `deriveState`, `pickWave`, `judgeThreshold`). Everything that it knows is in `rows`.
 */
import { controlViewOf } from "../../src/domain/rollout/control-view.ts";
import { decide } from "../../src/domain/rollout/decide.ts";
import { deriveState } from "../../src/domain/rollout/derive-state.ts";
import { clearedHolds, isHeld, type Holds } from "../../src/domain/rollout/holds.ts";
import {
  isApproved,
  judgeControl,
  type ApprovalEntry,
  type ControlName,
  type ControlView,
  type Verdict,
} from "../../src/domain/rollout/judge-control.ts";
import {
  isFinalState,
  type Direction,
  type Ending,
  type RolloutState,
  type WaveState,
} from "../../src/domain/rollout/phases.ts";
import type { Approval } from "../../src/domain/rollout/policy.ts";
import { judgeThreshold } from "../../src/domain/rollout/threshold.ts";
import { pickWave } from "../../src/domain/rollout/waves.ts";

export type EngineWave = { name: string; approval: Approval; upTo: number };
type Host = {
  host: string;
  ord: number;
  wave: number | null;
  phase: "pending" | "offered" | "succeeded" | "failed" | "cancelled";
  direction: Direction;
  attempt: number;
};
type Rows = {
  state: RolloutState;
  holds: Holds;
  ending: Ending | null;
  approvals: Record<string, ApprovalEntry[]>;
  waves: { k: number; name: string; approval: Approval; state: WaveState; upTo: number; failuresFrom: number }[];
  hosts: Host[];
  /** Failures that count, by the wave of the host. */
  failures: { wave: number | null; counts: boolean }[];
};
export type Offer = { host: string; attempt: number; direction: Direction; heldBy: string[]; wave: number | null };
export type Engine = {
  rows: Rows;
  /** Every offer that was opened, with what held at that moment. */
  offers: Offer[];
  control(name: ControlName, by: string, reason?: string): Verdict;
  report(host: string, outcome: "succeeded" | "failed"): void;
  /** Another process goes on from the rows alone. */
  restart(): void;
  inFlight(): Host[];
};

export function createEngine(waves: readonly EngineWave[], hosts: number, cap: number): Engine {
  const engine: Engine = {
    rows: {
      state: "preparing",
      holds: {},
      ending: null,
      approvals: {},
      waves: waves.map((wave, k) => ({ ...wave, k, state: "pending", failuresFrom: 0 })),
      hosts: Array.from({ length: hosts }, (_, ord) => ({
        host: `h${ord}`,
        ord,
        wave: null,
        phase: "pending",
        direction: "forward",
        attempt: 1,
      })),
      failures: [],
    },
    offers: [],
    control: (name, by, reason) => {
      const verdict = judgeControl(viewOf(engine.rows), { control: name, principal: by, reason, via: "api" });
      if (verdict.do === "apply") applyControl(engine.rows, name, by);
      goOn(engine, cap);
      return verdict;
    },
    report: (name, outcome) => {
      const host = engine.rows.hosts.find((one) => one.host === name);
      if (host?.phase !== "offered") return;
      host.phase = outcome;
      if (outcome === "failed") noteFailure(engine.rows, host);
      goOn(engine, cap);
    },
    restart: () => {
      engine.rows = JSON.parse(JSON.stringify(engine.rows)) as Rows;
      goOn(engine, cap);
    },
    inFlight: () => engine.rows.hosts.filter(({ phase }) => phase === "offered"),
  };
  goOn(engine, cap);
  return engine;
}

const viewOf = ({ state, holds, ending, approvals, waves, hosts }: Rows): ControlView =>
  controlViewOf({ kind: "change", state, holds, ending, approvals }, waves, {
    updated: hosts.filter(
      ({ phase, direction }) =>
        phase === "offered" || (phase === "succeeded" && direction === "forward") || phase === "failed",
    ).length,
    unsuccessful: hosts.filter(
      ({ phase, direction }) =>
        phase === "failed" || phase === "cancelled" || (phase === "succeeded" && direction === "back"),
    ).length,
    newest: true,
    returning: hosts.filter(({ phase, direction }) => phase === "offered" && direction === "back").length,
  });

const entry = (by: string) => ({ at: "", by, reason: "" });
function applyControl(rows: Rows, name: ControlName, by: string): void {
  const waiting = rows.waves.find(({ state }) => state === "waiting_approval");
  if (name === "pause") rows.holds = { ...rows.holds, operator: entry(by) };
  if (name === "pause" || name === "abort") unsend(rows, name);
  if (name === "resume" || name === "retry" || name === "rollback") {
    if (name !== "resume" || rows.holds.threshold !== undefined)
      rows.failures = rows.failures.map((it) => ({ ...it, counts: false }));
    rows.holds = clearedHolds(rows.holds);
  }
  if (name === "abort") rows.ending = "abort";
  if (name === "approve" && waiting !== undefined)
    rows.approvals[waiting.k] = [...(rows.approvals[waiting.k] ?? []), { principal: by, at: "", reason: "" }];
  if (name === "retry") retry(rows);
  if (name === "rollback") {
    if (isFinalState(rows.state)) rows.state = "rolling_back";
    rows.ending = "rollback";
    unsend(rows, "abort");
  }
}

/** What is opened is unsent here until it reports: a pause takes it back, an end cancels it. */
function unsend({ hosts }: Rows, how: "pause" | "abort"): void {
  for (const host of hosts)
    if (host.phase === "offered" && host.direction === "forward")
      host.phase = how === "pause" ? "pending" : "cancelled";
}

function retry(rows: Rows): void {
  const ended = isFinalState(rows.state);
  if (ended && rows.state === "aborted") rows.approvals = {};
  const current = rows.waves.find(
    ({ state }) => state === "running" || state === "waiting_approval" || state === "pending",
  );
  for (const host of rows.hosts) {
    const succeeded = host.phase === "succeeded" && host.direction === "forward";
    if (succeeded || host.phase === "pending" || host.phase === "offered") continue;
    const wave = ended ? host.wave : (current?.k ?? rows.waves.length - 1);
    Object.assign(host, { phase: "pending", direction: "forward", attempt: host.attempt + 1, wave });
  }
  if (!ended) return;
  rows.state = "preparing";
  rows.ending = null;
  for (const wave of rows.waves) {
    const isOpen = rows.hosts.some(({ wave: k, phase }) => k === wave.k && phase === "pending");
    if (isOpen || !["ended"].includes(wave.state)) wave.state = "pending";
  }
}

function noteFailure(rows: Rows, host: Host): void {
  rows.failures.push({ wave: host.wave, counts: true });
  const size = rows.hosts.filter(({ wave }) => wave === host.wave).length;
  const failures = rows.failures.filter(({ wave, counts }) => counts && wave === host.wave).length;
  const tally = { size, failures };
  if (rows.holds.threshold !== undefined) return;
  const verdict = judgeThreshold({ wave: { count: 0 }, rollout: null }, { wave: tally, rollout: tally });
  if (!verdict.broken) return;
  rows.holds = { ...rows.holds, threshold: entry("system") };
  unsend(rows, "pause");
}

/** As the workflow's loop: until there is nothing to do but wait. */
function goOn(engine: Engine, cap: number): void {
  const { rows } = engine;
  for (let guard = 0; guard < 200; guard += 1) {
    const succeeded = rows.hosts.filter(
      ({ phase, direction }) => phase === "succeeded" && direction === "forward",
    ).length;
    const next = decide({
      ...rows,
      prepared: true,
      waves: rows.waves.map((wave) => ({ ...wave, bakeMs: 0 })),
      inFlight: engine.inFlight().length,
      succeeded,
      approvalDeadlineMs: null,
      windowOpensMs: null,
    });
    if (next.do === "end") endRows(rows, next.outcome);
    else if (next.do === "open_wave") openWave(rows, next.k);
    else if (next.do === "run_wave" && runWave(engine, next.k, cap)) continue;
    else if (next.do === "roll_back" && rollBack(engine, cap)) endRows(rows, "rolled_back");
    else break;
  }
  if (!isFinalState(rows.state))
    rows.state = deriveState({
      ...rows,
      kind: "change",
      reason: "",
      prepared: true,
      approvalTimeoutMs: null,
      waves: rows.waves.map((wave) => ({ ...wave, askedMs: null, bakeUntilMs: null })),
    }).state;
}

function endRows(rows: Rows, outcome: RolloutState): void {
  rows.state = outcome;
  if (outcome === "aborted") rows.ending = "abort";
  if (outcome === "aborted" || outcome === "rolled_back")
    for (const host of rows.hosts) if (host.phase === "pending") host.phase = "cancelled";
  for (const wave of rows.waves) if (wave.state !== "ended" && wave.state !== "skipped") wave.state = "cancelled";
}

function openWave(rows: Rows, k: number): void {
  const wave = rows.waves[k];
  if (wave === undefined) return;
  const members = rows.hosts.map(({ host, ord, wave: taken, phase }) => ({
    host,
    ord,
    matches: [],
    joined: false,
    state: phase === "cancelled" ? ("out" as const) : taken === null ? ("free" as const) : ("taken" as const),
  }));
  const upTo = { count: wave.upTo };
  const picked = pickWave({ k, upTo, selects: false, last: k === rows.waves.length - 1 }, members);
  const again = rows.hosts.filter((host) => host.wave === k && host.phase === "pending").length;
  if (picked.length + again > 0 && !isApproved(wave.approval, rows.approvals[k] ?? [])) {
    wave.state = "waiting_approval";
    return;
  }
  for (const host of rows.hosts) if (picked.includes(host.host)) host.wave = k;
  wave.state = picked.length + again === 0 ? "skipped" : "running";
}

/** True when the wave has ended. */
function runWave(engine: Engine, k: number, cap: number): boolean {
  const { rows } = engine;
  const mine = rows.hosts.filter(({ wave }) => wave === k);
  if (mine.every(({ phase }) => phase !== "pending" && phase !== "offered")) {
    const wave = rows.waves[k];
    if (wave !== undefined) wave.state = "ended";
    return true;
  }
  if (!isHeld(rows.holds) && rows.ending === null)
    offer(
      engine,
      mine.filter(({ phase }) => phase === "pending"),
      cap,
    );
  return false;
}

/** Newest wave first. True when everything that was updated is back. */
function rollBack(engine: Engine, cap: number): boolean {
  const { rows } = engine;
  for (const host of rows.hosts)
    if (host.direction === "forward" && host.phase === "succeeded")
      Object.assign(host, { phase: "pending", direction: "back", attempt: host.attempt + 1 });
  const back = rows.hosts.filter(
    ({ direction, phase }) => direction === "back" && (phase === "pending" || phase === "offered"),
  );
  if (back.length === 0) return true;
  const newest = Math.max(...back.map(({ wave }) => wave ?? -1));
  if (!isHeld(rows.holds))
    offer(
      engine,
      back.filter(({ wave, phase }) => phase === "pending" && (wave ?? -1) === newest),
      cap,
    );
  return false;
}

function offer(engine: Engine, candidates: readonly Host[], cap: number): void {
  const { rows, offers } = engine;
  for (const host of candidates.slice(0, Math.max(0, cap - engine.inFlight().length))) {
    host.phase = "offered";
    const { host: name, attempt, direction, wave } = host;
    offers.push({ host: name, attempt, direction, heldBy: Object.keys(rows.holds), wave });
  }
}
