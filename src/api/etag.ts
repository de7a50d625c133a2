/** Every JSON answer that can change carries an ETag; who has it already gets 304. */
import { createHash } from "node:crypto";
import type { FastifyInstance } from "fastify";

/** Adds the tags to every successful GET of `app`'s scope whose body is text. */
export function etags(app: FastifyInstance): void {
  app.addHook("onSend", async (request, reply, payload) => {
    if (request.method !== "GET" || reply.statusCode !== 200 || typeof payload !== "string") return payload;
    if (reply.hasHeader("etag")) return payload;
    const etag = `W/"${createHash("sha256").update(payload).digest("base64url").slice(0, 22)}"`;
    reply.header("etag", etag).header("cache-control", "no-cache");
    const known = (request.headers["if-none-match"] ?? "").split(/, */);
    if (!known.includes(etag)) return payload;
    reply.code(304).removeHeader("content-length");
    return null;
  });
}
