/** The audit log as the API shows it. */
import { z } from "zod";
import { page, time } from "./common.ts";

const auditRow = z.object({
  seq: z.string(),
  at: time,
  principal: z.string(),
  claimed: z.string().nullable().describe("what a raw signal says of its sender; not proven"),
  action: z.string(),
  object: z.string(),
  outcome: z.enum(["accepted", "refused"]),
  code: z.string().nullable(),
  detail: z.record(z.string(), z.unknown()),
});
export const auditPage = page(auditRow);

export const auditVerdict = z.object({
  ok: z.boolean(),
  rows: z.int().describe("rows whose hash was recomputed and fits"),
  head: z.object({ seq: z.string(), hash: z.string() }).nullable(),
  firstBad: z
    .object({ seq: z.string().nullable(), because: z.enum(["changed", "missing_before", "head_not_found"]) })
    .nullable(),
});
