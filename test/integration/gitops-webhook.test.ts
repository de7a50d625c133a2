/**
 * From a delivery to the sync that it asks for, over the API's routes, a real Temporal and the sync's own workflow: it starts
 * within two seconds, many deliveries are one sync, and none is lost while Temporal is away (cases C3, A9; decisions, Webhook).
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Client, Connection } from "@temporalio/client";
import { DefaultLogger, NativeConnection, Runtime, Worker } from "@temporalio/worker";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createGitRemote } from "../../src/activities/git-remote.ts";
import { createGitopsActivities } from "../../src/activities/gitops.ts";
import { createGitSyncPoke } from "../../src/api/gitops-poke.ts";
import { repeatDeliveries } from "../../src/api/repeat-deliveries.ts";
import { gitopsWebhookRoutes } from "../../src/api/routes/gitops-webhook.ts";
import { DEFAULT_LIMITS } from "../../src/domain/gitops/repository-files.ts";
import { validateRevision } from "../../src/domain/gitops/validate.ts";
import { openDataFolder, type DataFolder } from "../../src/embedded/data-folder.ts";
import { startTemporal, type Temporal } from "../../src/embedded/temporal.ts";
import { readGitopsState } from "../../src/store/gitops.ts";
import type { Pool } from "../../src/store/database.ts";
import { QUEUES, WORKFLOW_IDS } from "../../src/workflows/messages.ts";
import { createTestApi, type TestApi } from "../support/api.ts";
import { CONFIG, createGitRepository, object, type GitRepository } from "../support/git-repository.ts";
import { bundleSync } from "../support/git-sync-world.ts";

const SECRET = "planted-webhook-secret";
/** Nothing here may wait for it, but for the last test. */
let pollMs = 600_000;

let folder: DataFolder;
let temporal: Temporal;
let api: TestApi;
let pool: Pool;
let repository: GitRepository;
let connection: Connection;
let native: NativeConnection;
let client: Client;
let workers: Promise<void>[] = [];
let stop: () => void = () => undefined;
let bundle: Awaited<ReturnType<typeof bundleSync>>;
let secretFile: string;
/** When each fetch began. */
let fetches: number[] = [];
/** What the next fetches wait for. */
let hold: Promise<void> = Promise.resolve();

beforeAll(async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "myriarch-webhook-"));
  folder = await openDataFolder(dataDir, () => undefined);
  // a server of its own: one test takes it away
  temporal = await start();
  bundle = await bundleSync();
  repository = await createGitRepository();
  secretFile = join(repository.folder, "secret");
  connection = await Connection.connect({ address: temporal.address });
  client = new Client({ connection });
  const deps = {
    get pool() {
      return pool;
    },
    now: () => new Date(),
    poke: createGitSyncPoke(client),
    secret: () => readFile(secretFile, "utf8"),
    perMinute: 150,
  };
  api = await createTestApi({ ownCredential: [gitopsWebhookRoutes(deps)], now: () => new Date() });
  pool = api.database.pool;
  Runtime.install({
    logger: new DefaultLogger("ERROR"),
    // while Temporal is away its client says so many times a second
    telemetryOptions: { logging: { forward: {}, filter: "ERROR" } },
  });
  native = await NativeConnection.connect({ address: temporal.address });
  await runWorkers();
  const options = { taskQueue: QUEUES.control };
  await client.workflow.start("listeningPlanner", { ...options, workflowId: WORKFLOW_IDS.reconcile });
  await client.workflow.start("gitSync", {
    ...options,
    workflowId: WORKFLOW_IDS.gitSync,
    args: [{ pollIntervalMs: pollMs }],
  });
});
afterAll(async () => {
  stop();
  await Promise.all(workers);
  await native.close();
  await connection.close();
  await api.close();
  await temporal.stop();
  folder.release();
  await rm(folder.path, { recursive: true, force: true });
  await repository.remove();
  await bundle.remove();
});
beforeEach(async () => {
  await writeFile(secretFile, `${SECRET}\n`);
  await until("the sync is at rest", async () => (await readGitopsState(pool)).checkedAt !== null);
});

const start = (): Promise<Temporal> =>
  startTemporal({ dataDir: folder.path, ports: folder.ports, log: () => undefined });

async function runWorkers(): Promise<void> {
  const real = createGitopsActivities({
    pool,
    remote: createGitRemote({
      url: repository.url,
      branch: "main",
      path: "",
      timeoutMs: 20_000,
      cloneDir: join(repository.folder, "clones"),
    }),
    limits: DEFAULT_LIMITS,
    validate: async (files, limits) => validateRevision(files, limits),
    now: () => new Date(),
    log: { info: () => undefined, warn: () => undefined },
    get pollIntervalMs() {
      return pollMs;
    },
  });
  const activities: typeof real = {
    ...real,
    fetchRevision: async (input) => {
      fetches.push(performance.now());
      await hold;
      return real.fetchRevision(input);
    },
  };
  const options = { connection: native, activities, maxHeartbeatThrottleInterval: "1s" } as const;
  const running = [
    await Worker.create({ ...options, taskQueue: QUEUES.control, workflowBundle: { codePath: bundle.codePath } }),
    await Worker.create({ ...options, taskQueue: QUEUES.io }),
  ];
  workers = running.map((worker) => worker.run());
  stop = () => {
    for (const worker of running) if (worker.getState() === "RUNNING") worker.shutdown();
  };
}

async function until(what: string, holds: () => Promise<boolean>, deadlineMs = 60_000): Promise<void> {
  const end = performance.now() + deadlineMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await delay(20);
  }
}

let pushes = 0;
const push = (): Promise<string> =>
  repository.push(`push ${(pushes += 1)}`, {
    "blueprints/base.yaml": object("Blueprint", "base", `{config: ${CONFIG}}`),
    "fleets/a.yaml": `# ${pushes}\n${object("Fleet", "a", "{selector: {}, blueprint: base}")}`,
  });
const deliver = (token = SECRET) =>
  api.app.inject({
    method: "POST",
    url: "/api/v1/gitops/webhook",
    headers: { "content-type": "application/json", "x-gitlab-token": token },
    payload: '{"object_kind":"push"}',
  });
const applied = (commit: string): Promise<void> =>
  until("the commit is applied", async () => (await readGitopsState(pool)).appliedCommit === commit);

test("C3: a push's delivery starts the sync within two seconds, and its commit is applied", async () => {
  const tookMs: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    const commit = await push();
    fetches = [];
    const before = performance.now();
    expect((await deliver()).json()).toMatchObject({ accepted: true, note: "starts now" });
    await applied(commit);
    tookMs.push((fetches[0] ?? Number.POSITIVE_INFINITY) - before);
  }
  console.log(`webhook to the start of the sync: ${tookMs.map(Math.round).join(", ")} ms`);
  expect(Math.max(...tookMs)).toBeLessThan(2_000);
  expect((await readGitopsState(pool)).deliveryAt).toBeNull();
});

test("a hundred deliveries at once are one sync, or two: one that runs and one after it", async () => {
  const commit = await push();
  fetches = [];
  let release: () => void = () => undefined;
  hold = new Promise((resolve) => (release = resolve));
  const answers = await Promise.all(Array.from({ length: 100 }, () => deliver()));
  expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([202]));
  release();
  await applied(commit);
  // what they left is answered: a later poke is a sync of its own
  await until("no delivery waits", async () => (await readGitopsState(pool)).deliveryAt === null);
  expect(fetches.length).toBeLessThanOrEqual(2);
  const next = await push();
  await deliver();
  await applied(next);
  // two for the hundred (the second may begin only now), and one for this
  expect(fetches.length).toBeLessThanOrEqual(3);
});

test("a secret that was changed in its file counts from the next delivery on", async () => {
  await writeFile(secretFile, "rotated-webhook-secret\n");
  expect((await deliver()).statusCode).toBe(401);
  expect((await deliver("rotated-webhook-secret")).statusCode).toBe(202);
});

test("with Temporal away a delivery is noted, and told again until it is back: no poll has to come", async () => {
  await temporal.stop();
  const repeating = repeatDeliveries({
    pool,
    poke: createGitSyncPoke(client),
    now: () => new Date(),
    onError: () => undefined,
    everyMs: 500,
  });
  const commit = await push();
  const before = performance.now();
  const answer = await deliver();
  expect(answer.statusCode).toBe(202);
  expect(answer.json<{ note: string }>().note).toContain("when Temporal answers");
  expect(performance.now() - before).toBeLessThan(5_000);
  expect((await readGitopsState(pool)).deliveryAt).not.toBeNull();
  temporal = await start();
  await applied(commit);
  expect((await readGitopsState(pool)).deliveryAt).toBeNull();
  await repeating.stop();
});

test("C3: over the rate a delivery is refused, and the next poll still applies its commit", async () => {
  // taken over at the next fetch
  pollMs = 3_000;
  await applied(await push().then(async (commit) => (await deliver(), commit)));
  const statuses = await Promise.all(Array.from({ length: 160 }, async () => (await deliver()).statusCode));
  expect(statuses).toContain(429);
  const commit = await push();
  expect((await deliver()).statusCode).toBe(429);
  await applied(commit);
});
