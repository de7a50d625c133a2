/** API tokens and enrollment tokens: create (the secret is shown this once), list, revoke. Admins only, all audited. */
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { failure } from "../../domain/errors.ts";
import { uid } from "../../domain/rest/common.ts";
import { problems } from "../../domain/rest/problem.ts";
import * as rest from "../../domain/rest/token.ts";
import { appendAudit } from "../../store/audit.ts";
import { transaction, type Pool } from "../../store/database.ts";
import {
  createApiToken,
  createEnrollmentToken,
  listApiTokens,
  listEnrollmentTokens,
  revokeToken,
  type ApiTokenRow,
  type EnrollmentTokenRow,
} from "../../store/tokens.ts";
import { principalOf, type Principal } from "../auth.ts";

type TokenDeps = { pool: Pool; now: () => Date };
const config = { access: "admin" } as const;
const tags = ["tokens"];

export const tokenRoutes =
  (deps: TokenDeps): FastifyPluginAsyncZod =>
  async (app) => {
    apiTokenRoutes(app, deps);
    enrollmentTokenRoutes(app, deps);
    revokeRoute(app, deps);
  };

type App = Parameters<FastifyPluginAsyncZod>[0];

function apiTokenRoutes(app: App, deps: TokenDeps): void {
  app.route({
    method: "GET",
    url: "/tokens/api",
    config,
    schema: { tags, summary: "List API tokens", response: { ...problems, 200: rest.apiTokens } },
    handler: async () => ({ items: (await listApiTokens(deps.pool)).map(showApiToken) }),
  });
  app.route({
    method: "POST",
    url: "/tokens/api",
    config,
    schema: {
      tags,
      summary: "Create an API token",
      body: rest.newApiToken,
      response: { ...problems, 201: rest.createdApiToken },
    },
    handler: async (request, reply) => {
      const by = principalOf(request);
      const created = await newApiToken(deps, by, request.body);
      return reply
        .code(201)
        .header("cache-control", "no-store")
        .send({ ...showApiToken(created), token: created.token });
    },
  });
}

function enrollmentTokenRoutes(app: App, deps: TokenDeps): void {
  app.route({
    method: "GET",
    url: "/tokens/enrollment",
    config,
    schema: { tags, summary: "List enrollment tokens", response: { ...problems, 200: rest.enrollmentTokens } },
    handler: async () => ({ items: (await listEnrollmentTokens(deps.pool)).map(showEnrollmentToken) }),
  });
  app.route({
    method: "POST",
    url: "/tokens/enrollment",
    config,
    schema: {
      tags,
      summary: "Create an enrollment token for agents",
      body: rest.newEnrollmentToken,
      response: { ...problems, 201: rest.createdEnrollmentToken },
    },
    handler: async (request, reply) => {
      const created = await newEnrollmentToken(deps, principalOf(request), request.body);
      const answer = { ...showEnrollmentToken(created), token: created.token };
      return reply.code(201).header("cache-control", "no-store").send(answer);
    },
  });
}

const revokeRoute = (app: App, deps: TokenDeps): unknown =>
  app.route({
    method: "DELETE",
    url: "/tokens/:kind/:id",
    config,
    schema: {
      tags,
      summary: "Revoke a token: it is refused from the next request on",
      params: z.object({ kind: z.enum(["api", "enrollment"]), id: uid }),
      response: { ...problems, 200: rest.revoked },
    },
    handler: async (request) => revoke(deps, principalOf(request), request.params),
  });

function newApiToken(deps: TokenDeps, by: Principal, body: z.output<typeof rest.newApiToken>) {
  return transaction(deps.pool, async (tx) => {
    const at = deps.now();
    const owner = body.owner ?? by.name;
    const created = await createApiToken(tx, {
      name: body.name,
      owner,
      role: body.role,
      createdBy: by.name,
      expiresAt: dateOrNull(body.expiresAt),
      at,
    });
    if (created === undefined) throw failure("already_exists", { what: `an API token named ${body.name}` });
    const detail = { id: created.id, role: body.role, owner, expiresAt: body.expiresAt ?? null };
    await appendAudit(tx, accepted(by, "tokens.create", `api/${body.name}`, detail), at);
    return created;
  });
}

function newEnrollmentToken(deps: TokenDeps, by: Principal, body: z.output<typeof rest.newEnrollmentToken>) {
  return transaction(deps.pool, async (tx) => {
    const at = deps.now();
    const created = await createEnrollmentToken(tx, {
      name: body.name,
      labels: body.labels,
      createdBy: by.name,
      expiresAt: dateOrNull(body.expiresAt),
      at,
    });
    if (created === undefined) throw failure("already_exists", { what: `an enrollment token named ${body.name}` });
    const detail = { id: created.id, labels: body.labels, expiresAt: body.expiresAt ?? null };
    await appendAudit(tx, accepted(by, "tokens.create", `enrollment/${body.name}`, detail), at);
    return created;
  });
}

function revoke(deps: TokenDeps, by: Principal, { kind, id }: { kind: "api" | "enrollment"; id: string }) {
  return transaction(deps.pool, async (tx) => {
    const at = deps.now();
    const row = await revokeToken(tx, kind, id, at);
    if (row === undefined) throw failure("not_found", { what: `token ${id}` });
    if (row.changed) await appendAudit(tx, accepted(by, "tokens.revoke", `${kind}/${row.name}`, { id }), at);
    return { id, ...row };
  });
}

const accepted = (by: Principal, action: string, object: string, detail: Record<string, unknown>) =>
  ({ principal: by.name, action, object, outcome: "accepted", detail }) as const;

const dateOrNull = (text: string | undefined): Date | null => (text === undefined ? null : new Date(text));
const showTimes = (row: Pick<ApiTokenRow, "createdAt" | "expiresAt" | "revokedAt">) => ({
  createdAt: row.createdAt.toISOString(),
  expiresAt: row.expiresAt?.toISOString() ?? null,
  revokedAt: row.revokedAt?.toISOString() ?? null,
});
const showApiToken = (row: ApiTokenRow) => ({ ...row, ...showTimes(row) });
export const showEnrollmentToken = (row: EnrollmentTokenRow) => ({ ...row, ...showTimes(row) });
