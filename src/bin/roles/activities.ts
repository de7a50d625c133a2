/** Every activity of every part, with the real outside things behind them. */
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import type { Logger } from "pino";
import { createArtifactSource } from "../../activities/artifact-source.ts";
import { createStaging } from "../../activities/artifact-staging.ts";
import { createArtifactActivities } from "../../activities/artifacts.ts";
import { createDepotClients } from "../../activities/depot-clients.ts";
import { createGitRemote, type GitRemote } from "../../activities/git-remote.ts";
import { createJudge, DEFAULT_BUDGET } from "../../activities/git-reader/run-validation.ts";
import { createGitopsActivities } from "../../activities/gitops.ts";
import { createDiscoveryActivities } from "../../activities/release-discovery.ts";
import { createReleaseIndex } from "../../activities/release-index.ts";
import { createReplicationActivities } from "../../activities/replication.ts";
import { createRetentionActivities } from "../../activities/retention.ts";
import { createRolloutActivities } from "../../activities/rollouts.ts";
import { CONTRACT_DEFAULTS } from "../../domain/brand.ts";
import type { ServerSettings } from "../../domain/config/server-config.ts";
import { secretOf, type Shared } from "./load.ts";

const now = (): Date => new Date();

export type WorkerActivities = {
  activities: Record<string, (...args: never[]) => unknown>;
  close: () => Promise<void>;
};

/** Opens staging and clients. `close` ends connections and threads; what activities left on disk stays. */
export async function createActivities(
  settings: ServerSettings,
  shared: Shared,
  log: Logger,
): Promise<WorkerActivities> {
  const { pool, listener, client } = shared;
  const { artifacts, gitops, depots } = settings;
  const staging = createStaging({
    folder: artifacts.stagingDir,
    holder: hostname(),
    pool,
    maxBytes: CONTRACT_DEFAULTS.maxArchiveBytes,
  });
  await staging.prepare();
  const source = createArtifactSource();
  const index = createReleaseIndex();
  const nodes = createDepotClients({
    control: await secretOf(depots.controlToken),
    read: await secretOf(depots.readToken),
  });
  const limits = {
    maxFiles: gitops.maxFiles,
    maxYamlBytes: gitops.maxYamlBytes,
    maxFileBytes: CONTRACT_DEFAULTS.maxFileBytes,
    base: gitops.path,
  };
  const judge = createJudge({ revisionMs: gitops.validationTimeoutMs, fileMs: DEFAULT_BUDGET.fileMs });
  const { secrets } = settings.executors;
  return {
    activities: {
      ...createGitopsActivities({
        pool,
        remote: remoteOf(settings),
        limits,
        pollIntervalMs: gitops.pollIntervalMs,
        validate: (files, at, signal) => judge.validate(files, at, { secrets, signal }),
        now,
        log,
      }),
      ...createArtifactActivities({ pool, client, now, log, staging, source, settings: artifacts }),
      ...createDiscoveryActivities({ pool, now, log, index, source, settings: artifacts }),
      ...createReplicationActivities({
        pool,
        listener,
        client,
        depots: nodes,
        staging,
        minCopies: artifacts.minCopies,
        log,
      }),
      ...createRetentionActivities({ pool, now, log, keepForMs: artifacts.keepForMs }),
      ...createRolloutActivities({ pool, listener, client, now, log, minCopies: artifacts.minCopies }),
    },
    close: async () => {
      await Promise.all([source.close(), index.close(), nodes.close(), judge.close()]);
    },
  };
}

function remoteOf({ gitops, artifacts }: ServerSettings): GitRemote {
  const { credentials } = gitops;
  const token = credentials?.token;
  return createGitRemote({
    url: gitops.url,
    branch: gitops.branch,
    path: gitops.path,
    timeoutMs: gitops.timeoutMs,
    cloneDir: gitops.cloneDir ?? join(dirname(artifacts.stagingDir), "clone"),
    ...(credentials && {
      credentials: {
        token: token && (() => secretOf(token)),
        sshKeyFile: credentials.sshKeyFile,
        knownHostsFile: credentials.knownHostsFile,
      },
    }),
  });
}
