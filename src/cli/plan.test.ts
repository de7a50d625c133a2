/** What `myrctl plan` prints, as golden text. */
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { PlanPreview } from "../domain/rest/plan.ts";
import { describePlan } from "./plan.ts";

const golden = (name: string): string => fileURLToPath(new URL(`./golden/${name}.txt`, import.meta.url));
const host = (name: string) => ({ host: `uid-${name}`, hostName: name });
type Fleet = PlanPreview["fleets"][number];
const fleet = (change: Partial<Fleet>): Fleet => ({
  fleet: "edge",
  version: "0.162.0",
  policy: "careful",
  outcome: "nothing",
  because: "nothing to change",
  targets: 0,
  up: 0,
  down: 0,
  configs: 0,
  maxConcurrent: 1,
  waves: [],
  startsAt: null,
  endsAt: null,
  withoutWayBack: 0,
  withoutWayBackHosts: [],
  refused: 0,
  refusedHosts: [],
  leftOut: 0,
  leftOutHosts: [],
  joiners: 0,
  catchUp: 0,
  held: null,
  ...change,
});
const wave = (k: number, name: string, change: Partial<Fleet["waves"][number]>): Fleet["waves"][number] => ({
  k,
  name,
  approval: "none",
  bakeMs: 0,
  size: 0,
  offline: 0,
  startsAt: null,
  endsAt: null,
  hosts: [],
  ...change,
});
const plan: PlanPreview = {
  revision: "main",
  commit: "1a2b3c4d5e6f7a8b9c0d1a2b3c4d5e6f7a8b9c0d",
  valid: true,
  issues: [],
  agents: 14,
  unassigned: 1,
  cancelled: [{ fleet: "old", n: 4 }],
  fleets: [
    fleet({
      outcome: "rollout",
      because: "the commit changes what hosts should have",
      targets: 7,
      up: 7,
      maxConcurrent: 2,
      startsAt: "2026-11-30T22:00:00.000Z",
      endsAt: "2026-12-01T00:30:00.000Z",
      withoutWayBack: 1,
      withoutWayBackHosts: [host("web-9")],
      refused: 2,
      refusedHosts: [
        { ...host("web-7"), code: "updater_missing", message: "web-7 has no linked updater" },
        { ...host("web-8"), code: "updater_missing", message: "web-8 has no linked updater" },
      ],
      leftOut: 1,
      leftOutHosts: [
        {
          ...host("db-1"),
          code: "downgrade_not_allowed",
          message: "from 0.163.0 to 0.162.0 is a downgrade that the fleet does not allow",
        },
      ],
      waves: [
        wave(0, "canary", {
          size: 1,
          bakeMs: 600_000,
          startsAt: "2026-11-30T22:00:00.000Z",
          endsAt: "2026-11-30T22:17:00.000Z",
        }),
        wave(1, "empty", { approval: "two_person" }),
        wave(2, "rest", {
          size: 4,
          offline: 1,
          approval: "required",
          startsAt: "2026-11-30T22:17:00.000Z",
          endsAt: "2026-12-01T00:30:00.000Z",
        }),
      ],
    }),
    fleet({
      fleet: "core",
      outcome: "held",
      because: "rollout 3 was aborted: 1 succeeded, 2 cancelled",
      held: { n: 3, because: "rollout 3 was aborted: 1 succeeded, 2 cancelled" },
      catchUp: 2,
    }),
    fleet({ fleet: "quiet" }),
  ],
};

test("waves with counts and times, hosts that cannot be offered, held and cancelled ones", async () => {
  await expect(describePlan(plan, false)).toMatchFileSnapshot(golden("plan"));
});

test("a revision that is not valid plans nothing and says where", async () => {
  const invalid: PlanPreview = {
    ...plan,
    valid: false,
    fleets: [],
    issues: [
      {
        code: "unknown_field",
        severity: "error",
        file: "fleets/a.yaml",
        line: 6,
        column: 3,
        path: "spec",
        message: "blueprnt is not a known field",
      },
    ],
  };
  await expect(describePlan(invalid, false)).toMatchFileSnapshot(golden("plan-invalid"));
});
