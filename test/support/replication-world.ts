/**
 * Executions of replication, one at a time, by the real workflow and the real activities, on a database and a Temporal
 * server that are given. For tests and chaos: artifacts are staged without being fetched, depots are whatever is registered.
 */
import { createHash, randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@temporalio/client";
import { bundleWorkflowCode, NativeConnection, Worker, type WorkflowBundleWithSourceMap } from "@temporalio/worker";
import { createStaging, type Staging } from "../../src/activities/artifact-staging.ts";
import { createDepotClients } from "../../src/activities/depot-clients.ts";
import { createReplicationActivities, type ReplicationActivities } from "../../src/activities/replication.ts";
import { CHANNELS } from "../../src/domain/channels.ts";
import { transaction, type Pool } from "../../src/store/database.ts";
import { readWantedSet, registerDepot } from "../../src/store/depots.ts";
import { createListener } from "../../src/store/listen.ts";
import { noteStaged } from "../../src/store/staging.ts";
import { QUEUES, stagingQueue } from "../../src/workflows/messages.ts";
import type { ExecutionResult } from "../../src/workflows/artifact-replication.ts";
import { openNamespace } from "./own-namespace.ts";
import { TOKENS } from "./depot-process.ts";

export type Executed = ExecutionResult & {
  /** Of the row: what it did. */
  did: { nodes: number; puts: number; copies: number; failed: number; bytes: number; lost: number; skipped: string[] };
  ms: number;
  workflowId: string;
};
export type ReplicationWorld = {
  pool: Pool;
  client: Client;
  staging: Staging;
  activities: ReplicationActivities;
  /** Wants these contents, each release of four artifacts, staged here. One transaction, one generation. Their digests. */
  want(contents: readonly Uint8Array[]): Promise<string[]>;
  /** Wants nothing of what was wanted. */
  unwantAll(): Promise<void>;
  /** Digests in the staging folder. */
  staged(): Promise<string[]>;
  register(depots: readonly { nodeId: string; zone?: string; controlUrl: string; readUrl: string }[]): Promise<void>;
  /** One execution, to its end. */
  execute(cause?: string): Promise<Executed>;
  close(): Promise<void>;
};
type Given = { pool: Pool; databaseUrl: string; temporalAddress: string; minCopies?: number };

export const sha256Of = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const workflowsPath = new URL("./artifact-workflows.ts", import.meta.url).pathname;
let bundle: Promise<WorkflowBundleWithSourceMap> | undefined;
const quiet = (): undefined => undefined;
const log = { info: quiet, warn: quiet, error: quiet };

export async function createReplicationWorld(given: Given): Promise<ReplicationWorld> {
  const { pool, minCopies = 3, temporalAddress: address } = given;
  const root = await mkdtemp(join(tmpdir(), "myriarch-replication-"));
  const holder = `host-${randomBytes(4).toString("hex")}`;
  const folder = join(root, "staging");
  const { namespace, connection } = await openNamespace(address);
  const client = new Client({ connection, namespace });
  const channels = Object.values(CHANNELS);
  const listener = await createListener({ url: given.databaseUrl, channels, onError: quiet });
  const native = await NativeConnection.connect({ address });
  const depots = createDepotClients(TOKENS);
  const staging = createStaging({ folder, holder, pool, maxBytes: 1024 ** 3 });
  await staging.prepare();
  const activities = createReplicationActivities({ pool, listener, client, depots, staging, minCopies, log });
  const shared = { connection: native, namespace, activities, shutdownGraceTime: 1 } as const;
  bundle ??= bundleWorkflowCode({ workflowsPath });
  const workers = [
    await Worker.create({ ...shared, taskQueue: QUEUES.control, workflowBundle: await bundle }),
    ...(await Promise.all(
      [QUEUES.observe, stagingQueue(holder)].map((taskQueue) => Worker.create({ ...shared, taskQueue })),
    )),
  ];
  const runs = Promise.all(workers.map((worker) => worker.run()));
  let executions = 0;
  let wants = 0;
  return {
    pool,
    client,
    staging,
    activities,
    want: async (contents) => {
      const digests = contents.map(sha256Of);
      await mkdir(folder, { recursive: true });
      await Promise.all(contents.map((bytes, i) => writeFile(join(folder, digests[i] ?? ""), bytes)));
      wants++;
      await transaction(pool, async (tx) => {
        for (const [i, bytes] of contents.entries()) {
          const [version, arch] = [`${wants}.${Math.floor(i / 4)}.0`, `arch${i % 4}`];
          await tx.query(
            `insert into artifacts (distribution, version, os, arch, file_name, sha256, size_bytes, source_url, state, wanted)
             values ('otelcol', $1, 'linux', $2, 'a.tar.gz', decode($3, 'hex'), $4, 'file:///a', 'verified', true)`,
            [version, arch, digests[i], bytes.length],
          );
          await noteStaged(tx, digests[i] ?? "", holder, join(folder, digests[i] ?? ""));
        }
      });
      return digests;
    },
    unwantAll: async () => {
      await pool.query("update artifacts set wanted = false where wanted");
    },
    staged: async () => (await readdir(folder)).filter((name) => name.length === 64),
    register: async (all) => {
      for (const { nodeId, zone = "", controlUrl, readUrl } of all)
        await registerDepot(pool, { nodeId, zone, controlUrl, readUrl });
    },
    execute: async (cause = "test") => {
      const { epoch, generation } = await readWantedSet(pool);
      executions++;
      const workflowId = `execution/g${generation}/n${executions}`;
      const input = { cause, generation, epoch, hostTimeoutMs: 20_000 };
      const startedAt = performance.now();
      const options = { workflowId, taskQueue: QUEUES.control, args: [input] };
      const result = (await client.workflow.execute("replicationExecution", options)) as ExecutionResult;
      const ms = performance.now() - startedAt;
      const { rows } = await pool.query<{ result: Executed["did"] }>(
        "select result from replication_executions where id like $1",
        [`${workflowId}/%`],
      );
      if (rows[0] === undefined) throw new Error(`${workflowId} left no row`);
      return { ...result, did: rows[0].result, ms, workflowId };
    },
    close: async () => {
      for (const worker of workers) worker.shutdown();
      await runs;
      await Promise.all([native.close(), connection.close(), listener.close(), depots.close()]);
      await rm(root, { recursive: true, force: true });
    },
  };
}
