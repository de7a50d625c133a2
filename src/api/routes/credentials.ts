/** What agents connect with, over its life: successors of enrollment tokens, denied client certificates. Admins only. */
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { CHANNELS } from "../../domain/channels.ts";
import { failure } from "../../domain/errors.ts";
import { uid } from "../../domain/rest/common.ts";
import { problems } from "../../domain/rest/problem.ts";
import * as rest from "../../domain/rest/token.ts";
import { appendAudit } from "../../store/audit.ts";
import { allowCertificate, denyCertificate, listDenied } from "../../store/credentials.ts";
import { notify, transaction, type Pool } from "../../store/database.ts";
import { rotateEnrollmentToken } from "../../store/tokens.ts";
import { principalOf, type Principal } from "../auth.ts";
import { showEnrollmentToken } from "./tokens.ts";

type Deps = { pool: Pool; now: () => Date };
type App = Parameters<FastifyPluginAsyncZod>[0];
const config = { access: "admin" } as const;
const tags = ["tokens"];

export const credentialRoutes =
  (deps: Deps): FastifyPluginAsyncZod =>
  async (app) => {
    rotationRoute(app, deps);
    certificateRoutes(app, deps);
  };

const rotationRoute = (app: App, deps: Deps): unknown =>
  app.route({
    method: "POST",
    url: "/tokens/enrollment/:id/rotate",
    config,
    schema: {
      tags,
      summary:
        "Create the successor of an enrollment token: agents of the old one may come with it and keep their UIDs",
      params: z.object({ id: uid }),
      body: rest.rotation,
      response: { ...problems, 201: rest.createdEnrollmentToken },
    },
    handler: async (request, reply) => {
      const created = await rotate(deps, principalOf(request), request.params.id, request.body ?? {});
      const answer = { ...showEnrollmentToken(created), token: created.token };
      return reply.code(201).header("cache-control", "no-store").send(answer);
    },
  });

function rotate(deps: Deps, by: Principal, id: string, body: NonNullable<z.output<typeof rest.rotation>>) {
  return transaction(deps.pool, async (tx) => {
    const at = deps.now();
    const endsAt = body.endsAt === undefined ? null : new Date(body.endsAt);
    const created = await rotateEnrollmentToken(tx, { id, name: body.name, endsAt, createdBy: by.name, at });
    if (created === undefined) throw failure("not_found", { what: `token ${id}` });
    if (created === "name_taken") throw failure("already_exists", { what: `an enrollment token named ${body.name}` });
    const detail = { id, successor: created.name, successorId: created.id, endsAt: endsAt?.toISOString() ?? null };
    const entry = { action: "tokens.rotate", object: `enrollment/${created.predecessor}`, detail };
    await appendAudit(tx, { principal: by.name, outcome: "accepted", ...entry }, at);
    return created;
  });
}

function certificateRoutes(app: App, deps: Deps): void {
  app.route({
    method: "GET",
    url: "/tokens/certificates",
    config,
    schema: {
      tags,
      summary: "List denied client certificates",
      response: { ...problems, 200: rest.deniedCertificates },
    },
    handler: async () => ({
      items: (await listDenied(deps.pool)).map((it) => ({ ...it, deniedAt: it.deniedAt.toISOString() })),
    }),
  });
  app.route({
    method: "POST",
    url: "/tokens/certificates",
    config,
    schema: {
      tags,
      summary: "Deny client certificates of a subject: its agents lose their connections. Needs a reason",
      body: rest.certificateDenial,
      response: { ...problems, 200: rest.certificateChanged },
    },
    handler: async (request) => {
      const by = principalOf(request);
      const { subject, reason } = request.body;
      const denial = { subject, reason, deniedBy: by.name, deniedAt: deps.now() };
      return change(deps, by, "tokens.deny", subject, { reason }, (tx) => denyCertificate(tx, denial));
    },
  });
  app.route({
    method: "DELETE",
    url: "/tokens/certificates/:subject",
    config,
    schema: {
      tags,
      summary: "Let client certificates of a subject count again",
      params: z.object({ subject: z.string().min(1).max(200) }),
      response: { ...problems, 200: rest.certificateChanged },
    },
    handler: async (request) => {
      const { subject } = request.params;
      return change(deps, principalOf(request), "tokens.allow", subject, {}, (tx) => allowCertificate(tx, subject));
    },
  });
}

function change(
  { pool, now }: Deps,
  by: Principal,
  action: string,
  subject: string,
  detail: Record<string, unknown>,
  write: (tx: Parameters<typeof allowCertificate>[0]) => Promise<boolean>,
): Promise<{ subject: string; changed: boolean }> {
  return transaction(pool, async (tx) => {
    const changed = await write(tx);
    if (changed) {
      const entry = { principal: by.name, action, object: `certificate/${subject}`, outcome: "accepted" as const };
      await appendAudit(tx, { ...entry, detail }, now());
      await notify(tx, CHANNELS.credentials);
    }
    return { subject, changed };
  });
}
