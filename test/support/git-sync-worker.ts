/**
 * A worker of the repository's sync as a process of its own, which kills itself at one point of one activity when it is
 * told to: before it does anything, before its rows are committed, or when all is done and only the answer is missing.
 */
import type { PoolClient } from "pg";
import { DefaultLogger, NativeConnection, Runtime, Worker } from "@temporalio/worker";
import { createGitRemote, type GitRemoteSettings } from "../../src/activities/git-remote.ts";
import { createGitopsActivities, type GitopsActivities } from "../../src/activities/gitops.ts";
import { DEFAULT_LIMITS } from "../../src/domain/gitops/repository-files.ts";
import { validateRevision } from "../../src/domain/gitops/validate.ts";
import { openPool, type Pool } from "../../src/store/database.ts";
import { QUEUES } from "../../src/workflows/messages.ts";

export type KillAt = { activity: keyof GitopsActivities; point: "begun" | "uncommitted" | "unanswered" };
export type GitSyncWorkerInput = {
  databaseUrl: string;
  address: string;
  namespace: string;
  codePath: string;
  git: GitRemoteSettings;
  killAt?: KillAt | undefined;
};

const input = JSON.parse(process.argv[2] ?? "") as GitSyncWorkerInput;
Runtime.install({ logger: new DefaultLogger("ERROR") });
const die = (): never => {
  process.kill(process.pid, "SIGKILL");
  throw new Error("still alive");
};

let running: string | undefined;
const isDue = (point: KillAt["point"]): boolean => input.killAt?.point === point && running === input.killAt.activity;

/** The pool, with death before the commit of the chosen activity. */
function deadlyPool(pool: Pool): Pool {
  const connect = pool.connect.bind(pool) as () => Promise<PoolClient>;
  return Object.assign(pool, {
    connect: async () => {
      const client = await connect();
      const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
      return Object.assign(client, {
        query: (...args: unknown[]) => {
          if (isDue("uncommitted") && /^commit/i.test(String(args[0]))) die();
          return query(...args);
        },
      });
    },
  });
}

const real = createGitopsActivities({
  pool: deadlyPool(openPool(input.databaseUrl, () => undefined)),
  remote: createGitRemote(input.git),
  limits: DEFAULT_LIMITS,
  validate: async (files, limits) => validateRevision(files, limits),
  now: () => new Date(),
  log: { info: () => undefined, warn: () => undefined },
});
const activities = Object.fromEntries(
  Object.entries(real).map(([name, activity]) => [
    name,
    async (argument: never): Promise<unknown> => {
      running = name;
      if (isDue("begun")) die();
      const result = await (activity as (argument: never) => Promise<unknown>)(argument);
      return isDue("unanswered") ? die() : result;
    },
  ]),
);

const { address, namespace, codePath } = input;
const connection = await NativeConnection.connect({ address });
const options = { connection, namespace, activities, maxHeartbeatThrottleInterval: "1s" } as const;
const workers = [
  await Worker.create({ ...options, taskQueue: QUEUES.control, workflowBundle: { codePath } }),
  await Worker.create({ ...options, taskQueue: QUEUES.io }),
];
const runs = workers.map((worker) => worker.run());
console.log("ready");
await Promise.all(runs);
