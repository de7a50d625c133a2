import { fileURLToPath } from "node:url";
import { Worker } from "@temporalio/worker";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { TestWorkflowEnvironment } from "@temporalio/testing";
import { createTimeSkippingEnvironment } from "../support/time-skipping.ts";

let environment: TestWorkflowEnvironment;
beforeAll(async () => {
  environment = await createTimeSkippingEnvironment();
});
afterAll(() => environment.teardown());

test("a day passes in less than a test's time, and search attributes can be written", async () => {
  const worker = await Worker.create({
    connection: environment.nativeConnection,
    taskQueue: "sleepers",
    workflowsPath: fileURLToPath(new URL("../support/sleeper.workflow.ts", import.meta.url)),
  });
  const slept = await worker.runUntil(
    environment.client.workflow.execute("sleepADay", { taskQueue: "sleepers", workflowId: "sleeper" }),
  );
  expect(slept).toBeGreaterThanOrEqual(86_400_000);
});
