/** Configuration of one agent, and commands to it, as the API shows them. */
import { z } from "zod";
import { reason, time, timeOrNull, uid } from "./common.ts";

export const agentConfig = z.object({
  uid,
  hostName: z.string(),
  sent: z
    .object({
      hash: z.string(),
      at: timeOrNull,
      yaml: z.string().nullable().describe("the very bytes; null: not kept"),
    })
    .nullable()
    .describe("what it was sent last"),
  effective: z
    .object({
      files: z.array(z.object({ name: z.string(), yaml: z.string().nullable().describe("null: cannot be read") })),
    })
    .nullable()
    .describe(
      "what it runs by its own report; secrets are masked, and what came from its environment is shown as sent",
    ),
  drift: z
    .array(z.object({ path: z.string() }))
    .nullable()
    .describe("where it differs from what was sent; null: nothing to compare"),
  diff: z
    .string()
    .nullable()
    .describe("unified, over what was sent only; defaults and the supervisor's own parts left out"),
});

export const commandBody = z.strictObject({ reason: reason.optional() }).nullish();
export const commandAnswer = z.object({
  uid,
  hostName: z.string(),
  command: z.enum(["restart", "resync"]),
  at: time,
  configHash: z.string().nullable().describe("what a resync sent; null: only full state was asked for"),
});
