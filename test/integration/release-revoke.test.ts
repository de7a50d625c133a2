/** A release that turns out bad while it is being rolled out: revoked, it reaches nobody any more. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { createRefresh } from "../../src/api/refresh-rollouts.ts";
import { releaseRoutes } from "../../src/api/routes/releases.ts";
import { transaction } from "../../src/store/database.ts";
import { revokeRelease, unrevokeRelease } from "../../src/store/releases.ts";
import { createTestApi } from "../support/api.ts";
import { insertHosts, insertRollout, insertSnapshot } from "../support/api-rows.ts";
import { createRolloutWorld, type World } from "../support/rollout-world.ts";
import { putArtifact } from "../support/row-hosts.ts";

let world: World;
beforeAll(async () => {
  world = await createRolloutWorld();
  for (const version of ["0.160.0", "0.161.0"]) await putArtifact(world.pool, version);
  await world.startWorker();
});
afterAll(() => world.close());
beforeEach(() => world.begin());
afterEach(() => transaction(world.pool, (tx) => unrevokeRelease(tx, BAD, entry("the test is over"), new Date())));

const BAD = { distribution: "otelcol-contrib", version: "0.161.0" };
const entry = (reason: string) => ({ at: new Date().toISOString(), by: "ada", reason });
const tell = async (cause: string) =>
  expect(await createRefresh(world.client, { warn: () => undefined })([{ fleet: world.fleet, n: 1 }], cause)).toBe(
    true,
  );
async function revoke(): Promise<void> {
  const { held } = await transaction(world.pool, (tx) => revokeRelease(tx, BAD, entry("eats disks"), new Date()));
  expect(held).toContainEqual({ fleet: world.fleet, n: 1 });
  await tell("revoke");
}
async function unrevoke(): Promise<void> {
  await transaction(world.pool, (tx) => unrevokeRelease(tx, BAD, entry("it was the disk"), new Date()));
  await tell("unrevoke");
}
const TWO_WAVES = {
  waves: [
    { name: "canary", upTo: 1 },
    { name: "rest", upTo: "100%", approval: "required" },
  ],
};
async function atTheSecondWave(): Promise<void> {
  for (let i = 0; i < 3; i += 1) await world.hosts.add(`h${i}`);
  await world.commit("0.161.0", TWO_WAVES);
  await world.state(1, "waiting_approval");
}

test("its rollout stops and says why, resume does not help, and unrevoke lets it go on", async () => {
  await atTheSecondWave();
  await revoke();
  expect(await world.state(1, "paused")).toMatchObject({
    reason: expect.stringContaining("revoked: eats disks") as string,
  });
  await world.control("approve");
  const resumed = await world.control("resume");
  expect(resumed).toMatchObject({ answer: { changed: false, message: "a revoked release holds it" } });
  expect(world.hosts.sent.filter(({ kind }) => kind === "package")).toHaveLength(1);
  await unrevoke();
  await world.state(1, "succeeded");
  expect(await world.hosts.versions()).toEqual({ "0.161.0": 3 });
});

test("offers that were opened and not sent go back; what a host has begun it finishes", async () => {
  for (let i = 0; i < 3; i += 1) await world.hosts.add(`h${i}`);
  world.hosts.script("h0", { stopsAt: "installing" });
  for (const name of ["h1", "h2"]) world.hosts.script(name, "unsent");
  await world.commit("0.161.0", { targetTimeout: "60s" });
  await world.state(1, "running");
  const counts = async () => (await world.rollout(1)).counts;
  await world.until("one has begun, two are opened and unsent", async () => {
    const { installing, offered } = await counts();
    return installing === 1 && offered === 2;
  });
  await revoke();
  expect(await counts()).toMatchObject({ installing: 1, offered: 0, pending: 2 });
  for (const host of world.hosts.list) host.script = "ok";
  await world.hosts.kick("h0");
  await world.until("the begun one has finished", async () => (await counts()).succeeded === 1);
  expect(await world.hosts.versions()).toEqual({ "0.160.0": 2, "0.161.0": 1 });
  await unrevoke();
  await world.state(1, "succeeded");
});

test("rollback and abort work under it", async () => {
  await atTheSecondWave();
  await revoke();
  await world.state(1, "paused");
  await world.control("rollback", { reason: "back" });
  await world.state(1, "rolled_back");
  expect(await world.hosts.versions()).toEqual({ "0.160.0": 3 });
});

test("over REST: only for admins, with a reason, audited, and repeating it is safe", async () => {
  const refreshed: string[] = [];
  let told = true;
  const api = await createTestApi({
    guarded: (pool) => [
      releaseRoutes({
        pool,
        now: () => new Date(),
        refresh: async (rollouts, cause) => (refreshed.push(`${cause} ${rollouts.length}`), told),
      }),
    ],
  });
  try {
    const { pool } = api.database;
    await insertHosts(pool);
    await insertSnapshot(pool);
    await insertRollout(pool);
    const url = "/api/v1/releases/otelcol-contrib/v0.162.0";
    const post = (action: string, payload: object | undefined, role: "operator" | "admin" = "admin") =>
      api.app.inject({ method: "POST", url: `${url}/${action}`, headers: api.as[role], ...(payload && { payload }) });
    expect((await post("unrevoke", { reason: "why" })).statusCode).toBe(404);
    expect((await post("revoke", { reason: "bad" }, "operator")).statusCode).toBe(403);
    expect((await post("revoke", {})).json()).toMatchObject({ code: "reason_required" });
    expect((await post("revoke", undefined)).json()).toMatchObject({ code: "reason_required" });
    expect((await post("revoke", { reason: "bad" })).json()).toEqual({
      distribution: "otelcol-contrib",
      version: "0.162.0",
      changed: true,
      rollouts: ["demo/1"],
    });
    expect((await post("revoke", { reason: "again" })).json()).toMatchObject({ changed: false });
    const list = await api.app.inject({ method: "GET", url: "/api/v1/releases", headers: api.as.viewer });
    expect(list.json()).toMatchObject({ items: [{ version: "0.162.0", revoked: { reason: "bad" }, hosts: 1 }] });
    const { rows } = await pool.query("select state, reason, holds->'revoked'->>'reason' as hold from rollouts");
    expect(rows).toEqual([{ state: "paused", reason: "revoked: bad", hold: "bad" }]);
    told = false;
    expect((await post("unrevoke", { reason: "good" })).json()).toMatchObject({ code: "control_unanswered" });
    told = true;
    expect((await post("unrevoke", { reason: "good" })).json()).toMatchObject({ changed: false, rollouts: ["demo/1"] });
    expect(refreshed).toEqual(["revoke 1", "revoke 1", "unrevoke 1", "unrevoke 1"]);
    const audit = await pool.query(
      "select action, outcome from audit where object = 'release/otelcol-contrib/0.162.0' order by seq",
    );
    expect(audit.rows.map(({ action }: { action: string }) => action)).toEqual([
      "release.revoke",
      "release.revoke",
      "release.unrevoke",
      "release.unrevoke",
    ]);
  } finally {
    await api.close();
  }
});
