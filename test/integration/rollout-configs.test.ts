/** Configurations that a host cannot run or does not take, in rollouts and outside of them. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CHANNELS } from "../../src/domain/channels.ts";
import { notify } from "../../src/store/database.ts";
import { putConfigs } from "../../src/store/wanted.ts";
import { putArtifact } from "../support/row-hosts.ts";
import { createRolloutWorld, type World } from "../support/rollout-world.ts";

let world: World;
beforeAll(async () => {
  world = await createRolloutWorld();
  await putArtifact(world.pool, "0.161.0");
  await world.startWorker();
});
afterAll(() => world.close());
beforeEach(() => world.begin());

const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest();

/** The host's build, of which the server knows that it has these components. */
async function build(name: string, names: string[]): Promise<void> {
  const hash = sha256(names.join());
  await world.pool.query(
    `insert into component_sets (credential, hash, components, names) values ('token:t', $1, '{}', $2) on conflict do nothing`,
    [hash, names],
  );
  await world.hosts.set(name, { components_hash: hash });
}
const applied = (count: number) =>
  world.until(`${count} hosts have their configuration`, async () => {
    const { rows } = await world.pool.query<{ n: number }>(
      `select count(*)::int as n from agents a join wanted w on w.host = a.uid and w.fleet = $1
        where a.remote_config_hash = w.config_hash and a.remote_config_status = 1`,
      [world.fleet],
    );
    return rows[0]?.n === count;
  });
const attemptsOf = async (name: string) =>
  (
    await world.pool.query<{ n: number; phase: string; code: string | null; failureClass: string | null }>(
      `select n, phase, code, failure_class as "failureClass" from attempts where host = $1 and fleet = $2 order by n, attempt`,
      [world.hosts.find(name).uid, world.fleet],
    )
  ).rows;

describe("a build that lacks components", () => {
  test("is cancelled as incompatible in a rollout; the others go on", async () => {
    await world.hosts.add("a", "0.161.0");
    await world.hosts.add("b", "0.161.0");
    await world.commit("0.161.0");
    await applied(2);
    await build("a", ["receivers/otlp"]);
    await world.commit("0.161.0", {}, {}, { verbosity: "detailed" });
    const done = await world.state(1, "succeeded", "failed");
    expect(done.state).toBe("succeeded");
    expect((await attemptsOf("a")).at(-1)).toEqual({
      n: 1,
      phase: "cancelled",
      code: "incompatible",
      failureClass: "incompatible",
    });
    expect((await attemptsOf("b")).at(-1)).toMatchObject({ phase: "succeeded" });
  });

  test("gets no first configuration, and no attempt either, until its build has what is needed", async () => {
    await world.hosts.add("a", "0.161.0");
    await world.hosts.add("b", "0.161.0");
    await build("a", ["receivers/otlp"]);
    await world.commit("0.161.0");
    await applied(1);
    expect(await attemptsOf("a")).toEqual([]);
    await build("a", ["exporters/debug", "receivers/otlp"]);
    await applied(2);
  });
});

describe("a configuration that is refused outside a rollout", () => {
  test("is taken back at once where there is one to return to, and is not tried again", async () => {
    await world.hosts.add("first", "0.161.0");
    const tolerant = { failureThreshold: { wave: "100%", rollout: "100%" } };
    await world.commit("0.161.0", tolerant);
    await applied(1);
    await world.commit("0.161.0", tolerant, {}, { verbosity: "basic" });
    await world.state(1, "succeeded");
    const text = "receivers: {otlp: {}}\n";
    const older = sha256(text);
    await putConfigs(world.pool, new Map([[older.toString("hex"), Buffer.from(text)]]));
    await world.hosts.add("joins", "0.161.0");
    world.hosts.script("joins", "fails_once");
    await world.hosts.set("joins", { remote_config_hash: older, remote_config_status: 1 });
    await world.until("it is taken back", async () => (await attemptsOf("joins")).at(-1)?.phase === "rolled_back");
    const { rows } = await world.pool.query<{ hash: Buffer }>(
      "select remote_config_hash as hash from agents where uid = $1",
      [world.hosts.find("joins").uid],
    );
    expect(rows[0]?.hash).toEqual(older);
    await notify(world.pool, CHANNELS.agents);
    await world.hosts.add("witness", "0.161.0");
    await applied(2);
    const tried = (await attemptsOf("joins")).filter(({ phase }) => phase !== "cancelled");
    expect(tried.map(({ phase }) => phase)).toEqual(["rolled_back"]);
  });

  test("is FAILED where there is none, and nothing empty is ever sent", async () => {
    await world.hosts.add("a", "0.161.0");
    world.hosts.script("a", "fails");
    await world.commit("0.161.0");
    await world.until("it failed", async () => (await attemptsOf("a")).at(-1)?.phase === "failed");
    expect(await attemptsOf("a")).toMatchObject([{ failureClass: "configuration" }]);
    expect(world.hosts.sent.filter(({ kind }) => kind === "config")).toHaveLength(1);
  });
});
