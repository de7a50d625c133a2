/** RFC 9457 problem details, as every error of the API is answered. */
import { z } from "zod";

export const problem = z.object({
  type: z.string().describe("urn:myriarch:error:<code>"),
  title: z.string(),
  status: z.int(),
  code: z.string().describe("permanent; docs/errors.md lists all"),
  detail: z.string().describe("for people; may change"),
  instance: z.string(),
  requestId: z.string(),
  issues: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
});
export type Problem = z.output<typeof problem>;

/** The answers that any guarded call may give beside its own. */
export const problems = {
  400: problem,
  401: problem,
  403: problem,
  404: problem,
  409: problem,
  429: problem,
  500: problem,
  503: problem,
} as const;
