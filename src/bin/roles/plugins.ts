/** Routes of the parts that check their own credentials, or reach depots and Temporal. */
import type { Logger } from "pino";
import type { ApiDeps } from "../../api/app.ts";
import { createStaging } from "../../activities/artifact-staging.ts";
import { createUploadStore } from "../../activities/artifact-upload.ts";
import { createDepotClients } from "../../activities/depot-clients.ts";
import { createGitSyncPoke, createReplicationPoke } from "../../api/gitops-poke.ts";
import { createWrongCopyReport } from "../../api/report-wrong-copy.ts";
import { createRefresh } from "../../api/refresh-rollouts.ts";
import { releaseRoutes } from "../../api/routes/releases.ts";
import { agentCommandRoutes } from "../../api/routes/agent-commands.ts";
import { agentConfigRoutes } from "../../api/routes/agent-config.ts";
import { artifactContentRoutes } from "../../api/routes/artifact-content.ts";
import { artifactRoutes } from "../../api/routes/artifacts.ts";
import { uploadRoutes } from "../../api/routes/upload.ts";
import { gitopsWebhookRoutes } from "../../api/routes/gitops-webhook.ts";
import { gitopsPreviewRoutes } from "../../api/routes/gitops-preview.ts";
import { gitopsRoutes } from "../../api/routes/gitops.ts";
import { createArtifactStreams } from "../../api/stream-artifact.ts";
import { createDepotReader } from "../../depot/client.ts";
import { CONTRACT_DEFAULTS } from "../../domain/brand.ts";
import type { ServerSettings } from "../../domain/config/server-config.ts";
import { downloadSources } from "../../store/downloads.ts";
import { secretOf, type Shared } from "./load.ts";
import { createPreview } from "./preview.ts";

export async function createPlugins(
  settings: ServerSettings,
  shared: Shared,
  log: Logger,
): Promise<ApiDeps["plugins"]> {
  const { pool, client, keys } = shared;
  const { artifacts, depots, gitops } = settings;
  const now = (): Date => new Date();
  const tokens = { control: await secretOf(depots.controlToken), read: await secretOf(depots.readToken) };
  const nodes = createDepotClients(tokens);
  const git = {
    pool,
    now,
    poke: createGitSyncPoke(client),
  };
  const { webhookSecret } = gitops;
  const reportWrong = createWrongCopyReport({
    pool,
    depotClient: (address) => nodes.of(address),
    wakeReplication: createReplicationPoke(client),
    log,
  });
  const streams = createArtifactStreams({
    reader: createDepotReader({ token: tokens.read, transferClass: "install" }),
    sources: (sha256) => downloadSources(pool, sha256),
    stagingDir: artifacts.stagingDir,
    nowMs: Date.now,
    onSwitch: (fault) => log.warn(fault, "a depot failed in the middle of a download; going on with another"),
    onWrong: (fault) => void reportWrong(fault),
  });
  return {
    guarded: [
      gitopsRoutes(git),
      gitopsPreviewRoutes(createPreview(settings, pool, now)),
      agentConfigRoutes({ pool, keys }),
      agentCommandRoutes({ pool, listener: shared.listener, now }),
      artifactRoutes({
        pool,
        now,
        minCopies: artifacts.minCopies,
        keepForMs: artifacts.keepForMs,
        wakeReplication: createReplicationPoke(client),
        depotClient: (address) => nodes.of(address),
      }),
      releaseRoutes({ pool, now, refresh: createRefresh(client, log) }),
      uploads(artifacts, shared, log),
    ],
    ownCredential: [
      gitopsWebhookRoutes({ ...git, secret: async () => webhookSecret && secretOf(webhookSecret) }),
      artifactContentRoutes({ pool, keys, streams, now, chance: Math.random, ...artifacts }),
    ],
    root: [],
  };
}

/** Uploads go into the staging folder that a worker of this host prepared, under that worker's name. */
function uploads(artifacts: ServerSettings["artifacts"], { pool, client }: Shared, log: Logger) {
  const { stagingDir: folder, minCopies } = artifacts;
  const maxBytes = CONTRACT_DEFAULTS.maxArchiveBytes;
  const staging = createUploadStore({
    folder,
    pool,
    stagingFor: (holder) => createStaging({ folder, holder, pool, maxBytes }),
  });
  const now = (): Date => new Date();
  return uploadRoutes({ pool, now, log, staging, signing: artifacts, minCopies, poke: createReplicationPoke(client) });
}
