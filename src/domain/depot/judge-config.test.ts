import { expect, test } from "vitest";
import { judgeConfig, type Held, type Judgement, type Next } from "./judge-config.ts";

const OURS = "018f0000-0000-7000-8000-000000000001";
const THEIRS = "018f0000-0000-7000-8000-000000000002";
const next = (generation: number, digest = "same", epoch = OURS): Next => ({ epoch, generation, digest });
const known = (generation: number, keepUpTo?: number): Held => ({
  kind: "known",
  epoch: OURS,
  generation,
  digest: "same",
  keepUpTo,
});
const unreadable = (epoch?: string): Held => ({ kind: "unreadable", path: "/d", epoch });
const outcome = (judgement: Judgement): string =>
  judgement.do === "refuse"
    ? judgement.code
    : judgement.do === "accept" && judgement.keepUpTo !== undefined
      ? `accept, deletes nothing up to ${judgement.keepUpTo}`
      : judgement.do;

test.each<[string, Held, Next, string]>([
  // generation × set, of the same installation
  ["an older generation, same set", known(3), next(2), "depot_generation"],
  ["an older generation, other set", known(3), next(2, "other"), "depot_generation"],
  ["the same generation, same set", known(3), next(3), "keep"],
  ["the same generation, other set", known(3), next(3, "other"), "depot_generation"],
  ["a newer generation, same set", known(3), next(4), "accept"],
  ["a newer generation, other set", known(3), next(4, "other"), "accept"],
  // R6: a foreign installation, whatever its number
  ["a foreign epoch with a higher generation", known(3), next(100, "other", THEIRS), "depot_epoch"],
  ["a foreign epoch with the same generation and set", known(3), next(3, "same", THEIRS), "depot_epoch"],
  [
    "a foreign epoch at an empty node that remembers its own",
    { kind: "none", epoch: OURS, hasFiles: false },
    next(9, "x", THEIRS),
    "depot_epoch",
  ],
  ["a foreign epoch at an unreadable node", unreadable(OURS), next(9, "x", THEIRS), "depot_epoch"],
  // first configurations
  ["the first of a node without any file", { kind: "none", hasFiles: false }, next(7), "accept"],
  [
    "the first of a node with files and a known epoch",
    { kind: "none", epoch: OURS, hasFiles: true },
    next(7),
    "accept, deletes nothing up to 7",
  ],
  ["the first of a node with files and no epoch", { kind: "none", hasFiles: true }, next(7), "depot_config_unreadable"],
  // unreadable is not absent
  ["one of its epoch at an unreadable node", unreadable(OURS), next(1), "accept, deletes nothing up to 1"],
  ["any at an unreadable node without epoch", unreadable(), next(5), "depot_config_unreadable"],
  // the hold on deletions ends with the next higher generation only
  ["the same again while deletions are held", known(5, 5), next(5), "keep"],
  ["the next higher generation after a hold", known(5, 5), next(6), "accept"],
])("%s", (_, held, proposed, expected) => {
  expect(outcome(judgeConfig(held, proposed))).toBe(expected);
});
