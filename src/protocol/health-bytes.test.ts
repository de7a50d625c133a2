import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeHealth, encodeHealth } from "./codec.ts";
import { isSameButTimes } from "./health-bytes.ts";
import type { ComponentHealth } from "./messages.ts";

const component = (more: Partial<ComponentHealth> = {}): ComponentHealth => ({
  healthy: true,
  startTimeUnixNano: 1_764_000_000_123_456_789n,
  lastError: "",
  status: "StatusOK",
  statusTimeUnixNano: 1_764_000_000_123_456_789n,
  componentHealthMap: new Map(),
  ...more,
});
const report = (time: bigint, last: Partial<ComponentHealth> = {}): ComponentHealth =>
  component({
    statusTimeUnixNano: time,
    componentHealthMap: new Map([
      ["extensions", component({ statusTimeUnixNano: time })],
      [
        "pipeline:traces",
        component({
          statusTimeUnixNano: time,
          componentHealthMap: new Map([["receiver:otlp", component({ statusTimeUnixNano: time, ...last })]]),
        }),
      ],
    ]),
  });
const bytesOf = (health: ComponentHealth): Buffer => Buffer.from(encodeHealth(health));
const same = (a: ComponentHealth, b: ComponentHealth): boolean => isSameButTimes(bytesOf(a), bytesOf(b));
/** What remains of a report without the times of its statuses. */
const timeless = (health: ComponentHealth): ComponentHealth => ({
  ...health,
  statusTimeUnixNano: 0n,
  componentHealthMap: new Map(Array.from(health.componentHealthMap, ([key, inner]) => [key, timeless(inner)])),
});

describe("two health reports", () => {
  it("are the same when only times of statuses differ, at every level", () => {
    expect(same(report(5n), report(6n))).toBe(true);
    expect(same(report(5n), report(2n ** 64n - 1n))).toBe(true);
  });
  it.each<[string, Partial<ComponentHealth>]>([
    ["a start time", { startTimeUnixNano: 7n }],
    ["a status", { status: "StatusKO" }],
    ["a health", { healthy: false }],
    ["an error", { lastError: "x" }],
    ["an attribute", { attributes: new Map([["a", "b"]]) }],
    ["a component", { componentHealthMap: new Map([["x", component()]]) }],
  ])("are not when %s differs, however deep", (_, more) => {
    expect(same(report(5n), report(6n, more))).toBe(false);
  });
  it("are not when a time is there in one of them only", () => {
    expect(same(report(5n), report(0n))).toBe(false);
  });
  it("are the same only if the decoder finds nothing but times, whatever bytes are damaged", () => {
    const known = bytesOf(report(5n));
    const damaged = fc
      .array(fc.tuple(fc.nat(known.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 })
      .map((changes) => {
        const copy = Buffer.from(known);
        for (const [at, value] of changes) copy[at] = value;
        return copy;
      });
    let equal = 0;
    fc.assert(
      fc.property(damaged, (got) => {
        if (!isSameButTimes(known, got)) return;
        equal++;
        expect(timeless(decodeHealth(got))).toEqual(timeless(decodeHealth(known)));
      }),
      { seed: 20261130, numRuns: 20_000 },
    );
    expect(equal).toBeGreaterThan(100);
  });
});
