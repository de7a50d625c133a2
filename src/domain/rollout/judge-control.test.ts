import { describe, expect, test } from "vitest";
import { controlButtons } from "./control-view.ts";
import { judgeControl, type ControlName, type ControlView, type Verdict } from "./judge-control.ts";

const hold = { at: "", by: "ada", reason: "" };
const view = (change: Partial<ControlView> = {}): ControlView => ({
  kind: "change",
  state: "running",
  holds: {},
  ending: null,
  waiting: null,
  passed: [],
  newest: true,
  updated: 2,
  unsuccessful: 1,
  ...change,
});
const judge = (
  at: ControlView,
  control: ControlName,
  more: { wave?: string; reason?: string; principal?: string; via?: "api" | "signal" } = {},
): Verdict["do"] => judgeControl(at, { control, principal: "ada", via: "api", ...more }).do;

type Row = Record<ControlName, Verdict["do"]>;
/** Every control in every kind of state. A new control does not compile until its column is here. */
const TABLE: Record<string, [ControlView, Row]> = {
  running: [
    view(),
    { pause: "apply", resume: "nothing", abort: "apply", approve: "refuse", retry: "refuse", rollback: "apply" },
  ],
  "paused by an operator": [
    view({ state: "paused", holds: { operator: hold } }),
    { pause: "nothing", resume: "apply", abort: "apply", approve: "refuse", retry: "apply", rollback: "apply" },
  ],
  "paused, nothing failed, nothing updated": [
    view({ state: "paused", holds: { operator: hold }, unsuccessful: 0, updated: 0 }),
    { pause: "nothing", resume: "apply", abort: "apply", approve: "refuse", retry: "nothing", rollback: "refuse" },
  ],
  "paused by the threshold, without a reason": [
    view({ state: "paused", holds: { threshold: hold } }),
    { pause: "apply", resume: "refuse", abort: "apply", approve: "refuse", retry: "apply", rollback: "apply" },
  ],
  "held by a revoked release": [
    view({ state: "paused", holds: { revoked: hold } }),
    { pause: "apply", resume: "nothing", abort: "apply", approve: "refuse", retry: "apply", rollback: "apply" },
  ],
  "waiting for an approval": [
    view({ state: "waiting_approval", waiting: { name: "half", approval: "required", approvals: [] } }),
    { pause: "apply", resume: "nothing", abort: "apply", approve: "apply", retry: "refuse", rollback: "apply" },
  ],
  "rolling back": [
    view({ state: "rolling_back", ending: "rollback" }),
    { pause: "apply", resume: "nothing", abort: "apply", approve: "refuse", retry: "refuse", rollback: "nothing" },
  ],
  "being aborted": [
    view({ ending: "abort" }),
    { pause: "apply", resume: "nothing", abort: "nothing", approve: "refuse", retry: "refuse", rollback: "refuse" },
  ],
  succeeded: [
    view({ state: "succeeded" }),
    { pause: "refuse", resume: "refuse", abort: "refuse", approve: "refuse", retry: "apply", rollback: "apply" },
  ],
  "succeeded everywhere": [
    view({ state: "succeeded", unsuccessful: 0 }),
    { pause: "refuse", resume: "refuse", abort: "refuse", approve: "refuse", retry: "refuse", rollback: "apply" },
  ],
  "a catch-up that stands by": [
    view({ kind: "catch_up" }),
    { pause: "apply", resume: "nothing", abort: "apply", approve: "refuse", retry: "apply", rollback: "refuse" },
  ],
  "a catch-up that was aborted": [
    view({ kind: "catch_up", state: "aborted" }),
    { pause: "refuse", resume: "refuse", abort: "refuse", approve: "refuse", retry: "apply", rollback: "refuse" },
  ],
  "aborted while hosts were on their way back": [
    view({ state: "aborted", returning: 1 }),
    { pause: "refuse", resume: "refuse", abort: "refuse", approve: "refuse", retry: "refuse", rollback: "apply" },
  ],
  "aborted, but not the newest": [
    view({ state: "aborted", newest: false }),
    { pause: "refuse", resume: "refuse", abort: "refuse", approve: "refuse", retry: "refuse", rollback: "refuse" },
  ],
  "rolled back": [
    view({ state: "rolled_back" }),
    { pause: "refuse", resume: "refuse", abort: "refuse", approve: "refuse", retry: "apply", rollback: "refuse" },
  ],
  superseded: [
    view({ state: "superseded" }),
    { pause: "refuse", resume: "refuse", abort: "refuse", approve: "refuse", retry: "refuse", rollback: "refuse" },
  ],
};

describe("every control in every state", () => {
  test.each(Object.entries(TABLE))("%s", (_name, [at, row]) => {
    for (const [control, expected] of Object.entries(row))
      expect([control, judge(at, control as ControlName)]).toEqual([control, expected]);
  });
});

describe("approvals", () => {
  const waiting = (approvals: string[] = []): ControlView =>
    view({
      state: "waiting_approval",
      passed: ["canary"],
      waiting: {
        name: "half",
        approval: "two_person",
        approvals: approvals.map((principal) => ({ principal, at: "", reason: "" })),
      },
    });
  test("another wave is a conflict, one that has passed changes nothing", () => {
    expect(judge(waiting(), "approve", { wave: "rest" })).toBe("refuse");
    expect(judge(waiting(), "approve", { wave: "canary" })).toBe("nothing");
    expect(judge(waiting(), "approve", { wave: "half" })).toBe("apply");
  });
  test("two_person takes two principals, and no signal", () => {
    expect(judge(waiting(["ada"]), "approve")).toBe("nothing");
    expect(judge(waiting(["ada"]), "approve", { principal: "bob" })).toBe("apply");
    expect(judge(waiting(), "approve", { via: "signal" })).toBe("refuse");
  });
});

test("resume after a threshold needs a reason", () => {
  const at = view({ state: "paused", holds: { threshold: hold } });
  expect(judge(at, "resume", { reason: " " })).toBe("refuse");
  expect(judge(at, "resume", { reason: "the disks are mended" })).toBe("apply");
});

test("a catch-up has nothing to roll back", () => {
  expect(judge(view({ kind: "catch_up" }), "rollback")).toBe("refuse");
});

test("buttons say why they are disabled and what they would do", () => {
  const buttons = controlButtons(view({ state: "paused", holds: { threshold: hold } }));
  expect(buttons.map((button) => button.name)).toHaveLength(6);
  expect(buttons.find(({ name }) => name === "resume")).toMatchObject({ allowed: true, needsReason: true });
  expect(buttons.find(({ name }) => name === "approve")).toMatchObject({
    allowed: false,
    code: "control_conflict",
    reason: "no wave waits for an approval",
  });
});
