/** What is shown of a target is what its schema says, in every phase: a screen never fails on a row. */
import { expect, test } from "vitest";
import { targetDetail } from "../domain/rest/rollout.ts";
import type { ExplainRollout } from "../domain/rollout/explain-situation.ts";
import { PHASES, type Phase } from "../domain/rollout/phases.ts";
import type { AttemptView, TargetView } from "../store/rollouts.ts";
import { currentOf, showTargetDetail } from "./show-target.ts";

const NOW = new Date("2026-11-29T02:30:00.123Z");
const ROLLOUT: ExplainRollout = {
  fleet: "edge",
  n: 7,
  kind: "change",
  state: "running",
  reason: "wave rest",
  next: { what: "hosts report", atMs: null },
  holds: {},
  ending: null,
  wave: 0,
  waves: [{ k: 0, name: "rest", state: "running" }],
  healthWaitMs: 300_000,
};
const attempt = (phase: Phase, over: Partial<AttemptView> = {}): AttemptView => ({
  attempt: 1,
  direction: "forward",
  wave: 0,
  phase,
  part: "package",
  since: NOW,
  progressAt: NOW,
  deadlineAt: NOW,
  notBefore: null,
  offeredAt: NOW,
  healthFrom: NOW,
  steps: [],
  failureClass: null,
  code: null,
  error: "",
  finishedAt: null,
  ...over,
});
const row = (...attempts: AttemptView[]): TargetView => ({
  host: "0190a000-0000-7000-8000-000000000007",
  hostName: "edge-7",
  ord: 0,
  wave: 0,
  fromVersion: "0.161.0",
  fromConfig: null,
  toVersion: "0.162.0",
  toConfig: null,
  wayBack: "yes",
  connected: true,
  lastSeenAt: NOW,
  version: "0.162.0",
  attempts,
});
const OFFER = {
  attempt: 1,
  kind: "package",
  direction: "forward",
  version: "0.162.0",
  config: null,
  openedAt: NOW,
  sentAt: null,
  closedAt: null,
  closeReason: null,
} as const;

test.each(PHASES)("%s fits the schema, with offers and sentence", (phase) => {
  const shown = showTargetDetail(row(attempt("failed"), attempt(phase, { attempt: 2 })), [OFFER], ROLLOUT, NOW);
  expect(targetDetail.parse(shown)).toEqual(shown);
  expect(shown).toMatchObject({ phase, why: expect.stringMatching(/\S/), offers: [{ sentAt: null }] });
});

test("an agent that is gone, and a class that a newer server wrote, fit too", () => {
  const gone = { ...row(attempt("failed", { failureClass: "of_tomorrow", error: "new" })), lastSeenAt: null };
  const shown = showTargetDetail(gone, [], ROLLOUT, NOW);
  expect(targetDetail.parse(shown)).toEqual(shown);
  expect(shown.why).toContain("new");
});

test("a moment that comes next is a time as everywhere", () =>
  expect(showTargetDetail(row(attempt("health_wait")), [], ROLLOUT, NOW).next).toMatchObject({
    at: "2026-11-29T02:35:00.123Z",
  }));

test("a target without an attempt is a fault that is named", () =>
  expect(() => currentOf(row())).toThrow("has no attempt"));
