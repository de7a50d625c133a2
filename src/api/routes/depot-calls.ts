/** What a person asks of one depot: how it stands, a scrub now, and that its files belong to this installation. */
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { failure } from "../../domain/errors.ts";
import * as rest from "../../domain/rest/artifact.ts";
import { problems } from "../../domain/rest/problem.ts";
import type { DepotClient } from "../../depot/client.ts";
import type { NodeStatus } from "../../domain/depot/node-status.ts";
import { audit } from "../../store/audit.ts";
import { transaction } from "../../store/database.ts";
import { depotById, readGeneration } from "../../store/depots.ts";
import { noteFindings } from "../../store/replication-history.ts";
import { principalOf, type Principal } from "../auth.ts";
import type { ArtifactRouteDeps } from "./artifacts.ts";

const tags = ["artifacts"];

export function depotCalls(deps: ArtifactRouteDeps, app: Parameters<FastifyPluginAsyncZod>[0]): void {
  const params = z.object({ nodeId: z.string().max(63) });
  app.route({
    method: "GET",
    url: "/depots/:nodeId/status",
    schema: {
      tags,
      summary: "Ask a depot how it stands: its configuration, disks, transfers and scrub",
      params,
      response: { ...problems, 200: rest.depotStatus },
    },
    handler: async ({ params: { nodeId } }) => ({ nodeId, ...(await statusOf(deps, nodeId)) }),
  });
  app.route({
    method: "POST",
    url: "/depots/:nodeId/scrub",
    config: { access: "operator" },
    schema: {
      tags,
      summary: "Have a depot read its copies again now: deep (all bytes, the default) or light (sizes)",
      params,
      body: rest.scrubBody,
      response: { ...problems, 202: rest.depotStatus },
    },
    handler: async (request, reply) => {
      const { nodeId } = request.params;
      const kind = request.body?.kind ?? "deep";
      const client = await clientOf(deps, nodeId);
      await client.scrub(kind);
      const entry = { principal: principalOf(request).name, action: "depot.scrub", object: nodeId } as const;
      await audit(deps.pool, { ...entry, outcome: "accepted", detail: { kind } }, deps.now());
      return reply.code(202).send({ nodeId, ...(await client.status()) });
    },
  });
  app.route({
    method: "POST",
    url: "/depots/:nodeId/adopt",
    config: { access: "admin" },
    schema: {
      tags,
      summary: "The files on this depot belong to this installation: it may delete what is not wanted. Needs a reason",
      params,
      body: rest.adoptBody,
      response: { ...problems, 200: rest.adopted },
    },
    handler: async (request) => adopt(deps, request.params.nodeId, request.body?.reason ?? "", principalOf(request)),
  });
}

/** As the node says; what it found on its disks goes into the history at once. */
async function statusOf(deps: ArtifactRouteDeps, nodeId: string): Promise<NodeStatus> {
  const status = await (await clientOf(deps, nodeId)).status();
  const { findings } = status;
  if (findings !== undefined && findings.count > 0)
    await transaction(deps.pool, (tx) => noteFindings(tx, nodeId, findings));
  return status;
}

async function clientOf(deps: ArtifactRouteDeps, nodeId: string): Promise<DepotClient> {
  const depot = await depotById(deps.pool, nodeId);
  if (depot === undefined) throw failure("not_found", { what: `depot ${nodeId}` });
  return deps.depotClient(depot);
}

async function adopt(deps: ArtifactRouteDeps, nodeId: string, reason: string, principal: Principal) {
  if (reason === "") throw failure("reason_required", { action: "adopt" });
  const client = await clientOf(deps, nodeId);
  const { epoch } = await readGeneration(deps.pool);
  await client.adopt(epoch);
  const entry = { principal: principal.name, action: "depot.adopt", object: nodeId, outcome: "accepted" } as const;
  await audit(deps.pool, { ...entry, detail: { reason } }, deps.now());
  return { nodeId, adopted: true as const };
}
