/** Artifacts: what their signatures proved, where their copies are and what became of them. Depots and retention beside it. */
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { platformText } from "../../domain/artifact/asset.ts";
import { replicationWord, type CopyCounts } from "../../domain/artifact/replication-word.ts";
import { failure } from "../../domain/errors.ts";
import * as rest from "../../domain/rest/artifact.ts";
import * as depotRest from "../../domain/rest/depot.ts";
import { problems } from "../../domain/rest/problem.ts";
import type { DepotClient } from "../../depot/client.ts";
import { artifactById, listArtifacts, type ArtifactRow } from "../../store/artifacts.ts";
import { copiesOf, type CopyRow } from "../../store/artifact-copies.ts";
import type { Pool } from "../../store/database.ts";
import { copyMatrix } from "../../store/depot-view.ts";
import { copyCounts, readHistory, releasesOf } from "../../store/replication-history.ts";
import { depotCalls } from "./depot-calls.ts";
import { depotRoutes } from "./depots.ts";
import { retentionRoutes } from "./retention.ts";

export type ArtifactRouteDeps = {
  pool: Pool;
  now: () => Date;
  minCopies: number;
  /** How long a release stays after the last need. */
  keepForMs: number;
  /** A client of a node, for what a person asks of it. */
  depotClient: (address: { controlUrl: string; readUrl: string }) => DepotClient;
  /** Asks for an execution now. Rejects when Temporal does not answer: the watchdog starts one some minutes later. */
  wakeReplication: (cause: string) => Promise<void>;
};
const tags = ["artifacts"];
const MATRIX_ROWS = 2_000;

export const artifactRoutes =
  (deps: ArtifactRouteDeps): FastifyPluginAsyncZod =>
  async (app) => {
    app.route({
      method: "GET",
      url: "/artifacts",
      schema: { tags, summary: "List artifacts", response: { ...problems, 200: rest.artifactList } },
      handler: async () => ({ items: await showArtifacts(deps, await listArtifacts(deps.pool)) }),
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
    replicationRoutes(deps, app);
    depotRoutes(deps, app);
    depotCalls(deps, app);
    retentionRoutes(deps, app);
  };

function replicationRoutes({ pool }: ArtifactRouteDeps, app: Parameters<FastifyPluginAsyncZod>[0]): void {
  app.route({
    method: "GET",
    url: "/replication/matrix",
    schema: {
      tags,
      summary: "Who has what: wanted artifacts by nodes, one character each",
      response: { ...problems, 200: depotRest.copyMatrix },
    },
    handler: async () => {
      const { nodes, total, rows } = await copyMatrix(pool, MATRIX_ROWS);
      return { nodes, total, rows: rows.map(({ names, ...row }) => ({ ...row, artifacts: names })) };
    },
  });
  app.route({
    method: "GET",
    url: "/replication/history",
    schema: {
      tags,
      summary: "What became of copies and nodes, newest first: of an artifact, of a node, or all",
      querystring: depotRest.historyQuery,
      response: { ...problems, 200: depotRest.replicationHistory },
    },
    handler: async ({ query }) => showHistory(pool, query),
  });
}

async function showHistory(pool: Pool, { before, sha256, node, limit }: z.output<typeof depotRest.historyQuery>) {
  const rows = await readHistory(pool, {
    ...(sha256 !== undefined && { sha256 }),
    ...(node !== undefined && { node }),
    before: before === undefined ? undefined : BigInt(before),
    limit,
  });
  const names = await releasesOf(
    pool,
    rows.flatMap((row) => row.sha256 ?? []),
  );
  return {
    items: rows.map((row) => ({
      ...row,
      id: String(row.id),
      at: row.at.toISOString(),
      artifacts: names.get(row.sha256 ?? "") ?? [],
    })),
  };
}

async function showArtifacts({ pool, minCopies }: ArtifactRouteDeps, rows: ArtifactRow[]) {
  const [copies, counts] = await Promise.all([
    copiesOf(
      pool,
      rows.map((row) => row.id),
    ),
    copyCounts(
      pool,
      rows.flatMap((row) => row.sha256 ?? []),
    ),
  ]);
  return rows.map((row) =>
    showArtifact(row, copies.get(row.id) ?? NO_COPIES, counts.get(row.sha256 ?? "") ?? NO_COUNTS, minCopies),
  );
}
const NO_COPIES: CopyRow = { nodes: [], staged: [], since: null };
const NO_COUNTS: CopyCounts = { have: 0, lacking: 0, silent: 0, staged: 0, pending: 0 };

function showArtifact(
  row: ArtifactRow,
  { nodes, staged, since }: CopyRow,
  counts: CopyCounts,
  minCopies: number,
): z.output<typeof rest.artifact> {
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
    replication: replicationWord(row.wanted, counts, minCopies),
    since: row.wanted ? (since?.toISOString() ?? null) : null,
    counts,
  };
}
