/** The repository as the API shows it. */
import { z } from "zod";
import { time, timeOrNull } from "./common.ts";

export const issue = z.object({
  code: z.string().describe("permanent: CI and pages may key on it"),
  severity: z.enum(["error", "warning"]),
  kind: z.string().optional(),
  name: z.string().optional(),
  file: z.string(),
  line: z.int(),
  column: z.int(),
  path: z.string(),
  message: z.string(),
  hint: z.string().optional(),
});

export const gitopsStatus = z.object({
  state: z.enum(["never", "ok", "error"]),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  seenCommit: z.string().nullable().describe("head of the branch at the last fetch"),
  appliedCommit: z.string().nullable().describe("the snapshot in force"),
  appliedAt: timeOrNull,
  appliedAgeS: z.int().nullable().describe("how old the snapshot in force is"),
  checkedAt: timeOrNull,
  generation: z.int(),
  deliveryWaiting: z.boolean().describe("a webhook's delivery that no fetch has answered yet"),
  author: z.string().nullable(),
  subject: z.string().nullable(),
  objects: z.record(z.string(), z.int()).describe("objects in force, by kind"),
  issues: z.array(issue).describe("of the newest judged revision; the first 1,000"),
  issuesCommit: z.string().nullable(),
});
export type GitopsStatus = z.output<typeof gitopsStatus>;

export const gitopsIssues = z.object({ commit: z.string().nullable(), items: z.array(issue), next: z.null() });

export const syncAsked = z.object({
  accepted: z.boolean(),
  at: time,
  note: z.string().describe("when the sync starts"),
});
