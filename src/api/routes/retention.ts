/** Pins, and what retention would do now: each release with everybody who needs it. */
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { z } from "zod";
import { retain, retentionText } from "../../domain/artifact/retention.ts";
import { failure } from "../../domain/errors.ts";
import { problems } from "../../domain/rest/problem.ts";
import { releaseParams } from "../../domain/rest/release.ts";
import * as rest from "../../domain/rest/retention.ts";
import { transaction } from "../../store/database.ts";
import { readGeneration } from "../../store/depots.ts";
import { pinRelease, unpinRelease } from "../../store/pins.ts";
import type { ReleaseName } from "../../store/releases.ts";
import { keptReleases, type KeptRelease } from "../../store/retention.ts";
import { principalOf, type Principal } from "../auth.ts";
import type { ArtifactRouteDeps } from "./artifacts.ts";

const tags = ["artifacts"];
type App = Parameters<FastifyPluginAsyncZod>[0];

export function retentionRoutes(deps: ArtifactRouteDeps, app: App): void {
  app.route({
    method: "GET",
    url: "/releases/retention",
    schema: {
      tags,
      summary: "What retention would do now, and why: a dry run that changes nothing",
      response: { ...problems, 200: rest.retentionList },
    },
    handler: () => explainRetention(deps),
  });
  app.route({
    method: "POST",
    url: "/releases/:distribution/:version/pin",
    config: { access: "operator" },
    schema: {
      tags,
      summary: "Keep a release although nothing needs it, until a moment or until it is unpinned",
      params: releaseParams,
      body: rest.pinBody,
      response: { ...problems, 200: rest.pinAnswer },
    },
    handler: async (request) => pin(deps, request.params, request.body ?? {}, principalOf(request)),
  });
  app.route({
    method: "DELETE",
    url: "/releases/:distribution/:version/pin",
    config: { access: "operator" },
    schema: {
      tags,
      summary: "Keep a release only as long as something needs it, and artifacts.keepFor after",
      params: releaseParams,
      body: rest.unpinBody,
      response: { ...problems, 200: rest.pinAnswer },
    },
    handler: async (request) => unpin(deps, request.params, request.body?.reason ?? "", principalOf(request)),
  });
}

async function explainRetention({ pool, now, keepForMs }: ArtifactRouteDeps) {
  const at = now();
  const [{ generation }, kept] = await Promise.all([readGeneration(pool), keptReleases(pool)]);
  return { keepForMs, at: at.toISOString(), generation, items: kept.map((it) => show(it, at, keepForMs)) };
}

function show(it: KeptRelease, at: Date, keepForMs: number): z.output<typeof rest.retentionItem> {
  const decision = retain(it, at.getTime(), keepForMs);
  return {
    distribution: it.distribution,
    version: it.version,
    archives: it.archives,
    bytes: it.bytes,
    decision: decision.do,
    says: retentionText(decision, iso),
    needs: [...it.users],
    unneededSince: decision.do === "keep" ? null : iso(decision.sinceMs),
    until: decision.do === "wait" ? iso(decision.untilMs) : null,
    pin: it.pin && { ...it.pin, at: it.pin.at.toISOString(), until: it.pin.until?.toISOString() ?? null },
  };
}

const iso = (ms: number): string => new Date(ms).toISOString();

const unknown = ({ distribution, version }: ReleaseName) =>
  failure("not_found", { what: `release ${distribution} ${version}` });

async function pin(
  { pool, now }: ArtifactRouteDeps,
  release: ReleaseName,
  body: NonNullable<z.output<typeof rest.pinBody>>,
  principal: Principal,
): Promise<z.output<typeof rest.pinAnswer>> {
  const at = now();
  const until = body.until === undefined ? null : new Date(body.until);
  if (until !== null && until <= at)
    throw failure("invalid_request", { message: `until ${body.until} is in the past: such a pin would keep nothing` });
  const entry = { at: at.toISOString(), by: principal.name, reason: body.reason ?? "" };
  const done = await transaction(pool, (tx) => pinRelease(tx, release, entry, until, at));
  if (done === undefined) throw unknown(release);
  return { ...release, pinned: true, until: until?.toISOString() ?? null, ...done };
}

async function unpin(
  { pool, now }: ArtifactRouteDeps,
  release: ReleaseName,
  reason: string,
  principal: Principal,
): Promise<z.output<typeof rest.pinAnswer>> {
  const at = now();
  const entry = { at: at.toISOString(), by: principal.name, reason };
  const done = await transaction(pool, (tx) => unpinRelease(tx, release, entry, at));
  if (done === undefined) throw unknown(release);
  return { ...release, pinned: false, until: null, ...done };
}
