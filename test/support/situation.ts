/** A target in the middle of a rollout, as explanations of it begin: wave `rest` of edge/7 runs, all is well. */
import type { Situation } from "../../src/domain/rollout/explain-situation.ts";
import { isFinalPhase, type Phase } from "../../src/domain/rollout/phases.ts";

export const NOW = Date.parse("2026-11-29T02:30:00Z");
export const MIN = 60_000;

export const HOST = { connected: true, lastSeenMs: NOW - 5_000, version: "0.162.0" };
export type Parts = {
  target?: Partial<Situation["target"]>;
  attempt?: Partial<Situation["attempt"]>;
  rollout?: Partial<Situation["rollout"]>;
  host?: Situation["host"];
};
export const situationOf = (phase: Phase, { target, attempt, rollout, host = HOST }: Parts = {}): Situation => ({
  target: { fromVersion: "0.161.0", toVersion: "0.162.0", fromConfig: null, toConfig: null, ...target },
  attempt: {
    phase,
    direction: "forward",
    part: null,
    wave: 1,
    sinceMs: NOW - 2 * MIN,
    deadlineMs: isFinalPhase(phase) || phase === "pending" ? null : NOW + 28 * MIN,
    notBeforeMs: null,
    healthFromMs: null,
    failureClass: null,
    code: null,
    error: "",
    ...attempt,
  },
  rollout: {
    fleet: "edge",
    n: 7,
    kind: "change",
    state: "running",
    reason: "wave rest",
    next: { what: "hosts report", atMs: null },
    holds: {},
    ending: null,
    wave: 1,
    waves: [
      { k: 0, name: "canary", state: "ended" },
      { k: 1, name: "rest", state: "running" },
    ],
    healthWaitMs: 5 * MIN,
    ...rollout,
  },
  host,
  nowMs: NOW,
});
