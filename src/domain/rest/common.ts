/** Pieces that several resources of the API share. Times are RFC 3339 in UTC. */
import { z } from "zod";

export const time = z.string().describe("RFC 3339, UTC");
export const timeOrNull = time.nullable();
/** Rows per page; `next` of the answer is the cursor of the following one. */
export const pageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(500).default(100),
  cursor: z.string().max(300).optional(),
});
export const page = <T extends z.ZodType>(item: T) =>
  z.object({ items: z.array(item), next: z.string().nullable().describe("cursor of the next page; null at the end") });
export const reason = z.string().trim().max(500);
export const uid = z.uuid();
export const dnsName = z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);
