import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { planAll } from "../../src/activities/plan-fleets.ts";
import { readSnapshot } from "../../src/store/gitops.ts";
import { putArtifact } from "../support/row-hosts.ts";
import { createRolloutWorld, type World } from "../support/rollout-world.ts";

let world: World;
beforeAll(async () => {
  world = await createRolloutWorld();
  for (const version of ["0.160.0", "0.161.0", "0.162.0"]) await putArtifact(world.pool, version);
});
afterAll(() => world.close());
beforeEach(() => world.begin());

const addHosts = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i += 1) await world.hosts.add(`h${i}`);
};
const packagesSent = (): string[] =>
  world.hosts.sent
    .filter(({ kind }) => kind === "package")
    .map(({ host }) => host)
    .toSorted();
const changes = async (): Promise<number> =>
  (
    await world.pool.query<{ n: number }>(
      "select count(*)::int as n from rollouts where fleet = $1 and kind = 'change'",
      [world.fleet],
    )
  ).rows[0]?.n ?? 0;

test("H1, H5 and the safety stop: a worker is killed with targets in flight; controls hold without one; the same rollout goes on", async () => {
  await addHosts(5);
  for (const host of world.hosts.list) host.script = { stopsAt: "installing" };
  const worker = await world.spawnWorker();
  await world.commit("0.161.0", { maxConcurrent: 3, targetTimeout: "120s" });
  await world.until("three are installing", async () => {
    const { rows } = await world.pool.query<{ n: number }>(
      "select count(*)::int as n from attempts where fleet = $1 and phase = 'installing'",
      [world.fleet],
    );
    return rows[0]?.n === 3;
  });
  worker.kill("SIGKILL");

  const paused = await world.control("pause", { reason: "the worker is away" });
  expect(paused).toMatchObject({ status: 202, answer: { changed: true, pending: true } });
  expect((await world.rollout(1)).state).toBe("paused");
  await expect(world.control("resume")).rejects.toMatchObject({ status: 503, code: "control_unanswered" });

  // The hosts finish while nobody looks.
  for (const host of world.hosts.list) host.script = "ok";
  for (const host of new Set(packagesSent())) await world.hosts.kick(host);
  const sentBefore = new Set(packagesSent());
  expect(sentBefore.size).toBe(3);

  await world.spawnWorker();
  await world.until("those in flight are counted", async () => (await world.rollout(1)).counts.succeeded === 3, 60_000);
  // A refused answer may still have been applied when the worker came: that is what `repeating is safe` means.
  if ((await world.rollout(1)).state === "paused") await world.control("resume");
  await world.state(1, "succeeded");
  expect(await changes()).toBe(1);
  const attempts = (await world.targets(1)).map((target) => target.attempts.length);
  expect(attempts).toEqual([1, 1, 1, 1, 1]);
  expect(await world.hosts.versions()).toEqual({ "0.161.0": 5 });
});

test("a rollout whose workflow Temporal has lost is started again from its rows and skips no wave", async () => {
  await addHosts(3);
  await world.commit("0.161.0", {
    waves: [
      { name: "canary", upTo: 1 },
      { name: "rest", upTo: "100%", approval: "required" },
    ],
  });
  await world.state(1, "waiting_approval");
  await world.client.workflow.getHandle(`rollout/${world.fleet}/1`).terminate("lost");
  await world.client.workflow.getHandle("reconcile").signal("poke", { cause: "test" });
  await world.until("it runs again", async () => {
    const { status } = await world.client.workflow.getHandle(`rollout/${world.fleet}/1`).describe();
    return status.name === "RUNNING";
  });
  await world.control("approve", { wave: "rest" });
  await world.state(1, "succeeded");
  expect(await world.hosts.versions()).toEqual({ "0.161.0": 3 });
});

test("H5: replicas that plan the same snapshot at once make exactly one rollout, with each target once", async () => {
  await addHosts(4);
  await world.commit("0.161.0");
  await world.state(1, "succeeded");
  await world.client.workflow.getHandle("reconcile").terminate("the test plans itself");
  const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const { pool, listener, client } = world;
  const deps = { pool, listener, client, now: () => new Date(), log: silent };
  for (let round = 0; round < 10; round += 1) {
    // Other hosts of the same fleet every time: nothing of the round before is left to offer.
    await world.pool.query(
      "update rollouts set state = 'aborted', finished_at = now() where fleet = $1 and finished_at is null",
      [world.fleet],
    );
    await world.commit(
      round % 2 === 0 ? "0.162.0" : "0.161.0",
      {},
      { version: { target: round % 2 === 0 ? "0.162.0" : "0.160.0", allowDowngrade: true } },
    );
    await world.client.workflow.getHandle("reconcile").terminate("the test plans itself");
    const before = await changes();
    const snapshot = await readSnapshot(pool);
    if (snapshot === undefined) throw new Error("no snapshot");
    await Promise.all(Array.from({ length: 4 }, () => planAll(deps, snapshot, () => undefined)));
    const { rows } = await world.pool.query<{ n: number }>(
      "select max(n)::int as n from rollouts where fleet = $1 and kind = 'change'",
      [world.fleet],
    );
    expect(await changes()).toBe(before + 1);
    expect(await world.targets(rows[0]?.n ?? 0)).toHaveLength(4);
  }
});
