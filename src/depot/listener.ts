/**
 * What both listeners of a depot have in common: each has a token of its own, ends what is idle, and gives every refusal
 * a code of the catalogue.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { isDigest } from "../domain/depot/config.ts";
import { failure, isFailure, type Failure } from "../domain/errors.ts";

type Log = (message: string, fields: object) => void;
type Tls = { cert: Buffer; key: Buffer };
export type ListenerOptions = {
  token: string;
  tls?: Tls | undefined;
  /** Without a byte in either direction for so long, a connection ends. Default a minute. */
  idleTimeoutMs?: number;
  log: Log;
};

/** A configuration of 100,000 artifacts with sizes. */
const MAX_JSON_BYTES = 16 * 1024 ** 2;
const RETRY_AFTER_S = 2;

export function baseServer({ token, tls, idleTimeoutMs = 60_000, log }: ListenerOptions): FastifyInstance {
  const app: FastifyInstance = fastify({
    bodyLimit: MAX_JSON_BYTES,
    exposeHeadRoutes: false,
    requestTimeout: 0, // transfers are long; what is idle is cut below
    forceCloseConnections: "idle",
    ...(tls && { https: tls }),
  });
  app.server.setTimeout(idleTimeoutMs);
  app.addHook("onRequest", async (request) => {
    const { open } = request.routeOptions.config as { open?: boolean };
    if (open !== true && !sameSecret(request.headers.authorization ?? "", `Bearer ${token}`))
      throw failure("unauthenticated", undefined);
  });
  app.setErrorHandler((error, _request, reply) => sendProblem(reply, error, log));
  app.setNotFoundHandler((request, reply) => sendProblem(reply, failure("not_found", { what: request.url }), log));
  return app;
}

function sendProblem(reply: FastifyReply, error: unknown, log: Log): FastifyReply {
  const problem = asFailure(error, log);
  if (reply.raw.headersSent) return reply;
  // the rest of a refused body is not read: its connection ends with the answer
  if (!reply.request.raw.complete) void reply.header("connection", "close");
  if (problem.code === "depot_busy" || problem.code === "depot_stopping")
    void reply.header("retry-after", RETRY_AFTER_S);
  return reply
    .code(problem.status)
    .type("application/json")
    .send({ code: problem.code, message: problem.message, detail: problem.detail });
}

function asFailure(error: unknown, log: Log): Failure {
  if (isFailure(error)) return error;
  const { statusCode, message } = error as { statusCode?: number; message?: string };
  if (statusCode === 413) return failure("payload_too_large", { maxBytes: MAX_JSON_BYTES });
  if (statusCode === 415) return failure("unsupported_media_type", { want: "application/json or octet-stream" });
  if (statusCode !== undefined && statusCode < 500) return failure("invalid_request", { message: message ?? "" });
  log("a request failed", { error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  return failure("internal", undefined, error);
}

export function digestOf(request: FastifyRequest): string {
  const { sha256 } = request.params as { sha256: string };
  if (!isDigest(sha256)) throw failure("invalid_request", { message: "an artifact is named by its SHA-256" });
  return sha256;
}

const sameSecret = (a: string, b: string): boolean =>
  timingSafeEqual(createHash("sha256").update(a).digest(), createHash("sha256").update(b).digest());
