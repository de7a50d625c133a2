import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { shareOf } from "../gitops/share.ts";
import { pickWave, previewWaves, type Member, type WaveRule } from "./waves.ts";

const members = (count: number, change: (i: number) => Partial<Member> = () => ({})): Member[] =>
  Array.from({ length: count }, (_, i) => ({
    host: `h${i}`,
    ord: i,
    matches: [],
    joined: false,
    state: "free" as const,
    ...change(i),
  }));
const rules = (...upTo: (string | number)[]): WaveRule[] =>
  upTo.map((value, k) => ({ k, upTo: shareOf(value), selects: false, last: k === upTo.length - 1 }));

describe("shares are cumulative and rounded up (D1)", () => {
  test.each([
    [1, [1, 0, 0]],
    [3, [1, 1, 1]],
    [7, [1, 3, 3]],
    [10, [1, 4, 5]],
  ])("10%%, 50%%, 100%% of %i", (count, sizes) => {
    expect(previewWaves(rules("10%", "50%", "100%"), members(count))).toEqual(sizes);
  });

  test("whatever the waves, every target is in exactly one", () => {
    const share = fc.oneof(
      fc.integer({ min: 0, max: 600 }),
      fc.integer({ min: 0, max: 100 }).map((p) => `${p}%`),
    );
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 500 }),
        fc.array(share, { minLength: 1, maxLength: 6 }),
        (count, shares) => {
          const sizes = previewWaves(rules(...shares), members(count));
          expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(count);
        },
      ),
      { numRuns: 200, seed: 7 },
    );
  });
});

describe("who counts", () => {
  test("what earlier waves took counts; cancelled targets do not", () => {
    const now = members(10, (i) => ({ state: i === 0 ? "taken" : i === 1 ? "out" : "free" }));
    expect(pickWave({ k: 1, upTo: shareOf("50%"), selects: false, last: false }, now)).toEqual([
      "h2",
      "h3",
      "h4",
      "h5",
    ]);
  });

  test("a wave with a selector takes matching targets only, its share is of those", () => {
    const now = members(10, (i) => ({ matches: i >= 6 ? [0] : [] }));
    expect(pickWave({ k: 0, upTo: shareOf("50%"), selects: true, last: false }, now)).toEqual(["h6", "h7"]);
    expect(pickWave({ k: 0, upTo: null, selects: true, last: false }, now)).toHaveLength(4);
  });

  test("joiners change no share and go to the last wave", () => {
    const now = members(10, (i) => ({ joined: i >= 8 }));
    const sizes = previewWaves(rules("50%", "100%"), now);
    expect(sizes).toEqual([4, 6]);
    expect(pickWave({ k: 0, upTo: shareOf("100%"), selects: false, last: false }, now)).not.toContain("h8");
  });

  test("the order is the plan's, not the list's", () => {
    const now = members(4, (i) => ({ ord: 3 - i }));
    expect(pickWave({ k: 0, upTo: shareOf(2), selects: false, last: false }, now)).toEqual(["h3", "h2"]);
  });
});
