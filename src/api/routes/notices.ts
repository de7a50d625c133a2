/** Notices: what a person should know. Listed as they are now; acknowledged by operators. */
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { z } from "zod";
import { failure } from "../../domain/errors.ts";
import { judgeNotice, noticeState, type NoticeFacts, type NoticeKind } from "../../domain/notices.ts";
import * as rest from "../../domain/rest/notice.ts";
import { problems } from "../../domain/rest/problem.ts";
import { appendAudit } from "../../store/audit.ts";
import { transaction, type Pool } from "../../store/database.ts";
import {
  acknowledgeNotice,
  readDiscovery,
  readNotice,
  readNoticeFacts,
  readNotices,
  type NoticeRow,
} from "../../store/notices.ts";
import { principalOf } from "../auth.ts";

type NoticeDeps = { pool: Pool; now: () => Date };
type NoticeShown = z.output<typeof rest.notice>;
const tags = ["notices"];

export const noticeRoutes =
  (deps: NoticeDeps): FastifyPluginAsyncZod =>
  async (app) => {
    app.route({
      method: "GET",
      url: "/notices",
      schema: {
        tags,
        summary: "What people should know, newest first: new releases, revoked ones, ones that cannot be installed",
        description: "Judged when it is asked: what is not so any more is `settled`. Without `state` only open ones.",
        querystring: rest.noticeQuery,
        response: { ...problems, 200: rest.noticePage },
      },
      handler: async (request) => ({ ...(await list(deps.pool, request.query)), discovery: await lastLook(deps.pool) }),
    });
    app.route({
      method: "POST",
      url: "/notices/:id/acknowledge",
      schema: {
        tags,
        summary: "Say that somebody has seen it. Again changes nothing",
        params: rest.noticeParams,
        body: rest.acknowledgeBody,
        response: { ...problems, 200: rest.noticeChange },
      },
      handler: async (request) =>
        acknowledge(deps, BigInt(request.params.id), principalOf(request).name, request.body?.comment ?? null),
    });
  };

type Filters = z.output<typeof rest.noticeQuery>;

/** A page of what fits: states are judged, so rows are read until the page is full. */
async function list(pool: Pool, { cursor, kind, state, limit }: Filters) {
  const facts = await readNoticeFacts(pool);
  const items: NoticeShown[] = [];
  let before = cursor === undefined ? undefined : BigInt(cursor);
  for (;;) {
    const rows = await readNotices(pool, { before, kind, limit: limit + 1 });
    for (const row of rows) {
      const shown = show(row, facts);
      if (state !== "all" && shown.state !== state) continue;
      if (items.length === limit) return { items, next: items.at(-1)?.id ?? null };
      items.push(shown);
    }
    if (rows.length <= limit) return { items, next: null };
    before = rows.at(-1)?.id;
  }
}

async function acknowledge({ pool, now }: NoticeDeps, id: bigint, by: string, comment: string | null) {
  const changed = await transaction(pool, async (tx) => {
    const row = await readNotice(tx, id, true);
    if (row === undefined) throw failure("not_found", { what: `notice ${id}` });
    const at = now();
    const isNew = row.acknowledgedAt === null;
    if (isNew) await acknowledgeNotice(tx, row, { by, comment, at });
    const detail = { kind: row.kind, ...row.data, changed: isNew, ...(comment !== null && { comment }) };
    const entry = { principal: by, action: "notice.acknowledge", object: `notice/${id}`, outcome: "accepted" } as const;
    await appendAudit(tx, { ...entry, detail }, at);
    return isNew;
  });
  const row = await readNotice(pool, id);
  if (row === undefined) throw failure("not_found", { what: `notice ${id}` });
  return { changed, notice: show(row, await readNoticeFacts(pool)) };
}

function show(row: NoticeRow, facts: NoticeFacts): NoticeShown {
  const kind: NoticeKind = row.kind;
  const view = judgeNotice(kind, row.data, facts);
  return {
    id: row.id.toString(),
    kind,
    state: noticeState({ superseded: row.supersededBy !== null, acknowledged: row.acknowledgedAt !== null }, view),
    at: row.at.toISOString(),
    text: view.text,
    settled: view.settled,
    distribution: row.data.distribution,
    version: row.data.version,
    fleets: view.fleets.map(({ fleet, version }) => ({ fleet, version })),
    hosts: view.hosts,
    supersededBy: row.supersededBy?.toString() ?? null,
    acknowledged:
      row.acknowledgedAt === null
        ? null
        : { at: row.acknowledgedAt.toISOString(), by: row.acknowledgedBy ?? "", comment: row.comment },
  };
}

async function lastLook(pool: Pool): Promise<z.output<typeof rest.noticePage>["discovery"]> {
  const row = await readDiscovery(pool);
  if (row === undefined) return null;
  const { source, checkedAt, answeredAt, versions, error } = row;
  return {
    source,
    checkedAt: checkedAt.toISOString(),
    answeredAt: answeredAt?.toISOString() ?? null,
    newest: versions[0] ?? null,
    error,
  };
}
