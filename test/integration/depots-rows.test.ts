import { randomUUID } from "node:crypto";
import { access, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createStaging, type Staging } from "../../src/activities/artifact-staging.ts";
import { admitArtifact, artifactFetched, artifactReadiness, openArtifact } from "../../src/store/artifacts.ts";
import { transaction } from "../../src/store/database.ts";
import {
  copyMade,
  depotAnswered,
  depotSilent,
  openExecution,
  readWantedSet,
  registerDepot,
} from "../../src/store/depots.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { digest } from "../support/depot.ts";

const PROVED = { identity: "i", issuer: "o", repository: "r", logIndex: "1", signedAt: [] };
const HOLDER = "host-a";
let database: TestDatabase;
let folder: string;
let staging: Staging;
beforeAll(async () => {
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), "myriarch-staging-"));
  staging = createStaging({ folder, holder: HOLDER, pool: database.pool, maxBytes: 1_000 });
  await staging.prepare();
});
afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true });
});
afterEach(async () => {
  await database.pool.query(
    "delete from artifacts; delete from depots; delete from staging; delete from replication_executions",
  );
});

const generation = async (): Promise<number> => (await readWantedSet(database.pool)).generation;
const outbox = async (): Promise<string[]> =>
  (await database.pool.query<{ cause: string }>("select cause from outbox order by generation")).rows.map(
    (row) => row.cause,
  );

/** A verified artifact with these bytes, staged on this host if asked. */
async function given(
  version: string,
  bytes: Buffer,
  staged = false,
  os = "linux",
): Promise<{ id: string; sha256: string }> {
  const ref = { distribution: "otelcol-contrib", version, os, arch: "amd64" };
  const sha256 = digest(bytes);
  const { id } = await openArtifact(database.pool, ref, { fileName: "x", sourceUrl: "file:///x" });
  await artifactFetched(database.pool, id, { sha256, sizeBytes: bytes.length, checksum: sha256, bundle: "{}" });
  if (staged) await stage(bytes);
  await transaction(database.pool, (tx) => admitArtifact(tx, id, PROVED, new Date()));
  return { id, sha256 };
}
async function stage(bytes: Buffer): Promise<void> {
  const path = join(folder, "partial", randomUUID());
  await writeFile(path, bytes);
  await staging.place({ path, sha256: digest(bytes), sizeBytes: bytes.length });
}
/** Nodes that listed these digests in an execution at the present generation. */
async function listed(execution: string, nodes: readonly string[], digests: readonly string[]): Promise<number> {
  const at = await readWantedSet(database.pool);
  await openExecution(database.pool, { id: execution, cause: "test", epoch: at.epoch, generation: at.generation });
  for (const node of nodes) {
    await registerDepot(database.pool, {
      nodeId: node,
      zone: "",
      controlUrl: `http://${node}`,
      readUrl: `http://${node}`,
    });
    const copies = digests.map((sha256) => ({ sha256, disks: 2 }));
    await transaction(database.pool, (tx) =>
      depotAnswered(tx, node, { execution, generation: at.generation, disks: [], copies }),
    );
  }
  return at.generation;
}
const isStaged = (sha256: string): Promise<boolean> =>
  access(join(folder, sha256)).then(
    () => true,
    () => false,
  );

describe("the wanted set", () => {
  test("moves with its generation and its outbox row in one transaction, whatever path changes it (R5)", async () => {
    const before = await generation();
    const { id, sha256 } = await given("0.1.0", Buffer.from("one"));
    expect(await generation()).toBe(before + 1);
    expect((await outbox()).at(-1)).toBe(`artifact ${id}`);
    // by hand, by deletion, and by an artifact made only of bytes that were known before
    await database.pool.query("update artifacts set wanted = false where id = $1", [id]);
    expect(await generation()).toBe(before + 2);
    await given("0.2.0", Buffer.from("one"));
    expect(await generation()).toBe(before + 3);
    expect((await readWantedSet(database.pool)).artifacts).toEqual([sha256]);
    await database.pool.query("delete from artifacts where version = '0.2.0'");
    expect([await generation(), (await readWantedSet(database.pool)).artifacts]).toEqual([before + 4, []]);
    expect(await outbox()).toHaveLength(before + 4);
  });
  test("several changes of one transaction are one generation; a change that is rolled back is none", async () => {
    const before = await generation();
    await transaction(database.pool, async (tx) => {
      await tx.query(`insert into artifacts (distribution, version, os, arch, file_name, source_url, sha256, size_bytes, wanted)
        select 'd', '1.0.' || n, 'linux', 'amd64', 'f', 'u', sha256(n::text::bytea), 1, true from generate_series(1, 5) n`);
    });
    expect(await generation()).toBe(before + 1);
    const undone = transaction(database.pool, async (tx) => {
      await tx.query("delete from artifacts");
      throw new Error("no");
    });
    await expect(undone).rejects.toThrow("no");
    expect(await generation()).toBe(before + 1);
  });
  test("concurrent changes get one generation each", async () => {
    const before = await generation();
    await Promise.all(Array.from({ length: 8 }, (_, n) => given(`0.1.${n}`, Buffer.from(`bytes ${n}`))));
    expect(await generation()).toBe(before + 8);
  });
});

describe("staging is released", () => {
  const three = ["n1", "n2", "n3"];
  test("as a whole release, when every artifact of it is listed by enough nodes that answered at this generation", async () => {
    const one = await given("0.1.0", Buffer.from("linux"), true);
    const other = await given("0.1.0", Buffer.from("darwin"), true, "darwin");
    const first = await listed("e1", three, [one.sha256]);
    expect(await staging.release({ execution: "e1", generation: first, minCopies: 3 })).toBe(0);
    const second = await listed("e2", three, [one.sha256, other.sha256]);
    expect(await staging.release({ execution: "e2", generation: second, minCopies: 3 })).toBe(2);
    expect([await isStaged(one.sha256), await isStaged(other.sha256)]).toEqual([false, false]);
  });
  test.each([
    ["two of three nodes", ["n1", "n2"], 3],
    ["no node", [], 1],
  ])("not with %s", async (_, nodes, minCopies) => {
    const { sha256 } = await given("0.1.0", Buffer.from("linux"), true);
    const at = await listed("e1", nodes, [sha256]);
    expect(await staging.release({ execution: "e1", generation: at, minCopies })).toBe(0);
    expect(await isStaged(sha256)).toBe(true);
  });
  test("not by copies that were only made, not listed", async () => {
    const { sha256 } = await given("0.1.0", Buffer.from("linux"), true);
    const at = await listed("e1", three, []);
    for (const node of three) await copyMade(database.pool, node, sha256, 2);
    expect(await staging.release({ execution: "e1", generation: at, minCopies: 3 })).toBe(0);
  });
  test("not by an execution whose generation has moved: deleted, and wanted again, while depots delete (I7, R9, R11)", async () => {
    const bytes = Buffer.from("linux");
    const { sha256, id } = await given("0.1.0", bytes, true);
    const stale = await listed("e1", three, [sha256]);
    await database.pool.query("update artifacts set wanted = false where id = $1", [id]);
    await database.pool.query("update artifacts set wanted = true where id = $1", [id]);
    await stage(bytes); // the same bytes are uploaded again
    expect(await staging.release({ execution: "e1", generation: stale, minCopies: 3 })).toBe(0);
    // nor when the zombie takes the new generation's number with its old listing
    expect(await staging.release({ execution: "e1", generation: await generation(), minCopies: 3 })).toBe(0);
    expect(await isStaged(sha256)).toBe(true);
    const fresh = await listed("e2", three, [sha256]);
    expect(await staging.release({ execution: "e2", generation: fresh, minCopies: 3 })).toBe(1);
  });
  test("while the same bytes are staged again: a row never stands without its file", async () => {
    const bytes = Buffer.from("linux");
    const { sha256 } = await given("0.1.0", bytes, true);
    for (let round = 0; round < 10; round++) {
      const execution = `r${round}`;
      const at = await listed(execution, three, [sha256]);
      await Promise.all([staging.release({ execution, generation: at, minCopies: 3 }), stage(bytes)]);
      const { rowCount } = await database.pool.query("select from staging");
      expect(await isStaged(sha256)).toBe(rowCount === 1);
    }
  });
  test("files without a row go at the start of a worker, files with one stay", async () => {
    const { sha256 } = await given("0.1.0", Buffer.from("linux"), true);
    const orphan = digest(Buffer.from("orphan"));
    await writeFile(join(folder, orphan), "orphan");
    await staging.prepare();
    expect([await isStaged(sha256), await isStaged(orphan)]).toEqual([true, false]);
  });
  test("a row without its file is forgotten when somebody wants to read it", async () => {
    const { sha256 } = await given("0.1.0", Buffer.from("linux"), true);
    await rm(join(folder, sha256));
    await expect(staging.open(sha256)).rejects.toMatchObject({ code: "staging_gone" });
    expect((await database.pool.query("select from staging")).rowCount).toBe(0);
  });
});

describe("the gate of a wave", () => {
  const ask = (minCopies = 3) =>
    artifactReadiness(database.pool, {
      distribution: "otelcol-contrib",
      version: "0.1.0",
      platforms: [{ os: "linux", arch: "amd64" }],
      minCopies,
    });
  test("asks for min(minCopies, answering nodes) copies, at least one; a node that is away neither counts nor blocks", async () => {
    expect(await ask()).toMatchObject({ ready: false, artifacts: [{ state: "absent" }] });
    const { sha256 } = await given("0.1.0", Buffer.from("linux"));
    expect(await ask()).toMatchObject({ ready: false, want: 1, copies: 0 });
    await listed("e1", ["n1", "n2"], [sha256]);
    expect(await ask()).toMatchObject({ ready: true, want: 2, copies: 2, degraded: true });
    await listed("e2", ["n3"], []);
    expect(await ask()).toMatchObject({ ready: false, want: 3, copies: 2 });
    await depotSilent(database.pool, "n3", "depot_unreachable: gone");
    expect(await ask()).toMatchObject({ ready: true, want: 2 });
    await depotSilent(database.pool, "n2", "depot_unreachable: gone");
    expect(await ask()).toMatchObject({ ready: true, want: 1, copies: 1 });
  });
  test("a revoked release is never ready", async () => {
    const { sha256 } = await given("0.1.0", Buffer.from("linux"));
    await listed("e1", ["n1"], [sha256]);
    await database.pool.query("update releases set revoked_at = now(), revoked_reason = 'bad'");
    expect(await ask()).toMatchObject({ ready: false, failed: { code: "artifact_revoked" } });
    await database.pool.query("update releases set revoked_at = null");
  });
});
