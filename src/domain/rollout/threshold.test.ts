import { expect, test } from "vitest";
import { shareOf } from "../gitops/share.ts";
import { describeThreshold, judgeThreshold } from "./threshold.ts";

test.each([
  ["20%", 10, 2, false],
  ["20%", 10, 3, true],
  [0, 10, 1, true],
  [0, 10, 0, false],
  ["10%", 1, 1, true],
  [1, 1, 1, false],
  ["100%", 4, 4, false],
] as const)("%s of %i targets with %i failures", (share, size, failures, broken) => {
  const tally = { size, failures };
  const verdict = judgeThreshold({ wave: shareOf(share), rollout: null }, { wave: tally, rollout: tally });
  expect(verdict.broken).toBe(broken);
});

test("each threshold that is given is checked", () => {
  const threshold = { wave: shareOf("50%"), rollout: shareOf(1) };
  const verdict = judgeThreshold(threshold, { wave: { size: 10, failures: 2 }, rollout: { size: 100, failures: 2 } });
  expect(verdict).toEqual({ broken: true, of: "rollout", failures: 2, allowed: 1 });
  if (verdict.broken) expect(describeThreshold(verdict)).toBe("2 failed in this rollout, 1 is allowed");
});

test("without any threshold nothing stops it", () => {
  const tally = { size: 3, failures: 3 };
  expect(judgeThreshold({ wave: null, rollout: null }, { wave: tally, rollout: tally })).toEqual({ broken: false });
});
