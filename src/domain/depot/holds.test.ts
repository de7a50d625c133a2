import { describe, expect, test } from "vitest";
import { droppedHolds, holdsAfter, newestHolds, NO_HOLDS, type Said } from "./holds.ts";

const at4 = { generation: 4, held: ["a", "b"] };
const said = (generation: number, artifacts: string, more: Partial<Said> = {}): Said => ({
  generation,
  artifacts: new Set(artifacts),
  ...more,
});

describe("a configuration that drops what is held", () => {
  test.each<[string, Said, string[]]>([
    ["keeps it", said(5, "abc"), []],
    ["drops one", said(5, "bc"), ["a"]],
    ["drops both", said(5, "c"), ["a", "b"]],
    ["drops one on purpose", said(5, "bc", { released: ["a"] }), []],
    ["lets go another than it drops", said(5, "bc", { released: ["b"] }), ["a"]],
    ["drops it and does not hold it any more in one step", said(5, "bc", { held: ["b"] }), ["a"]],
  ])("%s", (_, next, dropped) => expect(droppedHolds(at4, next)).toEqual(dropped));
});

describe("what is held afterwards", () => {
  test.each<[string, Said, string[]]>([
    ["says nothing: as it was", said(5, "abc"), ["a", "b"]],
    ["holds another too", said(5, "abc", { held: ["a", "b", "c"] }), ["a", "b", "c"]],
    ["holds less at a higher generation", said(5, "abc", { held: ["b"] }), ["b"]],
    [
      "holds less at the same generation: who knows fewer users takes nothing away",
      said(4, "abc", { held: ["c"] }),
      ["a", "b", "c"],
    ],
    ["has let one go and drops it", said(5, "bc", { released: ["a"] }), ["b"]],
  ])("%s", (_, next, held) => expect(holdsAfter(at4, next)).toEqual({ generation: next.generation, held }));
});

test("of several disks the newest counts, and all that is equally new", () => {
  expect(newestHolds([])).toEqual(NO_HOLDS);
  expect(newestHolds([{ generation: 2, held: ["z"] }, at4, { generation: 4, held: ["c", "a"] }])).toEqual({
    generation: 4,
    held: ["a", "b", "c"],
  });
});
