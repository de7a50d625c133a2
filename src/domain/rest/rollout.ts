/** Rollouts as the API shows them. Words and states are those of the rollout itself. */
import { z } from "zod";
import { FAILURE_CLASSES, STEPS } from "../brand.ts";
import { GROUP_KINDS } from "../rollout/explain-groups.ts";
import { HOLDS } from "../rollout/holds.ts";
import { PHASES, ROLLOUT_STATES } from "../rollout/phases.ts";
import { dnsName, page, pageQuery, reason, time, timeOrNull } from "./common.ts";

export const CONTROL_NAMES = ["approve", "pause", "resume", "retry", "rollback", "abort"] as const;
export type ControlName = (typeof CONTROL_NAMES)[number];

const phase = z.enum(PHASES);
const counts = z.record(phase, z.int()).describe("targets per phase of their current attempt; every phase is there");
const approval = z.enum(["none", "required", "two_person"]);
const hold = z.object({ at: z.string(), by: z.string(), reason: z.string() });

export const rolloutSummary = z.object({
  fleet: z.string(),
  n: z.int().describe("0 is the fleet's standing catch-up"),
  kind: z.enum(["change", "catch_up"]),
  commit: z.string(),
  distribution: z.string().nullable(),
  version: z.string().nullable().describe("null: only the configuration changes"),
  state: z.enum(ROLLOUT_STATES),
  reason: z.string().describe("one sentence: why this state"),
  next: z
    .object({ what: z.string(), at: timeOrNull })
    .nullable()
    .describe("what happens by itself next, or whom it waits for"),
  holds: z.partialRecord(z.enum(HOLDS), hold).describe("why no new offers are opened"),
  ending: z.enum(["abort", "supersede", "rollback"]).nullable(),
  run: z.int().describe("grows when retry or rollback reopens a finished rollout"),
  wave: z.int().nullable().describe("the current wave, 0-based"),
  total: z.int(),
  counts,
  createdAt: time,
  startedAt: timeOrNull,
  finishedAt: timeOrNull,
  workflowId: z.string(),
  temporalUrl: z.string().nullable(),
});

const wave = z.object({
  k: z.int(),
  name: z.string(),
  approval,
  approvals: z.array(z.object({ principal: z.string(), at: z.string(), reason: z.string() })),
  bakeMs: z.int(),
  state: z.enum(["pending", "skipped", "waiting_approval", "running", "baking", "ended", "cancelled"]),
  size: z.int().nullable().describe("counted when the wave starts; null before"),
  startedAt: timeOrNull,
  finishedAt: timeOrNull,
  counts,
});

const controlButton = z.object({
  name: z.enum(CONTROL_NAMES),
  allowed: z.boolean(),
  code: z.string().nullable(),
  reason: z.string().nullable().describe("why it is not possible now"),
  needsReason: z.boolean(),
  effect: z.string(),
});

const group = z.object({
  kind: z.enum(GROUP_KINDS),
  cause: z.string().describe("a class of failure or a code"),
  says: z.string(),
  count: z.int(),
  hosts: z.array(z.string()).describe("the first 20, in the order of the plan"),
  todo: z.string().nullable(),
});

export const rolloutDetail = rolloutSummary.extend({
  policy: z.string(),
  healthWaitMs: z.int(),
  onThreshold: z.enum(["pause", "abort", "rollback"]),
  waves: z.array(wave),
  controls: z.array(controlButton),
  groups: z.array(group).describe("targets that did not arrive, by cause, the worst first"),
  noWayBack: z
    .array(z.object({ code: z.string(), count: z.int(), hosts: z.array(z.string()) }))
    .describe("targets that rollback could not bring back, by the code that says why"),
});

const step = z.object({
  step: z.enum(STEPS),
  status: z.enum(["running", "done", "failed", "skipped"]),
  startNanos: z.string().describe("nanoseconds since 1970"),
  statusNanos: z.string(),
  error: z.string(),
});
export const attempt = z.object({
  attempt: z.int(),
  direction: z.enum(["forward", "back"]),
  wave: z.int().nullable(),
  phase,
  since: time,
  deadlineAt: timeOrNull,
  notBefore: timeOrNull,
  offeredAt: timeOrNull,
  finishedAt: timeOrNull,
  failureClass: z.enum(FAILURE_CLASSES).nullable(),
  code: z.string().nullable(),
  error: z.string(),
  steps: z.array(step),
});
const next = z
  .object({ what: z.string(), at: timeOrNull })
  .nullable()
  .describe("what happens next by itself, and when if that is known; null: nothing does");
export const target = z.object({
  host: z.string().describe("UID of the collector"),
  hostName: z.string(),
  ord: z.int().describe("place in the plan's order"),
  wave: z.int().nullable(),
  fromVersion: z.string().nullable(),
  toVersion: z.string().nullable(),
  fromConfig: z.string().nullable(),
  toConfig: z.string().nullable(),
  wayBack: z.string().describe("`yes`, or the code that says why there is none"),
  connected: z.boolean(),
  runs: z.string().describe("version that the collector itself reports"),
  phase,
  since: time,
  why: z.string().describe("what this phase waits for, or why it ended so"),
  next,
  waitsFor: z.enum(["host", "person", "server", "nobody"]),
  todo: z.string().nullable().describe("what an operator can do about it; null: nothing is needed"),
  attempts: z.array(attempt),
});
const offer = z.object({
  attempt: z.int().nullable().describe("null: a withdrawal, which belongs to no attempt"),
  kind: z.enum(["package", "config", "withdraw"]),
  direction: z.enum(["forward", "back", "take_back", "withdraw"]),
  version: z.string().nullable(),
  config: z.string().nullable(),
  openedAt: time,
  sentAt: timeOrNull,
  closedAt: timeOrNull,
  closeReason: z.string().nullable(),
});
export const targetDetail = target.extend({
  offers: z.array(offer).describe("all that were made to it, oldest first"),
});

export const rolloutPage = page(rolloutSummary);
export const targetPage = page(target);
export const rolloutParams = z.object({ fleet: dnsName, n: z.coerce.number().int().min(0).max(1_000_000_000) });
export const targetParams = rolloutParams.extend({
  host: z.string().min(1).max(255).describe("UID of the collector, or its host name"),
});
export const rolloutQuery = pageQuery.extend({
  fleet: dnsName.optional(),
  cursor: z.iso.datetime().optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});
export const targetQuery = pageQuery.extend({
  phase: phase.optional(),
  wave: z.coerce.number().int().min(0).optional(),
  host: z.uuid().optional(),
  cursor: z
    .string()
    .regex(/^\d{1,9}$/)
    .optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(200),
});
export const controlBody = z
  .strictObject({ reason: reason.optional(), wave: z.string().min(1).max(63).optional() })
  .nullish()
  .describe("reason is required for abort, rollback, and resume after a threshold");
export const controlAnswer = z.object({
  changed: z.boolean(),
  state: z.string(),
  message: z.string(),
  pending: z.literal(true).optional().describe("the hold stands; the workflow follows when it can"),
});
