import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { putArtifact } from "../support/row-hosts.ts";
import { createRolloutWorld, type World } from "../support/rollout-world.ts";
import type { Control } from "../../src/workflows/messages.ts";

let world: World;
beforeAll(async () => {
  world = await createRolloutWorld();
  for (const version of ["0.160.0", "0.161.0", "0.162.0"]) await putArtifact(world.pool, version);
  await world.startWorker();
});
afterAll(() => world.close());
beforeEach(() => world.begin());

const addHosts = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i += 1) await world.hosts.add(`h${i}`);
};
const TWO_WAVES = {
  waves: [
    { name: "canary", upTo: 1 },
    { name: "rest", upTo: "100%", approval: "required" },
  ],
};
type By = "api" | "signal";
type Input = { reason?: string; wave?: string };

/** The same control by both ways: the API, and a raw signal as `temporal workflow signal` sends it. */
const send: Record<By, (control: Control, input?: Input, n?: number) => Promise<unknown>> = {
  api: (control, input, n) => world.control(control, input, n),
  signal: (control, input, n) => world.signal(control, { by: "ops@example.org", ...input }, n),
};
const audits = async (action: string): Promise<{ principal: string; claimed: string | null; outcome: string }[]> =>
  (
    await world.pool.query<{ principal: string; claimed: string | null; outcome: string }>(
      "select principal, claimed, outcome from audit where action = $1 and object like $2 order by seq",
      [action, `rollout/${world.fleet}/%`],
    )
  ).rows;
const workflowStatus = async (n = 1): Promise<string> =>
  (await world.client.workflow.getHandle(`rollout/${world.fleet}/${n}`).describe()).status.name;
const closed = (n = 1): Promise<string> =>
  world.until("the workflow has closed", async () => {
    const status = await workflowStatus(n);
    return status !== "RUNNING" && status;
  });

describe.each(["api", "signal"] as const)("every control by %s", (by) => {
  test("approve lets the waiting wave start", async () => {
    await addHosts(2);
    await world.commit("0.161.0", TWO_WAVES);
    await world.state(1, "waiting_approval");
    await send[by]("approve", { wave: "rest", reason: "looks good" });
    await world.state(1, "succeeded");
    expect(await audits("rollout.approve")).toEqual([
      by === "api"
        ? { principal: "ada", claimed: null, outcome: "accepted" }
        : { principal: "temporal-signal", claimed: "ops@example.org", outcome: "accepted" },
    ]);
    expect(await closed()).toBe("COMPLETED");
  });

  test("pause and resume: offers opened but unsent go back, what a host has begun it finishes", async () => {
    await addHosts(3);
    world.hosts.script("h0", { stopsAt: "installing" });
    world.hosts.script("h1", "unsent");
    world.hosts.script("h2", "unsent");
    await world.commit("0.161.0", { targetTimeout: "60s" });
    const phases = async () => (await world.rollout(1)).counts;
    await world.state(1, "running");
    await world.until("one has begun, two are opened and unsent", async () => {
      const counts = await phases();
      return counts.installing === 1 && counts.offered === 2;
    });
    await send[by]("pause", { reason: "disk alarm" });
    await world.state(1, "paused");
    expect(await phases()).toMatchObject({ installing: 1, offered: 0, pending: 2 });
    for (const host of world.hosts.list) host.script = "ok";
    await world.hosts.kick("h0");
    await world.until("the begun one has finished", async () => (await phases()).succeeded === 1);
    expect(world.hosts.sent.filter(({ kind }) => kind === "package").map(({ host }) => host)).not.toContain("h1");
    await send[by]("resume");
    await world.state(1, "succeeded");
    expect(await world.hosts.versions()).toEqual({ "0.161.0": 3 });
  });

  test("E1: abort while paused ends it within 5 s, its workflow is closed, and nothing is offered later", async () => {
    await addHosts(3);
    await world.commit("0.161.0", TWO_WAVES);
    await world.state(1, "waiting_approval");
    await send[by]("pause");
    await world.state(1, "paused");
    const before = Date.now();
    await send[by]("abort", { reason: "wrong release" });
    await world.state(1, "aborted");
    expect(Date.now() - before).toBeLessThan(5_000);
    expect(await closed()).toBe("COMPLETED");
    expect((await world.rollout(1)).counts).toMatchObject({ succeeded: 1, cancelled: 2 });
    expect(world.hosts.sent.filter(({ kind }) => kind === "package")).toHaveLength(1);
  });

  test("retry offers the targets that failed again", async () => {
    await addHosts(2);
    for (const host of world.hosts.list) host.script = "fails";
    await world.commit("0.161.0", { ...TWO_WAVES, failureThreshold: { wave: 0 } });
    // Its first configuration is refused by these hosts too: only the rollout is looked at here.
    await world.state(1, "paused");
    for (const host of world.hosts.list) host.script = "ok";
    await send[by]("retry");
    await world.state(1, "waiting_approval");
    await send[by]("approve");
    await world.state(1, "succeeded");
    const attempts = (await world.targets(1)).map((target) => target.attempts.map(({ phase }) => phase).join(" "));
    expect(new Set(attempts)).toEqual(new Set(["failed succeeded", "succeeded"]));
  });

  test("rollback returns what was updated", async () => {
    await addHosts(3);
    await world.commit("0.161.0", TWO_WAVES);
    await world.state(1, "waiting_approval");
    await send[by]("rollback", { reason: "slow" });
    await world.state(1, "rolled_back");
    expect(await world.hosts.versions()).toEqual({ "0.160.0": 3 });
    expect(await closed()).toBe("COMPLETED");
  });
});

describe("refusals", () => {
  test("E3: approve on an aborted rollout is a conflict; after retry the approval is asked again and no wave is skipped", async () => {
    await addHosts(3);
    await world.commit("0.161.0", TWO_WAVES);
    await world.state(1, "waiting_approval");
    await world.control("abort", { reason: "x" });
    await world.state(1, "aborted");
    await expect(world.control("approve", { wave: "rest" })).rejects.toMatchObject({ code: "control_conflict" });
    expect((await world.control("retry")).answer.changed).toBe(true);
    const waiting = await world.state(1, "waiting_approval");
    expect(waiting.waves.map(({ state }) => state)).toEqual(["ended", "waiting_approval"]);
    expect(await world.hosts.versions()).toEqual({ "0.160.0": 2, "0.161.0": 1 });
    await world.control("approve", { wave: "rest" });
    await world.state(1, "succeeded");
    expect((await world.rollout(1)).run).toBe(2);
  });

  test("E5: unknown is 404, finished is 409 with the reason, and each refusal is audited", async () => {
    await addHosts(1);
    await world.commit("0.161.0");
    await world.state(1, "succeeded");
    for (const control of ["approve", "pause", "resume", "abort"] as const) {
      await expect(world.control(control, { reason: "x" })).rejects.toMatchObject({ status: 409 });
      expect(await audits(`rollout.${control}`)).toMatchObject([{ outcome: "refused" }]);
    }
    await expect(world.control("pause", {}, 7)).rejects.toMatchObject({ status: 404 });
  });

  test("abort and rollback need a reason; a wave that does not wait is a conflict", async () => {
    await addHosts(2);
    await world.commit("0.161.0", TWO_WAVES);
    await world.state(1, "waiting_approval");
    await expect(world.control("abort")).rejects.toMatchObject({ status: 400, code: "reason_required" });
    await expect(world.control("rollback", { reason: " " })).rejects.toMatchObject({ status: 400 });
    await expect(world.control("approve", { wave: "other" })).rejects.toMatchObject({ status: 409 });
    await world.signal("approve", { wave: "other" });
    await world.until("the signal is audited as refused", async () =>
      (await audits("rollout.approve")).some(
        ({ principal, outcome }) => principal === "temporal-signal" && outcome === "refused",
      ),
    );
    expect((await world.rollout(1)).state).toBe("waiting_approval");
  });

  test("the same key takes effect once, and a control that changes nothing says so", async () => {
    await addHosts(2);
    await world.commit("0.161.0", TWO_WAVES);
    await world.state(1, "waiting_approval");
    const key = randomUUID();
    const ask = () => world.controls.control(world.fleet, 1, "approve", { wave: "rest" }, "ada", key);
    expect(await ask()).toEqual(await ask());
    expect(await audits("rollout.approve")).toHaveLength(1);
    await world.state(1, "succeeded");
    expect((await ask()).answer.changed).toBe(true);
  });
});
