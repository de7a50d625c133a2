/** What an operator reads of a whole rollout at night: one screen, kept as a file. */
import { expect, test } from "vitest";
import type { z } from "zod";
import type { rolloutDetail, target } from "../domain/rest/rollout.ts";
import { groupCauses, type EndCount } from "../domain/rollout/explain-groups.ts";
import { noCounts } from "../domain/rollout/phases.ts";
import { rolloutText } from "./rollout-text.ts";

const golden = (name: string, text: string) => expect(`${text}\n`).toMatchFileSnapshot(`golden/${name}.txt`);
type Detail = z.output<typeof rolloutDetail>;

const end = (over: Partial<EndCount>): EndCount => ({
  phase: "failed",
  direction: "forward",
  failureClass: null,
  code: null,
  count: 1,
  example: "",
  hosts: ["edge-1"],
  ...over,
});
const ENDS: EndCount[] = [
  end({ phase: "cancelled", code: "updater_missing", count: 2, hosts: ["edge-8", "edge-9"] }),
  end({ phase: "cancelled", code: "moved", hosts: ["edge-11"] }),
  end({
    phase: "rolled_back",
    failureClass: "health",
    count: 7,
    example: "health: 3 of 3 checks failed",
    hosts: ["edge-1", "edge-2", "edge-3", "edge-4", "edge-5", "edge-6"],
  }),
  end({ failureClass: "timeout", example: "timeout: no progress in offered until the deadline", hosts: ["edge-12"] }),
  end({ direction: "back", phase: "cancelled", code: "no_way_back", hosts: ["edge-10"] }),
];

const wave = (
  k: number,
  name: string,
  state: Detail["waves"][number]["state"],
  approvals: Detail["waves"][number]["approvals"] = [],
): Detail["waves"][number] => ({
  k,
  name,
  approval: approvals.length > 0 ? "required" : "none",
  approvals,
  bakeMs: 0,
  state,
  size: 6,
  startedAt: null,
  finishedAt: null,
  counts: { ...noCounts(), succeeded: 3, rolled_back: 2 },
});
const DETAIL: Detail = {
  fleet: "edge",
  n: 7,
  kind: "change",
  commit: "9fceb02d0ae598e95dc970b74767f19372d61af8",
  distribution: "otelcol-contrib",
  version: "0.162.0",
  state: "paused",
  reason: "threshold: 8 of 20 failed",
  next: { what: "a person resumes, aborts or rolls back", at: null },
  holds: { threshold: { at: "2026-11-29T02:14:07.123Z", by: "system", reason: "8 of 20 failed" } },
  ending: null,
  run: 1,
  wave: 1,
  total: 20,
  counts: { ...noCounts(), succeeded: 8, rolled_back: 7, failed: 1, cancelled: 4 },
  createdAt: "2026-11-29T02:00:00.000Z",
  startedAt: "2026-11-29T02:01:00.000Z",
  finishedAt: null,
  workflowId: "rollout/edge/7",
  temporalUrl: null,
  policy: "careful",
  healthWaitMs: 300_000,
  onThreshold: "pause",
  waves: [
    wave(0, "canary", "ended", [{ principal: "ada", at: "2026-11-29T02:01:00.000Z", reason: "" }]),
    wave(1, "rest", "running"),
  ],
  controls: [
    { name: "resume", allowed: true, code: null, reason: null, needsReason: true, effect: "clear the holds and go on" },
    {
      name: "approve",
      allowed: false,
      code: "control_conflict",
      reason: "no wave waits for an approval",
      needsReason: false,
      effect: "let the waiting wave start",
    },
  ],
  groups: groupCauses(ENDS),
  noWayBack: [{ code: "no_way_back", count: 1, hosts: ["edge-10"] }],
};
const TARGET: z.output<typeof target> = {
  host: "0190a000-0000-7000-8000-000000000007",
  hostName: "edge-7",
  ord: 6,
  wave: 1,
  fromVersion: "0.161.0",
  toVersion: "0.162.0",
  fromConfig: null,
  toConfig: null,
  wayBack: "yes",
  connected: true,
  runs: "0.161.0",
  phase: "pending",
  since: "2026-11-29T02:14:07.123Z",
  why: "the rollout is paused since 2026-11-29 02:14:07Z: threshold: 8 of 20 failed",
  next: null,
  waitsFor: "person",
  todo: "myrctl rollouts resume|abort|rollback edge/7 --reason …",
  attempts: [],
};

test("rollouts show: paused by its threshold, with causes and controls", () =>
  golden("rollout-paused", rolloutText(DETAIL, [TARGET])));

test("rollouts show: nothing went wrong", () =>
  golden(
    "rollout-well",
    rolloutText(
      {
        ...DETAIL,
        state: "succeeded",
        reason: "20 succeeded",
        next: null,
        holds: {},
        counts: { ...noCounts(), succeeded: 20 },
        groups: [],
        noWayBack: [],
      },
      undefined,
    ),
  ));

test.each<[string, Partial<EndCount>, string, string]>([
  ["a failure by its class", { failureClass: "health" }, "failed", "health"],
  ["a host that fell ill after its success", { phase: "succeeded", failureClass: "regressed" }, "failed", "regressed"],
  ["a failure without class or code", {}, "failed", "no_cause"],
  [
    "a take-back that could not be offered keeps its class",
    { failureClass: "configuration", code: "no_way_back" },
    "failed",
    "configuration",
  ],
  ["a way back that failed", { direction: "back", failureClass: "timeout" }, "way_back_refused", "timeout"],
  [
    "a way back of a host that has gone",
    { direction: "back", phase: "cancelled", code: "deleted" },
    "takes_no_part",
    "deleted",
  ],
  [
    "a target that cannot be offered",
    { phase: "cancelled", code: "capability_off" },
    "cannot_be_offered",
    "capability_off",
  ],
  [
    "a target that cannot be offered, with its class too",
    { phase: "cancelled", code: "incompatible", failureClass: "incompatible" },
    "cannot_be_offered",
    "incompatible",
  ],
  ["an offer that was taken back", { phase: "cancelled", failureClass: "withdrawn" }, "takes_no_part", "withdrawn"],
  [
    "a code without a text of its own",
    { phase: "cancelled", code: "artifact_revoked" },
    "cannot_be_offered",
    "artifact_revoked",
  ],
])("groups: %s", (_, over, kind, cause) => expect(groupCauses([end(over)])[0]).toMatchObject({ kind, cause }));

test("groups: the worst first, then the largest, and nothing is left out", () => {
  const groups = groupCauses(ENDS);
  expect(groups.map(({ cause, count }) => `${cause} ${count}`)).toEqual([
    "health 7",
    "timeout 1",
    "no_way_back 1",
    "updater_missing 2",
    "moved 1",
  ]);
});
