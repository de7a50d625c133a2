import { describe, expect, it } from "vitest";
import { STEPS, type Step } from "../brand.ts";
import {
  NEXT,
  stepDone,
  stepFailed,
  supervisorStopping,
  withdraw,
  type AttemptOutcome,
  type RunningAttempt,
} from "./attempt.ts";

const versions = { version: "0.162.0", from: "0.161.0" };
type End = "done" | "failedBeforeStop" | "failedAfterStop" | "failedAfterStopOnEmptyHost" | "withdrawn";
type Cell = Step | AttemptOutcome | "failed, unhealthy" | "runs on" | "cannot happen";

// every step × every way it can end: a new step does not compile until its row is here
const TABLE: Record<Step, Record<End, Cell>> = {
  downloading: {
    done: "verifying",
    failedBeforeStop: "failed",
    failedAfterStop: "cannot happen",
    failedAfterStopOnEmptyHost: "cannot happen",
    withdrawn: "failed",
  },
  verifying: {
    done: "installing",
    failedBeforeStop: "failed",
    failedAfterStop: "cannot happen",
    failedAfterStopOnEmptyHost: "cannot happen",
    withdrawn: "failed",
  },
  installing: {
    done: "restarting",
    failedBeforeStop: "failed",
    failedAfterStop: "rolling_back",
    failedAfterStopOnEmptyHost: "failed, unhealthy",
    withdrawn: "failed",
  },
  restarting: {
    done: "health_check",
    failedBeforeStop: "cannot happen",
    failedAfterStop: "rolling_back",
    failedAfterStopOnEmptyHost: "failed, unhealthy",
    withdrawn: "runs on",
  },
  health_check: {
    done: "succeeded",
    failedBeforeStop: "cannot happen",
    failedAfterStop: "rolling_back",
    failedAfterStopOnEmptyHost: "failed, unhealthy",
    withdrawn: "runs on",
  },
  rolling_back: {
    done: "rolled_back",
    failedBeforeStop: "cannot happen",
    failedAfterStop: "failed, unhealthy",
    failedAfterStopOnEmptyHost: "cannot happen",
    withdrawn: "runs on",
  },
};

const before = (step: Step): RunningAttempt => ({ kind: "running", step, supervisorStopped: false });
const after = (step: Step): RunningAttempt => ({
  kind: "running",
  step,
  supervisorStopped: true,
  ...(step === "rolling_back" ? { cause: "health: bad" } : {}),
});

function outcomeOf(step: Step, end: End): Cell {
  const late = step === "restarting" || step === "health_check" || step === "rolling_back";
  if (end === "done") return cellOf(stepDone(late ? after(step) : before(step), versions));
  if (end === "failedBeforeStop") return cellOf(stepFailed(before(step), "x", versions));
  if (end === "withdrawn") return cellOf(withdraw(late ? after(step) : before(step)) ?? "runs on");
  const from = end === "failedAfterStop" ? versions.from : "";
  return cellOf(stepFailed(after(step), "x", { ...versions, from }));
}

function cellOf(next: ReturnType<typeof stepDone> | "runs on"): Cell {
  if (next === "runs on") return next;
  if (next.kind === "running") return next.step;
  return next.healthy ? next.outcome : "failed, unhealthy";
}

describe("the attempt", () => {
  it("has one successor for each step", () => {
    for (const step of STEPS) expect(TABLE[step].done).toBe(NEXT[step]);
  });

  for (const step of STEPS)
    for (const end of Object.keys(TABLE[step]) as End[])
      if (TABLE[step][end] !== "cannot happen")
        it(`${step}, ${end}: ${TABLE[step][end]}`, () => {
          expect(outcomeOf(step, end)).toBe(TABLE[step][end]);
        });

  it("only installing has the point of no return", () => {
    for (const step of STEPS) expect(supervisorStopping(before(step)).supervisorStopped).toBe(step === "installing");
  });

  it("the stop is remembered through the steps that follow", () => {
    const restarting = stepDone(supervisorStopping(before("installing")), versions);
    expect(restarting).toMatchObject({ step: "restarting", supervisorStopped: true });
  });

  it("a rollback reports the contract's text", () => {
    expect(stepDone(after("rolling_back"), versions)).toEqual({
      kind: "ended",
      outcome: "rolled_back",
      cause: "update to v0.162.0 failed: health: bad; rolled back to v0.161.0",
      healthy: true,
    });
  });

  it("a failed rollback carries both causes", () => {
    const ended = stepFailed(after("rolling_back"), "install: stuck", versions);
    expect(ended).toMatchObject({ outcome: "failed", healthy: false });
    expect(ended.cause).toContain("health: bad");
    expect(ended.cause).toContain("install: stuck");
  });
});
