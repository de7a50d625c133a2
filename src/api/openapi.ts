/** The description of the API, OpenAPI 3.1, from the schemas that check requests and answers. */
import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import type { FastifyPluginAsync } from "fastify";
import { jsonSchemaTransform } from "fastify-type-provider-zod";

/** Collects the routes that are registered after it. */
export const describeApi = (version: string): FastifyPluginAsync => {
  const plugin: FastifyPluginAsync = async (app) => {
    await app.register(swagger, {
      openapi: {
        openapi: "3.1.0",
        info: {
          title: "Myriarch",
          version,
          description:
            "Keeps fleets of OpenTelemetry Collectors at the configuration and version that a Git repository says. " +
            "Errors are problem+json with a permanent `code`. Times are RFC 3339 UTC.",
        },
        components: {
          securitySchemes: {
            bearer: { type: "http", scheme: "bearer", description: "an API token" },
            session: { type: "apiKey", in: "cookie", name: "myriarch_session" },
          },
        },
        security: [{ bearer: [] }, { session: [] }],
      },
      transform: (route) => {
        const { schema, url } = jsonSchemaTransform(route);
        // what has no summary is not part of the API: page files, assets
        return { schema: schema?.summary === undefined ? { ...schema, hide: true } : schema, url };
      },
    });
  };
  return shared(plugin);
};

/** `/api/v1/openapi.json` and the browsable `/api/docs`. */
export const publishDescription: FastifyPluginAsync = async (app) => {
  app.get("/api/v1/openapi.json", async (_request, reply) => reply.type("application/json").send(app.swagger()));
  await app.register(swaggerUi, {
    routePrefix: "/api/docs",
    staticCSP: true,
    uiConfig: { persistAuthorization: false },
  });
};

/** Hooks of the plugin reach the whole application, not only its own scope. */
const shared = (plugin: FastifyPluginAsync): FastifyPluginAsync =>
  Object.assign(plugin, { [Symbol.for("skip-override")]: true });
