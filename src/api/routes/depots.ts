/** Depots: list with what they have and what runs, add, drain, remove, and why something is missing. */
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { explainNode } from "../../domain/depot/explain-node.ts";
import { failure } from "../../domain/errors.ts";
import * as rest from "../../domain/rest/depot.ts";
import { problems } from "../../domain/rest/problem.ts";
import { appendAudit } from "../../store/audit.ts";
import { transaction } from "../../store/database.ts";
import { costOfLeaving, drainDepot, lockDepot, removeDepot, undrainDepot, type Cost } from "../../store/depot-life.ts";
import { missingOn, runningTransfers, stocks } from "../../store/depot-view.ts";
import { depotById, listDepots, listExecutions, readWantedSet, registerDepot } from "../../store/depots.ts";
import { noteWords } from "../../store/replication-history.ts";
import { principalOf, type Principal } from "../auth.ts";
import { isAnswering, leastFree, showDepot, showRunning } from "../show-depot.ts";
import type { ArtifactRouteDeps } from "./artifacts.ts";

const tags = ["artifacts"];
const EXECUTIONS_SHOWN = 20;
const MISSING_SHOWN = 100;
const params = z.object({ nodeId: z.string().max(63) });
type App = Parameters<FastifyPluginAsyncZod>[0];

export function depotRoutes(deps: ArtifactRouteDeps, app: App): void {
  app.route({
    method: "GET",
    url: "/depots",
    schema: {
      tags,
      summary: "List depots: who answers and has what, transfers that run, the newest executions of replication",
      response: { ...problems, 200: rest.depotList },
    },
    handler: () => list(deps),
  });
  app.route({
    method: "POST",
    url: "/depots",
    config: { access: "admin" },
    schema: {
      tags,
      summary: "Add a depot, or move one to new addresses; one that was removed begins anew",
      body: rest.depotBody,
      response: { ...problems, 200: rest.depotAdded },
    },
    handler: async (request) => addDepot(deps, request.body, principalOf(request)),
  });
  app.route({
    method: "GET",
    url: "/depots/:nodeId/explain",
    schema: {
      tags,
      summary: "Why copies are missing on a depot, what happens next and when, and what removing it would cost",
      params,
      response: { ...problems, 200: rest.depotExplanation },
    },
    handler: async (request) => explain(deps, request.params.nodeId),
  });
  drainRoutes(deps, app);
}

function drainRoutes(deps: ArtifactRouteDeps, app: App): void {
  for (const [action, summary] of [
    ["drain", "A depot serves on and gets nothing new; it leaves when everything that it has is safe elsewhere"],
    ["undrain", "A depot that drains takes copies again"],
  ] as const)
    app.route({
      method: "POST",
      url: `/depots/:nodeId/${action}`,
      config: { access: "admin" },
      schema: { tags, summary, params, body: rest.drainBody, response: { ...problems, 200: rest.drainAnswer } },
      handler: async (request) =>
        drain(deps, action, request.params.nodeId, request.body?.reason ?? "", principalOf(request)),
    });
  app.route({
    method: "DELETE",
    url: "/depots/:nodeId",
    config: { access: "admin" },
    schema: {
      tags,
      summary:
        "Remove a depot now. Needs a reason; when it does not answer, or something would be lost or rare, also force",
      params,
      body: rest.removeBody,
      response: { ...problems, 200: rest.depotRemoved },
    },
    handler: async (request) => remove(deps, request.params.nodeId, request.body ?? {}, principalOf(request)),
  });
}

async function list({ pool, minCopies, now }: ArtifactRouteDeps): Promise<z.output<typeof rest.depotList>> {
  const { generation, artifacts } = await readWantedSet(pool);
  const [depots, executions, stock, running] = await Promise.all([
    listDepots(pool),
    listExecutions(pool, EXECUTIONS_SHOWN),
    stocks(pool),
    runningTransfers(pool),
  ]);
  return {
    generation,
    wanted: artifacts.length,
    minCopies,
    items: depots.map((depot) => showDepot(depot, stock.get(depot.nodeId))),
    running: running === undefined ? null : showRunning(running, now()),
    executions: executions.map((it) => ({
      ...it,
      startedAt: it.startedAt.toISOString(),
      finishedAt: it.finishedAt?.toISOString() ?? null,
    })),
  };
}

async function addDepot({ pool, now }: ArtifactRouteDeps, body: z.output<typeof rest.depotBody>, principal: Principal) {
  const changed = await transaction(pool, async (tx) => {
    if (!(await registerDepot(tx, body))) return false;
    const entry = { principal: principal.name, action: "depot.add", object: body.nodeId, outcome: "accepted" } as const;
    await appendAudit(tx, { ...entry, detail: { ...body } }, now());
    return true;
  });
  return { nodeId: body.nodeId, changed };
}

const unknown = (nodeId: string) => failure("not_found", { what: `depot ${nodeId}` });

async function drain(
  { pool, now, wakeReplication }: ArtifactRouteDeps,
  action: "drain" | "undrain",
  nodeId: string,
  reason: string,
  principal: Principal,
): Promise<z.output<typeof rest.drainAnswer>> {
  const change = action === "drain" ? drainDepot : undrainDepot;
  const done = await transaction(pool, (tx) => change(tx, nodeId, { by: principal.name, reason }, now()));
  if (done === "unknown") throw unknown(nodeId);
  if (done === "last")
    throw failure("control_conflict", {
      control: "drain",
      because: "no other depot that takes copies answers; add one first",
    });
  const awake = await wakeReplication(`${action} of ${nodeId}`).then(
    () => true,
    () => false, // the watchdog of the workflow starts an execution in any case
  );
  const when = awake ? "the execution that begins now" : "an execution within minutes of Temporal answering";
  const note =
    action === "drain"
      ? `it serves on and leaves when everything that it has is safe elsewhere: ${when} looks`
      : `it takes copies again: ${when} sends what it lacks`;
  return { nodeId, state: action === "drain" ? "draining" : "active", changed: done === "changed", note };
}

async function remove(
  { pool, now, minCopies }: ArtifactRouteDeps,
  nodeId: string,
  { reason = "", force = false }: { reason?: string | undefined; force?: boolean | undefined },
  principal: Principal,
): Promise<z.output<typeof rest.depotRemoved>> {
  if (reason === "") throw failure("reason_required", { action: "removing a depot" });
  return transaction(pool, async (tx) => {
    if ((await lockDepot(tx, nodeId)) === undefined) throw unknown(nodeId);
    const cost = await costOfLeaving(tx, nodeId, minCopies);
    if (cost === undefined) throw unknown(nodeId);
    const { lost, rare } = namesOf(cost);
    const because = objection(cost, lost, rare);
    if (because !== undefined && !force) throw failure("depot_removal_unsafe", { node: nodeId, because });
    const detail = { force, lost: lost.slice(0, NAMED), rare: rare.length };
    await removeDepot(tx, nodeId, { by: principal.name, reason }, detail, now());
    await noteWords(tx, minCopies, now());
    return { nodeId, lost, rare };
  });
}
const NAMED = 20;

const namesOf = ({ lost, rare, names }: Cost) => ({
  lost: lost.flatMap((sha256) => names.get(sha256) ?? [sha256]).toSorted(),
  rare: rare.flatMap((sha256) => names.get(sha256) ?? [sha256]).toSorted(),
});

/** Why it is not removed just so. */
function objection({ answers, safe }: Cost, lost: readonly string[], rare: readonly string[]): string | undefined {
  if (answers && safe) return undefined;
  const parts = [
    ...(answers ? [] : ["it does not answer, and may come back"]),
    ...(lost.length > 0 ? [`nobody else is known to have ${shortList(lost)}`] : []),
    ...(rare.length > 0 ? [`too few others have ${shortList(rare)}`] : []),
  ];
  return parts.join("; ");
}
const shortList = (names: readonly string[]): string =>
  names.length > 3 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ");

async function explain({ pool, minCopies }: ArtifactRouteDeps, nodeId: string) {
  const [depot, { lacks, missing }, [newest], cost] = await Promise.all([
    depotById(pool, nodeId),
    missingOn(pool, nodeId, MISSING_SHOWN),
    listExecutions(pool, 1),
    costOfLeaving(pool, nodeId, minCopies),
  ]);
  if (depot === undefined || cost === undefined) throw unknown(nodeId);
  const execution =
    newest === undefined
      ? null
      : { running: newest.state === "running", endedAtMs: newest.finishedAt?.getTime() ?? null };
  const facts = {
    ...depot,
    answering: isAnswering(depot),
    answeredAtMs: depot.answeredAt?.getTime() ?? null,
    unansweredSinceMs: depot.unansweredSince?.getTime() ?? null,
    freeBytes: leastFree(depot),
    lacks,
    missing,
    execution,
  };
  const { says, copies } = explainNode(facts, (ms) => new Date(ms).toISOString());
  return {
    nodeId,
    says,
    lacks,
    copies: copies.map(({ names, ...copy }) => ({ ...copy, artifacts: [...names] })),
    removal: { safe: cost.answers && cost.safe, ...namesOf(cost) },
  };
}
