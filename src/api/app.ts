/**
 * The server's HTTP side as one fastify instance: who may ask, what errors look like, the routes of every part, the page.
 * It opens no port: `listen` and the OpAMP endpoint on `app.server` are the composition root's.
 */
import helmet from "@fastify/helmet";
import rateLimit from "@fastify/rate-limit";
import { randomUUID } from "node:crypto";
import { fastify, LogController, type FastifyBaseLogger, type FastifyInstance, type FastifyPluginAsync } from "fastify";
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from "fastify-type-provider-zod";
import type { ServerSettings } from "../domain/config/server-config.ts";
import { auditHead } from "../store/audit-read.ts";
import type { Pool } from "../store/database.ts";
import { authenticate, guard } from "./auth.ts";
import type { EventHub } from "./event-hub.ts";
import { etags } from "./etag.ts";
import { createListenerServer, type ListenerTls } from "./listener.ts";
import { describeApi, publishDescription } from "./openapi.ts";
import { answerProblems } from "./problem.ts";
import { agentRoutes } from "./routes/agents.ts";
import { auditRoutes } from "./routes/audit.ts";
import { credentialRoutes } from "./routes/credentials.ts";
import { enrolmentRoutes } from "./routes/enrolment.ts";
import { eventRoutes } from "./routes/events.ts";
import { fleetRoutes } from "./routes/fleets.ts";
import { noticeRoutes } from "./routes/notices.ts";
import { notificationRoutes } from "./routes/notifications.ts";
import { pageRoutes } from "./routes/page.ts";
import { rolloutRoutes, type RolloutRouteDeps } from "./routes/rollouts.ts";
import { loginRoutes, sessionRoutes } from "./routes/sessions.ts";
import { healthRoutes, systemRoutes } from "./routes/system.ts";
import { tokenRoutes } from "./routes/tokens.ts";

export type ApiDeps = {
  settings: Pick<ServerSettings, "mode" | "server" | "auth"> & {
    temporal: Pick<ServerSettings["temporal"], "uiUrl" | "namespace">;
    artifacts?: Pick<ServerSettings["artifacts"], "agentBaseUrls">;
  };
  pool: Pool;
  hub: EventHub;
  now: () => Date;
  /** A pino logger, see `createLogger`. */
  log: FastifyBaseLogger;
  version: string;
  controls: RolloutRouteDeps["controls"];
  temporal: { reachable: () => Promise<boolean> };
  /** Folder of the page's files. */
  webDir: string;
  /** Absent: TLS ends in front of the server. */
  tls?: ListenerTls | undefined;
  plugins: {
    /** Mounted below `/api/v1` behind the guard: routes of gitops, artifacts, depots. */
    guarded: FastifyPluginAsync[];
    /** Mounted below `/api/v1`, each checks a credential of its own: webhook, artifact content. */
    ownCredential: FastifyPluginAsync[];
    /** Mounted at the root with credentials of their own: OpAMP over plain HTTP. */
    root: FastifyPluginAsync[];
  };
};

const BODY_LIMIT_BYTES = 1024 ** 2;

/** Builds the whole application; usable by `inject` at once, ends with `app.close()`. */
export async function buildApi(deps: ApiDeps): Promise<FastifyInstance> {
  const app = fastify({
    serverFactory: (handler) => createListenerServer(handler, deps.tls),
    loggerInstance: deps.log,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    bodyLimit: BODY_LIMIT_BYTES,
    trustProxy: deps.settings.server.trustedProxies.length === 0 ? false : deps.settings.server.trustedProxies,
    routerOptions: { maxParamLength: 300 },
  }).withTypeProvider<ZodTypeProvider>();
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  answerProblems(app);
  await app.register(helmet, { contentSecurityPolicy: { useDefaults: false, directives: PAGE_POLICY }, hsts: false });
  await app.register(rateLimit, { global: false });
  await app.register(describeApi(deps.version));
  logRequests(app);
  logAuditHead(app, deps.pool);
  const auth = {
    pool: deps.pool,
    now: deps.now,
    apiTokens: deps.settings.auth.apiTokens,
    publicUrl: deps.settings.server.publicUrl,
  };
  guard(app, auth);
  await app.register(apiV1(deps, auth), { prefix: "/api/v1" });
  await app.register(
    openly(async (scope) => {
      await scope.register(publishDescription);
      await scope.register(healthRoutes(deps));
      await scope.register(loginRoutes({ ...deps, secure: deps.settings.server.publicUrl.startsWith("https:") }));
      await scope.register(pageRoutes(deps.webDir));
      for (const plugin of deps.plugins.root) await scope.register(plugin);
    }),
  );
  return app;
}

/** Strict: nothing inline, nothing from elsewhere. */
const PAGE_POLICY = {
  "default-src": ["'none'"],
  "script-src": ["'self'"],
  "style-src": ["'self'"],
  "img-src": ["'self'", "data:"],
  "connect-src": ["'self'"],
  "form-action": ["'self'"],
  "base-uri": ["'none'"],
  "frame-ancestors": ["'none'"],
};

const apiV1 =
  (deps: ApiDeps, auth: Parameters<typeof guard>[1]): FastifyPluginAsync =>
  async (api) => {
    etags(api);
    const secure = deps.settings.server.publicUrl.startsWith("https:");
    await api.register(agentRoutes(deps));
    await api.register(fleetRoutes(deps));
    await api.register(rolloutRoutes({ ...deps, temporalLinks: deps.settings.temporal }));
    await api.register(tokenRoutes(deps));
    await api.register(credentialRoutes(deps));
    await api.register(enrolmentRoutes(deps));
    await api.register(auditRoutes(deps));
    await api.register(noticeRoutes(deps));
    await api.register(notificationRoutes(deps));
    await api.register(sessionRoutes({ ...deps, secure }));
    await api.register(systemRoutes(deps));
    const stillLive: Parameters<typeof eventRoutes>[0]["stillLive"] = async (request) =>
      (await authenticate(request, auth)) !== undefined;
    await api.register(eventRoutes({ hub: deps.hub, now: deps.now, stillLive }));
    for (const plugin of deps.plugins.guarded) await api.register(plugin);
    await api.register(
      openly(async (scope) => {
        for (const plugin of deps.plugins.ownCredential) await scope.register(plugin);
      }),
    );
  };

/** A scope whose routes need no credential of ours. */
const openly =
  (plugin: FastifyPluginAsync): FastifyPluginAsync =>
  async (scope) => {
    scope.addHook("onRoute", (route) => {
      route.config = { access: "open", ...route.config };
    });
    await scope.register(plugin);
  };

/** The head of the audit chain in the log: a tail that somebody cuts off later is found by `audit verify --head`. */
function logAuditHead(app: FastifyInstance, pool: Pool): void {
  app.addHook("onReady", async () => {
    const head = await auditHead(pool).catch((error: Error) => {
      app.log.warn({ err: error }, "the head of the audit chain could not be read");
      return null;
    });
    if (head !== null) app.log.info({ seq: head.seq.toString(), hash: head.hash }, "head of the audit chain");
  });
}

/** One line per request that changed something or was refused; reads only at debug. */
function logRequests(app: FastifyInstance): void {
  app.addHook("onRequest", async (request, reply) => {
    reply.header("x-request-id", request.id);
  });
  app.addHook("onResponse", async (request, reply) => {
    const quiet = reply.statusCode < 400 && (request.method === "GET" || request.method === "HEAD");
    request.log[quiet ? "debug" : "info"](
      {
        req: request,
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
        principal: request.principal?.name,
      },
      "request",
    );
  });
}
