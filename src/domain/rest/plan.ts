/** A plan that is only shown: what a revision would change, without doing it. */
import { z } from "zod";
import { timeOrNull } from "./common.ts";
import { issue } from "./gitops.ts";

const MAX_FILES = 20_000;

export const previewBody = z
  .strictObject({
    revision: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe("branch, tag or commit of the repository; absent: the head of the branch that is followed"),
    files: z
      .array(z.strictObject({ path: z.string().min(1).max(500), content: z.string() }))
      .max(MAX_FILES)
      .optional()
      .describe("the files at and below gitops.path, in place of a revision: a working tree"),
  })
  .nullish();

const approval = z.enum(["none", "required", "two_person"]);
const host = z.object({ host: z.string(), hostName: z.string(), code: z.string(), message: z.string() });

const wave = z.object({
  k: z.int(),
  name: z.string(),
  approval,
  bakeMs: z.int(),
  size: z.int(),
  offline: z.int().describe("of those: not connected now"),
  startsAt: timeOrNull,
  endsAt: timeOrNull,
  hosts: z.array(z.object({ host: z.string(), hostName: z.string() })).describe("the first 1,000, in the plan's order"),
});

export const OUTCOMES = ["rollout", "supersedes", "waits", "held", "nothing"] as const;
export const fleetPreview = z.object({
  fleet: z.string(),
  version: z.string().nullable().describe("null: Git manages the configuration only"),
  policy: z.string(),
  outcome: z
    .enum(OUTCOMES)
    .describe(
      "`rollout`: planned at once; `supersedes`, `waits`: after the active one; `held`: the change is not planned again; `nothing`",
    ),
  because: z.string(),
  targets: z.int(),
  up: z.int().describe("targets that get a newer version"),
  down: z.int().describe("targets that get an older version"),
  configs: z.int().describe("targets that get another configuration"),
  maxConcurrent: z.int(),
  waves: z.array(wave),
  startsAt: timeOrNull.describe("under today's windows; null: nothing to do, or no window ever opens"),
  endsAt: timeOrNull.describe("an estimate: approvals come at once, nobody is offline, nothing fails"),
  withoutWayBack: z.int().describe("targets with no signed way back"),
  withoutWayBackHosts: z.array(host.pick({ host: true, hostName: true })).describe("the first 1,000"),
  refused: z.int(),
  refusedHosts: z.array(host).describe("targets that cannot be offered, with the code; the first 1,000"),
  leftOut: z.int(),
  leftOutHosts: z.array(host).describe("hosts that are not as Git wants them and stay so; the first 1,000"),
  joiners: z.int().describe("hosts that join the last wave of the active rollout"),
  catchUp: z.int().describe("hosts that catch up without a rollout"),
  held: z.object({ n: z.int(), because: z.string() }).nullable(),
});

export const planPreview = z.object({
  revision: z.string().describe("what was asked for"),
  commit: z.string().nullable().describe("null: files"),
  valid: z.boolean().describe("false: it would not be applied, and nothing is planned"),
  issues: z.array(issue).describe("the first 1,000"),
  agents: z.int(),
  unassigned: z.int(),
  fleets: z.array(fleetPreview),
  cancelled: z
    .array(z.object({ fleet: z.string(), n: z.int() }))
    .describe("open rollouts of fleets that it does not have: they would be cancelled"),
});
export type PlanPreview = z.output<typeof planPreview>;
