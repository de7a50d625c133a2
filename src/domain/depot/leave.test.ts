import fc from "fast-check";
import { expect, test } from "vitest";
import { judgeLeaving, type Held } from "./leave.ts";

const held = (it: Partial<Held>): Held => ({ sha256: "a", elsewhere: 0, otherwise: 0, staged: 0, ...it });

test.each<[string, Held[], number, number, object]>([
  ["who has nothing may go", [], 3, 0, { safe: true }],
  ["three others have it", [held({ elsewhere: 3 })], 3, 5, { safe: true }],
  ["two of many", [held({ elsewhere: 2 })], 3, 5, { safe: false, rare: ["a"] }],
  ["both of the two others that answer", [held({ elsewhere: 2 })], 3, 2, { safe: true }],
  ["nobody answers", [held({})], 3, 0, { safe: false, lost: ["a"] }],
  ["only one that does not answer has it", [held({ otherwise: 1 })], 3, 2, { safe: false, rare: ["a"], lost: [] }],
  ["only the staging has it", [held({ staged: 1 })], 3, 2, { safe: false, rare: ["a"], lost: [] }],
  [
    "one of many is enough to stay",
    [held({ elsewhere: 3 }), held({ sha256: "b" })],
    3,
    3,
    { safe: false, lost: ["b"] },
  ],
])("%s", (_, all, minCopies, others, expected) => {
  expect(judgeLeaving(all, minCopies, others)).toMatchObject(expected);
});

test("nobody leaves with the last known copy, and each unsafe artifact is named once", () => {
  const some = fc.nat(4);
  const one = fc.record({ elsewhere: some, otherwise: some, staged: some });
  fc.assert(
    fc.property(
      fc.array(one, { maxLength: 8 }),
      fc.integer({ min: 1, max: 4 }),
      fc.nat(6),
      (rows, minCopies, others) => {
        const all = rows.map((row, i) => ({ ...row, sha256: String(i) }));
        const { safe, lost, rare } = judgeLeaving(all, minCopies, others);
        expect(safe).toBe(lost.length + rare.length === 0);
        expect(new Set([...lost, ...rare]).size).toBe(lost.length + rare.length);
        if (safe) for (const it of all) expect(it.elsewhere).toBeGreaterThanOrEqual(1);
      },
    ),
  );
});
