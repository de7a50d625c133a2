/** The repository: which commit is in force, what is wrong with the newest, and a sync on demand. Read only otherwise. */
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { objectsOf } from "../../domain/gitops/snapshot.ts";
import { KINDS } from "../../domain/gitops/kinds.ts";
import { gitopsIssues, gitopsStatus, syncAsked, type GitopsStatus } from "../../domain/rest/gitops.ts";
import { problems } from "../../domain/rest/problem.ts";
import { appendAudit } from "../../store/audit.ts";
import { transaction, type Pool } from "../../store/database.ts";
import { noteDelivery, readGitopsState, readIssues, readSnapshot, type GitopsState } from "../../store/gitops.ts";
import { principalOf } from "../auth.ts";

export type GitopsRouteDeps = {
  pool: Pool;
  now: () => Date;
  /** Wakes the sync. Rejects when Temporal does not answer: the delivery's row is then what starts it. */
  poke: (cause: string) => Promise<void>;
};

export const gitopsRoutes =
  (deps: GitopsRouteDeps): FastifyPluginAsyncZod =>
  async (app) => {
    const tags = ["gitops"];
    app.route({
      method: "GET",
      url: "/gitops/status",
      schema: {
        tags,
        summary: "State of the sync and the commit in force",
        response: { ...problems, 200: gitopsStatus },
      },
      handler: () => readStatus(deps),
    });
    app.route({
      method: "GET",
      url: "/gitops/issues",
      schema: {
        tags,
        summary: "What validation found in the newest revision, with file and line",
        response: { ...problems, 200: gitopsIssues },
      },
      handler: async () => {
        const commit = issuesCommitOf(await readGitopsState(deps.pool));
        return { commit, items: commit === null ? [] : await readIssues(deps.pool, commit), next: null };
      },
    });
    app.route({
      method: "POST",
      url: "/gitops/sync",
      schema: {
        tags,
        summary: "Fetch, validate and apply the head now; a refused head is judged once more",
        response: { ...problems, 202: syncAsked },
      },
      handler: async (request, reply) => {
        const at = deps.now();
        const principal = principalOf(request).name;
        await transaction(deps.pool, async (tx) => {
          await noteDelivery(tx, at);
          await appendAudit(tx, { principal, action: "gitops.sync", object: "gitops", outcome: "accepted" }, at);
        });
        return reply.code(202).send(await askForSync(deps, at, `asked by ${principal}`));
      },
    });
  };

/** The delivery is a row by now, so an unreachable Temporal costs time and loses nothing. */
export async function askForSync(deps: GitopsRouteDeps, at: Date, cause: string) {
  const isAwake = await deps.poke(cause).then(
    () => true,
    () => false,
  );
  const note = isAwake ? "starts now" : "starts when Temporal answers";
  return { accepted: true, at: at.toISOString(), note };
}

/** The refused revision, else the one in force (its warnings). */
const issuesCommitOf = (state: GitopsState): string | null => state.rejectedCommit ?? state.appliedCommit;

async function readStatus({ pool, now }: GitopsRouteDeps): Promise<GitopsStatus> {
  const [state, snapshot] = await Promise.all([readGitopsState(pool), readSnapshot(pool)]);
  const issuesCommit = issuesCommitOf(state);
  const ageMs = state.appliedAt === null ? null : now().getTime() - state.appliedAt.getTime();
  return {
    state: state.state,
    error: state.errorCode === null ? null : { code: state.errorCode, message: state.errorMessage ?? "" },
    seenCommit: state.seenCommit,
    appliedCommit: state.appliedCommit,
    appliedAt: state.appliedAt?.toISOString() ?? null,
    appliedAgeS: ageMs === null ? null : Math.max(0, Math.floor(ageMs / 1000)),
    checkedAt: state.checkedAt?.toISOString() ?? null,
    generation: state.generation,
    deliveryWaiting: state.deliveryAt !== null,
    author: snapshot?.author ?? null,
    subject: snapshot?.subject ?? null,
    objects: Object.fromEntries(
      KINDS.map((kind) => [kind, snapshot === undefined ? 0 : objectsOf(snapshot, kind).length]),
    ),
    issues: issuesCommit === null ? [] : await readIssues(pool, issuesCommit),
    issuesCommit,
  };
}
