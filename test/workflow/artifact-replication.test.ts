import { Context } from "@temporalio/activity";
import { temporal } from "@temporalio/proto";
import type { TestWorkflowEnvironment } from "@temporalio/testing";
import { bundleWorkflowCode, Worker, type WorkflowBundleWithSourceMap } from "@temporalio/worker";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Probe, Reason, ReplicationActivities } from "../../src/activities/replication.ts";
import { poke, QUEUES, stagingQueue } from "../../src/workflows/messages.ts";
import { createTimeSkippingEnvironment } from "../support/time-skipping.ts";

const EPOCH = "018f0000-0000-4000-8000-000000000001";
let environment: TestWorkflowEnvironment;
let bundle: WorkflowBundleWithSourceMap;
beforeAll(async () => {
  environment = await createTimeSkippingEnvironment();
  const workflowsPath = fileURLToPath(new URL("../support/artifact-workflows.ts", import.meta.url));
  bundle = await bundleWorkflowCode({ workflowsPath });
});
afterAll(() => environment.teardown());

/** What the activities would find outside; `calls` is what was done, in order. */
type World = {
  generation: number;
  nodes: string[];
  answers: Map<string, Probe["answer"]>;
  holders: string[];
  /** Hosts with something to put. */
  pushes: string[];
  pulls: string[];
  /** Of the next executions: transfers that are done. */
  moved: number[];
  failed: number[];
  calls: string[];
  closed: string[];
  wake: (reason: Reason) => void;
  pushing?: (() => Promise<void>) | undefined;
};
let world: World;
let stop: () => Promise<void>;
let workflow = 0;

const replication: ReplicationActivities = {
  readGeneration: async () => ({ epoch: EPOCH, generation: world.generation }),
  openExecution: async ({ generation, cause }) => {
    world.calls.push(`open g${generation} (${cause})`);
    return { generation: world.generation, nodes: world.nodes, holders: world.holders };
  },
  probeNode: async ({ node }) => {
    world.calls.push(`probe ${node}`);
    return { node, answer: world.answers.get(node) ?? "ok" };
  },
  releaseStaging: async () => {
    world.calls.push("release");
    return 1;
  },
  planWork: async () => {
    world.calls.push("plan");
    return { pushes: [], holders: world.pushes, pulls: world.pulls, missing: 0, lost: 0 };
  },
  pushStaged: async () => {
    world.calls.push("push");
    await world.pushing?.();
  },
  pushNode: async ({ node }) => void world.calls.push(`push ${node}`),
  pullNode: async ({ node }) => void world.calls.push(`pull ${node}`),
  failPuts: async ({ holder }) => void world.calls.push(`fail puts ${holder}`),
  failPending: async ({ node, kind }) => void world.calls.push(`fail ${kind} ${node}`),
  abandonStaging: async (holder) => void world.calls.push(`abandon ${holder}`),
  closeExecution: async ({ state, skipped }) => {
    world.closed.push(skipped.length === 0 ? state : `${state} without ${skipped.join(", ")}`);
    const puts = world.moved.shift() ?? 0;
    return { nodes: 0, puts, copies: 0, failed: world.failed.shift() ?? 0, bytes: 0, have: "-", want: 0 };
  },
  watchReplication: async () => {
    const { promise, resolve } = Promise.withResolvers<Reason>();
    world.wake = resolve;
    const beat = setInterval(() => Context.current().heartbeat(), 200);
    try {
      return await Promise.race([promise, Context.current().cancelled]);
    } finally {
      clearInterval(beat);
    }
  },
};

beforeEach(() => {
  world = {
    generation: 1,
    nodes: ["n1", "n2"],
    answers: new Map(),
    holders: ["h1"],
    pushes: [],
    pulls: [],
    moved: [],
    failed: [],
    calls: [],
    closed: [],
    wake: () => undefined,
  };
});
afterEach(() => stop());

async function work(activities: object, queues: readonly string[]): Promise<void> {
  const options = {
    connection: environment.nativeConnection,
    activities,
    maxHeartbeatThrottleInterval: "200ms",
  } as const;
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
/** Starts the singleton under an id of this test. `end` takes it away. */
async function replicate() {
  workflow++;
  const handle = await environment.client.workflow.start("artifactReplication", {
    workflowId: `replication-${workflow}`,
    taskQueue: QUEUES.control,
    args: [{}],
  });
  return { handle, end: () => handle.terminate() };
}
type Size = { events: number; bytes: number; largest: number; mostAtOnce: number };
type Payloads = { payloads?: { data?: Uint8Array | null }[] | null } | null | undefined;
const sizeOf = (it: Payloads): number => (it?.payloads ?? []).reduce((sum, { data }) => sum + (data?.length ?? 0), 0);

/** Runs one execution and measures its history. */
async function executionOf(): Promise<Size> {
  workflow++;
  const handle = await environment.client.workflow.start("replicationExecution", {
    workflowId: `execution-${workflow}`,
    taskQueue: QUEUES.control,
    args: [{ cause: "test", generation: world.generation, epoch: EPOCH }],
  });
  await handle.result();
  const history = await handle.fetchHistory();
  const events = history.events ?? [];
  const messages = events.flatMap((event) => [
    sizeOf(event.activityTaskScheduledEventAttributes?.input),
    sizeOf(event.activityTaskCompletedEventAttributes?.result),
  ]);
  let inOneTask = 0;
  let mostAtOnce = 0;
  for (const event of events) {
    inOneTask = event.activityTaskScheduledEventAttributes ? inOneTask + 1 : 0;
    mostAtOnce = Math.max(mostAtOnce, inOneTask);
  }
  const bytes = temporal.api.history.v1.History.encode(history).finish().length;
  return { events: events.length, bytes, largest: Math.max(...messages), mostAtOnce };
}
const closed = (expected: string[]) =>
  expect.poll(() => world.closed, { timeout: 20_000, interval: 50 }).toEqual(expected);

describe("replication", () => {
  beforeEach(() => work(replication, [QUEUES.observe, stagingQueue("h1")]));

  test("an execution does the six steps in order, and after transfers the next one follows at once", async () => {
    world.pushes = ["h1"];
    world.pulls = ["n2"];
    world.moved = [2];
    const { end } = await replicate();
    await closed(["ended", "ended"]);
    await end();
    const first = world.calls.slice(0, world.calls.indexOf("open g1 (after transfers)"));
    expect(first.toSorted()).toEqual(["open g1 (start)", "plan", "probe n1", "probe n2", "pull n2", "push", "release"]);
    const order = ["open g1 (start)", "probe n1", "release", "plan", "push"].map((call) => first.indexOf(call));
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  });

  test("a node that does not answer is named and skipped", async () => {
    world.answers.set("n2", "silent");
    const { end } = await replicate();
    await closed(["ended without n2"]);
    await end();
  });

  test("a node that knows another generation ends the execution before anything is released or moved", async () => {
    world.answers.set("n2", "stale");
    const { end } = await replicate();
    await closed(["stale"]);
    await end();
    expect(world.calls).not.toContain("release");
    expect(world.calls).not.toContain("plan");
  });

  test("when the generation moves the execution is cancelled and another begins", async () => {
    world.pushes = ["h1"];
    const pushing = Promise.withResolvers<void>();
    world.pushing = async () => {
      pushing.resolve();
      const beat = setInterval(() => Context.current().heartbeat(), 200);
      await Context.current().cancelled.finally(() => clearInterval(beat));
    };
    const { end } = await replicate();
    await pushing.promise;
    world.pushing = undefined;
    world.generation = 2;
    world.wake("generation");
    await closed(["superseded", "ended"]);
    await end();
    expect(world.calls).toContain("open g2 (generation)");
  });

  test("an execution with thirty-two nodes stays small: events, bytes, and each message of an activity", async () => {
    const names = Array.from({ length: 32 }, (_, i) => `depot-${i + 1}.storage.eu-central-1a.example.net`);
    Object.assign(world, { nodes: names, pulls: names, pushes: ["h1"] });
    const { events, bytes, largest } = await executionOf();
    expect(events).toBeLessThan(300);
    expect(bytes).toBeLessThan(100_000);
    expect(largest).toBeLessThan(4_096);
  });

  test("more than five hundred activities are begun two hundred at a time", async () => {
    world.nodes = Array.from({ length: 501 }, (_, i) => `n${i}`);
    const { mostAtOnce } = await executionOf();
    expect(mostAtOnce).toBe(200);
    expect(world.calls.filter((call) => call.startsWith("probe")).length).toBe(501);
  });

  test("a poke, and a depot that came, start an execution at once", async () => {
    const { handle, end } = await replicate();
    await closed(["ended"]);
    await handle.signal(poke, { cause: "upload" });
    await closed(["ended", "ended"]);
    world.wake("depot");
    await closed(["ended", "ended", "ended"]);
    await end();
    expect(world.calls.filter((call) => call.startsWith("open"))).toEqual([
      "open g1 (start)",
      "open g1 (upload)",
      "open g1 (depot)",
    ]);
  });
});
