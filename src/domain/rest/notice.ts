/** Notices over REST. */
import { z } from "zod";
import { NOTICE_KINDS, NOTICE_STATES } from "../notices.ts";
import { page, pageQuery, time, timeOrNull } from "./common.ts";

export const noticeKind = z.enum(NOTICE_KINDS);
export const noticeState = z.enum(NOTICE_STATES);
export const notice = z.object({
  id: z.string(),
  kind: noticeKind,
  state: noticeState.describe("superseded: a newer notice says more; settled: it is not so any more"),
  at: time,
  text: z.string().describe("what it says now, in one sentence"),
  settled: z.string().nullable().describe("why it is not so any more"),
  distribution: z.string(),
  version: z.string(),
  fleets: z
    .array(z.object({ fleet: z.string(), version: z.string() }))
    .describe("that it concerns, with the version that Git gives them"),
  hosts: z
    .array(z.object({ fleet: z.string().nullable().describe("null: unassigned"), hosts: z.int() }))
    .describe("collectors that run a revoked release"),
  supersededBy: z.string().nullable(),
  acknowledged: z.object({ at: time, by: z.string(), comment: z.string().nullable() }).nullable(),
});
export const noticePage = page(notice).extend({
  discovery: z
    .object({
      source: z.string().describe("what was asked for new releases"),
      checkedAt: time,
      answeredAt: timeOrNull.describe("when it was last understood"),
      newest: z.string().nullable().describe("newest version that it lists"),
      error: z.object({ code: z.string(), message: z.string() }).nullable().describe("of the last look"),
    })
    .nullable()
    .describe("the last look for new releases; null: none yet"),
});
export const noticeQuery = pageQuery.extend({
  cursor: z
    .string()
    .regex(/^\d{1,18}$/)
    .optional(),
  kind: noticeKind.optional(),
  state: noticeState.or(z.literal("all")).default("open"),
});
export const noticeParams = z.object({ id: z.string().regex(/^\d{1,18}$/, "is no id of a notice") });
export const acknowledgeBody = z.strictObject({ comment: z.string().trim().max(1_000).optional() }).nullish();
export const noticeChange = z.object({ changed: z.boolean(), notice });
