/** What the preview of a plan is made of: the repository as the sync reads it, its judge, and the planner's own code. */
import { GitFailed } from "../../activities/git-process.ts";
import { createJudge, DEFAULT_BUDGET } from "../../activities/git-reader/run-validation.ts";
import { fetchRevisions } from "../../activities/git-revisions.ts";
import { previewPlan } from "../../activities/plan-preview.ts";
import type { JudgedRevision, PreviewDeps } from "../../api/routes/gitops-preview.ts";
import { CONTRACT_DEFAULTS } from "../../domain/brand.ts";
import type { ServerSettings } from "../../domain/config/server-config.ts";
import { failure } from "../../domain/errors.ts";
import { redactGitText } from "../../domain/gitops/remote-names.ts";
import type { Limits, RepositoryFile } from "../../domain/gitops/repository-files.ts";
import { applicable } from "../../domain/gitops/validate.ts";
import type { Pool } from "../../store/database.ts";
import { readCommit } from "../../store/gitops.ts";
import { secretOf } from "./load.ts";

const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

export function createPreview(settings: ServerSettings, pool: Pool, now: () => Date): PreviewDeps {
  const { gitops, executors } = settings;
  const limits: Limits = {
    maxFiles: gitops.maxFiles,
    maxYamlBytes: gitops.maxYamlBytes,
    maxFileBytes: CONTRACT_DEFAULTS.maxFileBytes,
    base: gitops.path,
  };
  const judge = createJudge({ revisionMs: gitops.validationTimeoutMs, fileMs: DEFAULT_BUDGET.fileMs });
  const judgeFiles = async (files: readonly RepositoryFile[], commit: string | null): Promise<JudgedRevision> => {
    const verdict = await judge.validate(files, limits, { secrets: executors.secrets });
    return { commit, issues: verdict.issues, objects: applicable(verdict) };
  };
  return {
    judgeFiles: (files) => judgeFiles(files, null),
    judgeRevision: async (revision) => {
      // What was applied once is there without Git, also when the remote is away.
      const known = revision !== undefined && COMMIT.test(revision) ? await readCommit(pool, revision) : undefined;
      if (known !== undefined) return { commit: revision ?? null, issues: [], objects: known };
      const read = await readRemote(settings, limits, revision ?? gitops.branch);
      return judgeFiles(read.files, read.commit);
    },
    plan: (revision) => previewPlan(pool, revision, now()),
  };
}

/** Fetched into a folder of its own, which is removed: the sync's clone is its worker's alone. */
async function readRemote({ gitops }: ServerSettings, limits: Limits, ref: string) {
  const { token, sshKeyFile, knownHostsFile } = gitops.credentials ?? {};
  const remote = {
    url: gitops.url,
    timeoutMs: gitops.timeoutMs,
    credentials: { token: token && (() => secretOf(token)), sshKeyFile, knownHostsFile },
  };
  try {
    const revisions = await fetchRevisions(remote, { kind: "ref", ref });
    try {
      const commit = await revisions.commitOf(ref);
      return { commit, files: await revisions.read(commit, gitops.path, limits) };
    } finally {
      await revisions.remove();
    }
  } catch (error) {
    if (!(error instanceof GitFailed)) throw error;
    throw failure("sync_failed", { message: redactGitText(error.message, []) }, error);
  }
}
