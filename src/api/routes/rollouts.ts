/** Rollouts: list, read with waves and controls, targets, and the controls themselves. */
import { randomUUID } from "node:crypto";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { failure } from "../../domain/errors.ts";
import { problems } from "../../domain/rest/problem.ts";
import * as rest from "../../domain/rest/rollout.ts";
import { controlButtons } from "../../domain/rollout/control-view.ts";
import { groupCauses } from "../../domain/rollout/explain-groups.ts";
import type { Pool } from "../../store/database.ts";
import { readEnds, readNoWayBack } from "../../store/rollout-groups.ts";
import {
  getRollout,
  listRollouts,
  listTargets,
  type RolloutDetail,
  type RolloutSummary,
} from "../../store/rollouts.ts";
import { readTargetOffers } from "../../store/target-offers.ts";
import { WORKFLOW_IDS } from "../../workflows/messages.ts";
import { principalOf } from "../auth.ts";
import type { RolloutControls } from "../rollout-controls.ts";
import { explainedRollout, showTarget, showTargetDetail } from "../show-target.ts";

type Links = { uiUrl?: string; namespace: string };
export type RolloutRouteDeps = { pool: Pool; controls: RolloutControls; temporalLinks: Links; now: () => Date };
const tags = ["rollouts"];
const KEY = z.string().min(1).max(200);

export const rolloutRoutes =
  (deps: RolloutRouteDeps): FastifyPluginAsyncZod =>
  async (app) => {
    app.route({
      method: "GET",
      url: "/rollouts",
      schema: {
        tags,
        summary: "List rollouts, newest first",
        querystring: rest.rolloutQuery,
        response: { ...problems, 200: rest.rolloutPage },
      },
      handler: async (request) => {
        const { fleet, limit, cursor } = request.query;
        const before = cursor === undefined ? undefined : new Date(cursor);
        const rows = await listRollouts(deps.pool, { fleet, before, limit: limit + 1 });
        const items = rows.slice(0, limit).map((row) => showSummary(row, deps.temporalLinks));
        return { items, next: rows.length > limit ? (items.at(-1)?.createdAt ?? null) : null };
      },
    });
    app.route({
      method: "GET",
      url: "/rollouts/:fleet/:n",
      schema: {
        tags,
        summary: "Read one rollout with its waves and controls",
        params: rest.rolloutParams,
        response: { ...problems, 200: rest.rolloutDetail },
      },
      handler: async (request) => {
        const it = await must(deps.pool, request.params);
        const groups = groupCauses(await readEnds(deps.pool, it.fleet, it.n));
        const noWayBack = await readNoWayBack(deps.pool, it.fleet, it.n);
        return { ...showDetail(it, deps.temporalLinks), groups, noWayBack };
      },
    });
    app.route({
      method: "GET",
      url: "/rollouts/:fleet/:n/targets",
      schema: {
        tags,
        summary: "List targets in the order of the plan, with phase, since and why",
        params: rest.rolloutParams,
        querystring: rest.targetQuery,
        response: { ...problems, 200: rest.targetPage },
      },
      handler: async (request) => {
        const { fleet, n } = request.params;
        const rollout = explainedRollout(await must(deps.pool, request.params));
        const { cursor, limit, ...filter } = request.query;
        const afterOrd = cursor === undefined ? undefined : Number(cursor);
        const rows = await listTargets(deps.pool, fleet, n, { ...filter, limit, afterOrd });
        const last = rows.at(-1);
        const items = rows.map((row) => showTarget(row, rollout, deps.now()));
        return { items, next: rows.length === limit && last ? String(last.ord) : null };
      },
    });
    targetRoute(app, deps);
    controlRoute(app, deps);
  };

type App = Parameters<FastifyPluginAsyncZod>[0];

const targetRoute = (app: App, deps: RolloutRouteDeps): unknown =>
  app.route({
    method: "GET",
    url: "/rollouts/:fleet/:n/targets/:host",
    schema: {
      tags,
      summary: "Read one target: why it is where it is, what happens next, every attempt and every offer",
      params: rest.targetParams,
      response: { ...problems, 200: rest.targetDetail },
    },
    handler: async (request) => {
      const { fleet, n, host } = request.params;
      const rollout = explainedRollout(await must(deps.pool, request.params));
      const which = z.uuid().safeParse(host).success ? { host } : { hostName: host };
      const [found, other] = await listTargets(deps.pool, fleet, n, { ...which, limit: 2 });
      if (found === undefined) throw failure("not_found", { what: `target ${host} of rollout ${fleet}/${n}` });
      if (other !== undefined)
        throw failure("invalid_request", {
          message: `${host} names two targets: ask for ${found.host} or ${other.host}`,
        });
      const offers = await readTargetOffers(deps.pool, fleet, n, found.host);
      return showTargetDetail(found, offers, rollout, deps.now());
    },
  });

const controlRoute = (app: App, deps: RolloutRouteDeps): unknown =>
  app.route({
    method: "POST",
    url: "/rollouts/:fleet/:n/:control",
    schema: {
      tags,
      summary: "Send a control: approve, pause, resume, retry, rollback, abort",
      description:
        "Answered after the workflow accepted or refused it (409 with the reason). Without a worker pause and abort " +
        "answer 202: the hold stands already; the others 503 control_unanswered. Repeating with the same Idempotency-Key is safe.",
      params: rest.rolloutParams.extend({ control: z.enum(rest.CONTROL_NAMES) }),
      headers: z.object({ "idempotency-key": KEY.optional() }),
      body: rest.controlBody,
      response: { ...problems, 200: rest.controlAnswer, 202: rest.controlAnswer },
    },
    handler: async (request, reply) => {
      const { fleet, n, control } = request.params;
      const key = request.headers["idempotency-key"] ?? randomUUID();
      const input = { reason: request.body?.reason, wave: request.body?.wave };
      const result = await deps.controls.control(fleet, n, control, input, principalOf(request).name, key);
      return reply.code(result.status).send(result.answer);
    },
  });

async function must(pool: Pool, { fleet, n }: { fleet: string; n: number }): Promise<RolloutDetail> {
  const found = await getRollout(pool, fleet, n);
  if (found === undefined) throw failure("not_found", { what: `rollout ${fleet}/${n}` });
  return found;
}

function showSummary(it: RolloutSummary, links: Links): z.output<typeof rest.rolloutSummary> {
  const workflowId = it.kind === "catch_up" ? WORKFLOW_IDS.catchUp(it.fleet) : WORKFLOW_IDS.rollout(it.fleet, it.n);
  return {
    fleet: it.fleet,
    n: it.n,
    kind: it.kind,
    commit: it.commit,
    distribution: it.distribution,
    version: it.version,
    state: it.state,
    reason: it.reason,
    next: it.next && { what: it.next.what, at: it.next.at?.toISOString() ?? null },
    holds: it.holds,
    ending: it.ending,
    run: it.run,
    wave: it.wave,
    total: it.total,
    counts: it.counts,
    createdAt: it.createdAt.toISOString(),
    startedAt: it.startedAt?.toISOString() ?? null,
    finishedAt: it.finishedAt?.toISOString() ?? null,
    workflowId,
    temporalUrl:
      links.uiUrl === undefined
        ? null
        : `${links.uiUrl}/namespaces/${encodeURIComponent(links.namespace)}/workflows/${encodeURIComponent(workflowId)}`,
  };
}

type Shown = Omit<z.output<typeof rest.rolloutDetail>, "groups" | "noWayBack">;
const showDetail = (it: RolloutDetail, links: Links): Shown => ({
  ...showSummary(it, links),
  policy: it.policy.name,
  healthWaitMs: it.policy.healthWaitMs,
  onThreshold: it.policy.onThreshold,
  waves: it.waves.map((wave) => ({
    k: wave.k,
    name: wave.name,
    approval: wave.approval,
    approvals: it.approvals[String(wave.k)] ?? [],
    bakeMs: wave.bakeMs,
    state: wave.state,
    size: wave.size,
    startedAt: wave.startedAt?.toISOString() ?? null,
    finishedAt: wave.finishedAt?.toISOString() ?? null,
    counts: wave.counts,
  })),
  controls: rest.CONTROL_NAMES.flatMap((name) => controlButtons(it.control).filter((button) => button.name === name)),
});
