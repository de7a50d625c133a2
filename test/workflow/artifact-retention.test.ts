import type { TestWorkflowEnvironment } from "@temporalio/testing";
import { bundleWorkflowCode, Worker } from "@temporalio/worker";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RetentionActivities, RetentionRun } from "../../src/activities/retention.ts";
import { poke, QUEUES } from "../../src/workflows/messages.ts";
import { createTimeSkippingEnvironment } from "../support/time-skipping.ts";

const HOUR = 3_600_000;
let environment: TestWorkflowEnvironment;
beforeAll(async () => {
  environment = await createTimeSkippingEnvironment();
});
afterAll(() => environment.teardown());

test("it looks every hour, sooner when there is more, at once when poked, and goes on over new runs", async () => {
  const at: number[] = [];
  let wake: () => void = () => undefined;
  const answers: Partial<RetentionRun>[] = [{}, { more: true }, {}];
  const activities: RetentionActivities = {
    applyRetention: async () => {
      at.push(await environment.currentTimeMs());
      wake();
      return { deleted: [], kept: 3, more: false, ...answers[at.length - 1] };
    },
  };
  const looks = async (count: number): Promise<void> => {
    while (at.length < count) await new Promise<void>((resolve) => (wake = resolve));
  };
  const worker = await Worker.create({
    connection: environment.nativeConnection,
    taskQueue: QUEUES.control,
    activities,
    workflowBundle: await bundleWorkflowCode({
      workflowsPath: fileURLToPath(new URL("../support/artifact-workflows.ts", import.meta.url)),
    }),
  });
  await worker.runUntil(async () => {
    const handle = await environment.client.workflow.start("artifactRetention", {
      workflowId: "artifact-retention",
      taskQueue: QUEUES.control,
      args: [{ runsPerHistory: 4 }],
    });
    await looks(1);
    await environment.sleep(HOUR + 1_000);
    await looks(2);
    await environment.sleep(5 * 60_000 + 1_000);
    await looks(3);
    await handle.signal(poke, { cause: "test" });
    await looks(4);
    await environment.sleep(HOUR + 1_000);
    await looks(5);
    expect((await handle.describe()).runId).not.toBe(handle.firstExecutionRunId);
    await handle.terminate();
  });
  const gaps = at.slice(1).map((time, i) => Math.round((time - (at[i] ?? 0)) / 60_000));
  expect(gaps).toEqual([60, 5, 0, 60]);
});
