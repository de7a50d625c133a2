/**
 * A world for tests of artifacts: a database and a Temporal namespace of its own, a signed mirror, a worker with its
 * staging, and real depot processes.
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Client } from "@temporalio/client";
import {
  bundleWorkflowCode,
  DefaultLogger,
  NativeConnection,
  Runtime,
  Worker,
  type WorkflowBundleWithSourceMap,
} from "@temporalio/worker";
import { inject } from "vitest";
import { createArtifactSource } from "../../src/activities/artifact-source.ts";
import { createStaging } from "../../src/activities/artifact-staging.ts";
import { createArtifactActivities } from "../../src/activities/artifacts.ts";
import { createDepotClients } from "../../src/activities/depot-clients.ts";
import { createReplicationActivities } from "../../src/activities/replication.ts";
import { assetName, platformText, type ArtifactRef } from "../../src/domain/artifact/asset.ts";
import { CONTRACT_DEFAULTS } from "../../src/domain/brand.ts";
import { CHANNELS } from "../../src/domain/channels.ts";
import { openSigningAuthority, type SigningAuthority } from "../../src/signing/authority.ts";
import { packArchive, publishRelease } from "../../src/signing/release.ts";
import { registerDepot } from "../../src/store/depots.ts";
import { createListener, type Listener } from "../../src/store/listen.ts";
import type { Pool } from "../../src/store/database.ts";
import { QUEUES, stagingQueue, WORKFLOW_IDS } from "../../src/workflows/messages.ts";
import { createTestDatabase } from "./database.ts";
import { openNamespace } from "./own-namespace.ts";
import { startDepots, TOKENS, type DepotProcess } from "./depot-process.ts";

export type ArtifactWorld = {
  url: string;
  pool: Pool;
  client: Client;
  listener: Listener;
  depots: DepotProcess[];
  authority: SigningAuthority;
  mirror: string;
  stagingDir: string;
  holder: string;
  /** Publishes an archive of random bytes; its SHA-256 is in the mirror's checksum file. */
  publish(version: string, signing?: object, bytes?: number): Promise<ArtifactRef>;
  /** Runs `artifact-fetch` to its end. */
  fetch(ref: ArtifactRef): Promise<unknown>;
  startFetch(ref: ArtifactRef): Promise<void>;
  startWorker(): Promise<{ stop(): Promise<void> }>;
  register(depots?: readonly DepotProcess[]): Promise<void>;
  until<T>(what: string, holds: () => Promise<T | false | undefined>, deadlineMs?: number): Promise<T>;
  close(): Promise<void>;
};

// refusals are what these tests are about; what is unexpected fails them
Runtime.install({ logger: new DefaultLogger("ERROR") });
let bundle: Promise<WorkflowBundleWithSourceMap> | undefined;
const workflowsPath = new URL("./artifact-workflows.ts", import.meta.url).pathname;

export async function createArtifactWorld(
  options: { depots?: number; minCopies?: number; sourceBaseUrl?: string } = {},
): Promise<ArtifactWorld> {
  const database = await createTestDatabase();
  const { pool } = database;
  const root = await mkdtemp(join(tmpdir(), "myriarch-artifacts-"));
  const [mirror, stagingDir] = [join(root, "mirror"), join(root, "staging")];
  const authority = await openSigningAuthority(join(root, "authority"));
  const address = inject("temporalAddress");
  const { namespace, connection } = await openNamespace(address);
  const client = new Client({ connection, namespace });
  const listener = await createListener({
    url: database.url,
    channels: Object.values(CHANNELS),
    onError: () => undefined,
  });
  const native = await NativeConnection.connect({ address });
  const group = await startDepots(options.depots ?? 3);
  const holder = `host-${randomBytes(4).toString("hex")}`;
  const source = createArtifactSource({ idleTimeoutMs: 5_000 });
  const clients = createDepotClients(TOKENS);
  const quiet = (): undefined => undefined;
  const log = { info: quiet, warn: quiet, error: quiet };
  const staging = createStaging({ folder: stagingDir, holder, pool, maxBytes: CONTRACT_DEFAULTS.maxArchiveBytes });
  await staging.prepare();
  const settings = {
    sourceBaseUrl: options.sourceBaseUrl ?? pathToFileURL(mirror).href,
    trustedRootFile: authority.trustedRootFile,
    certificateIdentityRegexp: CONTRACT_DEFAULTS.identityPattern,
    certificateOidcIssuer: CONTRACT_DEFAULTS.oidcIssuer,
  };
  const activities = {
    ...createArtifactActivities({ pool, client, now: () => new Date(), log, staging, source, settings }),
    ...createReplicationActivities({
      pool,
      listener,
      client,
      depots: clients,
      staging,
      minCopies: options.minCopies ?? 3,
      log,
    }),
  };
  bundle ??= bundleWorkflowCode({ workflowsPath });
  const stops: (() => Promise<void>)[] = [];
  const world: ArtifactWorld = {
    url: database.url,
    pool,
    client,
    listener,
    depots: group.depots,
    authority,
    mirror,
    stagingDir,
    holder,
    publish: async (version, signing = {}, bytes = 200_000) => {
      const ref = { distribution: "otelcol-contrib", version, os: "linux", arch: "amd64" };
      const content = await packArchive([{ name: "otelcol-contrib", content: randomBytes(bytes), mode: 0o755 }]);
      await publishRelease(mirror, authority, [{ name: assetName(ref), content }], { tag: `v${version}`, ...signing });
      return ref;
    },
    startFetch: async (ref) => {
      await client.workflow.start("artifactFetch", { workflowId: idOf(ref), taskQueue: QUEUES.control, args: [ref] });
    },
    fetch: (ref) =>
      client.workflow.execute("artifactFetch", { workflowId: idOf(ref), taskQueue: QUEUES.control, args: [ref] }),
    startWorker: async () => {
      const shared = {
        connection: native,
        namespace,
        activities,
        maxHeartbeatThrottleInterval: "1s",
        shutdownGraceTime: 1,
      } as const;
      const workflowBundle = await (bundle as Promise<WorkflowBundleWithSourceMap>);
      const queues = [QUEUES.io, QUEUES.observe, stagingQueue(holder)];
      const workers = [
        await Worker.create({ ...shared, taskQueue: QUEUES.control, workflowBundle }),
        ...(await Promise.all(queues.map((taskQueue) => Worker.create({ ...shared, taskQueue })))),
      ];
      const runs = Promise.all(workers.map((worker) => worker.run()));
      const stop = async (): Promise<void> => {
        for (const worker of workers) if (worker.getState() === "RUNNING") worker.shutdown();
        await runs;
      };
      stops.push(stop);
      return { stop };
    },
    register: async (depots = group.depots) => {
      for (const { nodeId, controlUrl, readUrl } of depots)
        await registerDepot(pool, { nodeId, zone: "", controlUrl, readUrl });
    },
    until: async (what, holds, deadlineMs = 60_000) => {
      const end = performance.now() + deadlineMs;
      for (;;) {
        const woken = listener.next(CHANNELS.artifacts, 250);
        const seen = await holds();
        if (seen !== false && seen !== undefined) return seen;
        if (performance.now() > end) throw new Error(`not within ${deadlineMs} ms: ${what}`);
        await woken;
      }
    },
    close: async () => {
      for (const stop of stops) await stop();
      await group.remove();
      await Promise.all([native.close(), connection.close(), listener.close(), clients.close(), source.close()]);
      await database.drop();
      await rm(root, { recursive: true, force: true });
    },
  };
  return world;
}

const idOf = (ref: ArtifactRef): string => WORKFLOW_IDS.artifactFetch(ref.distribution, ref.version, platformText(ref));
