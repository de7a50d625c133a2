import { ApplicationFailure } from "@temporalio/common";
import type { TestWorkflowEnvironment } from "@temporalio/testing";
import { bundleWorkflowCode, Worker, type WorkflowBundleWithSourceMap } from "@temporalio/worker";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { ArtifactActivities } from "../../src/activities/artifacts.ts";
import type { ReplicationActivities } from "../../src/activities/replication.ts";
import { QUEUES } from "../../src/workflows/messages.ts";
import { createTimeSkippingEnvironment } from "../support/time-skipping.ts";

const EPOCH = "018f0000-0000-4000-8000-000000000001";
let environment: TestWorkflowEnvironment;
let bundle: WorkflowBundleWithSourceMap;
let stop: () => Promise<void>;
let workflow = 0;
beforeAll(async () => {
  environment = await createTimeSkippingEnvironment();
  const workflowsPath = fileURLToPath(new URL("../support/artifact-workflows.ts", import.meta.url));
  bundle = await bundleWorkflowCode({ workflowsPath });
});
afterAll(() => environment.teardown());
afterEach(() => stop());

async function work(activities: object, queues: readonly string[]): Promise<void> {
  const options = { connection: environment.nativeConnection, activities } as const;
  const workers = [
    await Worker.create({ ...options, taskQueue: QUEUES.control, workflowBundle: bundle }),
    ...(await Promise.all(queues.map((taskQueue) => Worker.create({ ...options, taskQueue })))),
  ];
  const running = Promise.all(workers.map((worker) => worker.run()));
  stop = async () => {
    for (const worker of workers) worker.shutdown();
    await running;
  };
}

test("a host whose staging takes nothing in time is gone: its puts are ended, what it had is given up", async () => {
  const calls: string[] = [];
  const activities: Partial<ReplicationActivities> = {
    openExecution: async ({ generation }) => ({ generation, nodes: ["n1"], holders: [] }),
    probeNode: async ({ node }) => ({ node, answer: "ok" }),
    planWork: async () => ({ pushes: [{ holder: "h1", node: "n1" }], pulls: [], holders: ["h1"], missing: 1, lost: 0 }),
    failPuts: async ({ holder }) => void calls.push(`fail puts of ${holder}`),
    abandonStaging: async (holder) => void calls.push(`abandon ${holder}`),
    closeExecution: async () => ({ nodes: 1, puts: 0, copies: 0, failed: 1, bytes: 0, have: "0..0", want: 1 }),
  };
  await work(activities, []);
  const handle = await environment.client.workflow.start("replicationExecution", {
    workflowId: "execution-without-host",
    taskQueue: QUEUES.control,
    args: [{ cause: "test", generation: 1, epoch: EPOCH, hostTimeoutMs: 1_000 }],
  });
  expect(await handle.result()).toMatchObject({ state: "ended", failed: 1 });
  expect(calls).toEqual(["fail puts of h1", "abandon h1"]);
});

describe("a fetch", () => {
  const ref = { distribution: "otelcol-contrib", version: "0.162.0", os: "linux", arch: "amd64" };
  const proved = { identity: "i", issuer: "o", repository: "r", logIndex: "1", signedAt: [] };
  const failing = (type: string, nonRetryable: boolean) =>
    ApplicationFailure.create({ type, message: type, nonRetryable });
  async function fetch(
    answers: Partial<ArtifactActivities>,
  ): Promise<{ result: unknown; gaveUp: string[]; admitted: string[] }> {
    const gaveUp: string[] = [];
    const admitted: string[] = [];
    const activities: ArtifactActivities = {
      openArtifact: async () => ({ id: "a1", done: false }),
      downloadArtifact: async () => ({ sha256: "00", sizeBytes: 1, holder: "h1" }),
      verifyArtifact: async () => proved,
      admitArtifact: async (id) => void admitted.push(id),
      giveUpArtifact: async (_, cause) => void gaveUp.push(cause.code),
      ...answers,
    };
    await work(activities, [QUEUES.io]);
    workflow++;
    const workflowId = `fetch-${workflow}`;
    const result = await environment.client.workflow.execute("artifactFetch", {
      workflowId,
      taskQueue: QUEUES.control,
      args: [ref],
    });
    return { result, gaveUp, admitted };
  }
  test("is tried for as long as the source does not answer", async () => {
    let tries = 0;
    const downloadArtifact = async () => {
      if (++tries < 8) throw failing("artifact_unreachable", false);
      return { sha256: "00", sizeBytes: 1, holder: "h1" };
    };
    expect(await fetch({ downloadArtifact })).toMatchObject({
      result: { state: "verified" },
      admitted: ["a1"],
      gaveUp: [],
    });
  });
  test("is given up with its cause when no retry can mend it, and nothing is admitted", async () => {
    const verifyArtifact = async (): Promise<never> => {
      throw failing("identity_version_mismatch", true);
    };
    expect(await fetch({ verifyArtifact })).toEqual({
      result: { state: "failed", artifact: "a1", code: "identity_version_mismatch" },
      gaveUp: ["identity_version_mismatch"],
      admitted: [],
    });
  });
  test("of what is there already does nothing", async () => {
    const openArtifact = async () => ({ id: "a1", done: true });
    expect(await fetch({ openArtifact })).toEqual({
      result: { state: "already", artifact: "a1" },
      gaveUp: [],
      admitted: [],
    });
  });
});
