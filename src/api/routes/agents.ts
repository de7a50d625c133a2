/** Agents: list, read, explain, delete. */
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { isSecretKey, MASK } from "../../domain/agents/redact-config.ts";
import { BRAND } from "../../domain/brand.ts";
import { CHANNELS } from "../../domain/channels.ts";
import { failure } from "../../domain/errors.ts";
import * as rest from "../../domain/rest/agent.ts";
import { uid } from "../../domain/rest/common.ts";
import { problems } from "../../domain/rest/problem.ts";
import { listAgents, readAgent, type AgentDetailView, type AgentView } from "../../store/agent-list.ts";
import { appendAudit } from "../../store/audit.ts";
import { notify, transaction, type Pool } from "../../store/database.ts";
import { deleteAgent } from "../../store/forget-agents.ts";
import { principalOf, type Principal } from "../auth.ts";
import { chooseBaseUrl } from "../base-url.ts";
import { healthOf, stateOf, whyNow } from "../explain-agent.ts";
import { explainWhole } from "../explain-host.ts";

type AgentDeps = {
  pool: Pool;
  now: () => Date;
  settings: { server: { publicUrl: string }; artifacts?: { agentBaseUrls: readonly string[] } };
};
const params = z.object({ uid });
const tags = ["agents"];

export const agentRoutes =
  (deps: AgentDeps): FastifyPluginAsyncZod =>
  async (app) => {
    app.route({
      method: "GET",
      url: "/agents",
      schema: {
        tags,
        summary: "List agents",
        querystring: rest.agentQuery,
        response: { ...problems, 200: rest.agentPage },
      },
      handler: async (request) => {
        const { cursor, limit, ...filter } = request.query;
        const after = cursor === undefined ? undefined : readCursor(cursor);
        const rows = await listAgents(deps.pool, { ...filter, after, limit: limit + 1 });
        const items = rows.slice(0, limit);
        const last = items.at(-1);
        return {
          items: items.map((it) => showAgent(it, deps)),
          next: rows.length > limit && last !== undefined ? writeCursor(last) : null,
        };
      },
    });
    app.route({
      method: "GET",
      url: "/agents/:uid",
      schema: { tags, summary: "Read one agent", params, response: { ...problems, 200: rest.agentDetail } },
      handler: async (request) => showDetail(await must(deps.pool, request.params.uid), deps),
    });
    app.route({
      method: "GET",
      url: "/agents/:uid/explain",
      schema: {
        tags,
        summary:
          "Why it is not updated, or what it waits for, in one sentence; then from what runs back to artifact, commit and object",
        params,
        response: { ...problems, 200: rest.explanation },
      },
      handler: async (request) => {
        const agent = await must(deps.pool, request.params.uid);
        return explainWhole(deps.pool, agent, deps.now());
      },
    });
    app.route({
      method: "DELETE",
      url: "/agents/:uid",
      config: { access: "admin" },
      schema: {
        tags,
        summary:
          "Forget an agent: its connection ends, and if it comes back it is a new one. Needs a reason; while an update of it runs also force",
        params,
        body: rest.deleteBody,
        response: { ...problems, 200: rest.deleted },
      },
      handler: async (request) => remove(deps, request.params.uid, request.body ?? {}, principalOf(request)),
    });
  };

async function must(pool: Pool, id: string): Promise<AgentDetailView> {
  const agent = await readAgent(pool, id);
  if (agent === undefined) throw failure("not_found", { what: `agent ${id}` });
  return agent;
}

async function remove(
  deps: AgentDeps,
  id: string,
  { reason = "", force = false }: { reason?: string | undefined; force?: boolean | undefined },
  by: Principal,
) {
  if (reason === "") throw failure("reason_required", { action: "deleting an agent" });
  return transaction(deps.pool, async (tx) => {
    const row = await deleteAgent(tx, id, force, deps.now());
    if (row === undefined) throw failure("not_found", { what: `agent ${id}` });
    if (row.outcome === "in_flight")
      throw failure("control_conflict", { control: "delete", because: `an update of ${row.hostName} is in flight` });
    const detail = { reason, hostName: row.hostName, ...(force && { force }) };
    await appendAudit(
      tx,
      { principal: by.name, action: "agents.delete", object: id, outcome: "accepted", detail },
      deps.now(),
    );
    await notify(tx, CHANNELS.agents);
    return { uid: id, hostName: row.hostName };
  });
}

const writeCursor = ({ hostName, uid }: AgentView): string =>
  Buffer.from(JSON.stringify([hostName, uid])).toString("base64url");
const cursorShape = z.tuple([z.string(), uid]);
function readCursor(text: string): { hostName: string; uid: string } {
  try {
    const [hostName, id] = cursorShape.parse(JSON.parse(Buffer.from(text, "base64url").toString("utf8")));
    return { hostName, uid: id };
  } catch (error) {
    throw failure("invalid_request", { message: "the cursor is not one of this list" }, error);
  }
}

const CONFIG_STATUS = ["unset", "applied", "applying", "failed"] as const;

const showAgent = (it: AgentView, deps: AgentDeps): z.output<typeof rest.agent> => ({
  uid: it.uid,
  kind: it.kind,
  kindReason: it.kindReason,
  hostName: it.hostName,
  serviceName: it.serviceName,
  version: it.version,
  os: it.os,
  arch: it.arch,
  connected: it.connected,
  firstSeenAt: it.firstSeenAt.toISOString(),
  lastSeenAt: it.lastSeenAt.toISOString(),
  healthy: it.healthy,
  healthySince: it.healthySince?.toISOString() ?? null,
  healthStatus: it.healthStatus,
  lastError: it.lastError,
  remoteConfig: showConfig(it, deps.now()),
  health: showHealth(it),
  updater: showUpdater(it, deps),
  fleet: it.fleet,
  fleetReason: it.fleetReason,
  wants: { version: it.wantedVersion, configHash: it.wantedConfig, renderError: it.renderError },
  offered: it.offer && {
    ...it.offer,
    openedAt: utc(it.offer.openedAt),
    sentAt: it.offer.sentAt && utc(it.offer.sentAt),
  },
  phase: it.phase,
  phaseSince: it.phaseSince?.toISOString() ?? null,
  link: { state: it.link, reason: it.linkReason, uid: it.linkUid },
  why: whyNow(it, deps.now()),
});

function showConfig(it: AgentView, now: Date): z.output<typeof rest.agent>["remoteConfig"] {
  const { state, text } = stateOf(it, now);
  return {
    hash: it.configHash,
    status: CONFIG_STATUS[it.configStatus] ?? "unset",
    error: it.configError,
    state,
    text,
    missing: it.missing ?? [],
    drift: it.drift,
    sentHash: it.sentHash,
    sentAt: it.sentAt?.toISOString() ?? null,
  };
}

function showHealth(it: AgentView): z.output<typeof rest.agent>["health"] {
  const verdict = healthOf(it);
  return { ok: verdict.ok, because: verdict.ok ? "" : verdict.because };
}

function showUpdater(it: AgentView, { settings }: AgentDeps): z.output<typeof rest.agent>["updater"] {
  if (it.updaterAttributes === null) return null;
  const attributes = it.updaterAttributes;
  const text = (key: string): string | null => {
    const value = attributes[key];
    return typeof value === "string" ? value : null;
  };
  const serverEndpoint = text(BRAND.attributes.serverEndpoint);
  const bases = settings.artifacts?.agentBaseUrls ?? [];
  return {
    installMethod: text(BRAND.attributes.installMethod),
    supervisorService: text(BRAND.attributes.supervisorService),
    serverEndpoint,
    imageCollectorVersion: text(BRAND.attributes.imageCollectorVersion),
    downloadBase: chooseBaseUrl(serverEndpoint ?? undefined, bases, settings.server.publicUrl),
    package: it.package && {
      status: it.package.status,
      version: it.package.version,
      offeredVersion: it.package.offeredVersion,
      error: it.package.error,
    },
  };
}
/** Times that come out of PostgreSQL inside JSON carry an offset. */
const utc = (text: string): string => new Date(text).toISOString();

const showDetail = (it: AgentDetailView, deps: AgentDeps): z.output<typeof rest.agentDetail> => ({
  ...showAgent(it, deps),
  attributes: masked(it.attributes),
  labels: it.labels,
  unhealthyComponents: it.unhealthyComponents,
  packageStatus: it.packageStatus,
  updateAttempt: it.updateAttempt,
  connections: it.connections.map(({ at, event, detail }) => ({ at: at.toISOString(), event, detail })),
});

/** What an agent reports may hold what somebody put into its environment by mistake. */
const masked = (attributes: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(attributes).map(([key, value]) => [key, isSecretKey(key) ? MASK : value]));
