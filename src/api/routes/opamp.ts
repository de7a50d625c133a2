/** OpAMP over plain HTTP, behind the same listener as everything else. The OpAMP side checks credentials and reads the body. */
import type { FastifyPluginAsync } from "fastify";
import { BRAND } from "../../domain/brand.ts";
import type { OpampServer } from "../opamp/server.ts";

export const opampRoutes =
  (opamp: Pick<OpampServer, "answer">): FastifyPluginAsync =>
  async (app) => {
    // The body is left where it is: nothing of a stranger's is read.
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", (_request, _payload, done) => done(null));
    app.route({
      method: "POST",
      url: BRAND.opampPath,
      schema: { hide: true },
      // Ten thousand agents poll: no line per request. Refusals have their own log.
      logLevel: "warn",
      handler(request, reply) {
        reply.hijack();
        opamp.answer(request.raw, reply.raw);
      },
    });
  };
