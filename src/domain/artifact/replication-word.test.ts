import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  REPLICATION_WORDS,
  replicationWord,
  whatHappened,
  type CopyCounts,
  type ReplicationWord,
} from "./replication-word.ts";

const counts = (it: Partial<CopyCounts>): CopyCounts => ({
  have: 0,
  lacking: 0,
  silent: 0,
  staged: 0,
  pending: 0,
  ...it,
});

describe("the word of an artifact", () => {
  test.each<[string, Partial<CopyCounts>, ReplicationWord]>([
    ["nobody has it", { lacking: 3 }, "lost"],
    ["only nodes that do not answer have it", { lacking: 1, silent: 2 }, "unreachable"],
    ["staged, on its way", { lacking: 3, staged: 1 }, "none"],
    ["two of three", { have: 2, lacking: 1 }, "degraded"],
    ["two, and the third does not answer", { have: 2, silent: 1 }, "degraded"],
    ["two and transfers run: it is still too few", { have: 2, lacking: 1, pending: 1 }, "degraded"],
    ["three, and a fourth lacks it", { have: 3, lacking: 1 }, "partial"],
    ["the same, and it is coming", { have: 3, lacking: 1, pending: 1 }, "healing"],
    ["everywhere", { have: 3 }, "replicated"],
  ])("%s", (_, it, word) => {
    expect(replicationWord(true, counts(it), 3)).toBe(word);
  });
  test("what nobody wants has none", () => expect(replicationWord(false, counts({ have: 3 }), 3)).toBe("none"));

  test("replicated is never said while a node that answers lacks it, or too few have it", () => {
    const some = fc.nat(6);
    const any = fc.record({ have: some, lacking: some, silent: some, staged: some, pending: some });
    fc.assert(
      fc.property(any, fc.integer({ min: 1, max: 5 }), (it, minCopies) => {
        if (replicationWord(true, it, minCopies) !== "replicated") return;
        expect(it.lacking).toBe(0);
        expect(it.have).toBeGreaterThanOrEqual(minCopies);
      }),
    );
  });
});

describe("a change of the word", () => {
  test.each<[ReplicationWord | undefined, ReplicationWord, string | undefined, boolean]>([
    [undefined, "none", undefined, false],
    ["none", "replicated", "replicated", false],
    ["replicated", "degraded", "degraded", true],
    ["degraded", "degraded", undefined, false],
    ["degraded", "lost", "lost", true],
    ["lost", "degraded", "degraded", false],
    ["degraded", "partial", "partial", false],
    ["replicated", "partial", "partial", false],
    ["partial", "replicated", "healed", false],
    ["lost", "replicated", "healed", false],
    ["replicated", "unreachable", "unreachable", true],
    [undefined, "degraded", "degraded", true],
  ])("%s to %s", (before, after, kind, tell) => {
    expect(whatHappened(before, after)).toEqual(kind === undefined ? undefined : { kind, tell });
  });
  test("what is worse than before, and bad, is always told", () => {
    for (const before of REPLICATION_WORDS)
      if (before !== "lost") expect(whatHappened(before, "lost")).toEqual({ kind: "lost", tell: true });
  });
});
