/** What a host needs to enrol. No secret is in it: the token is shown once, by the answer to its creation. */
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { enrolmentSnippet } from "../../domain/agents/enrolment-snippet.ts";
import { problems } from "../../domain/rest/problem.ts";
import * as rest from "../../domain/rest/token.ts";

type Deps = { settings: { server: { publicUrl: string } } };

export const enrolmentRoutes =
  ({ settings }: Deps): FastifyPluginAsyncZod =>
  async (app) => {
    app.route({
      method: "GET",
      url: "/tokens/enrollment/snippet",
      config: { access: "viewer" },
      schema: {
        tags: ["tokens"],
        summary: "Configuration files of a host's supervisor and updater, with a placeholder where the token belongs",
        querystring: rest.snippetQuery,
        response: { ...problems, 200: rest.enrolmentSnippet },
      },
      handler: async (request) =>
        enrolmentSnippet({ publicUrl: settings.server.publicUrl, transport: request.query.transport }),
    });
  };
