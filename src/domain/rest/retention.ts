/** Pins and retention over REST. */
import { z } from "zod";
import { reason, time, timeOrNull } from "./common.ts";

export const pinBody = z
  .strictObject({
    reason: reason.optional(),
    until: z.iso.datetime({ offset: true }).optional().describe("left out: until it is unpinned"),
  })
  .nullish();
export const unpinBody = z.strictObject({ reason: reason.optional() }).nullish();
export const pinAnswer = z.object({
  distribution: z.string(),
  version: z.string(),
  pinned: z.boolean(),
  changed: z.boolean(),
  until: timeOrNull,
  archives: z.int().describe("of it that depots keep; 0: there is nothing to keep yet"),
});

const pin = z.object({ by: z.string(), reason: z.string(), at: time, until: timeOrNull });
export const retentionItem = z.object({
  distribution: z.string(),
  version: z.string(),
  archives: z.int(),
  bytes: z.number(),
  decision: z.enum(["keep", "wait", "delete"]),
  says: z.string(),
  needs: z.array(z.object({ kind: z.string(), what: z.string() })).describe("everybody who needs it; empty: nobody"),
  unneededSince: timeOrNull,
  until: timeOrNull.describe("of wait: when it may go"),
  pin: pin.nullable().describe("also one that has run out"),
});
export const retentionList = z.object({
  keepForMs: z.int(),
  at: time,
  generation: z.number(),
  items: z.array(retentionItem).describe("every release that depots keep; nothing is done by reading this"),
});
