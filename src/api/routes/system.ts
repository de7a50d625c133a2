/** Health for balancers, and what the server says of itself. */
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import type { ServerSettings } from "../../domain/config/server-config.ts";
import { problems } from "../../domain/rest/problem.ts";
import { me, ready, system } from "../../domain/rest/system.ts";
import type { Pool } from "../../store/database.ts";
import { CONTRACT_DEFAULTS } from "../../domain/brand.ts";
import { unreplicated } from "../../store/staging.ts";
import { livingWorkers } from "../../store/workers.ts";
import { countAgents, gitSummary, type GitSummary } from "../../store/system.ts";
import { principalOf } from "../auth.ts";

type SystemDeps = {
  settings: Pick<ServerSettings, "mode" | "server"> & {
    temporal: Pick<ServerSettings["temporal"], "uiUrl" | "namespace">;
  };
  pool: Pool;
  now: () => Date;
  version: string;
  temporal: { reachable: () => Promise<boolean> };
};

/** `/healthz`: the process answers. `/readyz`: 503 without the database; ready and `degraded` without Temporal. */
export const healthRoutes =
  (deps: Pick<SystemDeps, "pool" | "temporal">): FastifyPluginAsyncZod =>
  async (app) => {
    const tags = ["system"];
    app.route({
      method: "GET",
      url: "/healthz",
      schema: { tags, summary: "The process answers", response: { 200: z.object({ ok: z.literal(true) }) } },
      handler: async () => ({ ok: true as const }),
    });
    app.route({
      method: "GET",
      url: "/readyz",
      schema: { tags, summary: "Whether requests can be served", response: { 200: ready, 503: ready } },
      handler: async (request, reply) => {
        const [database, temporal] = await Promise.all([
          withinDeadline(deps.pool.query("select 1")).then(
            () => true,
            (error: Error) => {
              request.log.warn({ err: error }, "not ready: the database does not answer");
              return false;
            },
          ),
          deps.temporal.reachable(),
        ]);
        const draining = database ? await countDraining(deps.pool) : null;
        return reply
          .code(database ? 200 : 503)
          .send({ ready: database, degraded: !temporal, database, temporal, draining });
      },
    });
  };

/** Balancers give up after a few seconds: say so before they do. */
const READY_MS = 2_000;
async function withinDeadline(work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${READY_MS} ms`)), READY_MS);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

export const systemRoutes =
  (deps: SystemDeps): FastifyPluginAsyncZod =>
  async (app) => {
    const startedAt = deps.now().toISOString();
    const tags = ["system"];
    app.route({
      method: "GET",
      url: "/system",
      schema: { tags, summary: "Versions, links and counts", response: { ...problems, 200: system } },
      handler: async () => {
        const [reachable, counts, git, workers] = await Promise.all([
          deps.temporal.reachable(),
          countAgents(deps.pool),
          gitSummary(deps.pool),
          showWorkers(deps),
        ]);
        const { mode, server, temporal } = deps.settings;
        return {
          version: deps.version,
          mode,
          now: deps.now().toISOString(),
          startedAt,
          publicUrl: server.publicUrl,
          temporal: { reachable, namespace: temporal.namespace, uiUrl: temporal.uiUrl ?? null },
          workers,
          counts,
          git: showGit(git),
        };
      },
    });
    app.route({
      method: "GET",
      url: "/me",
      schema: { tags, summary: "Who asks, with which role", response: { ...problems, 200: me } },
      handler: async (request) => {
        const { name, role, via } = principalOf(request);
        return { principal: name, role, via, now: deps.now().toISOString() };
      },
    });
  };

/** Losing the answer in between is no reason to call the server unready. */
const countDraining = (pool: Pool): Promise<number> =>
  livingWorkers(pool).then(
    (workers) => workers.filter(({ draining }) => draining !== null).length,
    () => 0,
  );

const showWorkers = async ({ pool }: SystemDeps): Promise<z.output<typeof system>["workers"]> =>
  Promise.all(
    (await livingWorkers(pool)).map(async ({ holder, draining }) => ({
      host: holder,
      draining: draining && {
        since: draining.since.toISOString(),
        until: draining.until.toISOString(),
        archives: await unreplicated(pool, holder, CONTRACT_DEFAULTS.minCopies),
      },
    })),
  );

const showGit = (git: GitSummary): z.output<typeof system>["git"] => ({
  state: git.state,
  seenCommit: git.seenCommit,
  appliedCommit: git.appliedCommit,
  appliedAt: git.appliedAt?.toISOString() ?? null,
  checkedAt: git.checkedAt?.toISOString() ?? null,
  error: git.errorCode === null ? null : { code: git.errorCode, message: git.errorMessage ?? "" },
});
