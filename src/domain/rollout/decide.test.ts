import { describe, expect, test } from "vitest";
import { decide, type DecideView } from "./decide.ts";
import { FINAL_STATES } from "./phases.ts";

const wave = (
  k: number,
  state: DecideView["waves"][number]["state"],
  approval: "none" | "required" | "two_person" = "none",
) => ({
  k,
  name: `w${k}`,
  approval,
  state,
  bakeMs: 0,
});
const view = (change: Partial<DecideView> = {}): DecideView => ({
  state: "running",
  holds: {},
  ending: null,
  prepared: true,
  waves: [wave(0, "pending"), wave(1, "pending")],
  approvals: {},
  inFlight: 0,
  succeeded: 0,
  approvalDeadlineMs: null,
  windowOpensMs: null,
  ...change,
});
const hold = { at: "", by: "ada", reason: "" };
const entry = (principal: string) => ({ principal, at: "", reason: "" });

describe("what comes next", () => {
  test.each([
    ["artifacts come first", { prepared: false }, { do: "prepare" }],
    ["also under a hold: fetching offers nothing", { prepared: false, holds: { operator: hold } }, { do: "prepare" }],
    ["then the first wave", {}, { do: "open_wave", k: 0 }],
    ["a wave that runs is watched", { waves: [wave(0, "running")] }, { do: "run_wave", k: 0 }],
    [
      "also under a hold: what a host has begun it finishes",
      { waves: [wave(0, "running")], holds: { threshold: hold } },
      { do: "run_wave", k: 0 },
    ],
    ["under a hold no wave starts", { holds: { operator: hold } }, { do: "wait", for: "hold" }],
    ["a wave that bakes is watched", { waves: [wave(0, "baking")] }, { do: "run_wave", k: 0 }],
    [
      "skipped and ended waves are passed",
      { waves: [wave(0, "skipped"), wave(1, "pending")] },
      { do: "open_wave", k: 1 },
    ],
    [
      "an approval is waited for",
      { waves: [wave(0, "waiting_approval", "required")] },
      { do: "wait", for: "approval" },
    ],
    [
      "one approval is enough for required",
      { waves: [wave(0, "waiting_approval", "required")], approvals: { 0: [entry("a")] } },
      { do: "open_wave", k: 0 },
    ],
    [
      "two_person needs two",
      { waves: [wave(0, "waiting_approval", "two_person")], approvals: { 0: [entry("a")] } },
      { do: "wait", for: "approval" },
    ],
    ["an approved wave waits for its window", { windowOpensMs: 5 }, { do: "wait", for: "window", untilMs: 5 }],
    [
      "all waves ended and something succeeded",
      { waves: [wave(0, "ended")], succeeded: 1 },
      { do: "end", outcome: "succeeded" },
    ],
    ["nothing succeeded", { waves: [wave(0, "ended")] }, { do: "end", outcome: "failed" }],
    [
      "abort beats everything",
      { ending: "abort", waves: [wave(0, "running")], inFlight: 3, prepared: false },
      { do: "end", outcome: "aborted" },
    ],
    ["abort while paused", { ending: "abort", holds: { operator: hold } }, { do: "end", outcome: "aborted" }],
    ["rollback", { ending: "rollback" }, { do: "roll_back" }],
    ["a newer change waits for hosts in flight", { ending: "supersede", inFlight: 1 }, { do: "drain" }],
    ["and then it is superseded", { ending: "supersede" }, { do: "end", outcome: "superseded" }],
  ] as const)("%s", (_name, change, next) => {
    expect(decide(view(change as Partial<DecideView>))).toMatchObject(next);
  });

  test.each(FINAL_STATES)("a rollout that is %s has ended", (state) => {
    expect(decide(view({ state, ending: "abort" }))).toEqual({ do: "ended", outcome: state });
  });
});
