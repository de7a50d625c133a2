import { fileURLToPath } from "node:url";
import { ApplicationFailure } from "@temporalio/common";
import type { WorkflowHandle } from "@temporalio/client";
import type { TestWorkflowEnvironment } from "@temporalio/testing";
import { bundleWorkflowCode, Worker, type WorkflowBundleWithSourceMap } from "@temporalio/worker";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type {
  Applied,
  FetchInput,
  Fetched,
  GitopsActivities,
  Judgement,
  RevisionRef,
} from "../../src/activities/gitops.ts";
import { gitSync, type GitSyncInput } from "../../src/workflows/git-sync.ts";
import { poke, progress, QUEUES, WORKFLOW_IDS } from "../../src/workflows/messages.ts";
import { createTimeSkippingEnvironment } from "../support/time-skipping.ts";
import { causes } from "../support/git-sync.workflow.ts";

/** Real time: the clock of the test server does not skip reliably past terminated runs. */
const POLL_MS = 200;
let environment: TestWorkflowEnvironment;
let bundle: WorkflowBundleWithSourceMap;
let workers: Worker[] = [];
let running: Promise<unknown>;

/** The repository and the rows as the activities would find them. */
type World = {
  head: string;
  applied: string | null;
  rejected: string | null;
  invalid: Set<string>;
  away: string | null;
  calls: string[];
  during?: (() => Promise<void>) | undefined;
};
let world: World;

const activities: GitopsActivities = {
  async fetchRevision({ again }: FetchInput): Promise<Fetched> {
    world.calls.push(again ? "fetch again" : "fetch");
    if (world.away !== null)
      throw ApplicationFailure.create({ type: "sync_failed", message: world.away, nonRetryable: true });
    const unchanged = world.head === world.applied || (!again && world.head === world.rejected);
    return {
      commit: world.head,
      author: "kim",
      subject: `subject ${world.head}`,
      unchanged,
      generation: 1,
      pollIntervalMs: null,
    };
  },
  async validateRevision({ commit }: RevisionRef): Promise<Judgement> {
    world.calls.push(`validate ${commit}`);
    await world.during?.();
    if (!world.invalid.has(commit)) return { valid: true, errors: 0, warnings: 0, first: null };
    world.rejected = commit;
    return { valid: false, errors: 2, warnings: 0, first: "fleets/a.yaml:3: unknown_field: x" };
  },
  async applyRevision({ commit }: RevisionRef): Promise<Applied> {
    world.calls.push(`apply ${commit}`);
    world.applied = commit;
    return { applied: true, because: null, added: 1, changed: 0, removed: 0 };
  },
  async recordSyncFailure({ message }): Promise<void> {
    world.calls.push(`failed: ${message}`);
  },
};

beforeAll(async () => {
  environment = await createTimeSkippingEnvironment();
  bundle = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL("../support/git-sync.workflow.ts", import.meta.url)),
  });
});
afterAll(() => environment.teardown());
beforeEach(async () => {
  world = { head: "c1", applied: null, rejected: null, invalid: new Set(), away: null, calls: [] };
  const connection = environment.nativeConnection;
  workers = [
    await Worker.create({ connection, taskQueue: QUEUES.control, workflowBundle: bundle }),
    await Worker.create({ connection, taskQueue: QUEUES.io, activities }),
  ];
  running = Promise.all(workers.map((worker) => worker.run()));
});
afterEach(async () => {
  for (const id of [WORKFLOW_IDS.gitSync, WORKFLOW_IDS.reconcile]) {
    await environment.client.workflow
      .getHandle(id)
      .terminate()
      .catch((error: Error) => {
        if (error.name !== "WorkflowNotFoundError") throw error;
      });
  }
  for (const worker of workers) worker.shutdown();
  await running;
});

const start = (more: Partial<GitSyncInput> = {}): Promise<WorkflowHandle<typeof gitSync>> =>
  environment.client.workflow.start(gitSync, {
    taskQueue: QUEUES.control,
    workflowId: WORKFLOW_IDS.gitSync,
    args: [{ pollIntervalMs: POLL_MS, ...more }],
  });
const startPlanner = (): Promise<WorkflowHandle> =>
  environment.client.workflow.start("listeningPlanner", {
    taskQueue: QUEUES.control,
    workflowId: WORKFLOW_IDS.reconcile,
  });
const until = (what: () => boolean): Promise<void> => expect.poll(what, { timeout: 30_000, interval: 20 }).toBe(true);
/** Waits for `n` more fetches. */
const polls = (n: number): Promise<void> => {
  const fetches = (): number => world.calls.filter((call) => call.startsWith("fetch")).length;
  const before = fetches();
  return until(() => fetches() >= before + n);
};

test("a commit is fetched, validated and applied, in this order, and the planner is woken", async () => {
  const planner = await startPlanner();
  const sync = await start();
  await until(() => world.applied === "c1");
  await expect.poll(() => planner.query(causes), { timeout: 20_000 }).toEqual(["snapshot c1"]);
  expect(world.calls).toEqual(["fetch again", "validate c1", "apply c1"]);
  expect(await sync.query(progress)).toMatchObject({ last: { state: "applied", commit: "c1", change: { added: 1 } } });
});

test("polling finds the next commit; a head that is in force is fetched and nothing else", async () => {
  await start();
  await until(() => world.applied === "c1");
  await polls(2);
  expect(world.calls.slice(3).every((call) => call === "fetch")).toBe(true);
  world.head = "c2";
  await polls(1);
  await until(() => world.applied === "c2");
  expect(world.calls.filter((call) => call.startsWith("apply"))).toEqual(["apply c1", "apply c2"]);
});

test("a refused revision is not applied and judged once, until somebody asks again", async () => {
  world.invalid.add("c1");
  const sync = await start();
  await until(() => world.rejected === "c1");
  await polls(3);
  expect(world.calls.filter((call) => call.startsWith("validate"))).toHaveLength(1);
  expect(world.applied).toBeNull();
  await sync.signal(poke, { cause: "asked by kim" });
  await until(() => world.calls.filter((call) => call === "validate c1").length === 2);
  expect(world.calls).not.toContain("apply c1");
});

test("a repository that cannot be read is recorded with its reason; when it is back the next poll applies", async () => {
  world.away = "the repository could not be read: no answer within 60 s";
  const sync = await start();
  await until(() => world.calls.includes(`failed: ${world.away}`));
  await expect
    .poll(() => sync.query(progress), { timeout: 20_000 })
    .toMatchObject({ last: { state: "failed", message: world.away } });
  world.away = null;
  await polls(1);
  await until(() => world.applied === "c1");
});

test("a webhook wakes the sync at once, not at the next poll", async () => {
  const sync = await start({ pollIntervalMs: 24 * 3_600_000 });
  await until(() => world.applied === "c1");
  world.head = "c2";
  const began = performance.now();
  await sync.signal(poke, { cause: "webhook" });
  await until(() => world.calls.includes("validate c2"));
  expect(performance.now() - began).toBeLessThan(10_000);
  await until(() => world.applied === "c2");
});

test("a webhook that comes while a revision is judged is not lost", async () => {
  const sync = await start({ pollIntervalMs: 24 * 3_600_000 });
  world.during = async () => {
    world.during = undefined;
    world.head = "c2";
    await sync.signal(poke, { cause: "webhook" });
  };
  await until(() => world.applied === "c2");
  expect(world.calls).toEqual(["fetch again", "validate c1", "apply c1", "fetch again", "validate c2", "apply c2"]);
});

test("without a planner the commit is applied all the same", async () => {
  await start();
  await until(() => world.applied === "c1");
  await polls(1);
});

test("the history begins anew after a number of polls, and the loop goes on", async () => {
  const sync = await start({ pollsPerRun: 2 });
  const { runId } = await sync.describe();
  await until(() => world.calls.filter((call) => call === "fetch").length >= 4);
  const now = await environment.client.workflow.getHandle(WORKFLOW_IDS.gitSync).describe();
  expect(now.runId).not.toBe(runId);
  expect(now.historyLength).toBeLessThan(60);
  expect(world.calls.filter((call) => call === "fetch again")).toHaveLength(1);
  world.head = "c2";
  await until(() => world.applied === "c2");
});
