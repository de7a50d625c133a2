/** What people have to be told, each occasion once. */
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { pageQuery } from "../../domain/rest/common.ts";
import { notificationPage } from "../../domain/rest/notification.ts";
import { problems } from "../../domain/rest/problem.ts";
import type { Pool } from "../../store/database.ts";
import { listNotifications } from "../../store/notifications.ts";

const filters = pageQuery.extend({
  cursor: z
    .string()
    .regex(/^\d{1,18}$/)
    .optional(),
  kind: z.string().max(100).optional(),
});

export const notificationRoutes =
  ({ pool }: { pool: Pool }): FastifyPluginAsyncZod =>
  async (app) => {
    app.route({
      method: "GET",
      url: "/notifications",
      schema: {
        tags: ["notifications"],
        summary: "What people have to be told, newest first: for example a revision that was refused",
        querystring: filters,
        response: { ...problems, 200: notificationPage },
      },
      handler: async (request) => {
        const { cursor, kind, limit } = request.query;
        const before = cursor === undefined ? undefined : BigInt(cursor);
        const rows = await listNotifications(pool, { before, kind, limit: limit + 1 });
        const items = rows.slice(0, limit).map(({ id, at, deliveredAt, ...row }) => ({
          ...row,
          id: id.toString(),
          at: at.toISOString(),
          deliveredAt: deliveredAt?.toISOString() ?? null,
        }));
        return { items, next: rows.length > limit ? (items.at(-1)?.id ?? null) : null };
      },
    });
  };
