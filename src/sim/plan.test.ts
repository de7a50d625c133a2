import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decideAttempt, decideConfig, decideLife, decideReaction, latencyMs, stepMs } from "./behaviour.ts";
import { hitBy, occurrencesOf } from "./events.ts";
import { countsOf, planHosts, type HostProfile } from "./plan.ts";
import { parseScenario, type Scenario } from "./scenario.ts";
import { sample } from "./spread.ts";

const scenarioOf = (text: string, seed = 1): Scenario => {
  const read = parseScenario(text, "s.yaml");
  if (!read.ok) throw new Error(JSON.stringify(read.issues));
  return { ...read.scenario, seed };
};
const tally = (words: string[]): Record<string, number> =>
  Object.fromEntries(
    Array.from(
      Map.groupBy(words, (word) => word),
      ([word, its]) => [word, its.length],
    ),
  );

const MIXED = `
hosts: 200
groups:
  - name: a
    share: 75%
    versions: {0.160.0: 2, 0.161.0: 1}
    latency: {median: 20ms, p99: 400ms}
    step: {min: 1s, max: 2s}
    apply: {min: 1s, max: 9s}
    faults:
      - {kind: fail, step: installing, class: disk_full, share: 10%, times: 1}
      - {kind: silent, share: 4%}
      - {kind: config_rolled_back, share: 6%, skip: 1, times: 1}
      - {kind: unhealthy, version: 0.162.0, share: 2%}
  - {name: b, share: 25%, faults: [{kind: clone, share: 10%}]}
events:
  - {at: 10s, every: 5s, times: 3, do: storm, share: 20%}
  - {at: 12s, do: offline, for: 1s, groups: [b]}
`;
/** Everything that a host will ever decide, as far as a test asks. */
const decisionsOf = (host: HostProfile) =>
  [1, 2, 3].map((n) => [
    host.version,
    host.uidOf,
    decideAttempt(host, n, "0.162.0"),
    decideReaction(host, n, "0.162.0"),
    decideConfig(host, n),
    decideLife(host, "0.162.0"),
    latencyMs(host, n),
    stepMs(host, n, "verifying"),
  ]);

describe("the hosts of a scenario", () => {
  it("decide the same for the same seed, whatever is asked first", () => {
    const first = planHosts(scenarioOf(MIXED)).map(decisionsOf);
    const again = planHosts(scenarioOf(MIXED)).toReversed().map(decisionsOf).toReversed();
    expect(again).toEqual(first);
    expect(planHosts(scenarioOf(MIXED, 2)).map(decisionsOf)).not.toEqual(first);
  });

  it("are as many as the shares say, with exactly the versions and faults of the shares", () => {
    const hosts = planHosts(scenarioOf(MIXED));
    const a = hosts.filter(({ group }) => group === "a");
    const b = hosts.filter(({ group }) => group === "b");
    expect([a.length, b.length]).toEqual([150, 50]);
    expect(tally(a.map(({ version }) => version))).toEqual({ "0.160.0": 100, "0.161.0": 50 });
    expect(tally(a.flatMap(({ faults }) => faults.map(({ kind }) => kind)))).toEqual({
      fail: 15,
      silent: 6,
      config_rolled_back: 9,
      unhealthy: 3,
    });
    expect(new Set(hosts.map(({ name }) => name)).size).toBe(200);
    expect(b.filter(({ faults }) => faults.length > 0).every(({ uidOf }) => uidOf === "b-0001")).toBe(true);
  });

  it("add up for any shares", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50_000 }),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
        (hosts, parts) => {
          const whole = parts.reduce((sum, part) => sum + part, 0);
          const groups = parts.map((part) => ({ share: part / whole, hosts: undefined }));
          const counts = countsOf({ hosts, groups } as unknown as Scenario);
          expect(counts.reduce((sum, count) => sum + count, 0)).toBe(hosts);
          for (const [i, count] of counts.entries())
            expect(Math.abs(count - (hosts * (parts[i] ?? 0)) / whole)).toBeLessThan(1);
        },
      ),
    );
  });

  it("fail on the occasions that are meant, and on no other", () => {
    const failing = planHosts(scenarioOf(MIXED)).find(({ faults }) => faults.some(({ kind }) => kind === "fail"));
    if (failing === undefined) throw new Error("nobody fails");
    expect(decideAttempt(failing, 1, "0.162.0").failsAt).toMatchObject({
      step: "installing",
      failureClass: "disk_full",
    });
    expect(decideAttempt(failing, 2, "0.162.0").failsAt).toBeUndefined();
    const turning = planHosts(scenarioOf(MIXED)).find(({ faults }) =>
      faults.some(({ kind }) => kind === "config_rolled_back"),
    );
    if (turning === undefined) throw new Error("nobody rolls back");
    expect([1, 2, 3].map((n) => decideConfig(turning, n).do)).toEqual(["apply", "roll_back", "apply"]);
  });
});

describe("events", () => {
  it("happen in the order of time, each time to another sample of the right size", () => {
    const scenario = scenarioOf(MIXED);
    const hosts = planHosts(scenario);
    const all = occurrencesOf(scenario.events);
    expect(all.map(({ atMs, event }) => `${event.do} ${atMs}`)).toEqual([
      "storm 10000",
      "offline 12000",
      "storm 15000",
      "storm 20000",
    ]);
    const hit = all.map((one) => hitBy(one, hosts, 1));
    expect(hit.map(({ size }) => size)).toEqual([40, 50, 40, 40]);
    expect(hit[2]).not.toEqual(hit[0]);
    expect(Array.from(hit[1] ?? []).every((name) => name.startsWith("b-"))).toBe(true);
  });
});

describe("a spread", () => {
  const tail = { kind: "tail", medianMs: 100, p99Ms: 2_000 } as const;
  it.each([
    [{ kind: "fixed", ms: 7 } as const, 0.9, 7],
    [{ kind: "uniform", minMs: 10, maxMs: 20 } as const, 0, 10],
    [{ kind: "uniform", minMs: 10, maxMs: 20 } as const, 0.5, 15],
    [tail, 0.5, 100],
    [tail, 0.99, 2_000],
    [tail, 0, 0],
    [tail, 0.999_999_999, 20_000],
    [{ kind: "tail", medianMs: 0, p99Ms: 0 } as const, 0.99, 0],
  ])("%j at %d is %d ms", (of, chance, ms) => {
    expect(sample(of, chance)).toBe(ms);
  });
});
