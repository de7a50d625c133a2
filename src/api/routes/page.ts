/** The page: three static files, served as they are. Data comes from the API, and needs a session. */
import fastifyStatic from "@fastify/static";
import type { FastifyPluginAsync } from "fastify";

export const pageRoutes =
  (webDir: string): FastifyPluginAsync =>
  async (app) => {
    await app.register(fastifyStatic, {
      root: webDir,
      index: ["index.html"],
      cacheControl: false,
      wildcard: false,
      dotfiles: "deny",
    });
    app.addHook("onSend", async (_request, reply, payload) => {
      if (!reply.hasHeader("cache-control")) reply.header("cache-control", "no-cache");
      return payload;
    });
  };
