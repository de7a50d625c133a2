/**
 * Downloads by hosts (contract, "Download tokens"; design/artifacts, "Downloads"): the token is bound to artifact and
 * agent, counts only while that agent has an open offer of the artifact, and only while it is young enough.
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { Readable } from "node:stream";
import { z } from "zod";
import { rangeOf } from "../../domain/artifact/range.ts";
import { failure } from "../../domain/errors.ts";
import { audit } from "../../store/audit.ts";
import type { Pool } from "../../store/database.ts";
import { readDownloadable, type Downloadable } from "../../store/downloads.ts";
import { readDownloadToken } from "../download-token.ts";
import type { createArtifactStreams } from "../stream-artifact.ts";

export type ContentDeps = {
  pool: Pool;
  /** Of `secrets.keyFile`; two during a rotation. */
  keys: readonly Uint8Array[];
  streams: ReturnType<typeof createArtifactStreams>;
  /** 0: no age limit. */
  downloadTokenTtlMs: number;
  maxConcurrentDownloads: number;
  now: () => Date;
  /** From 0 to below 1. */
  chance: () => number;
};
const params = z.object({ id: z.uuid(), file: z.string().max(200) });
const AUDIT_EVERY_MS = 60_000;
/** Hosts that are put off come back within this time, not all in one second. */
const BUSY_RETRY_S = { least: 5, spread: 10 };
/** Agents whose refusals are remembered; beyond, the oldest are forgotten. */
const REMEMBERED = 10_000;

/** `GET` and `HEAD /artifacts/:id/content/:file`. */
export const artifactContentRoutes =
  (deps: ContentDeps): FastifyPluginAsyncZod =>
  async (app) => {
    const refused = createRefusals(deps);
    let downloads = 0;
    app.route({
      method: ["GET", "HEAD"],
      url: "/artifacts/:id/content/:file",
      schema: { tags: ["artifacts"], summary: "An archive, with a download token; ranges and ETag", params },
      handler: async (request, reply) => {
        const artifact = await admit(deps, request, request.params, refused);
        const part = partOf(request, artifact);
        if (typeof part === "number") return answerNothing(reply, part, artifact);
        // an empty stream: the length stays that of the archive
        if (request.method === "HEAD") return answer(reply, part, artifact).send(Readable.from([]));
        if (downloads >= deps.maxConcurrentDownloads)
          throw failure("downloads_busy", {
            retryAfterS: BUSY_RETRY_S.least + Math.floor(deps.chance() * BUSY_RETRY_S.spread),
          });
        downloads++;
        const gone = new AbortController();
        reply.raw.once("close", () => {
          downloads--;
          gone.abort(new Error("the connection of the host ended"));
        });
        const body = await deps.streams({ ...artifact, ...part }, gone.signal);
        return answer(reply, part, artifact).send(Readable.from(body, { objectMode: false }));
      },
    });
  };

type Part = { start: number; end: number };

/** What is asked for, or the status that says why nothing is sent. */
function partOf(request: FastifyRequest, { sha256, sizeBytes }: Downloadable): Part | 412 | 416 {
  const etag = `"${sha256}"`;
  const match = request.headers["if-match"];
  if (match !== undefined && match !== etag && match !== "*") return 412;
  const ifRange = request.headers["if-range"];
  const range = ifRange === undefined || ifRange === etag ? rangeOf(request.headers.range, sizeBytes) : undefined;
  return range === "unsatisfiable" ? 416 : (range ?? { start: 0, end: sizeBytes });
}

function answerNothing(reply: FastifyReply, status: number, { sizeBytes }: Downloadable): FastifyReply {
  if (status === 416) void reply.header("content-range", `bytes */${sizeBytes}`);
  return reply.code(status).send();
}

function answer(reply: FastifyReply, { start, end }: Part, { sha256, sizeBytes }: Downloadable): FastifyReply {
  if (end - start < sizeBytes) void reply.code(206).header("content-range", `bytes ${start}-${end - 1}/${sizeBytes}`);
  return reply.headers({
    etag: `"${sha256}"`,
    "accept-ranges": "bytes",
    "content-type": "application/gzip",
    "content-length": end - start,
    "cache-control": "private, no-store",
  });
}

type Refuse = (agent: string | undefined, artifact: string, because: string) => Promise<never>;

async function admit(
  deps: ContentDeps,
  request: FastifyRequest,
  { id, file }: z.output<typeof params>,
  refuse: Refuse,
): Promise<Downloadable> {
  const [, token] = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? "") ?? [];
  if (token === undefined) throw failure("unauthenticated", undefined);
  const claims = readDownloadToken(deps.keys, token);
  if (claims === undefined) return refuse(undefined, id, "it is not one of this server");
  const { agent } = claims;
  if (claims.artifact !== id) return refuse(agent, id, "it is for another artifact");
  const ageMs = deps.now().getTime() - claims.issuedAtMs;
  if (deps.downloadTokenTtlMs > 0 && ageMs > deps.downloadTokenTtlMs) return refuse(agent, id, "it is too old");
  const artifact = await readDownloadable(deps.pool, id, agent);
  if (artifact === undefined || artifact.fileName !== file) throw failure("not_found", { what: file });
  if (artifact.revoked) return refuse(agent, id, "the release was revoked");
  if (!artifact.offered) return refuse(agent, id, "the agent has no open offer of this artifact");
  return artifact;
}

/** Refuses, and writes it down at most once a minute per agent and cause (decisions, "Server"). */
function createRefusals({ pool, now }: ContentDeps): Refuse {
  const last = new Map<string, number>();
  return async (agent, artifact, because) => {
    const key = `${agent ?? "unknown"} ${because}`;
    const nowMs = now().getTime();
    const before = last.get(key);
    if (before === undefined || nowMs - before >= AUDIT_EVERY_MS) {
      last.delete(key);
      last.set(key, nowMs);
      const [oldest] = last.keys();
      if (last.size > REMEMBERED && oldest !== undefined) last.delete(oldest);
      const principal = agent === undefined ? "unknown" : `agent:${agent}`;
      const entry = { principal, action: "artifact.download", object: artifact, outcome: "refused" } as const;
      await audit(pool, { ...entry, code: "download_refused", detail: { because } }, now());
    }
    throw failure("download_refused", { because });
  };
}
