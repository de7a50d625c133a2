import { describe, expect, it } from "vitest";
import { CONTRACT_DEFAULTS, STEPS } from "../brand.ts";
import { isHanging, stepLimitMs, type Activity, type StepTimes } from "./step-limits.ts";

const times: StepTimes = { idleTimeoutMs: 60_000, stopTimeoutMs: 60_000, healthTimeoutMs: 120_000 };

describe("hanging", () => {
  it("is never said of a program that has nothing to do", () => {
    expect(isHanging(undefined, Number.MAX_SAFE_INTEGER, times)).toBe(false);
  });

  it.each<Activity["step"]>([...STEPS, "closing"])("%s: not at its limit, but past it", (step) => {
    const limit = stepLimitMs(step, times);
    expect(isHanging({ step, movedAtMs: 7 }, 7 + limit, times)).toBe(false);
    expect(isHanging({ step, movedAtMs: 7 }, 8 + limit, times)).toBe(true);
  });

  it("leaves each step more than what it may take by its own limits", () => {
    // one way back: stop, start, health; systemctl may take its query time on top of each
    expect(stepLimitMs("rolling_back", times)).toBeGreaterThan(
      2 * (times.stopTimeoutMs + 30_000) + times.healthTimeoutMs,
    );
    expect(stepLimitMs("health_check", times)).toBeGreaterThan(CONTRACT_DEFAULTS.healthTimeoutMs);
    expect(stepLimitMs("downloading", times)).toBeGreaterThan(12 * 300_000 + 4 * times.idleTimeoutMs);
    const patient = { ...times, stopTimeoutMs: 3_600_000 };
    expect(stepLimitMs("installing", patient)).toBeGreaterThan(patient.stopTimeoutMs);
  });
});
