/** `POST gitops/preview`: the plan of a revision, made by the planner and not carried out. Reads only. */
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { z } from "zod";
import { failure } from "../../domain/errors.ts";
import type { Issue } from "../../domain/gitops/issue-codes.ts";
import type { GitObject } from "../../domain/gitops/kinds.ts";
import type { RepositoryFile } from "../../domain/gitops/repository-files.ts";
import * as rest from "../../domain/rest/plan.ts";
import { problems } from "../../domain/rest/problem.ts";
import type { FleetPreview } from "../../domain/rollout/preview.ts";

export type JudgedRevision = {
  /** Null: files. */
  commit: string | null;
  issues: readonly Issue[];
  /** Undefined when the revision is invalid. */
  objects: GitObject[] | undefined;
};
export type PreviewDeps = {
  /** Reads and judges a revision of the repository as the sync would. Throws `sync_failed`. */
  judgeRevision: (revision: string | undefined) => Promise<JudgedRevision>;
  judgeFiles: (files: readonly RepositoryFile[]) => Promise<JudgedRevision>;
  /** What the planner would make of it. Writes nothing. */
  plan: (revision: { commit: string | null; objects: GitObject[] }) => Promise<{
    agents: number;
    unassigned: number;
    hostNames: ReadonlyMap<string, string>;
    fleets: readonly FleetPreview[];
    cancelled: { fleet: string; n: number }[];
  }>;
};

/** A repository of 64 MiB, with room for JSON. */
const BODY_BYTES = 96 * 1024 ** 2;
/** Hosts by name in one list of the answer; the counts are always complete. */
const MAX_HOSTS = 1_000;
const MAX_ISSUES = 1_000;

export const gitopsPreviewRoutes =
  (deps: PreviewDeps): FastifyPluginAsyncZod =>
  async (app) => {
    app.route({
      method: "POST",
      url: "/gitops/preview",
      bodyLimit: BODY_BYTES,
      config: { access: "viewer" },
      schema: {
        tags: ["gitops"],
        summary: "The plan that a revision, or files, would make now: which hosts, in which waves. Changes nothing",
        body: rest.previewBody,
        response: { ...problems, 200: rest.planPreview },
      },
      handler: (request) => preview(deps, request.body ?? {}),
    });
  };

async function preview(
  deps: PreviewDeps,
  { revision, files }: NonNullable<z.output<typeof rest.previewBody>>,
): Promise<rest.PlanPreview> {
  if (revision !== undefined && files !== undefined)
    throw failure("invalid_request", { message: "send a revision or files, not both" });
  const judged = await (files === undefined ? deps.judgeRevision(revision) : deps.judgeFiles(files.map(toFile)));
  const head = {
    revision: files === undefined ? (revision ?? "the head of the branch") : "files",
    commit: judged.commit,
    issues: judged.issues.slice(0, MAX_ISSUES),
  };
  if (judged.objects === undefined)
    return { ...head, valid: false, agents: 0, unassigned: 0, fleets: [], cancelled: [] };
  const plan = await deps.plan({ commit: judged.commit, objects: judged.objects });
  const { agents, unassigned, cancelled, hostNames } = plan;
  const fleets = plan.fleets.map((fleet) => showFleet(fleet, hostNames));
  return { ...head, valid: true, agents, unassigned, fleets, cancelled };
}

const toFile = ({ path, content }: { path: string; content: string }): RepositoryFile => {
  const bytes = new TextEncoder().encode(content);
  return { path, mode: "100644", size: bytes.length, bytes };
};

const timeOf = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

function showFleet(it: FleetPreview, hostNames: ReadonlyMap<string, string>): z.output<typeof rest.fleetPreview> {
  const named = (host: string) => ({ host, hostName: hostNames.get(host) ?? "" });
  return {
    fleet: it.fleet,
    version: it.version,
    policy: it.policy,
    outcome: it.outcome,
    because: it.because,
    targets: it.targets.length,
    up: it.up,
    down: it.down,
    configs: it.configs,
    maxConcurrent: it.maxConcurrent,
    waves: it.waves.map(({ startsMs, endsMs, hosts, ...wave }) => ({
      ...wave,
      startsAt: timeOf(startsMs),
      endsAt: timeOf(endsMs),
      hosts: hosts.slice(0, MAX_HOSTS).map(named),
    })),
    startsAt: timeOf(it.startsMs),
    endsAt: timeOf(it.endsMs),
    withoutWayBack: it.withoutWayBack.length,
    withoutWayBackHosts: it.withoutWayBack.slice(0, MAX_HOSTS).map(({ host }) => named(host)),
    refused: it.refused.length,
    refusedHosts: it.refused.slice(0, MAX_HOSTS),
    leftOut: it.leftOut.length,
    leftOutHosts: it.leftOut.slice(0, MAX_HOSTS),
    joiners: it.joiners,
    catchUp: it.catchUp,
    held: it.held,
  };
}
