/** What leaves the depots by its age, over real rows: who needs what, pins, the removal, and what moved meanwhile. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createRetentionActivities } from "../../src/activities/retention.ts";
import { transaction } from "../../src/store/database.ts";
import { readWantedSet } from "../../src/store/depots.ts";
import { readHolds } from "../../src/store/holds.ts";
import { pinRelease, unpinRelease } from "../../src/store/pins.ts";
import { keptReleases, noteNeeds, removeExpired } from "../../src/store/retention.ts";
import { insertHosts, insertRollout } from "../support/api-rows.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { givenArtifact } from "../support/kept-rows.ts";

const DAY = 86_400_000;
const KEEP = 30 * DAY;
const START = new Date("2026-11-29T00:00:00Z");
const DISTRIBUTION = "otelcol-contrib";
const release = (version: string) => ({ distribution: DISTRIBUTION, version });
const entry = { by: "kim", reason: "a host without network", at: START.toISOString() };
let database: TestDatabase;
let now: Date;
const logged: string[] = [];
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  now = START;
  await database.pool.query(
    `delete from offers; delete from attempts; delete from targets; delete from waves; delete from rollouts; delete from fleets;
     delete from wanted; delete from agents; delete from artifacts; delete from releases; delete from release_pins`,
  );
});

const run = () =>
  createRetentionActivities({
    pool: database.pool,
    now: () => now,
    keepForMs: KEEP,
    log: { info: (fields: object) => void logged.push(JSON.stringify(fields)), error: () => undefined },
  }).applyRetention();
const pass = (days: number): void => {
  now = new Date(now.getTime() + days * DAY);
};
const wanted = async (): Promise<string[]> => (await readWantedSet(database.pool)).artifacts;
const stateOf = async (version: string): Promise<string | undefined> =>
  (await database.pool.query<{ state: string }>("select state from artifacts where version = $1", [version])).rows[0]
    ?.state;
const given = (version: string, content = version, arch = "amd64") =>
  givenArtifact(database.pool, version, content, { at: START, arch });

describe("a release that nothing needs", () => {
  test("goes keepFor after the first look that found nobody, with generation, outbox and audit", async () => {
    await given("0.150.0");
    const before = await readWantedSet(database.pool);
    expect(await run()).toEqual({ deleted: [], kept: 1, more: false });
    pass(29);
    expect((await run()).deleted).toEqual([]);
    pass(1);
    expect(await run()).toEqual({ deleted: ["otelcol-contrib 0.150.0"], kept: 0, more: false });
    const after = await readWantedSet(database.pool);
    expect([after.generation, after.artifacts]).toEqual([before.generation + 1, []]);
    expect(await stateOf("0.150.0")).toBe("removed");
    const outbox = await database.pool.query("select cause from outbox where generation = $1", [after.generation]);
    expect(outbox.rows).toEqual([{ cause: "retention of otelcol-contrib 0.150.0" }]);
    const { rows } = await database.pool.query(
      "select principal, detail->>'unneededSince' as since from audit where action = 'release.expire'",
    );
    expect(rows).toEqual([{ principal: "system", since: START.toISOString() }]);
    // nothing is left to do, and nothing moves
    expect(await run()).toEqual({ deleted: [], kept: 0, more: false });
    expect((await readWantedSet(database.pool)).generation).toBe(after.generation);
  });

  test("counts anew when somebody needed it in between, or when it came in again", async () => {
    await given("0.161.0");
    await run();
    pass(25);
    await insertHosts(database.pool); // core-1 runs it
    await run();
    await database.pool.query("delete from agents");
    pass(10);
    expect((await run()).deleted).toEqual([]);
    pass(29);
    await database.pool.query("update artifacts set verified_at = $1", [now]);
    pass(29);
    expect((await run()).deleted).toEqual([]);
    pass(1);
    expect((await run()).deleted).toHaveLength(1);
  });

  test("leaves a few at a time, the longest unneeded first", async () => {
    for (const n of [3, 1, 2]) {
      await given(`0.${n}.0`);
      await run();
      pass(1);
    }
    for (const n of [4, 5, 6, 7]) await given(`0.${n}.0`);
    await run();
    pass(60);
    const first = await run();
    expect(first.deleted.slice(0, 3)).toEqual([
      "otelcol-contrib 0.3.0",
      "otelcol-contrib 0.1.0",
      "otelcol-contrib 0.2.0",
    ]);
    expect([first.deleted.length, first.more]).toEqual([5, true]);
    expect((await run()).deleted).toHaveLength(2);
  });

  test("that shares bytes with one that stays: the bytes stay (I19)", async () => {
    const shared = await given("0.162.0", "same bytes");
    await given("0.150.0", "same bytes");
    const own = await given("0.150.0", "own bytes", "arm64");
    await insertHosts(database.pool); // edge-1 runs 0.162.0
    await run();
    pass(31);
    expect((await run()).deleted).toEqual(["otelcol-contrib 0.150.0"]);
    expect(await wanted()).toEqual([shared.sha256]);
    expect(await wanted()).not.toContain(own.sha256);
  });
});

describe("a release that something needs", () => {
  test("stays while a host runs it that got it by another path than a rollout of ours (I9)", async () => {
    await given("0.161.0");
    await insertHosts(database.pool); // core-1 reports it; no fleet, rollout or offer names it
    await database.pool.query("delete from wanted");
    pass(400);
    await run();
    pass(400);
    expect((await run()).deleted).toEqual([]);
    expect((await keptReleases(database.pool))[0]?.users).toEqual([{ kind: "installed", what: "core-1" }]);
  });

  test("stays as the way back of a host that was updated, and of one that an open rollout may take back", async () => {
    await given("0.161.0");
    await insertHosts(database.pool);
    await insertRollout(database.pool);
    await database.pool.query("update agents set version = '0.162.0'");
    for (let looks = 0; looks < 3; looks++) {
      await run();
      pass(31);
    }
    await database.pool.query("update rollouts set finished_at = now(), state = 'succeeded'");
    await run();
    pass(31);
    expect((await run()).deleted).toEqual([]);
    expect(await stateOf("0.161.0")).toBe("verified");
  });

  test("stays while it is pinned; after the pin has run out, or was taken, its time begins", async () => {
    await given("0.150.0");
    const pinned = await transaction(database.pool, (tx) => pinRelease(tx, release("0.150.0"), entry, null, now));
    expect(pinned).toEqual({ changed: true, archives: 1 });
    for (let looks = 0; looks < 3; looks++) {
      await run();
      pass(100);
    }
    expect(await wanted()).toHaveLength(1);
    expect((await transaction(database.pool, (tx) => unpinRelease(tx, release("0.150.0"), entry, now)))?.changed).toBe(
      true,
    );
    expect((await transaction(database.pool, (tx) => unpinRelease(tx, release("0.150.0"), entry, now)))?.changed).toBe(
      false,
    );
    expect((await run()).deleted).toEqual([]);
    pass(30);
    expect((await run()).deleted).toHaveLength(1);
    const { rows } = await database.pool.query(
      "select action from audit where object = 'release/otelcol-contrib/0.150.0' order by seq desc limit 4",
    );
    expect(rows.map(({ action }) => action)).toEqual([
      "release.expire",
      "release.unpin",
      "release.unpin",
      "release.pin",
    ]);
    const none = await transaction(database.pool, (tx) => pinRelease(tx, release("9.9.9"), entry, null, now));
    expect(none).toBeUndefined();
  });
});

describe("a removal is refused", () => {
  const remove = (version: string, generation: number) =>
    transaction(database.pool, (tx) => removeExpired(tx, release(version), { generation, keepForMs: KEEP, now }));
  const expired = async (): Promise<number> => {
    await given("0.150.0");
    await noteNeeds(database.pool, await keptReleases(database.pool), now);
    pass(31);
    return (await readWantedSet(database.pool)).generation;
  };

  test("when the wanted set moved since it was decided", async () => {
    const generation = await expired();
    await given("0.151.0");
    expect(await remove("0.150.0", generation)).toBe("moved");
    expect(await wanted()).toHaveLength(2);
  });
  test("when somebody needs it by then: pinned, or installed, after the look", async () => {
    const generation = await expired();
    await transaction(database.pool, (tx) => pinRelease(tx, release("0.150.0"), entry, null, now));
    expect(await remove("0.150.0", generation)).toBe("needed");
    await transaction(database.pool, (tx) => unpinRelease(tx, release("0.150.0"), entry, now));
    expect(await remove("0.150.0", generation)).toBe("needed"); // its time began anew
    expect(await wanted()).toHaveLength(1);
  });
  test("a pin that comes at the same moment waits, and then finds what became of it", async () => {
    const generation = await expired();
    const [removal, pin] = await Promise.all([
      remove("0.150.0", generation),
      transaction(database.pool, (tx) => pinRelease(tx, release("0.150.0"), entry, null, now)),
    ]);
    // either the pin was first and it stays, or it was last and is told that there is nothing to keep
    expect([removal, pin?.archives]).toEqual(removal === "deleted" ? ["deleted", 0] : ["needed", 1]);
    expect(await wanted()).toHaveLength(removal === "deleted" ? 0 : 1);
  });
});

test("what is pinned or in use is held, what was removed on purpose is released, and shared bytes are neither", async () => {
  const pinned = await given("0.150.0");
  const installed = await given("0.161.0", "shared");
  const onlyInGit = await given("0.170.0");
  const removed = await given("0.140.0");
  await given("0.141.0", "shared");
  await transaction(database.pool, (tx) => pinRelease(tx, release("0.150.0"), entry, null, now));
  await insertHosts(database.pool); // core-1 runs 0.161.0
  expect(await readHolds(database.pool)).toEqual({ held: [pinned.sha256, installed.sha256].toSorted(), released: [] });
  await insertHosts0170(); // wanted by Git alone: whoever changes Git changes it
  await run();
  pass(31);
  expect((await run()).deleted).toEqual(["otelcol-contrib 0.140.0", "otelcol-contrib 0.141.0"]);
  const holds = await readHolds(database.pool);
  expect(holds.released).toEqual([removed.sha256]);
  expect(holds.held).not.toContain(onlyInGit.sha256);
  // while it is fetched again, and fails, it stays let go
  await database.pool.query("update artifacts set state = 'fetching' where version = '0.140.0'");
  expect((await readHolds(database.pool)).released).toEqual([removed.sha256]);
});
const insertHosts0170 = () =>
  database.pool.query("update wanted set version = '0.170.0' where host in (select uid from agents)");

test("the wanted set never changes without a new generation: pin, unpin, retention, and coming back (D5)", async () => {
  const seen = new Map<number, string>();
  const look = async (): Promise<void> => {
    const { generation, artifacts } = await readWantedSet(database.pool);
    expect(seen.get(generation) ?? artifacts.join()).toBe(artifacts.join());
    seen.set(generation, artifacts.join());
  };
  await given("0.150.0");
  await look();
  await transaction(database.pool, (tx) => pinRelease(tx, release("0.150.0"), entry, null, now));
  await look();
  await transaction(database.pool, (tx) => unpinRelease(tx, release("0.150.0"), entry, now));
  await run();
  await look();
  pass(31);
  await run();
  await look();
  await given("0.150.0");
  await look();
  expect(new Set(seen.values()).size).toBe(2);
  expect(seen.size).toBe(3);
});
