import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { reconnectDelayMs, retryAfterMs } from "./backoff.ts";

describe("reconnecting", () => {
  it("begins at once but spread, grows by half each time, and is never longer than 90 s by itself", () => {
    expect(reconnectDelayMs(0, 0)).toBe(0);
    expect(reconnectDelayMs(0, 0.999)).toBeLessThanOrEqual(500);
    const middle = [1, 2, 3, 10, 20, 1_000].map((attempt) => reconnectDelayMs(attempt, 0.5));
    expect(middle).toEqual([750, 1_125, 1_688, 28_833, 60_000, 60_000]);
    expect(reconnectDelayMs(1_000, 0.999)).toBeLessThanOrEqual(90_000);
  });
  it("is never earlier than the server said", () => {
    fc.assert(
      fc.property(
        fc.nat(50),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        fc.nat(600_000),
        (attempt, chance, least) => {
          expect(reconnectDelayMs(attempt, chance, least)).toBeGreaterThanOrEqual(least);
        },
      ),
      { seed: 1, numRuns: 500 },
    );
  });
});

describe("Retry-After", () => {
  const now = Date.parse("2026-11-29T00:00:00Z");
  it.each([
    ["7", 7_000],
    [" 120 ", 120_000],
    ["Sun, 29 Nov 2026 00:00:30 GMT", 30_000],
    ["Sat, 28 Nov 2026 00:00:30 GMT", 0],
    ["soon", undefined],
    [undefined, undefined],
  ])("%j means %s ms", (header, ms) => {
    expect(retryAfterMs(header, now)).toBe(ms);
  });
});
