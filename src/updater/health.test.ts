import { describe, expect, it } from "vitest";
import { virtualClock } from "../../test/support/updater-host.ts";
import { checkOnce, waitHealthy, type HealthSettings } from "./health.ts";

const settings: HealthSettings = {
  supervisorUrl: "http://s",
  collectorUrl: "http://c",
  successes: 3,
  intervalMs: 5_000,
  timeoutMs: 120_000,
};

function host(answers: (check: number) => { runs?: boolean; s?: number | Error; c?: number | Error }) {
  const clock = virtualClock();
  const asked: string[] = [];
  let check = 0;
  let now = answers(0);
  return {
    clock,
    asked,
    checks: () => check,
    deps: {
      clock,
      isServiceRunning: async () => {
        now = answers(++check);
        asked.push("service");
        return now.runs ?? true;
      },
      statusOf: async (url: string) => {
        asked.push(url);
        const answer = (url === "http://s" ? now.s : now.c) ?? 200;
        if (answer instanceof Error) throw answer;
        return answer;
      },
    },
  };
}

describe("health", () => {
  it("is service, supervisor, collector, in this order; the first that fails ends the check", async () => {
    const all = host(() => ({}));
    expect(await checkOnce(settings, all.deps)).toBeUndefined();
    expect(all.asked).toEqual(["service", "http://s", "http://c"]);
    const stopped = host(() => ({ runs: false }));
    expect(await checkOnce(settings, stopped.deps)).toContain("does not run");
    expect(stopped.asked).toEqual(["service"]);
    const half = host(() => ({ s: 503 }));
    expect(await checkOnce(settings, half.deps)).toBe("the supervisor's health endpoint answers 503");
    expect(half.asked).toEqual(["service", "http://s"]);
    const silent = host(() => ({ c: Object.assign(new Error("x"), { code: "ECONNREFUSED" }) }));
    expect(await checkOnce(settings, silent.deps)).toBe(
      "the collector's health endpoint does not answer (ECONNREFUSED)",
    );
  });

  it("needs three successes in a row: one failure starts the count again", async () => {
    const flapping = host((check) => ({ c: check === 3 ? 503 : 200 }));
    await waitHealthy(settings, flapping.deps);
    expect(flapping.checks()).toBe(6);
  });

  it.each([
    ["never healthy", () => ({ c: 503 })],
    ["healthy twice out of three for ever", (check: number) => ({ c: check % 3 === 0 ? 503 : 200 })],
  ])("%s fails in time, with the reason", async (_, answers) => {
    const bad = host(answers);
    const before = bad.clock.monotonicMs();
    await expect(waitHealthy(settings, bad.deps)).rejects.toThrow(/^health: not healthy within 120 s: /);
    expect(bad.clock.monotonicMs() - before).toBeLessThanOrEqual(120_000);
  });

  it("redirects and other good answers are not 200", async () => {
    for (const status of [204, 301, 404])
      expect(await checkOnce(settings, host(() => ({ c: status })).deps)).toContain(String(status));
  });
});
