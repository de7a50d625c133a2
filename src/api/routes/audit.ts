/** The audit log: read by page, checked as a whole. */
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { auditPage, auditVerdict } from "../../domain/rest/audit.ts";
import { pageQuery } from "../../domain/rest/common.ts";
import { problems } from "../../domain/rest/problem.ts";
import { listAudit, verifyAudit, type ChainVerdict } from "../../store/audit-read.ts";
import type { Pool } from "../../store/database.ts";

const filters = pageQuery.extend({
  cursor: z
    .string()
    .regex(/^\d{1,18}$/)
    .optional(),
  action: z.string().max(200).optional(),
  object: z.string().max(300).optional(),
  principal: z.string().max(200).optional(),
  outcome: z.enum(["accepted", "refused"]).optional(),
});

export const auditRoutes =
  ({ pool }: { pool: Pool }): FastifyPluginAsyncZod =>
  async (app) => {
    const tags = ["audit"];
    app.route({
      method: "GET",
      url: "/audit",
      schema: {
        tags,
        summary: "List what was changed or refused, newest first",
        querystring: filters,
        response: { ...problems, 200: auditPage },
      },
      handler: async (request) => {
        const { cursor, limit, ...filter } = request.query;
        const before = cursor === undefined ? undefined : BigInt(cursor);
        const rows = await listAudit(pool, { ...filter, before, limit: limit + 1 });
        const items = rows
          .slice(0, limit)
          .map((row) => ({ ...row, seq: row.seq.toString(), at: row.at.toISOString() }));
        return { items, next: rows.length > limit ? (items.at(-1)?.seq ?? null) : null };
      },
    });
    app.route({
      method: "GET",
      url: "/audit/verify",
      schema: {
        tags,
        summary: "Recompute the hash chain: finds changed and removed rows, with a known head a cut tail too",
        querystring: z.object({
          head: z
            .string()
            .regex(/^[0-9a-f]{64}$/)
            .optional(),
        }),
        response: { ...problems, 200: auditVerdict },
      },
      handler: async (request) => showVerdict(await verifyAudit(pool, request.query.head)),
    });
  };

const showVerdict = (it: ChainVerdict): z.output<typeof auditVerdict> =>
  it.ok
    ? { ok: true, rows: it.rows, head: it.head && { seq: it.head.seq.toString(), hash: it.head.hash }, firstBad: null }
    : { ok: false, rows: it.rows, head: null, firstBad: { seq: it.seq?.toString() ?? null, because: it.because } };
