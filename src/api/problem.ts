/** Every error of the API as RFC 9457 `application/problem+json`, with the stable code of the one catalogue. */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { hasZodFastifySchemaValidationErrors, isResponseSerializationError } from "fastify-type-provider-zod";
import { failure, isFailure, type ErrorCode, type Failure } from "../domain/errors.ts";
import type { Problem } from "../domain/rest/problem.ts";

/** PostgreSQL and socket errors that mean "not there now": connection lost or refused, starting, shutting down. */
const DATABASE_AWAY = /^(08|57P|53300)|^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND)$/;

/** Makes the server answer unknown routes and every thrown error as a problem. Only 5xx are logged as errors. */
export function answerProblems(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const known = toFailure(error, app.initialConfig.bodyLimit ?? 0);
    if (known.status >= 500 && known.code !== "control_unanswered")
      request.log.error({ err: error, code: known.code }, "request failed");
    return sendProblem(reply, request, known, validationIssues(error));
  });
  app.setNotFoundHandler((request, reply) =>
    sendProblem(reply, request, failure("not_found", { what: `${request.method} ${pathOf(request)}` })),
  );
}

/** Sends one failure; `retry-after` where the catalogue's detail says when. */
function sendProblem(
  reply: FastifyReply,
  request: FastifyRequest,
  error: Failure,
  issues?: Problem["issues"],
): FastifyReply {
  const detail = error.detail as { retryAfterS?: number } | undefined;
  if (detail?.retryAfterS !== undefined) reply.header("retry-after", detail.retryAfterS);
  if (error.status === 401) reply.header("www-authenticate", 'Bearer realm="myriarch"');
  return reply
    .code(error.status)
    .type("application/problem+json")
    .serializer((body: unknown) => JSON.stringify(body))
    .send(problemOf(error, request, issues));
}

const problemOf = (error: Failure, request: FastifyRequest, issues?: Problem["issues"]): Problem => ({
  type: `urn:myriarch:error:${error.code}`,
  title: titleOf(error.code),
  status: error.status,
  code: error.code,
  detail: error.message,
  instance: pathOf(request),
  requestId: request.id,
  ...(issues !== undefined && { issues }),
});

/** `reason_required` → `Reason required`. */
const titleOf = (code: ErrorCode): string => code.charAt(0).toUpperCase() + code.slice(1).replaceAll("_", " ");
/** Never the query: it may hold a link or a token. */
const pathOf = (request: FastifyRequest): string => request.url.split("?")[0] ?? "/";

function toFailure(error: FastifyError, maxBytes: number): Failure {
  if (isFailure(error)) return error;
  if (hasZodFastifySchemaValidationErrors(error))
    return failure("invalid_request", {
      message: `the ${error.validationContext ?? "request"} does not fit the schema`,
    });
  if (isResponseSerializationError(error)) return failure("internal", undefined, error);
  if (
    DATABASE_AWAY.test(error.code ?? "") ||
    /Connection terminated|timeout exceeded when trying to connect/.test(error.message)
  )
    return failure("database_unavailable", undefined, error);
  if (error.statusCode === 413) return failure("payload_too_large", { maxBytes });
  if (error.statusCode === 415) return failure("unsupported_media_type", { want: "application/json" });
  if (error.statusCode === 429) return failure("rate_limited", { retryAfterS: 60 });
  if (error.statusCode === 404) return failure("not_found", { what: "this" });
  if (error.statusCode === 400) return failure("invalid_request", { message: error.message });
  return failure("internal", undefined, error);
}

const validationIssues = (error: FastifyError): Problem["issues"] =>
  hasZodFastifySchemaValidationErrors(error)
    ? error.validation.map((it) => ({
        path: it.instancePath.replace(/^\//, "").replaceAll("/", "."),
        message: it.message ?? "",
      }))
    : undefined;
