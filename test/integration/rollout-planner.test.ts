/** Hosts that leave a rollout, and hosts that the planner leaves alone: who ends how, and what does not come back by itself. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CHANNELS } from "../../src/domain/channels.ts";
import { notify, transaction } from "../../src/store/database.ts";
import { deleteAgent, forgetAway } from "../../src/store/forget-agents.ts";
import { putArtifact } from "../support/row-hosts.ts";
import { createRolloutWorld, type World } from "../support/rollout-world.ts";

let world: World;
beforeAll(async () => {
  world = await createRolloutWorld();
  for (const version of ["0.160.0", "0.161.0", "0.162.0"]) await putArtifact(world.pool, version);
  await world.startWorker();
});
afterAll(() => world.close());
beforeEach(() => world.begin());

const addHosts = async (count: number, version = "0.160.0"): Promise<void> => {
  for (let i = 0; i < count; i += 1) await world.hosts.add(`h${i}`, version);
};
const GATED = {
  waves: [
    { name: "canary", upTo: 1 },
    { name: "rest", upTo: "100%", approval: "required" },
  ],
  failureThreshold: { wave: 0 },
};
type End = { phase: string; code: string | null };
const ends = async (n: number): Promise<Record<string, End>> =>
  Object.fromEntries(
    (await world.targets(n)).map((target): [string, End] => {
      const { phase = "", code = null } = target.attempts.at(-1) ?? {};
      return [target.hostName, { phase, code }];
    }),
  );
const end = (n: number, host: string, holds: (end: End) => boolean) =>
  world.until(`${host} has ended`, async () => {
    const found = (await ends(n))[host];
    return found !== undefined && holds(found) && found;
  });
const remove = async (host: string, force = false): Promise<void> => {
  await transaction(world.pool, async (tx) => {
    expect(await deleteAgent(tx, world.hosts.find(host).uid, force)).toMatchObject({ outcome: "deleted" });
    await notify(tx, CHANNELS.agents);
  });
};
/** Its labels change: no fleet selects it any more. */
const move = (host: string) => world.hosts.set(host, { attributes: JSON.stringify({ test: "elsewhere" }) });
const waitingOnes = async (n: number): Promise<string[]> =>
  Object.entries(await ends(n)).flatMap(([host, { phase }]) => (phase === "pending" ? [host] : []));
const first = ([host]: readonly string[]): string => host ?? "";
const inPhase = (n: number, phase: string) =>
  world.until(`one is ${phase}`, async () => {
    const [found] = Object.entries(await ends(n)).filter(([, at]) => at.phase === phase);
    return found?.[0];
  });
const left = async (host: string) =>
  (
    await world.pool.query<{ code: string | null; note: string }>(
      "select left_code as code, left_note as note from wanted where host = $1",
      [world.hosts.find(host).uid],
    )
  ).rows[0];
const caughtUp = (count: number, version: string) =>
  world.until(`${count} hosts run ${version} and nothing is open`, async () => {
    const { rows } = await world.pool.query<{ n: number }>(
      `select (select count(*)::int from attempts where fleet = $1 and finished_at is null) as n`,
      [world.fleet],
    );
    return (await world.hosts.versions())[version] === count && rows[0]?.n === 0;
  });
/** Each new host is a reason to plan: when it has caught up, a plan has seen everything that was there before it. */
const planAgain = async (name: string): Promise<void> => {
  const { uid } = await world.hosts.add(name, "0.161.0");
  await world.until("it is planned", async () => {
    const { rowCount } = await world.pool.query("select from wanted where host = $1 and fleet = $2", [
      uid,
      world.fleet,
    ]);
    return rowCount === 1;
  });
};

describe("an agent that is deleted", () => {
  test("while it waits ends as cancelled, at once, and the rollout ends without it", async () => {
    await addHosts(3);
    await world.commit("0.161.0", GATED);
    await world.state(1, "waiting_approval");
    const gone = first(await waitingOnes(1));
    await remove(gone);
    expect((await ends(1))[gone]).toEqual({ phase: "cancelled", code: "deleted" });
    await world.control("approve");
    const done = await world.state(1, "succeeded", "failed", "paused");
    expect(done.state).toBe("succeeded");
    expect(done.counts).toMatchObject({ succeeded: 2, cancelled: 1, failed: 0 });
  });

  test("by force in flight frees its slot, its offer is closed, and it is no failure", async () => {
    await addHosts(3);
    for (const host of world.hosts.list) host.script = { stopsAt: "installing" };
    await world.commit("0.161.0", { maxConcurrent: 1, failureThreshold: { rollout: 0 }, targetTimeout: "120s" });
    const busy = await inPhase(1, "installing");
    for (const host of world.hosts.list) host.script = "ok";
    await remove(busy, true);
    const { rows } = await world.pool.query("select from offers where host = $1 and closed_at is null", [
      world.hosts.find(busy).uid,
    ]);
    expect(rows).toEqual([]);
    const done = await world.state(1, "succeeded", "failed", "paused");
    expect(done).toMatchObject({ state: "succeeded", counts: { succeeded: 2, cancelled: 1 } });
  });

  test("or forgotten while a wave waits for it for ever lets the wave end, and retry has nothing to try", async () => {
    await addHosts(2);
    await world.hosts.add("away");
    await world.hosts.set("away", { connected: false });
    await world.commit("0.161.0", { offline: { action: "wait" } });
    await world.state(1, "running");
    await world.until("only the absent one is left", async () => (await world.rollout(1)).counts.succeeded === 2);
    await transaction(world.pool, async (tx) => {
      expect(await forgetAway(tx, new Date(Date.now() + 1000), 10)).toBe(1);
      await notify(tx, CHANNELS.agents);
    });
    await world.state(1, "succeeded");
    expect((await ends(1))["away"]).toEqual({ phase: "cancelled", code: "deleted" });
    await expect(world.control("retry")).rejects.toMatchObject({ status: 409 });
  });
});

describe("a host that moves to another fleet", () => {
  test("before it has begun ends as cancelled and counts for nothing", async () => {
    await addHosts(3);
    await world.commit("0.161.0", GATED);
    await world.state(1, "waiting_approval");
    const gone = first(await waitingOnes(1));
    await move(gone);
    await end(1, gone, ({ phase }) => phase === "cancelled");
    expect((await ends(1))[gone]?.code).toBe("moved");
    await world.control("approve");
    expect(await world.state(1, "succeeded", "failed", "paused")).toMatchObject({ state: "succeeded" });
    expect(world.hosts.find(gone).version).toBe("0.160.0");
  });

  test("before its stop is withdrawn; past the stop it frees its slot, is recorded to its end, and its failure is none", async () => {
    await addHosts(3);
    for (const host of world.hosts.list) host.script = { stopsAt: "downloading" };
    const once = { maxConcurrent: 1, failureThreshold: { rollout: 0 }, targetTimeout: "120s" };
    await world.commit("0.161.0", once);
    const early = await inPhase(1, "downloading");
    for (const host of world.hosts.list) host.script = { stopsAt: "installing" };
    await move(early);
    expect(await end(1, early, ({ phase }) => phase === "cancelled")).toEqual({ phase: "cancelled", code: "moved" });
    const late = await inPhase(1, "installing");
    await move(late);
    await world.until("the third one has its slot", async () =>
      Object.entries(await ends(1)).some(([host, { phase }]) => host !== late && phase === "installing"),
    );
    world.hosts.script(late, "rolls_back");
    await world.hosts.kick(late);
    expect(await end(1, late, ({ phase }) => phase === "rolled_back")).toMatchObject({ code: "moved" });
    expect((await world.rollout(1)).holds).toEqual({});
    const last = world.hosts.list.find(({ name }) => name !== early && name !== late)?.name ?? "";
    world.hosts.script(last, "ok");
    await world.hosts.kick(last);
    await world.state(1, "succeeded");
  });
});

test("a host that came back as another agent ends as superseded; the one that it is now is updated once", async () => {
  await addHosts(2);
  await world.commit("0.161.0", GATED);
  await world.state(1, "waiting_approval");
  const gone = first(await waitingOnes(1));
  await world.hosts.set(gone, { connected: false });
  await world.pool.query("update agents set last_seen_at = now() - interval '1 minute' where uid = $1", [
    world.hosts.find(gone).uid,
  ]);
  const next = await world.hosts.add(gone.toUpperCase());
  await world.until("the old one has ended", async () => (await ends(1))[gone]?.code === "superseded");
  await world.until("the new one is a target", async () => (await world.targets(1)).length === 3);
  await world.control("approve");
  await world.state(1, "succeeded");
  expect(world.hosts.sent.filter(({ host, kind }) => host === next.name && kind === "package")).toHaveLength(1);
  expect(await left(gone)).toMatchObject({ code: "superseded" });
});

/** A host that came later, whose catch-up a person has aborted while it downloaded. */
async function abortedCatchUp() {
  await addHosts(1);
  await world.commit("0.161.0");
  await world.state(1, "succeeded");
  await caughtUp(1, "0.161.0");
  const late = await world.hosts.add("late");
  late.script = { stopsAt: "downloading" };
  await world.until("it downloads", async () => (await ends(0))["late"]?.phase === "downloading");
  await world.control("abort", { reason: "not this one" }, 0);
  await world.state(0, "aborted");
  return late;
}

describe("what is not planned again by itself", () => {
  test("a catch-up that was aborted holds until the host itself, a change or retry lifts it", async () => {
    const late = await abortedCatchUp();
    const tries = async () =>
      (await world.targets(0)).find(({ hostName }) => hostName === "late")?.attempts.length ?? 0;
    const before = await tries();
    late.script = "ok";
    for (const name of ["one", "two"]) await planAgain(name);
    expect(await tries()).toBe(before);
    expect(await left("late")).toMatchObject({ code: "catch_up_aborted" });
    expect(late.version).toBe("0.160.0");
    await world.control("retry", {}, 0);
    await world.until("retry brings it there", async () => late.version === "0.161.0");
    await caughtUp(4, "0.161.0");
  });

  test("a commit that changes what it should have lifts an aborted catch-up", async () => {
    const late = await abortedCatchUp();
    late.script = "ok";
    // The withdrawal of what it downloaded is over when it says what it runs.
    await world.pool.query("update offers set closed_at = now() where fleet = $1 and kind = 'withdraw'", [world.fleet]);
    await world.commit("0.162.0");
    await world.state(2, "succeeded");
    expect(late.version).toBe("0.162.0");
  });

  test("a host whose downgrade is not allowed is named in rollout and agent, and retry does not offer it either", async () => {
    await addHosts(2);
    const newer = await world.hosts.add("newer", "0.162.0");
    for (const host of world.hosts.list) if (host !== newer) host.script = "fails";
    await world.commit("0.161.0", { failureThreshold: { rollout: "100%" } });
    await world.state(1, "failed");
    expect((await ends(1))["newer"]).toEqual({ phase: "cancelled", code: "downgrade_not_allowed" });
    expect(await left("newer")).toEqual({
      code: "downgrade_not_allowed",
      note: "from 0.162.0 to 0.161.0 is a downgrade that the fleet does not allow",
    });
    expect((await world.rollout(1)).size).toBe(2);
    for (const host of world.hosts.list) host.script = "ok";
    await world.control("retry");
    const done = await world.state(1, "succeeded");
    expect(done.counts).toMatchObject({ succeeded: 2, cancelled: 1 });
    expect(world.hosts.sent.filter(({ host, kind }) => host === "newer" && kind === "package")).toEqual([]);
  });

  test("a host that catch-up was refused for does not join the next rollout only to be refused again", async () => {
    await addHosts(2);
    await world.commit("0.161.0");
    await world.state(1, "succeeded");
    await caughtUp(2, "0.161.0");
    const bare = await world.hosts.add("bare", "0.160.0", { updater: false });
    await world.until("its catch-up is refused", async () => (await ends(0))["bare"]?.code === "updater_missing");
    await world.commit("0.161.0", GATED, {}, { verbosity: "detailed" });
    await world.state(2, "waiting_approval");
    await world.hosts.set("bare", { remote_config_hash: null });
    for (const name of ["one", "two"]) await planAgain(name);
    const rows = (await world.targets(2)).filter(({ hostName }) => hostName === bare.name);
    expect(rows.length).toBeLessThanOrEqual(1);
    await world.control("abort", { reason: "done" }, 2);
    await world.state(2, "aborted");
  });
});

test("what is planned for nobody that is there ends also when no process saw the agent go", async () => {
  await addHosts(3);
  await world.commit("0.161.0", GATED);
  await world.state(1, "waiting_approval");
  const gone = first(await waitingOnes(1));
  await world.pool.query("delete from agents where uid = $1", [world.hosts.find(gone).uid]);
  await notify(world.pool, CHANNELS.agents, randomUUID());
  expect(await end(1, gone, ({ phase }) => phase === "cancelled")).toMatchObject({ code: "deleted" });
  await world.control("approve");
  await world.state(1, "succeeded");
});
