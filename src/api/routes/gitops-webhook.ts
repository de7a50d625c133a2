/**
 * `POST /gitops/webhook`: a push wakes the sync. It has a credential of its own, GitLab's token or GitHub's HMAC over the
 * raw body; what the body says does not count, the remote's head at fetch time does (decisions, Git and Webhook).
 */
import "@fastify/rate-limit";
import { createHmac, timingSafeEqual } from "node:crypto";
import type { FastifyInstance, FastifyPluginAsync, FastifyRequest } from "fastify";
import { failure } from "../../domain/errors.ts";
import { judgeDelivery, judgeHeaders, type ProofHeaders, type Proofs } from "../../domain/gitops/webhook.ts";
import { audit } from "../../store/audit.ts";
import { noteDelivery } from "../../store/gitops.ts";
import { askForSync, type GitopsRouteDeps } from "./gitops.ts";

export type GitopsWebhookDeps = GitopsRouteDeps & {
  /** `gitops.webhookSecret`; undefined when none is configured. Read at each delivery, so that rotating needs no restart. */
  secret: () => Promise<string | undefined>;
  /** Deliveries per minute, of all senders together. */
  perMinute?: number;
};

const MAX_BYTES = 1024 ** 2;
const PER_MINUTE = 60;
/** Of one address; after that the answer is 429 and no audit row is written. */
const REFUSALS_PER_MINUTE = 20;
const REFUSAL = {
  principal: "unknown",
  action: "gitops.webhook",
  object: "gitops",
  outcome: "refused",
  code: "unauthenticated",
} as const;

const PROOFS: Proofs = {
  hmacSha256: (secret, body) => createHmac("sha256", secret).update(body).digest(),
  equal: (a, b) => a.length === b.length && timingSafeEqual(a, b),
};

export const gitopsWebhookRoutes =
  (deps: GitopsWebhookDeps): FastifyPluginAsync =>
  async (app) => {
    readRawJson(app);
    const count = app.createRateLimit({
      max: deps.perMinute ?? PER_MINUTE,
      timeWindow: 60_000,
      keyGenerator: () => "gitops-webhook",
    });
    const countRefusal = app.createRateLimit({
      max: REFUSALS_PER_MINUTE,
      timeWindow: 60_000,
      keyGenerator: (request) => `gitops-webhook-refused:${request.ip}`,
    });
    const refuse = async (request: FastifyRequest): Promise<never> => {
      const limit = await countRefusal(request);
      if (!limit.isAllowed && limit.isExceeded) throw failure("rate_limited", { retryAfterS: limit.ttlInSeconds });
      await audit(deps.pool, REFUSAL, deps.now());
      throw failure("unauthenticated", undefined);
    };
    app.route({
      method: "POST",
      url: "/gitops/webhook",
      bodyLimit: MAX_BYTES,
      schema: {
        tags: ["gitops"],
        summary: "A push: GitLab's X-Gitlab-Token or GitHub's X-Hub-Signature-256",
        security: [],
      },
      // Before the body is read: without a secret there is no webhook, and a stranger's megabyte is not awaited.
      onRequest: async (request) => {
        const secret = await readSecret(deps);
        if (judgeHeaders(proofsOf(request), secret, PROOFS) === "refused") return refuse(request);
        return undefined;
      },
      handler: async (request, reply) => {
        const secret = await readSecret(deps);
        const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
        if (judgeDelivery({ ...proofsOf(request), body }, secret, PROOFS) === "refused") return refuse(request);
        if (body.length > 0 && !isJson(body)) throw failure("unsupported_media_type", { want: "application/json" });
        const limit = await count(request);
        if (!limit.isAllowed && limit.isExceeded) throw failure("rate_limited", { retryAfterS: limit.ttlInSeconds });
        const at = deps.now();
        await noteDelivery(deps.pool, at);
        return reply.code(202).send(await askForSync(deps, at, "webhook"));
      },
    });
  };

async function readSecret({ secret }: GitopsWebhookDeps): Promise<string> {
  const text = (await secret())?.trim();
  if (text === undefined || text === "") throw failure("webhook_not_configured", undefined);
  return text;
}

/** The signature is over the bytes, so this scope parses nothing; another content type answers 415. */
function readRawJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer", bodyLimit: MAX_BYTES }, (_request, body, done) => {
    done(null, body);
  });
}

const proofsOf = (request: FastifyRequest): ProofHeaders => ({
  gitlabTokens: valuesOf(request, "x-gitlab-token"),
  githubSignatures: valuesOf(request, "x-hub-signature-256"),
});

function isJson(body: Buffer): boolean {
  try {
    JSON.parse(body.toString("utf8"));
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

/** Node joins repeated headers with a comma; the raw list keeps them apart. */
function valuesOf(request: FastifyRequest, name: string): string[] {
  const { rawHeaders } = request.raw;
  const values: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() === name) values.push(rawHeaders[i + 1] ?? "");
  }
  return values.length > 0 ? values : [request.headers[name]].flat().filter((value) => value !== undefined);
}
