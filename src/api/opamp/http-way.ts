/**
 * OpAMP over plain HTTP: an agent posts a message and gets one back, on the same path as the WebSocket. Reference clients
 * repeat a message only after 429, 503 and network errors; anything else loses it for good, so what may be mended by
 * trying again is answered with these.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { failure, isFailure, type Failure } from "../../domain/errors.ts";
import { decodeAgentToServer, encodeServerToAgent, Malformed } from "../../protocol/codec.ts";
import { SERVER_ERROR } from "../../protocol/messages.ts";
import type { AgentToServer, ServerToAgent } from "../../protocol/messages.ts";
import { readUid } from "../../protocol/uid.ts";
import type { Admission, Refusal } from "./admission.ts";
import { MAX_MESSAGE_BYTES } from "./connection.ts";
import type { Credential } from "./credentials.ts";
import { createBodies, type Body } from "./http-body.ts";
import type { Polls } from "./http-polls.ts";

export const OPAMP_CONTENT_TYPE = "application/x-protobuf";

type Deps = {
  admission: Admission;
  polls: Polls;
  /** In [0, 1). */
  chance: () => number;
  onRefused: (refused: Failure | Refusal, who: { address: string; credential?: Credential; agent?: string }) => void;
  onError: (error: unknown) => void;
};

/** Smaller answers gain nothing. */
const GZIP_FROM_BYTES = 1_024;
/** A refused sender gets this long to stop sending and to read why. */
const LINGER_MS = 5_000;
const BUSY_S = 5;

const pack = promisify(gzip);

export function createHttpWay(deps: Deps): { answer: (request: IncomingMessage, response: ServerResponse) => void } {
  const bodies = createBodies();
  return {
    answer(request, response) {
      serve(request, response, bodies.read, deps).catch((error: unknown) => {
        deps.onError(error);
        response.destroy();
      });
    },
  };
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  read: (request: IncomingMessage) => Promise<Body>,
  deps: Deps,
): Promise<void> {
  const agent = readUid(String(request.headers["opamp-instance-uid"] ?? ""));
  if (request.method !== "POST") return refuse(request, response, 405, agent);
  if (request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase() !== OPAMP_CONTENT_TYPE)
    return refuse(request, response, 415, agent);
  const identified = await deps.admission.identify(request);
  const { address } = identified;
  if ("refusal" in identified) {
    deps.onRefused(identified.refusal, { address, ...(agent !== undefined && { agent }) });
    return refuse(request, response, identified.refusal.status, agent, identified.refusal.retryAfterS);
  }
  const { credential } = identified;
  const body = await read(request);
  if (body.is === "gone") return;
  const taken = body.is === "whole" ? decode(body.data) : refusalOf(body.is, deps);
  if (isFailure(taken)) {
    deps.onRefused(taken, { address, credential, ...(agent !== undefined && { agent }) });
    return refuse(request, response, taken.status, agent, retryOf(taken));
  }
  const answer = await deps.polls.converse(credential, address, taken.message, taken.data).catch((error: unknown) => {
    deps.onError(error);
    return { status: 503, code: "database_unavailable", retryAfterS: later(deps) } satisfies Refusal;
  });
  if (!("instanceUid" in answer))
    return refuse(request, response, answer.status, taken.message.instanceUid, answer.retryAfterS);
  await send(request, response, 200, answer);
}

const later = ({ chance }: Deps): number => BUSY_S + Math.floor(chance() * BUSY_S);

function decode(data: Buffer): { message: AgentToServer; data: Buffer } | Failure {
  try {
    return { message: decodeAgentToServer(data, MAX_MESSAGE_BYTES), data };
  } catch (error) {
    if (error instanceof Malformed) return failure("malformed_message", { because: error.message }, error);
    throw error;
  }
}

function refusalOf(is: Exclude<Body["is"], "whole" | "gone">, deps: Deps): Failure {
  const refusals = {
    too_large: () => failure("payload_too_large", { maxBytes: MAX_MESSAGE_BYTES }),
    too_slow: () => failure("message_too_slow", undefined),
    busy: () => failure("server_busy", { retryAfterS: later(deps) }),
    unknown_encoding: () => failure("unsupported_media_type", { want: "gzip or no content encoding" }),
    broken: () => failure("malformed_message", { because: "the body is not gzip" }),
  } satisfies Record<typeof is, () => Failure>;
  return refusals[is]();
}

const retryOf = ({ detail }: Failure): number | undefined =>
  (detail as { retryAfterS?: number } | undefined)?.retryAfterS;

/** Answers without having read the body; what still comes is thrown away, for a bounded time. */
async function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  agent: string | undefined,
  retryAfterS?: number,
): Promise<void> {
  if (retryAfterS !== undefined) response.setHeader("retry-after", retryAfterS);
  if (status === 401) response.setHeader("www-authenticate", 'Bearer realm="opamp"');
  if (status === 405) response.setHeader("allow", "POST");
  const retry = retryAfterS === undefined ? {} : { retryAfterNanoseconds: BigInt(retryAfterS) * 1_000_000_000n };
  const type = retryAfterS === undefined ? SERVER_ERROR.badRequest : SERVER_ERROR.unavailable;
  const errorResponse = { type, errorMessage: `refused with ${status}`, ...retry };
  const cut = setTimeout(() => request.socket.destroy(), LINGER_MS);
  request.once("close", () => clearTimeout(cut));
  request.resume();
  await send(request, response, status, { instanceUid: agent ?? "", flags: 0n, capabilities: 0n, errorResponse });
}

async function send(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  message: ServerToAgent,
): Promise<void> {
  // Over HTTP there is no header byte.
  let body: Uint8Array = encodeServerToAgent(message).subarray(1);
  if (body.length >= GZIP_FROM_BYTES && /\bgzip\b/i.test(request.headers["accept-encoding"] ?? "")) {
    body = await pack(body);
    response.setHeader("content-encoding", "gzip");
  }
  response.writeHead(status, { "content-type": OPAMP_CONTENT_TYPE, "content-length": body.length });
  // The end of an answer to a client that keeps no connections closes the socket, and a sender that meets a closed one
  // does not read the answer any more. So it is written now, and ended when the request has been.
  if (request.complete || request.destroyed) response.end(body);
  else {
    response.write(body);
    request.once("close", () => response.end());
  }
}
