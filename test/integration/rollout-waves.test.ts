import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { putArtifact } from "../support/row-hosts.ts";
import { createRolloutWorld, type World } from "../support/rollout-world.ts";

let world: World;
beforeAll(async () => {
  world = await createRolloutWorld();
  for (const version of ["0.160.0", "0.161.0", "0.162.0", "0.163.0"]) await putArtifact(world.pool, version);
  await world.startWorker();
});
afterAll(() => world.close());
beforeEach(() => world.begin());

const addHosts = async (count: number, version = "0.160.0"): Promise<void> => {
  for (let i = 0; i < count; i += 1) await world.hosts.add(`h${i}`, version);
};
const CANARY = { waves: [{ name: "canary", upTo: 1 }] };
const phases = async (n: number): Promise<Record<string, string>> =>
  Object.fromEntries((await world.targets(n)).map((target) => [target.hostName, target.attempts.at(-1)?.phase ?? ""]));
const held = async (): Promise<unknown> =>
  (await world.pool.query<{ held: unknown }>("select held from fleets where name = $1", [world.fleet])).rows[0]?.held;

describe("waves", () => {
  test("a commit becomes a rollout in waves, waits for its approval, and every host runs the new version", async () => {
    await addHosts(8);
    await world.commit("0.161.0", { waves: [...CANARY.waves, { name: "half", upTo: "50%", approval: "required" }] });
    const waiting = await world.state(1, "waiting_approval");
    expect(waiting.waves.map((wave) => wave.state)).toEqual(["ended", "waiting_approval", "pending"]);
    expect(await world.hosts.versions()).toEqual({ "0.160.0": 7, "0.161.0": 1 });
    const approved = await world.control("approve", { wave: "half" });
    expect(approved).toMatchObject({ status: 200, answer: { changed: true } });
    const done = await world.state(1, "succeeded", "failed");
    expect(done.state).toBe("succeeded");
    expect(done.waves.map((wave) => wave.size)).toEqual([1, 3, 4]);
    expect(await world.hosts.versions()).toEqual({ "0.161.0": 8 });
  });

  test("hosts without configuration get their first one by catch-up, and no rollout is needed for it", async () => {
    await addHosts(3, "0.161.0");
    await world.commit("0.161.0");
    await world.until("every host has its configuration", async () => {
      const { rows } = await world.pool.query(
        `select count(*)::int as n from agents a join wanted w on w.host = a.uid and w.fleet = $1
          where a.remote_config_hash = w.config_hash and a.remote_config_status = 1`,
        [world.fleet],
      );
      return rows[0]?.n === 3;
    });
    const { rows } = await world.pool.query("select kind from rollouts where fleet = $1", [world.fleet]);
    expect(rows).toEqual([{ kind: "catch_up" }]);
  });

  test("D8: never more targets in flight than the cap allows", async () => {
    await addHosts(8);
    await world.commit("0.161.0", { maxConcurrent: 2 });
    let most = 0;
    await world.until("the rollout succeeds", async () => {
      const { rows } = await world.pool.query<{ n: number; state: string }>(
        `select (select count(*)::int from attempts where fleet = $1 and finished_at is null and phase <> 'pending') as n,
          state from rollouts where fleet = $1 and n = 1`,
        [world.fleet],
      );
      most = Math.max(most, rows[0]?.n ?? 0);
      return rows[0]?.state === "succeeded";
    });
    expect(most).toBeLessThanOrEqual(2);
    expect(await world.hosts.versions()).toEqual({ "0.161.0": 8 });
  });

  test("D3: a host that joins goes to the last wave, once, and keeps its version until then", async () => {
    await addHosts(3);
    await world.commit("0.161.0", { waves: [...CANARY.waves, { name: "rest", upTo: "100%", approval: "required" }] });
    await world.state(1, "waiting_approval");
    await world.hosts.add("late");
    await world.until("the late host is a target", async () => (await world.targets(1)).length === 4);
    expect(world.hosts.find("late").version).toBe("0.160.0");
    await world.control("approve", { wave: "rest" });
    await world.state(1, "succeeded");
    expect(await world.hosts.versions()).toEqual({ "0.161.0": 4 });
    expect(world.hosts.sent.filter(({ host, kind }) => host === "late" && kind === "package")).toHaveLength(1);
  });

  test("a target that cannot be offered is cancelled with its code and fails nothing", async () => {
    await addHosts(2);
    await world.hosts.add("bare", "0.160.0", { updater: false });
    await world.hosts.add("other", "0.160.0", { serviceName: "otelcol-k8s" });
    await world.commit("0.161.0", { failureThreshold: { rollout: 0 } });
    await world.state(1, "succeeded");
    const codes = Object.fromEntries(
      (await world.targets(1)).map((t) => [t.hostName, t.attempts.at(-1)?.code ?? null]),
    );
    expect(codes).toEqual({ h0: null, h1: null, bare: "updater_missing", other: "wrong_distribution" });
  });
});

describe("failures", () => {
  test("a canary that rolls back by itself pauses the rollout; abort holds the change; five polls plan nothing; a revert lifts it", async () => {
    await addHosts(4);
    await world.commit("0.161.0");
    await world.state(1, "succeeded");
    for (const host of world.hosts.list) host.script = "rolls_back";
    await world.commit("0.162.0", { ...CANARY, failureThreshold: { wave: 0 } });
    const paused = await world.state(2, "paused");
    expect(paused.holds.threshold?.reason).toBe("1 failed in this wave, 0 are allowed");
    expect(paused.counts).toMatchObject({ rolled_back: 1, pending: 3 });
    expect((await world.control("abort", { reason: "bad release" }, 2)).answer.changed).toBe(true);
    await world.state(2, "aborted");
    expect(await held()).toMatchObject({ n: 2 });
    const { applied } = await polls(5);
    expect(applied).toBe(2);
    for (const host of world.hosts.list) host.script = "ok";
    await world.commit("0.161.0");
    await world.until("the hold is gone", async () => (await held()) === null);
    expect(await count("rollouts where kind = 'change' and fleet = $1")).toBe(2);
    expect(await world.hosts.versions()).toEqual({ "0.161.0": 4 });
  });

  test("F1: an updater that says succeeded while its collector runs the old version is no success", async () => {
    await addHosts(2);
    for (const host of world.hosts.list) host.script = "lies";
    await world.commit("0.161.0", { targetTimeout: "1s", failureThreshold: { wave: "100%" } });
    const ended = await world.state(1, "failed", "succeeded");
    expect(ended.state).toBe("failed");
    const [target] = await world.targets(1);
    expect(target?.attempts.at(-1)).toMatchObject({ phase: "failed", failureClass: "timeout" });
  });

  test("F3: a collector that starts again and again never passes the health wait", async () => {
    await addHosts(1);
    world.hosts.script("h0", "crash_loop");
    await world.commit("0.161.0", { healthWait: "600ms", targetTimeout: "1500ms" });
    const ended = await world.state(1, "paused", "failed", "succeeded");
    expect(ended.state).not.toBe("succeeded");
    expect((await world.targets(1))[0]?.attempts.at(-1)).toMatchObject({ phase: "failed", failureClass: "health" });
  });

  test("F5: a host that never answers fails at its deadline, its offer is taken back, and the others go on", async () => {
    await addHosts(3);
    world.hosts.script("h0", "silent");
    await world.commit("0.161.0", { targetTimeout: "1s", failureThreshold: { wave: "50%" } });
    await world.state(1, "succeeded");
    expect(await phases(1)).toEqual({ h0: "failed", h1: "succeeded", h2: "succeeded" });
    const target = (await world.targets(1)).find(({ hostName }) => hostName === "h0");
    expect(target?.attempts.at(-1)?.failureClass).toBe("timeout");
    expect(await count("offers where closed_at is null and kind = 'withdraw' and fleet = $1")).toBe(1);
  });
});

describe("changes", () => {
  test("a change of configuration goes through waves; where it fails it is taken back at once", async () => {
    await addHosts(3, "0.161.0");
    await world.commit("0.161.0");
    const applied = () =>
      count("agents a join wanted w on w.host = a.uid and w.fleet = $1 where a.remote_config_hash = w.config_hash");
    await world.until("everyone has the first one", async () => (await applied()) === 3);
    await world.until(
      "catch-up has ended",
      async () => (await count("attempts where fleet = $1 and finished_at is null")) === 0,
    );
    world.hosts.script("h0", "fails_once");
    await world.commit("0.161.0", { failureThreshold: { rollout: "50%" } }, {}, { verbosity: "detailed" });
    await world.state(1, "succeeded");
    expect(await phases(1)).toEqual({ h0: "rolled_back", h1: "succeeded", h2: "succeeded" });
    const target = (await world.targets(1)).find(({ hostName }) => hostName === "h0");
    expect(target?.attempts.at(-1)?.failureClass).toBe("configuration");
    expect(await applied()).toBe(2);
    const kinds = world.hosts.sent.filter(({ host }) => host === "h0").map(({ direction }) => direction);
    expect(kinds).toEqual(["forward", "forward", "take_back"]);
  });

  test("F7: a host that is offline is left behind by its wave and catches up when it is back, without a new rollout", async () => {
    await addHosts(2);
    await world.hosts.add("away");
    await world.hosts.set("away", { connected: false });
    await world.commit("0.161.0", { offline: { action: "skip", after: "1s" } });
    await world.state(1, "succeeded");
    expect(await phases(1)).toEqual({ h0: "succeeded", h1: "succeeded", away: "pending" });
    await world.hosts.set("away", { connected: true });
    await world.until("it has caught up", async () => (await world.hosts.versions())["0.161.0"] === 3);
    expect(await count("rollouts where fleet = $1 and kind = 'change'")).toBe(1);
  });

  test("a host that nobody can update is tried once by catch-up, not again with every plan, and again when it has an updater", async () => {
    await addHosts(1);
    await world.commit("0.161.0");
    await world.state(1, "succeeded");
    const bare = await world.hosts.add("bare", "0.160.0", { updater: false });
    const tries = async () =>
      (
        await world.pool.query<{ phase: string; code: string | null }>(
          "select phase, code from attempts where fleet = $1 and n = 0 and host = $2 order by attempt",
          [world.fleet, bare.uid],
        )
      ).rows;
    const refused = { phase: "cancelled", code: "updater_missing" };
    await world.until("it was refused", async () => (await tries()).some(({ phase }) => phase === refused.phase));
    // Each of these is a reason to plan again.
    for (const name of ["next", "last"]) {
      await world.hosts.add(name, "0.160.0");
      await world.until("it has caught up", async () => {
        const versions = await world.hosts.versions();
        return versions["0.160.0"] === 1 && versions["0.161.0"] === (name === "next" ? 2 : 3);
      });
    }
    expect(await tries()).toEqual([refused]);
    const updater = world.hosts.list.find(({ name }) => name === "last")?.updater;
    await world.pool.query("update agents set collector_uid = $2 where uid = $1", [updater, bare.uid]);
    await world.hosts.add("reason", "0.160.0");
    await world.until("it is tried again", async () => (await tries()).length > 1);
  });

  test("a wave bakes before it ends; who falls ill meanwhile counts as regressed", async () => {
    await addHosts(2);
    await world.commit("0.161.0", { waves: [{ name: "canary", upTo: 1, bake: "3s" }], failureThreshold: { wave: 0 } });
    await world.state(1, "baking");
    const canary = (await world.targets(1)).find(({ wave }) => wave === 0)?.hostName ?? "";
    await world.hosts.set(canary, { healthy: false, healthy_since: null });
    const paused = await world.state(1, "paused");
    expect(paused.holds.threshold).toBeDefined();
    expect(await phases(1)).toMatchObject({ [canary]: "succeeded" });
  });

  test("D5: a newer change supersedes; the host in flight ends its attempt first and never has two offers", async () => {
    await addHosts(3);
    const [first] = world.hosts.list;
    for (const host of world.hosts.list) host.script = { stopsAt: "installing" };
    await world.commit("0.161.0", CANARY);
    await world.until("the canary is installing", async () => Object.values(await phases(1)).includes("installing"));
    await world.commit("0.162.0", CANARY);
    const ending = await world.until("it is ending", async () => {
      const row = await world.rollout(1);
      return row.ending === "supersede" && row;
    });
    expect(ending.state).toBe("running");
    expect(await count("rollouts where fleet = $1 and kind = 'change'")).toBe(1);
    for (const host of world.hosts.list) host.script = "ok";
    const canary = (await world.targets(1)).find((target) => target.attempts.at(-1)?.phase === "installing");
    await world.hosts.kick(canary?.hostName ?? first?.name ?? "");
    await world.state(1, "superseded");
    await world.state(2, "succeeded");
    expect(await world.hosts.versions()).toEqual({ "0.162.0": 3 });
    const { rows } = await world.pool.query<{ twice: boolean }>(
      `select exists (select from offers a join offers b on a.host = b.host and a.id < b.id and a.fleet = $1
        and a.opened_at < coalesce(b.closed_at, 'infinity') and b.opened_at < coalesce(a.closed_at, 'infinity')) as twice`,
      [world.fleet],
    );
    expect(rows[0]?.twice).toBe(false);
  });

  test("rollback in the middle: everything that was updated returns, newest first", async () => {
    await addHosts(4);
    await world.commit("0.162.0");
    await world.state(1, "succeeded");
    await world.commit(
      "0.161.0",
      {
        waves: [
          { name: "one", upTo: 1 },
          { name: "two", upTo: 2 },
          { name: "three", upTo: 3, approval: "required" },
        ],
      },
      downgrade("0.161.0"),
    );
    await world.state(2, "waiting_approval");
    expect(await world.hosts.versions()).toEqual({ "0.161.0": 2, "0.162.0": 2 });
    expect((await world.control("rollback", { reason: "slow" }, 2)).answer.changed).toBe(true);
    await world.state(2, "rolled_back");
    expect(await world.hosts.versions()).toEqual({ "0.162.0": 4 });
    const back = world.hosts.sent.filter(({ direction }) => direction === "back").map(({ host }) => host);
    const waves = Object.fromEntries((await world.targets(2)).map((target) => [target.hostName, target.wave]));
    expect(back.map((host) => waves[host])).toEqual([1, 0]);
    expect(await held()).toMatchObject({ n: 2 });
  });
});

const downgrade = (target: string) => ({ version: { target, allowDowngrade: true } });
const count = async (from: string): Promise<number> =>
  (
    await world.pool.query<{ n: number }>(
      `select count(*)::int as n from ${from}`,
      from.includes("$1") ? [world.fleet] : [],
    )
  ).rows[0]?.n ?? 0;

/** As many rounds of the planner, each after a poke as a poll of the same commit gives it. */
async function polls(times: number): Promise<{ applied: number }> {
  const handle = world.client.workflow.getHandle("reconcile");
  for (let i = 0; i < times; i += 1) {
    const before = (await handle.fetchHistory()).events?.length ?? 0;
    await handle.signal("poke", { cause: "poll" });
    await world.until(
      "the planner has run",
      async () => ((await handle.fetchHistory()).events?.length ?? 0) >= before + 12,
    );
  }
  return { applied: await count("rollouts where kind = 'change' and fleet = $1") };
}
