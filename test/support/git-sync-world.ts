/** A repository, a database and a Temporal namespace of their own, and workers of the sync that can be killed. */
import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "@temporalio/client";
import { bundleWorkflowCode, DefaultLogger } from "@temporalio/worker";
import { registerSearchAttributes } from "../../src/embedded/temporal-namespace.ts";
import { readGitopsState, type GitopsState } from "../../src/store/gitops.ts";
import { QUEUES, WORKFLOW_IDS } from "../../src/workflows/messages.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";
import type { GitSyncWorkerInput, KillAt } from "./git-sync-worker.ts";
import { causes } from "./git-sync.workflow.ts";
import { openNamespace } from "./own-namespace.ts";
import { createGitRepository, type GitRepository } from "./git-repository.ts";

const PROGRAM = new URL("./git-sync-worker.ts", import.meta.url).pathname;
const workflowsPath = new URL("./git-sync.workflow.ts", import.meta.url).pathname;

export type GitSyncWorld = {
  repository: GitRepository;
  database: TestDatabase;
  client: Client;
  /** Starts the sync, and in place of the planner a workflow that listens. */
  start: (pollIntervalMs: number) => Promise<void>;
  /** Resolves when the worker polls. */
  spawnWorker: (killAt?: KillAt) => Promise<ChildProcess>;
  state: () => Promise<GitopsState>;
  /** The causes for which the planner was woken, in order. */
  woken: () => Promise<string[]>;
  until: <T>(what: string, holds: () => Promise<T | false | undefined>, deadlineMs?: number) => Promise<T>;
  close: () => Promise<void>;
};

/** The workflows' code in a file; `remove` it at the end. */
export async function bundleSync(): Promise<{ codePath: string; remove: () => Promise<void> }> {
  const codePath = join(tmpdir(), `myriarch-test-${process.pid}-${randomBytes(4).toString("hex")}.js`);
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger("ERROR") });
  await writeFile(codePath, code);
  return { codePath, remove: () => rm(codePath, { force: true }) };
}

export async function createGitSyncWorld(address: string, codePath: string): Promise<GitSyncWorld> {
  const [database, repository, { namespace, connection }] = await Promise.all([
    createTestDatabase(),
    createGitRepository(),
    openNamespace(address),
  ]);
  const client = new Client({ connection, namespace });
  const children: ChildProcess[] = [];
  const until: GitSyncWorld["until"] = async (what, holds, deadlineMs = 90_000) => {
    const end = performance.now() + deadlineMs;
    for (;;) {
      const seen = await holds();
      if (seen !== false && seen !== undefined) return seen;
      if (performance.now() > end) throw new Error(`not within ${deadlineMs} ms: ${what}`);
      await delay(100);
    }
  };
  // a new namespace is known to every part of the server within seconds
  await until("the namespace can be used", () =>
    registerSearchAttributes(connection, namespace).then(
      () => true,
      () => false,
    ),
  );
  const options = { taskQueue: QUEUES.control };
  return {
    repository,
    database,
    client,
    until,
    start: async (pollIntervalMs) => {
      await client.workflow.start("listeningPlanner", { ...options, workflowId: WORKFLOW_IDS.reconcile });
      await client.workflow.start("gitSync", {
        ...options,
        workflowId: WORKFLOW_IDS.gitSync,
        args: [{ pollIntervalMs }],
      });
    },
    spawnWorker: async (killAt) => {
      const git = {
        url: repository.url,
        branch: "main",
        path: "",
        timeoutMs: 20_000,
        cloneDir: join(repository.folder, "clones"),
      };
      const input: GitSyncWorkerInput = { databaseUrl: database.url, address, namespace, codePath, git, killAt };
      const child = spawn(process.execPath, [PROGRAM, JSON.stringify(input)], { stdio: ["ignore", "pipe", "inherit"] });
      children.push(child);
      await Promise.race([
        once(child.stdout, "data"),
        once(child, "exit").then(() => Promise.reject(new Error("ended"))),
      ]);
      return child;
    },
    state: () => readGitopsState(database.pool),
    woken: () => client.workflow.getHandle(WORKFLOW_IDS.reconcile).query(causes),
    close: async () => {
      for (const child of children) child.kill("SIGKILL");
      await connection.close();
      await database.drop();
      await repository.remove();
    },
  };
}
