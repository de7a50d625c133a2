/** Named regressions of replication over real depot processes (docs/invariants.md). */
import { rm } from "node:fs/promises";
import { MockActivityEnvironment } from "@temporalio/testing";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { Stage, type StageNode } from "../../chaos/depot/stage.ts";
import { createDepotClient } from "../../src/depot/client.ts";
import { readWantedSet } from "../../src/store/depots.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { TOKENS } from "../support/depot-process.ts";
import { seededChance } from "../support/seeded-chance.ts";

let database: TestDatabase;
let stage: Stage;
beforeAll(async () => {
  database = await createTestDatabase();
  const servers = { pool: database.pool, databaseUrl: database.url, temporalAddress: inject("temporalAddress") };
  stage = await Stage.open(servers, { nodes: 5, artifacts: 6, bytes: 32 * 1_024 });
}, 120_000);
afterAll(async () => {
  await stage.close();
  await database.drop();
}, 60_000);

const activity = <T>(work: () => Promise<T>): Promise<T> => new MockActivityEnvironment().run(work);
const withClient = async <T>(
  { depot }: StageNode,
  work: (client: ReturnType<typeof createDepotClient>) => Promise<T>,
) => {
  const client = createDepotClient(depot, { tokens: TOKENS });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
};

test("a put target dies after admission: what copies from it takes another source in the same execution (R7)", async () => {
  await stage.fresh("R7");
  const [doomed] = stage.nodes;
  if (doomed === undefined) throw new Error("no node");
  let died: Promise<void> | undefined;
  doomed.control.cutAfter = (method, path) => {
    if (method !== "PUT" || !path.startsWith("/artifacts/")) return undefined;
    died ??= doomed.depot.kill();
    return 1_000;
  };
  const { did } = await stage.execute();
  doomed.control.cutAfter = () => undefined;
  expect(died).toBeDefined();
  await died;
  for (const { nodeId, depot } of stage.nodes.slice(1))
    expect([nodeId, (await depot.files()).every((names) => stage.wanted.every((it) => names.includes(it)))]).toEqual([
      nodeId,
      true,
    ]);
  const failed = await database.pool.query("select distinct node_id from replication_work where state <> 'done'");
  expect([did.failed > 0, failed.rows]).toEqual([true, [{ node_id: doomed.nodeId }]]);
  await doomed.depot.start();
  expect((await stage.execute()).did.failed).toBe(0);
  await stage.demandEverywhere("after R7");
}, 180_000);

test("when every put of an artifact fails its copies end too: nobody waits for a source that cannot come", async () => {
  await stage.fresh("no source");
  for (const { control } of stage.nodes)
    control.cutAfter = (method, path) => (method === "PUT" && path.startsWith("/artifacts/") ? 0 : undefined);
  const { did } = await stage.execute();
  for (const { control } of stage.nodes) control.cutAfter = () => undefined;
  expect(did).toMatchObject({ puts: 0, copies: 0, failed: 5 * stage.wanted.length, lost: 0 });
  expect((await stage.execute()).did.failed).toBe(0);
  await stage.demandEverywhere("after the puts work again");
}, 120_000);

test("an attempt that wakes after the generation moved twice changes no node and releases nothing (R11)", async () => {
  const { activities } = stage.world;
  await stage.fresh("R11 first");
  const { epoch, generation } = await readWantedSet(database.pool);
  const zombie = { execution: "zombie/run", epoch, generation };
  const before = stage.wanted;
  await activity(() => activities.openExecution({ ...zombie, cause: "test" }));
  for (const { nodeId } of stage.nodes)
    expect((await activity(() => activities.probeNode({ ...zombie, node: nodeId }))).answer).toBe("ok");
  await activity(() => activities.planWork(zombie));
  await stage.fresh("R11 second");
  await stage.execute();
  // it wakes: configuration, puts, copies, release
  for (const node of stage.nodes) {
    const { nodeId } = node;
    expect((await activity(() => activities.probeNode({ ...zombie, node: nodeId }))).answer).toBe("superseded");
    const old = { epoch, generation, artifacts: before.toSorted() };
    const answer = await withClient(node, (client) => client.putConfig(old, [])).catch(
      ({ code }: { code: string }) => code,
    );
    expect(answer).toBe("depot_generation");
  }
  stage.forget();
  await activity(() => activities.pushStaged(zombie));
  // side by side, as in an execution: a copy may wait for another one's end
  await Promise.all(stage.nodes.map(({ nodeId }) => activity(() => activities.pullNode({ ...zombie, node: nodeId }))));
  expect(await activity(() => activities.releaseStaging(zombie))).toBe(0);
  const work = await database.pool.query<{ state: string }>(
    "select distinct state from replication_work where execution = 'zombie/run'",
  );
  expect(work.rows).toEqual([{ state: "failed" }]);
  expect(stage.copiedBytes()).toBe(0);
  await stage.demandEverywhere("after the zombie");
  for (const { depot } of stage.nodes)
    for (const names of await depot.files()) expect(names.filter((name) => before.includes(name))).toEqual([]);
}, 180_000);

test("while fewer than three of the holders are lost after the release, nothing is: random nodes and disks", async () => {
  await stage.fresh("losses");
  await stage.execute();
  expect((await stage.execute()).released).toBe(stage.wanted.length);
  const chance = seededChance(7);
  for (let round = 0; round < 3; round++) {
    const lost = stage.nodes.toSorted(() => chance() - 0.5).slice(0, 2);
    for (const { depot } of lost) {
      await depot.kill();
      for (const disk of depot.disks) await rm(disk, { recursive: true });
    }
    await Promise.all(lost.map(({ depot }) => depot.start()));
    const { did } = await stage.execute();
    expect(did).toMatchObject({ lost: 0, failed: 0, puts: 0, copies: 2 * stage.wanted.length });
    await stage.demandEverywhere(`after losses, round ${round}`);
  }
}, 180_000);

// last: the other tests need nodes that are not ahead
test("a node that knows a newer generation stops the execution: nothing is moved or released", async () => {
  await stage.fresh("behind");
  const { epoch, generation } = await readWantedSet(database.pool);
  const [ahead] = stage.nodes;
  if (ahead === undefined) throw new Error("no node");
  await withClient(ahead, (client) => client.putConfig({ epoch, generation: generation + 5, artifacts: [] }, []));
  stage.forget();
  const result = await stage.execute();
  expect(result).toMatchObject({ state: "stale", moved: 0, released: 0 });
  expect([stage.sentBytes(), stage.copiedBytes()]).toEqual([0, 0]);
  expect((await stage.world.staged()).length).toBe(stage.wanted.length);
}, 60_000);
