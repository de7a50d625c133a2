/**
 * The two listeners of a depot: control (the five calls and what we add to them) and read (one call, GET only). Each has
 * a token of its own; every refusal has a code of the catalogue.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { Readable } from "node:stream";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { z } from "zod";
import { rangeOf } from "../domain/artifact/range.ts";
import { isDigest, type DepotConfig } from "../domain/depot/config.ts";
import { failure, isFailure, type Failure } from "../domain/errors.ts";
import {
  setDigest,
  configBody,
  confirmBody,
  copyBody,
  adoptBody,
  listQuery,
  putQuery,
  scrubBody,
  EPOCH_HEADER,
  type Job,
} from "./wire.ts";
import type { DepotNode, Fence } from "./node.ts";

type Log = (message: string, fields: object) => void;
type Tls = { cert: Buffer; key: Buffer };
export type ListenerOptions = { token: string; tls?: Tls | undefined; log: Log };

/** A configuration of 100,000 artifacts with sizes. */
const MAX_JSON_BYTES = 16 * 1024 ** 2;
const MAX_WAIT_MS = 20_000;
const MAX_READS = 64;

/** The control listener. Not listening yet. */
export function buildControlServer(node: DepotNode, options: ListenerOptions): FastifyInstance {
  const app = baseServer(options);
  app.addContentTypeParser("application/octet-stream", (_request, body, done) => done(null, body));
  app.get("/healthz", { config: { open: true } }, () => ({ ok: true }));
  app.get("/artifacts-config", () => {
    const config = node.config();
    if (config === undefined) throw failure("not_found", { what: "a configuration" });
    return config;
  });
  app.put("/artifacts-config", async (request, reply) => {
    const short = confirmBody.safeParse(request.body);
    if (short.success) await node.confirmConfig(short.data, short.data.peers);
    else {
      const { peers, ...config } = read(configBody, request.body);
      await node.putConfig(normalized(config), peers);
    }
    return reply.code(204).send();
  });
  app.get("/artifacts", (request) => {
    const { format, digest } = read(listQuery, request.query);
    return format === "bitmap" ? node.listBits(digest) : node.list();
  });
  app.put("/artifacts/:sha256", (request) => {
    const length = Number(request.headers["content-length"] ?? Number.NaN);
    const body = request.body instanceof Readable ? request.body : Readable.from([]);
    const { offset } = read(putQuery, request.query);
    return node.put(
      digestOf(request),
      fenceOf(request),
      Number.isSafeInteger(length) ? length : undefined,
      body,
      offset,
    );
  });
  app.get("/artifacts/:sha256/partial", async (request) => ({ bytes: await node.partial(digestOf(request)) }));
  app.post("/artifacts/:sha256/copy-from-depot", async (request, reply) => {
    const { depot_base_url } = read(copyBody, request.body);
    const job = await node.copyFromDepot(digestOf(request), fenceOf(request), depot_base_url);
    return reply.code(202).send({ job: job.id });
  });
  app.get("/jobs/:id", (request) => {
    const { id } = request.params as { id: string };
    const { wait_ms } = request.query as { wait_ms?: string };
    return jobOf(node, id, Math.min(MAX_WAIT_MS, Math.max(0, Number(wait_ms ?? 0) || 0)));
  });
  app.get("/status", () => node.status());
  app.get("/scrub", () => node.scrub.status());
  app.post("/scrub", (request, reply) => {
    node.scrub.begin(read(scrubBody, request.body).kind);
    return reply.code(202).send(node.scrub.status());
  });
  app.post("/adopt", async (request, reply) => {
    const { epoch, released } = read(adoptBody, request.body);
    await node.adopt(epoch, released);
    return reply.code(204).send();
  });
  return app;
}

async function jobOf(node: DepotNode, id: string, waitMs: number): Promise<Job> {
  const job = await node.job(id, waitMs);
  if (job === undefined) throw failure("not_found", { what: `job ${id}` });
  return job;
}

/** The read listener: content by digest, whole or a range; never changed, so the digest is its ETag. */
export function buildReadServer(node: DepotNode, options: ListenerOptions): FastifyInstance {
  const app = baseServer(options);
  let reads = 0;
  app.get("/artifact/sha256/:sha256", { exposeHeadRoute: true }, async (request, reply) => {
    const sha256 = digestOf(request);
    if (reads >= MAX_READS) throw failure("depot_busy", undefined);
    const opened = await node.open(sha256);
    if (opened === undefined) throw failure("not_found", { what: sha256 });
    const etag = `"${sha256}"`;
    const match = request.headers["if-match"];
    if (match !== undefined && match !== etag && match !== "*") return reply.code(412).send();
    void reply.header("etag", etag).header("accept-ranges", "bytes").type("application/octet-stream");
    const range = rangeOf(request.headers.range, opened.size);
    if (range === "unsatisfiable") return reply.code(416).header("content-range", `bytes */${opened.size}`).send();
    const { start, end } = range ?? { start: 0, end: opened.size };
    if (range) void reply.code(206).header("content-range", `bytes ${start}-${end - 1}/${opened.size}`);
    void reply.header("content-length", end - start);
    if (request.method === "HEAD") return reply.send(Readable.from([])); // a stream: its length stays ours
    reads++;
    const body = Readable.from(opened.read(start, end), { objectMode: false });
    body.once("close", () => reads--);
    return reply.send(body);
  });
  return app;
}

function baseServer({ token, tls, log }: ListenerOptions): FastifyInstance {
  const app: FastifyInstance = fastify({
    bodyLimit: MAX_JSON_BYTES,
    exposeHeadRoutes: false,
    requestTimeout: 0, // transfers are long; what is idle is cut below
    forceCloseConnections: "idle",
    ...(tls && { https: tls }),
  });
  app.server.setTimeout(60_000); // without a byte in either direction
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

function read<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw failure("invalid_request", { message: z.prettifyError(parsed.error).slice(0, 500) });
}

/** The set in its order, each digest once, sizes along with it. */
function normalized(config: Omit<z.output<typeof configBody>, "peers">): DepotConfig & { digest: string } {
  const sizeOf = new Map(config.artifacts.map((sha256, i) => [sha256, config.sizes?.[i] ?? 0]));
  const artifacts = [...sizeOf.keys()].sort();
  const { epoch, generation, held, released } = config;
  return {
    epoch,
    generation,
    artifacts,
    digest: setDigest(artifacts),
    ...(config.sizes && { sizes: artifacts.map((sha256) => sizeOf.get(sha256) ?? 0) }),
    ...(held && { held }),
    ...(released && { released }),
  };
}

function digestOf(request: FastifyRequest): string {
  const { sha256 } = request.params as { sha256: string };
  if (!isDigest(sha256)) throw failure("invalid_request", { message: "an artifact is named by its SHA-256" });
  return sha256;
}

function fenceOf(request: FastifyRequest): Fence {
  const { generation } = request.query as { generation?: string };
  if (generation === undefined || !/^\d{1,15}$/.test(generation))
    throw failure("invalid_request", { message: "?generation= is required" });
  const epoch = request.headers[EPOCH_HEADER];
  return { epoch: typeof epoch === "string" ? epoch : undefined, generation: Number(generation) };
}

const sameSecret = (a: string, b: string): boolean =>
  timingSafeEqual(createHash("sha256").update(a).digest(), createHash("sha256").update(b).digest());
