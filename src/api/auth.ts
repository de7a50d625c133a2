/**
 * Who asks, and may they. Nothing is answered without a credential except routes that say `access: "open"`; reading needs
 * `viewer`, changing needs `operator`, unless a route asks for more. Presented credentials that are refused are audited
 * and rate limited; a request without any is only refused.
 */
import "@fastify/rate-limit";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { failure } from "../domain/errors.ts";
import { mayAct, type Role } from "../domain/rest/roles.ts";
import { audit } from "../store/audit.ts";
import type { Pool } from "../store/database.ts";
import { findSession } from "../store/sessions.ts";
import { findApiToken } from "../store/tokens.ts";

/** `open`: no credential, or one that the route checks itself (webhook, downloads, OpAMP). */
type Access = "open" | Role;
export type Principal = {
  /** Who is accountable: the owner of a token, the user of a session. */
  name: string;
  role: Role;
  via: "token" | "session";
  /** The API token, when one was used. */
  token?: { id: string; name: string };
};

declare module "fastify" {
  interface FastifyContextConfig {
    access?: Access;
  }
  interface FastifyRequest {
    principal: Principal | null;
  }
}

export type AuthDeps = { pool: Pool; now: () => Date; apiTokens: boolean; publicUrl: string };

export const SESSION_COOKIE = "myriarch_session";
/** Refused credentials per address and minute, after which the answer is 429 and no audit row is written. */
const REFUSALS_PER_MINUTE = 20;

/** Guards every route of `app` that is registered later. */
export function guard(app: FastifyInstance, deps: AuthDeps): void {
  const countRefusal = app.createRateLimit({
    max: REFUSALS_PER_MINUTE,
    timeWindow: 60_000,
    keyGenerator: (request) => `refused:${request.ip}`,
  });
  app.decorateRequest("principal", null);
  app.addHook("onRequest", async (request) => {
    const access = accessOf(request);
    if (access === "open") return;
    const principal = await authenticate(request, deps);
    if (principal === undefined) {
      if (!presentsCredential(request)) throw failure("unauthenticated", undefined);
      const limit = await countRefusal(request);
      if (!limit.isAllowed && limit.isExceeded) throw failure("rate_limited", { retryAfterS: limit.ttlInSeconds });
      await auditRefusal(request, deps, "unknown", "unauthenticated");
      throw failure("unauthenticated", undefined);
    }
    request.principal = principal;
    if (principal.via === "session" && !isSafe(request.method) && isCrossOrigin(request, deps.publicUrl)) {
      await auditRefusal(request, deps, principal.name, "cross_origin");
      throw failure("cross_origin", undefined);
    }
    if (!mayAct(principal.role, access)) {
      await auditRefusal(request, deps, principal.name, "forbidden");
      throw failure("forbidden", { need: access, have: principal.role });
    }
  });
}

/** The principal of a guarded request. */
export function principalOf(request: FastifyRequest): Principal {
  if (request.principal === null) throw failure("unauthenticated", undefined);
  return request.principal;
}

/** Who presents a live credential; undefined for none, an unknown, expired or revoked one. */
export async function authenticate(request: FastifyRequest, deps: AuthDeps): Promise<Principal | undefined> {
  const bearer = bearerOf(request);
  if (bearer !== undefined) {
    const token = deps.apiTokens ? await findApiToken(deps.pool, bearer, deps.now()) : undefined;
    return token && { name: token.owner, role: token.role, via: "token", token: { id: token.id, name: token.name } };
  }
  const secret = sessionSecretOf(request);
  if (secret === undefined) return undefined;
  const session = await findSession(deps.pool, secret, deps.now());
  return session && { name: session.principal, role: session.role, via: "session" };
}

const accessOf = (request: FastifyRequest): Access => {
  // an unknown path below the API tells nothing to who has no credential
  if (request.is404) return request.url.startsWith("/api/") ? "viewer" : "open";
  return request.routeOptions.config.access ?? (isSafe(request.method) ? "viewer" : "operator");
};
const isSafe = (method: string): boolean => method === "GET" || method === "HEAD" || method === "OPTIONS";

const bearerOf = (request: FastifyRequest): string | undefined =>
  /^Bearer +(\S{1,512})$/i.exec(request.headers.authorization ?? "")?.[1];

/** The session's secret from the cookie. */
export const sessionSecretOf = (request: FastifyRequest): string | undefined =>
  (request.headers.cookie ?? "")
    .split(/; */)
    .find((pair) => pair.startsWith(`${SESSION_COOKIE}=`))
    ?.slice(SESSION_COOKIE.length + 1);

const presentsCredential = (request: FastifyRequest): boolean =>
  request.headers.authorization !== undefined || sessionSecretOf(request) !== undefined;

/** A browser says where a request comes from; a page of another origin may not act with the session's cookie. */
const isCrossOrigin = (request: FastifyRequest, publicUrl: string): boolean => {
  const { origin } = request.headers;
  if (origin === undefined) return false;
  const host = URL.parse(origin)?.host;
  return host !== request.host && host !== URL.parse(publicUrl)?.host;
};

const auditRefusal = (request: FastifyRequest, deps: AuthDeps, principal: string, code: string): Promise<void> =>
  audit(
    deps.pool,
    {
      principal,
      action: `${request.method} ${request.routeOptions.url ?? "unknown"}`,
      object: request.url.split("?")[0] ?? "",
      outcome: "refused",
      code,
      detail: {
        address: request.ip,
        ...(request.principal?.token !== undefined && { token: request.principal.token.name }),
      },
    },
    deps.now(),
  );
