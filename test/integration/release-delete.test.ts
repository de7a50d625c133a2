/** A release goes only when nobody needs it, by a person with a reason; what it was stays known. */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { transaction } from "../../src/store/database.ts";
import { readWantedSet } from "../../src/store/depots.ts";
import { deleteRelease } from "../../src/store/releases.ts";
import { releasable } from "../../src/store/staging.ts";
import { HOSTS, insertHosts } from "../support/api-rows.ts";
import { createUploadWorld, HOLDER, type UploadWorld } from "../support/uploads.ts";

const RELEASE = { distribution: "otelcol-contrib", version: "0.162.0" };
let world: UploadWorld;
let folder: string;
beforeAll(async () => {
  world = await createUploadWorld();
  folder = await world.publish("0.162.0", { platforms: ["linux_amd64", "linux_arm64"] });
});
afterAll(() => world.close());
afterEach(() =>
  world.pool.query(
    "delete from offers; delete from wanted; delete from agents; delete from artifacts; delete from releases; delete from staging; delete from release_pins",
  ),
);

const upload = () => world.myrctl(["artifacts", "upload", folder]);
const remove = (role = "admin") =>
  world.myrctl(["artifacts", "delete", RELEASE.distribution, RELEASE.version, "--reason", "old"], { role });
const states = async () =>
  (await world.pool.query<{ state: string; wanted: boolean }>("select state, wanted from artifacts order by arch"))
    .rows;
const lastAudit = async () =>
  (await world.pool.query("select principal, action, outcome, code from audit order by seq desc limit 1")).rows[0];

test("moves wanted set, generation and outbox together; repeating it is harmless; an upload brings it back", async () => {
  await upload();
  const before = (await readWantedSet(world.pool)).generation;
  expect(await remove()).toMatchObject({ code: 0, out: expect.stringContaining("depots remove 2 archives") as string });
  const after = await readWantedSet(world.pool);
  expect(after).toMatchObject({ generation: before + 1, artifacts: [] });
  const { rows } = await world.pool.query("select cause from outbox where generation = $1", [after.generation]);
  expect(rows).toEqual([{ cause: "deletion of otelcol-contrib 0.162.0" }]);
  expect(await states()).toEqual([
    { state: "removed", wanted: false },
    { state: "removed", wanted: false },
  ]);
  expect(await lastAudit()).toMatchObject({ principal: "admin-owner", action: "release.delete", outcome: "accepted" });
  expect(await remove()).toMatchObject({ code: 0, out: expect.stringContaining("was deleted already") as string });
  expect((await readWantedSet(world.pool)).generation).toBe(before + 1);
  // nothing wants the staged bytes any more
  const proof = { execution: "e", generation: before + 1, minCopies: 3 };
  expect(await releasable(world.pool, HOLDER, proof)).toHaveLength(2);
  expect(await upload()).toMatchObject({ code: 0 });
  expect((await readWantedSet(world.pool)).artifacts).toHaveLength(2);
});

test("is refused with everybody who needs it, and says so in the audit log", async () => {
  await upload();
  await insertHosts(world.pool);
  await world.pool.query(
    "insert into release_pins (distribution, version, by, reason, at) values ('otelcol-contrib', '0.162.0', 'ada', 'way back', now())",
  );
  const said = await remove();
  expect(said.code).toBe(1);
  expect(said.err).toContain(
    "otelcol-contrib 0.162.0 is needed by wanted by fleet demo; installed on edge-1; pinned by ada: way back (release_needed",
  );
  expect(await lastAudit()).toMatchObject({ action: "release.delete", outcome: "refused", code: "release_needed" });
  expect(await states()).toMatchObject([{ wanted: true }, { wanted: true }]);
});

test("needs the role admin, a reason, and a release", async () => {
  await upload();
  expect(await remove("operator")).toMatchObject({ code: 1 });
  const url = "/api/v1/releases/otelcol-contrib/0.162.0";
  const headers = world.api.as.admin;
  const bare = await world.api.app.inject({ method: "DELETE", url, headers });
  expect(bare.json()).toMatchObject({ status: 400, code: "reason_required" });
  const unknown = await world.api.app.inject({ method: "DELETE", url: `${url}9`, headers, payload: { reason: "x" } });
  expect(unknown.statusCode).toBe(404);
  expect(await states()).toMatchObject([{ wanted: true }, { wanted: true }]);
});

test("an offer that is being opened and a deletion exclude each other, whoever comes first", async () => {
  await upload();
  const { rows } = await world.pool.query<{ id: string }>("select id from artifacts order by arch limit 1");
  const artifact = rows[0]?.id;
  const offer = `insert into offers (host, recipient, kind, direction, fleet, n, artifact) values ($1, $1, 'package', 'forward', 'f', 1, $2)`;
  const opening = await world.pool.connect();
  try {
    await opening.query("begin");
    await opening.query(offer, [HOSTS.edge, artifact]);
    const at = new Date();
    const entry = { at: at.toISOString(), by: "ada", reason: "old" };
    const deleting = transaction(world.pool, (tx) => deleteRelease(tx, RELEASE, entry, at));
    await opening.query("commit");
    expect(await deleting).toMatchObject({ changed: false, users: [{ kind: "offer", what: HOSTS.edge }] });
    await world.pool.query("update offers set closed_at = now()");
    expect(await transaction(world.pool, (tx) => deleteRelease(tx, RELEASE, entry, at))).toMatchObject({ archives: 2 });
    await expect(world.pool.query(offer, [HOSTS.core, artifact])).rejects.toMatchObject({ code: "40001" });
  } finally {
    opening.release();
  }
});

test("of a release whose fetch failed takes it off the list", async () => {
  await world.pool.query("insert into releases (distribution, version) values ('otelcol-contrib', '0.162.0')");
  await world.pool.query(
    `insert into artifacts (distribution, version, os, arch, file_name, source_url, state, error_code)
     values ('otelcol-contrib', '0.162.0', 'linux', 'amd64', 'x', 'file:///x', 'failed', 'artifact_incomplete')`,
  );
  expect(await remove()).toMatchObject({ code: 0 });
  expect(await states()).toEqual([]);
});
