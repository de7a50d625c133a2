/** The server itself, and the one who asks, as the API shows them. */
import { z } from "zod";
import { time, timeOrNull } from "./common.ts";
import { ROLES } from "./roles.ts";

export const me = z.object({
  principal: z.string(),
  role: z.enum(ROLES),
  via: z.enum(["token", "session"]),
  now: time.describe("the server's clock"),
});

export const system = z.object({
  version: z.string(),
  mode: z.enum(["production", "development"]),
  now: time,
  startedAt: time,
  publicUrl: z.string(),
  temporal: z.object({ reachable: z.boolean(), namespace: z.string(), uiUrl: z.string().nullable() }),
  workers: z
    .array(
      z.object({
        host: z.string(),
        draining: z
          .object({
            since: time,
            until: time.describe("when it ends at the latest"),
            archives: z.int().describe("that depots lack"),
          })
          .nullable(),
      }),
    )
    .describe("worker processes that live"),
  counts: z.object({
    collectors: z.int(),
    updaters: z.int(),
    unknown: z.int(),
    connected: z.int(),
    healthyCollectors: z.int(),
    unassigned: z.int(),
  }),
  git: z.object({
    state: z.enum(["never", "ok", "error"]),
    seenCommit: z.string().nullable().describe("head of the branch at the last fetch"),
    appliedCommit: z.string().nullable().describe("the commit in force"),
    appliedAt: timeOrNull,
    checkedAt: timeOrNull,
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
  }),
});

export const ready = z.object({
  ready: z.boolean(),
  degraded: z.boolean().describe("Temporal is away: pause and abort still hold, other controls wait"),
  database: z.boolean(),
  temporal: z.boolean(),
  draining: z
    .int()
    .nullable()
    .describe("workers that were told to end and wait until what they have staged is replicated; null: not known"),
});
