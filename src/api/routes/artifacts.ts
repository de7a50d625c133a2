/** Artifacts with what their signatures proved and where their copies are; depots: list and add. */
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { platformText } from "../../domain/artifact/asset.ts";
import { failure } from "../../domain/errors.ts";
import * as rest from "../../domain/rest/artifact.ts";
import { problems } from "../../domain/rest/problem.ts";
import type { DepotClient } from "../../depot/client.ts";
import { artifactById, listArtifacts, type ArtifactRow } from "../../store/artifacts.ts";
import { appendAudit } from "../../store/audit.ts";
import { copiesOf, type CopyRow } from "../../store/artifact-copies.ts";
import { transaction, type Pool } from "../../store/database.ts";
import { listDepots, listExecutions, readWantedSet, registerDepot, type DepotRow } from "../../store/depots.ts";
import { principalOf, type Principal } from "../auth.ts";
import { depotCalls } from "./depot-calls.ts";

export type ArtifactRouteDeps = {
  pool: Pool;
  now: () => Date;
  minCopies: number;
  /** A client of a node, for what a person asks of it. */
  depotClient: (address: { controlUrl: string; readUrl: string }) => DepotClient;
};
const EXECUTIONS_SHOWN = 20;
const tags = ["artifacts"];

export const artifactRoutes =
  (deps: ArtifactRouteDeps): FastifyPluginAsyncZod =>
  async (app) => {
    app.route({
      method: "GET",
      url: "/artifacts",
      schema: { tags, summary: "List artifacts", response: { ...problems, 200: rest.artifactList } },
      handler: async () => {
        const rows = await listArtifacts(deps.pool);
        return { items: await showArtifacts(deps, rows) };
      },
    });
    app.route({
      method: "GET",
      url: "/artifacts/:id",
      schema: {
        tags,
        summary: "Read one artifact: verification record and copies",
        params: z.object({ id: z.uuid() }),
        response: { ...problems, 200: rest.artifact },
      },
      handler: async (request) => {
        const row = await artifactById(deps.pool, request.params.id);
        const [shown] = row === undefined ? [] : await showArtifacts(deps, [row]);
        if (shown === undefined) throw failure("not_found", { what: `artifact ${request.params.id}` });
        return shown;
      },
    });
    depotRoutes(deps, app);
    depotCalls(deps, app);
  };

function depotRoutes(deps: ArtifactRouteDeps, app: Parameters<FastifyPluginAsyncZod>[0]): void {
  const { pool } = deps;
  app.route({
    method: "GET",
    url: "/depots",
    schema: {
      tags,
      summary: "List depots and the newest executions of replication",
      response: { ...problems, 200: rest.depotList },
    },
    handler: async () => {
      const { generation, artifacts } = await readWantedSet(pool);
      const [depots, executions] = await Promise.all([listDepots(pool), listExecutions(pool, EXECUTIONS_SHOWN)]);
      const items = depots.map(showDepot);
      const shown = executions.map((it) => ({
        ...it,
        startedAt: it.startedAt.toISOString(),
        finishedAt: it.finishedAt?.toISOString() ?? null,
      }));
      return { generation, wanted: artifacts.length, minCopies: deps.minCopies, items, executions: shown };
    },
  });
  app.route({
    method: "POST",
    url: "/depots",
    config: { access: "admin" },
    schema: {
      tags,
      summary: "Add a depot, or move one to new addresses",
      body: rest.depotBody,
      response: { ...problems, 200: rest.depotAdded },
    },
    handler: async (request) => addDepot(deps, request.body, principalOf(request)),
  });
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

async function showArtifacts({ pool, minCopies }: ArtifactRouteDeps, rows: ArtifactRow[]) {
  const [copies, depots] = await Promise.all([
    copiesOf(
      pool,
      rows.map((row) => row.id),
    ),
    listDepots(pool),
  ]);
  const answering = depots.filter(isAnswering).length;
  return rows.map((row) => showArtifact(row, copies.get(row.id) ?? { nodes: [], staged: [] }, answering, minCopies));
}

function showArtifact(
  row: ArtifactRow,
  { nodes, staged }: CopyRow,
  answering: number,
  minCopies: number,
): z.output<typeof rest.artifact> {
  const have = nodes.filter((node) => node.answering).length;
  const { id, distribution, version, fileName, sha256, sizeBytes, sourceUrl, state, verification } = row;
  return {
    id,
    distribution,
    version,
    platform: platformText(row),
    fileName,
    sha256,
    sizeBytes,
    sourceUrl,
    state,
    error: row.errorCode === null ? null : { code: row.errorCode, message: row.errorMessage ?? "" },
    verification,
    revoked: row.revokedReason,
    copies: nodes,
    staged,
    replication: row.wanted ? replicationOf(have, answering, staged.length, minCopies) : "none",
  };
}

/** "replicated" is never said while an answering node lacks it. */
function replicationOf(have: number, answering: number, staged: number, minCopies: number) {
  if (have === 0) return staged > 0 ? "none" : "lost";
  if (have < answering) return "partial";
  return have < minCopies ? "degraded" : "replicated";
}

const isAnswering = ({ answeredAt, error }: DepotRow): boolean => answeredAt !== null && error === null;

const showDepot = (depot: DepotRow): z.output<typeof rest.depot> => ({
  nodeId: depot.nodeId,
  zone: depot.zone,
  controlUrl: depot.controlUrl,
  readUrl: depot.readUrl,
  state: depot.state,
  answering: isAnswering(depot),
  answeredAt: depot.answeredAt?.toISOString() ?? null,
  error: depot.error,
  generation: depot.generation,
  disks: depot.disks,
  copies: depot.copies,
});
