import { describe, expect, it } from "vitest";
import { BRAND, FAILURE_CLASSES } from "../brand.ts";
import {
  beginAttempt,
  stepDone,
  stepFailed,
  supervisorStopping,
  type Attempt,
  type RunningAttempt,
} from "./attempt.ts";
import {
  beginReport,
  closeInterrupted,
  closeRolledBack,
  failureClassOf,
  readUpdateComponent,
  reportTransition,
  toComponentHealth,
  type UpdateAttempt,
} from "./health-report.ts";
import { asStepError, boundedText, StepError } from "./step-error.ts";
import { failure } from "../errors.ts";

const versions = { version: "0.162.0", from: "0.161.0" };
const T0 = 1_700_000_000_123_456_789n;

/** Plays `ends` ("done", or the cause of a failure) from the beginning; each step takes one nanosecond. */
function play(...ends: string[]): UpdateAttempt {
  let attempt: Attempt = beginAttempt();
  let report = beginReport(versions, T0);
  let now = T0;
  for (const end of ends) {
    const running = supervisorStopping(attempt as RunningAttempt);
    attempt = end === "done" ? stepDone(running, versions) : stepFailed(running, end, versions);
    report = reportTransition(report, attempt, ++now, end === "done" ? undefined : end);
  }
  return report;
}
const stepsOf = (report: UpdateAttempt) => Object.fromEntries(report.steps.map(({ step, status }) => [step, status]));

describe("the update component", () => {
  it("while the attempt runs, steps that have not begun are absent", () => {
    expect(play("done")).toMatchObject({ status: "verifying", healthy: true });
    expect(stepsOf(play("done"))).toEqual({ downloading: "done", verifying: "running" });
  });

  it("after a failure before the stop later steps are skipped, and no rollback appears", () => {
    const report = play("done", "verification: bad");
    expect(report).toMatchObject({ status: "failed", healthy: true, error: "verification: bad" });
    expect(stepsOf(report)).toEqual({
      downloading: "done",
      verifying: "failed",
      installing: "skipped",
      restarting: "skipped",
      health_check: "skipped",
    });
  });

  it("a success has five steps done", () => {
    const report = play("done", "done", "done", "done", "done");
    expect(report).toMatchObject({ status: "succeeded", healthy: true, error: "" });
    expect(Object.values(stepsOf(report))).toEqual(Array.from({ length: 5 }, () => "done"));
  });

  it("a rollback shows its step, and is healthy", () => {
    const report = play("done", "done", "done", "done", "health: 503", "done");
    expect(report).toMatchObject({
      status: "rolled_back",
      healthy: true,
      error: "update to v0.162.0 failed: health: 503; rolled back to v0.161.0",
    });
    expect(stepsOf(report)).toMatchObject({ health_check: "failed", rolling_back: "done" });
  });

  it("a failed rollback is the only unhealthy end", () => {
    expect(play("done", "done", "done", "done", "health: 503", "install: stuck")).toMatchObject({
      status: "failed",
      healthy: false,
    });
  });

  it("start time is that of the attempt, status time that of the last phase change, at every moment", () => {
    const ends = ["done", "done", "done", "done", "health: 503", "done"];
    for (let moment = 0; moment <= ends.length; moment++) {
      const component = toComponentHealth(play(...ends.slice(0, moment)));
      expect([component.startTimeUnixNano, component.statusTimeUnixNano]).toEqual([T0, T0 + BigInt(moment)]);
    }
    const { componentHealthMap } = toComponentHealth(play("done", "verification: bad"));
    const times = (step: string) => {
      const { startTimeUnixNano, statusTimeUnixNano } = componentHealthMap.get(`step:${step}`) ?? {};
      return [startTimeUnixNano, statusTimeUnixNano];
    };
    expect(times("downloading")).toEqual([T0, T0 + 1n]);
    expect(times("verifying")).toEqual([T0 + 1n, T0 + 2n]);
    expect(times("installing")).toEqual([0n, 0n]); // never ran
  });

  it("a report of the same step again is no phase change", () => {
    const report = play("done");
    const again = reportTransition(report, { kind: "running", step: "verifying", supervisorStopped: false }, T0 + 99n);
    expect(again.statusNanos).toBe(report.statusNanos);
  });

  it("survives the wire with its nanoseconds", () => {
    for (const report of [play(), play("done"), play("done", "done", "done", "done", "health: 503", "done")])
      expect(readUpdateComponent(toComponentHealth(report))).toEqual(report);
    expect(toComponentHealth(play()).startTimeUnixNano).toBe(T0);
  });

  it("has the contract's keys: version and from with v, steps with their prefix", () => {
    const { componentHealthMap } = toComponentHealth(play("done"));
    expect(Array.from(componentHealthMap.keys())).toEqual(["version", "from", "step:downloading", "step:verifying"]);
    expect(componentHealthMap.get("version")?.status).toBe("v0.162.0");
    expect(toComponentHealth(beginReport({ ...versions, from: "" }, T0)).componentHealthMap.get("from")?.status).toBe(
      "",
    );
  });

  it("reading is tolerant of unknown steps and refuses what is no attempt", () => {
    const component = toComponentHealth(play("done"));
    component.componentHealthMap.set(`${BRAND.stepPrefix}dancing`, component);
    expect(readUpdateComponent(component)).toEqual(play("done"));
    expect(readUpdateComponent({ ...component, status: "dancing" })).toBeUndefined();
    expect(readUpdateComponent({ ...component, componentHealthMap: new Map() })).toBeUndefined();
  });

  it("an attempt that was cut off is closed as failed, interrupted; one that had ended stays", () => {
    const closed = closeInterrupted(play("done"), "verification: interrupted", T0 + 9n);
    expect(closed).toMatchObject({ status: "failed", healthy: true, error: "verification: interrupted" });
    expect(stepsOf(closed)).toMatchObject({ verifying: "failed", installing: "skipped" });
    const ended = play("done", "verification: bad");
    expect(closeInterrupted(ended, "x", T0)).toBe(ended);
  });

  it("a swap that a later start took back is rolled_back with exactly one rolling_back step", () => {
    for (const report of [
      play("done", "done", "done"),
      play("done", "done", "done", "done", "health: 503"),
      play("done", "done", "done", "done", "health: 503", "install: stuck"),
    ]) {
      const closed = closeRolledBack(
        report,
        "install: interrupted",
        "update to v0.162.0 failed: x; rolled back to v0.161.0",
        T0 + 9n,
      );
      expect(closed).toMatchObject({ status: "rolled_back", healthy: true });
      expect(closed.steps.filter(({ step }) => step === "rolling_back")).toEqual([
        expect.objectContaining({ status: "done" }),
      ]);
      expect(closed.steps.some(({ status }) => status === "running")).toBe(false);
    }
  });
});

describe("errors of a step", () => {
  it("the class is read in front, also inside the text of a rollback, and nowhere else", () => {
    for (const name of FAILURE_CLASSES) {
      expect(failureClassOf(`${name}: something`)).toBe(name);
      expect(failureClassOf(`update to v0.162.0 failed: ${name}: x; rolled back to v0.161.0`)).toBe(name);
    }
    expect(failureClassOf("something health: bad")).toBeUndefined();
    expect(failureClassOf("healthy: no")).toBeUndefined();
    expect(failureClassOf("")).toBeUndefined();
  });

  it("every error gets the class of its step, a full disk its own", () => {
    expect(asStepError(new Error("x"), "downloading").message).toBe("download: x");
    expect(asStepError(Object.assign(new Error("x"), { code: "ENOSPC" }), "verifying").message).toMatch(/^disk_full: /);
    expect(asStepError(new StepError("preflight", "x"), "verifying").message).toBe("preflight: x");
    expect(asStepError(failure("signature_legacy", undefined), "verifying").message).toContain(BRAND.legacySignature);
  });

  it("texts are at most 1,000 characters and never cut a character in half", () => {
    expect(boundedText("x".repeat(1_000))).toHaveLength(1_000);
    const cut = boundedText(`${"x".repeat(998)}😀😀`);
    expect(cut.length).toBeLessThanOrEqual(1_000);
    expect(cut.isWellFormed()).toBe(true);
  });
});
