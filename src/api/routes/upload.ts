/**
 * Upload of a release by an operator. Raw pieces per archive instead of one multipart form: a cut costs one piece and not
 * gigabytes, signatures are judged before a byte is sent, and no proxy has to pass a body of the size of a release.
 */
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { Readable } from "node:stream";
import { failure, isFailure } from "../../domain/errors.ts";
import { problem, problems } from "../../domain/rest/problem.ts";
import * as rest from "../../domain/rest/upload.ts";
import { principalOf } from "../auth.ts";
import { finish, open, receive, type UploadDeps } from "./upload-steps.ts";

const tags = ["artifacts"];
const admin = { access: "admin" } as const;
/** Texts of as many bundles as a release may have archives. */
const OPEN_LIMIT_BYTES = 20 * 1024 ** 2;
/** A sender that says nothing for so long has gone; its archive may be sent by another. */
const IDLE_MS = 60_000;
/** Each holds a connection to the database while it lasts. */
const PIECES_AT_ONCE = 4;
const refusals = { ...problems, 413: problem, 422: problem, 507: problem };

export const uploadRoutes =
  (deps: UploadDeps, idleMs = IDLE_MS): FastifyPluginAsyncZod =>
  async (app) => {
    let pieces = 0;
    app.addContentTypeParser("application/octet-stream", (_request, payload, done) => done(null, payload));
    app.route({
      method: "POST",
      url: "/releases",
      config: admin,
      bodyLimit: OPEN_LIMIT_BYTES,
      schema: {
        tags,
        summary: "Open the upload of a release, or go on with it: every archive with its checksum and Sigstore bundle",
        body: rest.uploadBody,
        response: { ...refusals, 200: rest.upload },
      },
      handler: (request) => open(deps, request.body, principalOf(request).name),
    });
    app.route({
      method: "PUT",
      url: "/uploads/:id/:file",
      config: admin,
      schema: {
        tags,
        summary: "Send a piece of an archive (application/octet-stream) that follows the bytes which are here",
        params: rest.pieceParams,
        querystring: rest.pieceQuery,
        response: { ...refusals, 200: rest.uploadFile },
      },
      handler: async (request) => {
        const { id, file } = request.params;
        if (pieces >= PIECES_AT_ONCE) throw failure("upload_busy", { asset: file });
        pieces++;
        try {
          const body = steadily(request.body as Readable | undefined, idleMs);
          return await receive(deps, { id, file, offset: request.query.offset }, body);
        } finally {
          pieces--;
        }
      },
    });
    app.route({
      method: "POST",
      url: "/uploads/:id/finish",
      config: admin,
      schema: {
        tags,
        summary: "Make what was uploaded a release: all of it, at once",
        params: rest.uploadParams,
        response: { ...refusals, 200: rest.uploaded },
      },
      handler: (request) => finish(deps, request.params.id, principalOf(request).name),
    });
  };

/** What comes, as long as something comes; a sender that stops or goes away is `upload_cut`. */
async function* steadily(body: Readable | undefined, idleMs: number): AsyncGenerator<Uint8Array> {
  if (body === undefined || typeof body[Symbol.asyncIterator] !== "function") return;
  const timer = setTimeout(() => body.destroy(new Error(`nothing came for ${idleMs} ms`)), idleMs);
  try {
    // not destroyed by whoever stops reading: the answer still has to go out on this connection
    for await (const piece of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      timer.refresh();
      yield piece;
    }
  } catch (error) {
    throw isFailure(error)
      ? error
      : failure("upload_cut", { because: error instanceof Error ? error.message : "it ended" }, error);
  } finally {
    clearTimeout(timer);
  }
}
