import { randomUUID } from "node:crypto";
import type { WorkflowHandle } from "@temporalio/client";
import type { TestWorkflowEnvironment } from "@temporalio/testing";
import {
  bundleWorkflowCode,
  DefaultLogger,
  Runtime,
  Worker,
  type WorkflowBundleWithSourceMap,
} from "@temporalio/worker";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { controlSignals, controlUpdates, progress, QUEUES, type Control } from "../../src/workflows/messages.ts";
import type { RolloutInput, RolloutResult } from "../../src/workflows/rollout.ts";
import { createMemoryRollout, type MemoryRollout, type MemoryWave } from "../support/memory-rollout.ts";
import { createTimeSkippingEnvironment } from "../support/time-skipping.ts";

let env: TestWorkflowEnvironment;
let workflowBundle: WorkflowBundleWithSourceMap;
beforeAll(async () => {
  const logger = new DefaultLogger("ERROR");
  Runtime.install({ logger });
  env = await createTimeSkippingEnvironment();
  workflowBundle = await bundleWorkflowCode({
    workflowsPath: new URL("../../src/workflows/index.ts", import.meta.url).pathname,
    logger,
  });
});
afterAll(() => env.teardown());

type Running = {
  memory: MemoryRollout;
  handle: WorkflowHandle<(input: RolloutInput) => Promise<RolloutResult>>;
  until: typeof until;
};

async function run(
  waves: MemoryWave[],
  work: (at: Running) => Promise<void>,
  options: { approvalTimeoutMs?: number; failing?: boolean; continueAfter?: number; gateClosed?: boolean } = {},
): Promise<void> {
  const { continueAfter, gateClosed = false, ...rest } = options;
  const memory = createMemoryRollout({ waves, ...rest, now: () => env.currentTimeMs() });
  memory.gate.open = !gateClosed;
  const base = {
    connection: env.nativeConnection,
    activities: memory.activities,
    maxHeartbeatThrottleInterval: "1s",
  } as const;
  const control = await Worker.create({ ...base, taskQueue: QUEUES.control, workflowBundle });
  const observe = await Worker.create({ ...base, taskQueue: QUEUES.observe });
  const observing = observe.run();
  try {
    await control.runUntil(async () => {
      const handle = await env.client.workflow.start("rollout", {
        workflowId: `rollout/demo/${randomUUID()}`,
        taskQueue: QUEUES.control,
        args: [{ fleet: "demo", n: 1, ...(continueAfter === undefined ? {} : { continueAfter }) }],
      });
      await work({ memory, handle, until });
    });
  } finally {
    observe.shutdown();
    await observing;
  }
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 20_000;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const CANARY_REST: MemoryWave[] = [{ name: "canary" }, { name: "rest", approval: "required" }];
type By = "update" | "signal";
const send: Record<
  By,
  (handle: Running["handle"], control: Control, input?: { wave?: string; reason?: string }) => Promise<unknown>
> = {
  update: (handle, control, input = {}) =>
    handle.executeUpdate(controlUpdates[control], { args: [{ by: "ada", ...input }] }),
  signal: (handle, control, input = {}) => handle.signal(controlSignals[control], { by: "ops", ...input }),
};

describe.each(["update", "signal"] as const)("controls by %s", (by) => {
  test("approve starts the waiting wave", () =>
    run(CANARY_REST, async ({ memory, handle, until }) => {
      await until("it waits", () => memory.state() === "waiting_approval");
      await send[by](handle, "approve", { wave: "rest" });
      expect(await handle.result()).toEqual({ state: "succeeded" });
      expect(memory.updated()).toBe(2);
    }));

  test("pause stops the next wave, resume goes on, approvals given while paused are kept", () =>
    run(CANARY_REST, async ({ memory, handle, until }) => {
      await until("it waits", () => memory.state() === "waiting_approval");
      await send[by](handle, "pause");
      await until("it is paused", () => memory.state() === "paused");
      await send[by](handle, "approve");
      await until("it is approved", () => memory.calls.length === 2);
      expect(memory.waves()).toEqual(["ended", "waiting_approval"]);
      await send[by](handle, "resume");
      expect(await handle.result()).toEqual({ state: "succeeded" });
    }));

  test("abort while a wave runs ends the workflow", () =>
    run(
      CANARY_REST,
      async ({ memory, handle, until }) => {
        await until("the canary runs", () => memory.waves()[0] === "running");
        await send[by](handle, "abort", { reason: "x" });
        expect(await handle.result()).toEqual({ state: "aborted" });
        expect(memory.updated()).toBe(0);
      },
      { gateClosed: true },
    ));

  test("rollback returns what was updated", () =>
    run(CANARY_REST, async ({ memory, handle, until }) => {
      await until("it waits", () => memory.state() === "waiting_approval");
      await send[by](handle, "rollback", { reason: "x" });
      expect(await handle.result()).toEqual({ state: "rolled_back" });
      expect(memory.updated()).toBe(0);
    }));
});

test("an update that does not fit is refused with its code, a signal is ignored", () =>
  run(CANARY_REST, async ({ memory, handle, until }) => {
    await until("it waits", () => memory.state() === "waiting_approval");
    const refused = await send.update(handle, "approve", { wave: "nowhere" }).catch((error: unknown) => error);
    expect((refused as { cause: { type: string } }).cause.type).toBe("control_conflict");
    expect(memory.calls).toEqual([]);
    await send.signal(handle, "approve", { wave: "nowhere" });
    await until("it is judged", () => memory.calls.length === 1);
    expect(memory.state()).toBe("waiting_approval");
    await send.update(handle, "approve");
    expect(await handle.result()).toEqual({ state: "succeeded" });
  }));

test("an approval that does not come pauses after its timeout and never goes on by itself", () =>
  run(
    CANARY_REST,
    async ({ memory, handle, until }) => {
      await until("it waits", () => memory.state() === "waiting_approval");
      await env.sleep("25h");
      await until("it is paused", () => memory.state() === "paused");
      await send.update(handle, "abort", { reason: "nobody cares" });
      expect(await handle.result()).toEqual({ state: "aborted" });
    },
    { approvalTimeoutMs: 24 * 3_600_000 },
  ));

test("every signal takes effect exactly once, in order, across continue-as-new", () =>
  run(
    CANARY_REST,
    async ({ memory, handle, until }) => {
      await until("it waits", () => memory.state() === "waiting_approval");
      const { runId: firstRun } = await env.client.workflow.getHandle(handle.workflowId).describe();
      const sent: Control[] = [];
      for (let i = 0; i < 12; i += 1) {
        const control = i % 2 === 0 ? "pause" : "resume";
        sent.push(control);
        await handle.signal(controlSignals[control], { reason: String(i) });
      }
      await until("all are judged", () => memory.calls.length === sent.length);
      expect(memory.calls.map(({ reason }) => Number(reason))).toEqual(sent.map((_, i) => i));
      const latest: Running["handle"] = env.client.workflow.getHandle(handle.workflowId);
      await until("it has continued as new", async () => (await latest.describe()).runId !== firstRun);
      await send.update(latest, "approve");
      expect(await handle.result()).toEqual({ state: "succeeded" });
    },
    { continueAfter: 20 },
  ));

test("an empty wave is skipped and asks for no approval", () =>
  run(
    [{ name: "canary" }, { name: "empty", approval: "required", size: 0 }, { name: "rest" }],
    async ({ memory, handle }) => {
      expect(await handle.result()).toEqual({ state: "succeeded" });
      expect(memory.waves()).toEqual(["ended", "skipped", "ended"]);
    },
  ));

test("the query and the list show the rollout, and its history replays", () =>
  run(CANARY_REST, async ({ handle, until }) => {
    // the rows say so a moment before the workflow does
    let shown: { state: string } | null = null;
    await until("it says that it waits", async () => {
      shown = (await handle.query(progress)) as { state: string } | null;
      return shown?.state === "waiting_approval";
    });
    expect(shown).toMatchObject({ fleet: "demo", version: "0.162.0" });
    await send.update(handle, "approve");
    await handle.result();
    const history = await handle.fetchHistory();
    // about 110; how many tasks the server makes of the same events is a matter of time
    expect((history.events ?? []).length).toBeLessThan(180);
    await Worker.runReplayHistory({ workflowBundle }, history, handle.workflowId);
  }));
