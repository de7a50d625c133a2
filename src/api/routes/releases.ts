/** Releases: list, revoke, unrevoke. A revoked one is offered to nobody; its rollouts stop. */
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { failure } from "../../domain/errors.ts";
import { problems } from "../../domain/rest/problem.ts";
import * as rest from "../../domain/rest/release.ts";
import { transaction, type Pool } from "../../store/database.ts";
import { audit } from "../../store/audit.ts";
import {
  deleteRelease,
  listReleases,
  revokeRelease,
  unrevokeRelease,
  type ReleaseName,
  type RolloutName,
} from "../../store/releases.ts";
import type { UserKind } from "../../store/release-users.ts";
import { principalOf, type Principal } from "../auth.ts";

export type ReleaseRouteDeps = {
  pool: Pool;
  now: () => Date;
  /** Tells the workflows of these rollouts to read their rows again. Whether each was told. */
  refresh: (rollouts: readonly RolloutName[], cause: string) => Promise<boolean>;
};
const tags = ["artifacts"];
const CHANGES = { revoke: revokeRelease, unrevoke: unrevokeRelease } as const;

export const releaseRoutes =
  (deps: ReleaseRouteDeps): FastifyPluginAsyncZod =>
  async (app) => {
    app.route({
      method: "GET",
      url: "/releases",
      schema: {
        tags,
        summary: "List releases that were ever asked for",
        response: { ...problems, 200: rest.releaseList },
      },
      handler: async () => ({ items: await listReleases(deps.pool) }),
    });
    app.route({
      method: "DELETE",
      url: "/releases/:distribution/:version",
      config: { access: "admin" },
      schema: {
        tags,
        summary: "Remove a release from the depots. Needs a reason; refused while anything needs it",
        params: rest.releaseParams,
        body: rest.deleteBody,
        response: { ...problems, 200: rest.releaseDeleted },
      },
      handler: async (request) => remove(deps, request.params, request.body?.reason ?? "", principalOf(request)),
    });
    for (const [action, summary] of [
      ["revoke", "Offer this release to nobody any more and hold its rollouts. Needs a reason"],
      ["unrevoke", "Allow a revoked release again: what it alone held goes on. Needs a reason"],
    ] as const)
      app.route({
        method: "POST",
        url: `/releases/:distribution/:version/${action}`,
        config: { access: "admin" },
        schema: {
          tags,
          summary,
          params: rest.releaseParams,
          body: rest.revokeBody,
          response: { ...problems, 200: rest.releaseChange },
        },
        handler: async (request) =>
          change(deps, action, request.params, request.body?.reason ?? "", principalOf(request)),
      });
  };

async function change(
  { pool, now, refresh }: ReleaseRouteDeps,
  action: keyof typeof CHANGES,
  release: ReleaseName,
  reason: string,
  principal: Principal,
) {
  if (reason === "") throw failure("reason_required", { action });
  const at = now();
  const entry = { at: at.toISOString(), by: principal.name, reason };
  // one that nobody asked for yet may be revoked, so that nobody gets it
  if (action === "unrevoke" && (await listReleases(pool, release)).length === 0)
    throw failure("not_found", { what: `release ${release.distribution} ${release.version}` });
  const { changed, held } = await transaction(pool, (tx) => CHANGES[action](tx, release, entry, at));
  const told = await refresh(held, action);
  // the rows hold without a workflow; but nobody goes on who was not told
  if (!told && action === "unrevoke") throw failure("control_unanswered", { control: action });
  return { ...release, changed, rollouts: held.map(({ fleet, n }) => `${fleet}/${n}`) };
}

/** Refused with everybody who needs it; the refusal is audited. */
async function remove({ pool, now }: ReleaseRouteDeps, release: ReleaseName, reason: string, principal: Principal) {
  if (reason === "") throw failure("reason_required", { action: "delete" });
  const at = now();
  const entry = { at: at.toISOString(), by: principal.name, reason };
  const name = `${release.distribution} ${release.version}`;
  const deleted = await transaction(pool, (tx) => deleteRelease(tx, release, entry, at));
  if (deleted === undefined) throw failure("not_found", { what: `release ${name}` });
  const { users, ...done } = deleted;
  if (users.length === 0) return { ...release, ...done };
  const object = `release/${release.distribution}/${release.version}`;
  const refusal = { principal: principal.name, action: "release.delete", object, outcome: "refused" } as const;
  await audit(pool, { ...refusal, code: "release_needed", detail: { reason, users } }, at);
  const words = users.map(({ kind, what }) => `${USER_WORDS[kind]} ${what}`).join("; ");
  throw failure("release_needed", { release: name, users: words });
}

const USER_WORDS: Readonly<Record<UserKind, string>> = {
  snapshot: "Git:",
  fleet: "last proven of",
  rollout: "rollout",
  offer: "an open offer to",
  wanted: "wanted by",
  installed: "installed on",
  before: "the way back of",
  pin: "pinned by",
};
