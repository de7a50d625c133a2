/** Who keeps a release from being deleted: each kind of user by itself, and all of them for every release at once. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { releaseKey, usersOf, usersOfAll } from "../../src/store/release-users.ts";
import { HOSTS, insertHosts, insertRollout, insertSnapshot } from "../support/api-rows.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(() =>
  database.pool.query(
    `delete from offers; delete from attempts; delete from targets; delete from waves; delete from rollouts; delete from fleets;
     delete from wanted; delete from agents; delete from snapshots; delete from artifacts;
     update gitops_state set applied_commit = null`,
  ),
);

const users = (version: string, distribution = "otelcol-contrib") => usersOf(database.pool, { distribution, version });
const sql = (text: string, values: unknown[] = []) => database.pool.query(text, values);

test("nobody needs what nobody names", async () => {
  expect(await users("0.162.0")).toEqual([]);
});

test("a fleet of the snapshot in force, by target or by the default of a choice; an earlier snapshot needs nothing", async () => {
  await insertSnapshot(database.pool);
  expect(await users("0.162.0")).toEqual([{ kind: "snapshot", what: "fleet demo" }]);
  const choice = { distribution: "otelcol-contrib", choice: { list: ["0.163.0"], default: "0.163.0" } };
  const objects = [
    { kind: "Fleet", name: "chosen", spec: { version: choice } },
    { kind: "Fleet", name: "plain", spec: {} },
  ];
  await sql(
    "insert into snapshots (commit, generation, author, subject, objects) values ('c2', 2, 'kim', 'choose', $1)",
    [JSON.stringify(objects)],
  );
  await sql("update gitops_state set applied_commit = 'c2'");
  expect(await users("0.163.0")).toEqual([{ kind: "snapshot", what: "fleet chosen" }]);
  expect(await users("0.162.0")).toEqual([]);
});

test("hosts that run it and hosts that should; beyond five they are counted", async () => {
  await insertHosts(database.pool);
  expect(await users("0.161.0")).toEqual([{ kind: "installed", what: "core-1" }]);
  expect(await users("0.162.0")).toEqual([
    { kind: "wanted", what: "fleet demo" },
    { kind: "installed", what: "edge-1" },
  ]);
  expect(await users("0.162.0", "otelcol")).toEqual([]);
  await sql(
    `insert into agents (uid, kind, kind_reason, credential, host_name, service_name, version)
       select gen_random_uuid(), 'collector', '', 'token:t', 'h' || n, 'otelcol', '0.150.0' from generate_series(1, 8) n`,
  );
  expect(await users("0.150.0", "otelcol")).toEqual([{ kind: "installed", what: "h1, h2, h3, h4, h5 and 3 more" }]);
});

test("an open rollout, also for the version that its targets may return to; a finished one is the way back of its hosts", async () => {
  await insertHosts(database.pool);
  await insertRollout(database.pool);
  await sql("update agents set version = '0.170.0'; delete from wanted");
  expect(await users("0.162.0")).toEqual([{ kind: "rollout", what: "demo/1" }]);
  // edge-1 has finished its attempt, core-1 has not
  expect(await users("0.161.0")).toEqual([
    { kind: "rollout", what: "demo/1" },
    { kind: "before", what: "edge-1" },
  ]);
  await sql("update rollouts set finished_at = now(), state = 'succeeded'");
  expect(await users("0.162.0")).toEqual([]);
  expect(await users("0.161.0")).toEqual([{ kind: "before", what: "edge-1" }]);
});

test("the last proven version of a fleet of Git", async () => {
  await insertRollout(database.pool);
  await sql("update rollouts set finished_at = now(), state = 'succeeded', version = '0.159.0'");
  await sql("update fleets set proven_version = '0.159.0'");
  expect(await users("0.159.0")).toEqual([]);
  await insertSnapshot(database.pool);
  expect(await users("0.159.0")).toEqual([{ kind: "fleet", what: "fleet demo" }]);
});

test("an open offer", async () => {
  const { rows } = await sql(
    `insert into artifacts (distribution, version, os, arch, file_name, source_url)
     values ('otelcol-contrib', '0.158.0', 'linux', 'amd64', 'x', 'file:///x') returning id`,
  );
  await sql(
    `insert into offers (host, recipient, kind, direction, fleet, n, artifact) values ($1, $1, 'package', 'forward', 'f', 1, $2)`,
    [HOSTS.edge, (rows[0] as { id: string }).id],
  );
  expect(await users("0.158.0")).toEqual([{ kind: "offer", what: HOSTS.edge }]);
  await sql("update offers set closed_at = now()");
  expect(await users("0.158.0")).toEqual([]);
});

test("a pin, as long as it lasts", async () => {
  await sql(
    `insert into release_pins (distribution, version, by, reason, at, until) values
       ('otelcol-contrib', '0.157.0', 'ada', 'the way back', now(), null),
       ('otelcol-contrib', '0.156.0', 'ada', '', now(), now() + interval '1 hour'),
       ('otelcol-contrib', '0.155.0', 'ada', 'over', now(), now() - interval '1 second')`,
  );
  expect(await users("0.157.0")).toEqual([{ kind: "pin", what: "ada: the way back" }]);
  expect(await users("0.156.0")).toEqual([{ kind: "pin", what: "ada" }]);
  expect(await users("0.155.0")).toEqual([]);
});

test("of every release at once: the same", async () => {
  await insertHosts(database.pool);
  await insertSnapshot(database.pool);
  await insertRollout(database.pool);
  const all = await usersOfAll(database.pool);
  for (const version of ["0.161.0", "0.162.0"])
    expect(all.get(releaseKey({ distribution: "otelcol-contrib", version }))).toEqual(await users(version));
});
