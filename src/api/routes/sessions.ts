/**
 * Sessions of browsers: opened by a one-time link (printed in development mode) or by an API token, ended on request.
 * The cookie is out of reach of scripts and is never sent along from another site.
 */
import type { FastifyReply } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { failure } from "../../domain/errors.ts";
import { time } from "../../domain/rest/common.ts";
import { problems } from "../../domain/rest/problem.ts";
import { ROLES } from "../../domain/rest/roles.ts";
import { audit } from "../../store/audit.ts";
import type { Pool } from "../../store/database.ts";
import { endSession, openSession, openTokenSession, SESSION_MS, type SessionRow } from "../../store/sessions.ts";
import { principalOf, SESSION_COOKIE, sessionSecretOf } from "../auth.ts";

type SessionDeps = {
  pool: Pool;
  now: () => Date;
  /** Whether browsers reach us by https: the cookie is then sent nowhere else. */
  secure: boolean;
};

const LINKS_PER_MINUTE = 10;

/** `GET /login?link=…` uses the link up and goes on to the page. */
export const loginRoutes =
  (deps: SessionDeps): FastifyPluginAsyncZod =>
  async (app) => {
    app.route({
      method: "GET",
      url: "/login",
      config: { rateLimit: { max: LINKS_PER_MINUTE, timeWindow: 60_000 } },
      schema: { querystring: z.object({ link: z.string().min(1).max(200) }) },
      handler: async (request, reply) => {
        const session = await openSession(deps.pool, request.query.link, deps.now());
        const entry = { principal: session?.principal ?? "unknown", action: "session.login", object: "login link" };
        if (session === undefined) {
          const refused = {
            ...entry,
            outcome: "refused",
            code: "login_link_invalid",
            detail: { address: request.ip },
          } as const;
          await audit(deps.pool, refused, deps.now());
          throw failure("login_link_invalid", undefined);
        }
        await audit(deps.pool, { ...entry, outcome: "accepted", detail: { address: request.ip } }, deps.now());
        setCookie(reply, session.secret, SESSION_MS / 1_000, deps.secure);
        return reply.header("referrer-policy", "no-referrer").header("cache-control", "no-store").redirect("/", 303);
      },
    });
  };

const opened = z.object({ principal: z.string(), role: z.enum(ROLES), expiresAt: time });
const show = ({ principal, role, expiresAt }: SessionRow): z.output<typeof opened> => ({
  principal,
  role,
  expiresAt: expiresAt.toISOString(),
});

export const sessionRoutes =
  (deps: SessionDeps): FastifyPluginAsyncZod =>
  async (app) => {
    const config = { access: "viewer" } as const;
    const tags = ["system"];
    app.route({
      method: "POST",
      url: "/session",
      config,
      schema: {
        tags,
        summary: "Open a browser session with an API token; it ends with the token, after 12 hours at the latest",
        response: { ...problems, 201: opened },
      },
      handler: async (request, reply) => {
        const by = principalOf(request);
        if (by.token === undefined)
          throw failure("invalid_request", { message: "a session is opened with an API token" });
        const session = await openTokenSession(
          deps.pool,
          { id: by.token.id, owner: by.name, role: by.role },
          deps.now(),
        );
        const entry = {
          principal: by.name,
          action: "session.login",
          object: `api/${by.token.name}`,
          outcome: "accepted",
        } as const;
        await audit(deps.pool, entry, deps.now());
        setCookie(reply, session.secret, SESSION_MS / 1_000, deps.secure);
        return reply.code(201).send(show(session));
      },
    });
    app.route({
      method: "DELETE",
      url: "/session",
      config,
      schema: { tags, summary: "End the session", response: { ...problems, 204: z.null() } },
      handler: async (request, reply) => {
        const secret = sessionSecretOf(request);
        if (secret !== undefined) {
          await endSession(deps.pool, secret);
          await audit(
            deps.pool,
            { principal: principalOf(request).name, action: "session.logout", object: "session", outcome: "accepted" },
            deps.now(),
          );
        }
        setCookie(reply, "", 0, deps.secure);
        return reply.code(204).send(null);
      },
    });
  };

const setCookie = (reply: FastifyReply, value: string, maxAgeS: number, secure: boolean): FastifyReply =>
  reply.header(
    "set-cookie",
    `${SESSION_COOKIE}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAgeS}${secure ? "; Secure" : ""}`,
  );
