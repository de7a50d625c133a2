/** Depots that drain, leave, are removed and come back; over rows, and over real processes with real replication. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { transaction } from "../../src/store/database.ts";
import { costOfLeaving, drainDepot, leaveDrained, removeDepot, undrainDepot } from "../../src/store/depot-life.ts";
import { copyMade, depotById, depotSilent, listDepots, readWantedSet, registerDepot } from "../../src/store/depots.ts";
import { noteWords, readHistory } from "../../src/store/replication-history.ts";
import { createArtifactWorld, type ArtifactWorld } from "../support/artifact-world.ts";
import { contentOf, TOKENS } from "../support/depot-process.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { givenArtifact, givenListing } from "../support/kept-rows.ts";

const BY = { by: "kim", reason: "its machine is old" };
const NOW = new Date("2026-11-29T00:00:00Z");

describe("over rows", () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());
  beforeEach(() =>
    database.pool.query(
      `delete from artifacts; delete from depots; delete from replication_executions; delete from replication_history;
       delete from replication_words; delete from notifications; delete from staging`,
    ),
  );
  const drain = (node: string) => transaction(database.pool, (tx) => drainDepot(tx, node, BY, NOW));
  const leave = (execution: string, minCopies = 2) =>
    transaction(database.pool, (tx) => leaveDrained(tx, { execution, minCopies }, NOW));
  const kinds = async (of: { node?: string; sha256?: string } = {}): Promise<string[]> =>
    (await readHistory(database.pool, { ...of, limit: 100 })).map(({ kind }) => kind).toReversed();

  test("a drained node leaves when the others listed everything that it has, not before, and not by copies only made", async () => {
    const { sha256 } = await givenArtifact(database.pool, "0.162.0", "one");
    await givenListing(database.pool, "e1", { d1: [sha256], d2: [sha256], d3: [] });
    expect(await drain("d1")).toBe("changed");
    expect(await drain("d1")).toBe("already");
    expect(await leave("e1")).toEqual([]);
    await copyMade(database.pool, "d3", sha256, 2);
    expect(await leave("e1")).toEqual([]);
    await givenListing(database.pool, "e2", { d1: [sha256], d2: [sha256], d3: [sha256] });
    expect(await leave("e1")).toEqual([]); // an execution that the others took no part in proves nothing
    expect(await leave("e2")).toEqual(["d1"]);
    expect((await listDepots(database.pool)).map(({ nodeId }) => nodeId)).toEqual(["d2", "d3"]);
    expect(await kinds({ node: "d1" })).toEqual(["draining", "removed"]);
    const { rows } = await database.pool.query("select principal, action from audit where object = 'd1' order by seq");
    expect(rows).toEqual([
      { principal: "kim", action: "depot.drain" },
      { principal: "system", action: "depot.remove" },
    ]);
  });

  test("not while the wanted set has moved since the execution began", async () => {
    const { sha256 } = await givenArtifact(database.pool, "0.162.0", "one");
    await givenListing(database.pool, "e1", { d1: [sha256], d2: [sha256], d3: [sha256] });
    await drain("d1");
    await givenArtifact(database.pool, "0.163.0", "two");
    expect(await leave("e1")).toEqual([]);
  });

  test("two that drain are no safety for each other; what nobody wants holds nobody", async () => {
    const { sha256 } = await givenArtifact(database.pool, "0.162.0", "one");
    await givenListing(database.pool, "e1", { d1: [sha256], d2: [sha256], d3: [], d4: ["ef".repeat(32)] });
    for (const node of ["d1", "d2", "d4"]) expect(await drain(node)).toBe("changed");
    expect(await drain("d3")).toBe("last");
    expect(await leave("e1")).toEqual(["d4"]);
    expect((await depotById(database.pool, "d3"))?.state).toBe("active");
  });

  test("what a removal would cost: lost, rare, nothing; a node that comes back begins anew, one that drains goes on draining", async () => {
    const only = await givenArtifact(database.pool, "0.162.0", "one");
    const rare = await givenArtifact(database.pool, "0.163.0", "two");
    const safe = await givenArtifact(database.pool, "0.164.0", "three");
    const all = [only, rare, safe].map(({ sha256 }) => sha256);
    await givenListing(database.pool, "e1", { d1: all, d2: [rare.sha256, safe.sha256], d3: [safe.sha256] });
    const cost = await costOfLeaving(database.pool, "d1", 2);
    expect(cost).toMatchObject({ safe: false, lost: [only.sha256], rare: [rare.sha256], answers: true });
    expect(cost?.names.get(only.sha256)).toEqual(["otelcol-contrib 0.162.0 linux_amd64"]);
    expect(await costOfLeaving(database.pool, "d3", 2)).toMatchObject({ safe: true, rare: [] });
    expect(await costOfLeaving(database.pool, "d9", 2)).toBeUndefined();
    const address = { nodeId: "d1", zone: "", controlUrl: "http://d1.example", readUrl: "http://d1.example" };
    await drain("d1");
    expect(await registerDepot(database.pool, address)).toBe(false);
    expect((await depotById(database.pool, "d1"))?.state).toBe("draining");
    expect(await transaction(database.pool, (tx) => undrainDepot(tx, "d1", BY, NOW))).toBe("changed");
    await transaction(database.pool, (tx) => removeDepot(tx, "d1", BY, {}, NOW));
    await copyMade(database.pool, "d1", only.sha256, 2); // a transfer that ended late
    expect(await registerDepot(database.pool, address)).toBe(true);
    expect(await depotById(database.pool, "d1")).toMatchObject({ state: "active", answeredAt: null, copies: 0 });
  });

  test("what an artifact is called is told when it changes: degraded once, however often it is seen, then healed", async () => {
    const { sha256 } = await givenArtifact(database.pool, "0.162.0", "one");
    const words = () => transaction(database.pool, (tx) => noteWords(tx, 2, NOW));
    await givenListing(database.pool, "e1", { d1: [sha256], d2: [sha256] });
    expect([await words(), await words()]).toEqual([1, 0]);
    await depotSilent(database.pool, "d2", "depot_unreachable: gone");
    await depotSilent(database.pool, "d2", "depot_unreachable: gone");
    expect([await words(), await words()]).toEqual([1, 0]);
    await depotSilent(database.pool, "d1", "depot_unreachable: gone");
    await words();
    await givenListing(database.pool, "e2", { d1: [sha256] }, 1);
    await words();
    await givenListing(database.pool, "e3", { d1: [sha256], d2: [sha256] });
    await words();
    expect(await kinds({ sha256 })).toEqual(["replicated", "degraded", "unreachable", "degraded", "healed"]);
    expect(await kinds({ node: "d2" })).toEqual(["silent", "answering"]);
    const { rows } = await database.pool.query(
      "select kind, data->'artifacts' as artifacts from notifications order by id",
    );
    const artifacts = ["otelcol-contrib 0.162.0 linux_amd64"];
    expect(rows).toEqual([
      { kind: "artifact_degraded", artifacts },
      { kind: "artifact_unreachable", artifacts },
      { kind: "artifact_healed", artifacts },
    ]);
  });
});

describe("over real depots", () => {
  let world: ArtifactWorld;
  beforeAll(async () => {
    world = await createArtifactWorld({ depots: 4, minCopies: 2 });
    await world.register();
    await world.startWorker();
    await world.client.workflow.start("artifactReplication", {
      workflowId: "artifact-replication",
      taskQueue: "myr-control",
      args: [{}],
    });
  }, 120_000);
  afterAll(() => world.close(), 60_000);

  const holders = async (version: string): Promise<string[]> => {
    const { rows } = await world.pool.query<{ nodes: string[] }>(
      `select coalesce(array_agg(c.node_id order by c.node_id), '{}') as nodes from copies c join depots d using (node_id)
         join artifacts a using (sha256) where a.version = $1 and d.state <> 'removed' and c.seen_at <= d.answered_at`,
      [version],
    );
    return rows[0]?.nodes ?? [];
  };
  const state = async (node: string): Promise<string | undefined> => (await depotById(world.pool, node))?.state;
  const poke = () => world.client.workflow.getHandle("artifact-replication").signal("poke", { cause: "test" });

  test("a drained depot serves, gets nothing new, leaves by itself; it comes back and has everything again", async () => {
    await world.fetch(await world.publish("0.1.0"));
    await world.until("four copies", async () => (await holders("0.1.0")).length === 4);
    // one of the others dies meanwhile: those that answer decide
    await transaction(world.pool, (tx) => drainDepot(tx, "depot-4", BY, new Date()));
    await world.depots[0]?.kill();
    await world.fetch(await world.publish("0.2.0"));
    await world.until("everybody but depot-4, which left", async () => {
      const nodes = await holders("0.2.0");
      return nodes.join() === "depot-2,depot-3" && (await state("depot-4")) === undefined;
    });
    const wanted = await readWantedSet(world.pool);
    const files = (await world.depots[3]?.files())?.flat() ?? [];
    expect(files.length).toBeGreaterThan(0); // its files stay where they are
    expect(wanted.artifacts.filter((sha256) => !files.includes(sha256))).toHaveLength(1); // nothing new came
    await world.depots[0]?.start();
    await world.register(world.depots.slice(3));
    await poke();
    await world.until("all four again", async () => (await holders("0.2.0")).length === 4);
    expect((await holders("0.1.0")).length).toBe(4);
  }, 120_000);

  test("one depot dies for good: removing it costs nothing but copies, and says so; the words fall and rise at their times", async () => {
    await world.depots[1]?.kill();
    await poke();
    await world.until("it is silent", async () => ((await depotById(world.pool, "depot-2"))?.error ?? null) !== null);
    const cost = await costOfLeaving(world.pool, "depot-2", 2);
    expect(cost).toMatchObject({ answers: false, safe: true, lost: [], rare: [] });
    await transaction(world.pool, (tx) => removeDepot(tx, "depot-2", BY, { force: true }, new Date()));
    expect((await listDepots(world.pool)).map(({ nodeId }) => nodeId)).toEqual(["depot-1", "depot-3", "depot-4"]);
    await poke();
    await world.fetch(await world.publish("0.3.0"));
    await world.until("the rest goes on", async () => (await holders("0.3.0")).length === 3);
    const history = await readHistory(world.pool, { node: "depot-2", limit: 10 });
    expect(history.map(({ kind }) => kind)).toEqual(["removed", "silent"]);
  }, 120_000);

  test("a flipped byte is called corrupt and repaired, with its disk; an artifact that a host runs is held at every node", async () => {
    const sha256 = (await readWantedSet(world.pool)).artifacts[0] ?? "";
    const disk = world.depots[0]?.disks[1] ?? "";
    const right = await contentOf(disk, sha256);
    await writeFile(join(disk, "artifacts", sha256), Buffer.concat([right.subarray(1), Buffer.from("x")]));
    const url = world.depots[0]?.controlUrl ?? "";
    const headers = { authorization: `Bearer ${TOKENS.control}` };
    await fetch(`${url}/scrub`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ kind: "deep" }),
    });
    const { rows } = await world.pool.query<{ version: string }>(
      "select version from artifacts where encode(sha256, 'hex') = $1",
      [sha256],
    );
    await world.pool.query(
      `insert into agents (uid, kind, kind_reason, credential, host_name, service_name, version)
       values (gen_random_uuid(), 'collector', '', 'token:t', 'edge-1', 'otelcol-contrib', $1)`,
      [rows[0]?.version],
    );
    const kinds = async (): Promise<string[]> =>
      (await readHistory(world.pool, { node: "depot-1", sha256, limit: 10 })).map(({ kind }) => kind);
    await world.until("the control plane knows of both", async () => {
      await poke();
      return (await kinds()).join() === "repaired,corrupt";
    });
    expect((await readHistory(world.pool, { node: "depot-1", sha256, limit: 1 }))[0]?.detail).toEqual({ disk });
    expect(await contentOf(disk, sha256)).toEqual(right);
    const told = await world.pool.query("select data->>'node' as node from notifications where kind = 'copy_corrupt'");
    expect(told.rows).toEqual([{ node: "depot-1" }]);
    for (const { controlUrl } of [world.depots[0], world.depots[2]].flatMap((it) => it ?? [])) {
      await world.until("it is held there", async () => {
        await poke();
        const config = (await (await fetch(`${controlUrl}/artifacts-config`, { headers })).json()) as {
          held?: string[];
        };
        return config.held?.includes(sha256);
      });
    }
  }, 120_000);
});
