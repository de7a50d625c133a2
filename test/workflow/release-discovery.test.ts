import type { TestWorkflowEnvironment } from "@temporalio/testing";
import { bundleWorkflowCode, Worker } from "@temporalio/worker";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Discovered, DiscoveryActivities } from "../../src/activities/release-discovery.ts";
import { poke, QUEUES } from "../../src/workflows/messages.ts";
import { createTimeSkippingEnvironment } from "../support/time-skipping.ts";

const HOUR_MS = 3_600_000;
const looked: Discovered = { state: "looked", releases: 3, told: [], againMs: 6 * HOUR_MS };
let environment: TestWorkflowEnvironment;
let answers: Discovered[] = [];
let lookedAt: number[] = [];
let everyLook = Promise.withResolvers<void>();
let stop: () => Promise<void>;
beforeAll(async () => {
  environment = await createTimeSkippingEnvironment();
  const workflowsPath = fileURLToPath(new URL("../../src/workflows/release-discovery.ts", import.meta.url));
  const workflowBundle = await bundleWorkflowCode({ workflowsPath });
  const activities: DiscoveryActivities = {
    discoverReleases: async () => {
      lookedAt.push(await environment.currentTimeMs());
      const next = answers.shift();
      if (answers.length === 0) everyLook.resolve();
      return next ?? { state: "off", againMs: 0 };
    },
  };
  const options = { connection: environment.nativeConnection, activities } as const;
  const workers = [
    await Worker.create({ ...options, taskQueue: QUEUES.control, workflowBundle }),
    await Worker.create({ ...options, taskQueue: QUEUES.io }),
  ];
  const running = Promise.all(workers.map((worker) => worker.run()));
  stop = async () => {
    for (const worker of workers) worker.shutdown();
    await running;
  };
});
afterAll(async () => {
  await stop();
  await environment.teardown();
});

async function begin(id: string, script: Discovered[], looksPerRun?: number) {
  answers = script;
  lookedAt = [];
  everyLook = Promise.withResolvers();
  return environment.client.workflow.start("releaseDiscovery", {
    workflowId: id,
    taskQueue: QUEUES.control,
    args: [looksPerRun === undefined ? {} : { looksPerRun }],
  });
}
/** Between the looks, in whole minutes. */
const pauses = (): number[] => lookedAt.slice(1).map((at, i) => Math.round((at - (lookedAt[i] as number)) / 60_000));

test("looks as often as the activity says, over a new run too", async () => {
  const failed: Discovered = { state: "failed", code: "artifact_unreachable", message: "away", againMs: HOUR_MS / 4 };
  const handle = await begin("discovery-1", [looked, failed, looked, { state: "off", againMs: 0 }], 2);
  const first = (await handle.describe()).runId;
  await environment.sleep("13 hours");
  await everyLook.promise;
  expect(pauses()).toEqual([360, 15, 360]);
  expect((await environment.client.workflow.getHandle("discovery-1").describe()).runId).not.toBe(first);
  await environment.client.workflow.getHandle("discovery-1").terminate();
});

test("switched off it looks only when it is poked", async () => {
  const handle = await begin("discovery-2", [{ state: "off", againMs: 0 }, looked]);
  await environment.sleep("3 days");
  expect(lookedAt).toHaveLength(1);
  await handle.signal(poke, { cause: "test" });
  await everyLook.promise;
  expect(lookedAt).toHaveLength(2);
  await handle.terminate();
});
