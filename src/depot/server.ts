/** The control listener of a depot: the five calls of the contract, and what we add to them. */
import { Readable } from "node:stream";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import type { DepotConfig } from "../domain/depot/config.ts";
import { failure } from "../domain/errors.ts";
import { baseServer, digestOf, type ListenerOptions } from "./listener.ts";
import { readMetrics } from "./metrics.ts";
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

const MAX_WAIT_MS = 20_000;

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
  artifactRoutes(app, node);
  app.get("/status", () => node.status());
  app.get("/metrics", async (_request, reply) => {
    const { type, text } = await readMetrics(node);
    return reply.type(type).send(text);
  });
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

/** What comes in, and how far it is. */
function artifactRoutes(app: FastifyInstance, node: DepotNode): void {
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
  app.post("/artifacts/:sha256/suspect", (request) => node.suspect(digestOf(request)));
  app.delete("/jobs/:id", (request) => {
    const { id } = request.params as { id: string };
    return known(node.cancel(id), id);
  });
  app.get("/jobs/:id", (request) => {
    const { id } = request.params as { id: string };
    const { wait_ms } = request.query as { wait_ms?: string };
    return jobOf(node, id, Math.min(MAX_WAIT_MS, Math.max(0, Number(wait_ms ?? 0) || 0)));
  });
}

async function jobOf(node: DepotNode, id: string, waitMs: number): Promise<Job> {
  return known(await node.job(id, waitMs), id);
}

function known(job: Job | undefined, id: string): Job {
  if (job === undefined) throw failure("not_found", { what: `job ${id}` });
  return job;
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

function fenceOf(request: FastifyRequest): Fence {
  const { generation } = request.query as { generation?: string };
  if (generation === undefined || !/^\d{1,15}$/.test(generation))
    throw failure("invalid_request", { message: "?generation= is required" });
  const epoch = request.headers[EPOCH_HEADER];
  return { epoch: typeof epoch === "string" ? epoch : undefined, generation: Number(generation) };
}
