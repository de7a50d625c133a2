/** Releases that an operator brings in: the same verification as a fetch, durable before it is said, all of it or nothing. */
import { createHash } from "node:crypto";
import { copyFile, readdir, readFile, rm, stat, truncate, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { transaction } from "../../src/store/database.ts";
import { readWantedSet } from "../../src/store/depots.ts";
import { releasable } from "../../src/store/staging.ts";
import { noteDraining } from "../../src/store/workers.ts";
import { unwantRelease } from "../../src/store/wanted-set.ts";
import { createUploadWorld, HOLDER, startCuttingProxy, uploadStore, type UploadWorld } from "../support/uploads.ts";

let world: UploadWorld;
beforeAll(async () => {
  world = await createUploadWorld();
});
afterAll(() => world.close());
afterEach(async () => {
  vi.restoreAllMocks();
  await world.pool.query(
    "delete from artifacts; delete from releases; delete from uploads; delete from staging; delete from depots",
  );
  for (const name of await readdir(world.stagingDir))
    if (name !== "staging-id") await rm(join(world.stagingDir, name), { recursive: true });
  world.poked.length = 0;
});

type Row = { os: string; state: string; wanted: boolean; sha256: string; identity: string };
async function artifacts(): Promise<Row[]> {
  const { rows } = await world.pool.query<Row>(
    `select os, state, wanted, encode(sha256, 'hex') as sha256, verification->>'identity' as identity from artifacts
     order by os, arch`,
  );
  return rows;
}
const generation = async (): Promise<number> => (await readWantedSet(world.pool)).generation;
const sha256 = async (path: string): Promise<string> =>
  createHash("sha256")
    .update(await readFile(path))
    .digest("hex");
const archive = (folder: string, version: string, platform = "linux_amd64"): string =>
  join(folder, `otelcol-contrib_${version}_${platform}.tar.gz`);
async function describeFiles(folder: string) {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".tar.gz"));
  return Promise.all(
    names.map(async (fileName) => ({
      fileName,
      sizeBytes: (await stat(join(folder, fileName))).size,
      checksum: await readFile(join(folder, `${fileName}.sha256`), "utf8"),
      bundle: await readFile(join(folder, `${fileName}.sigstore.json`), "utf8"),
    })),
  );
}
async function open(folder: string, version: string, change: object = {}) {
  const files = (await describeFiles(folder)).map((file) => ({ ...file, ...change }));
  return world.api.app.inject({
    method: "POST",
    url: "/api/v1/releases",
    headers: world.api.as.admin,
    payload: { distribution: "otelcol-contrib", version, files },
  });
}

describe("a folder", () => {
  test("of all platforms becomes a release at once: verified, wanted, staged, audited, replication told", async () => {
    const before = await generation();
    const folder = await world.publish("0.162.0", { platforms: ["linux_amd64", "windows_arm64"] });
    const said = await world.myrctl(["artifacts", "upload", folder]);
    expect(said).toMatchObject({
      code: 0,
      out: expect.stringMatching(/0\.162\.0: 2 archives verified and staged/) as string,
    });
    expect(said.err).toMatch(/linux_amd64\.tar\.gz: 0\.0 MiB, verified and staged\n.*windows_arm64/s);
    const identity = expect.stringMatching(/@refs\/tags\/v0\.162\.0$/) as string;
    const digests = [
      await sha256(archive(folder, "0.162.0")),
      await sha256(archive(folder, "0.162.0", "windows_arm64")),
    ];
    expect(await artifacts()).toEqual([
      { os: "linux", state: "verified", wanted: true, sha256: digests[0], identity },
      { os: "windows", state: "verified", wanted: true, sha256: digests[1], identity },
    ]);
    expect(await generation()).toBe(before + 1);
    for (const digest of digests) expect(await sha256(join(world.stagingDir, digest))).toBe(digest);
    expect((await world.pool.query("select holder from staging")).rows).toEqual([
      { holder: HOLDER },
      { holder: HOLDER },
    ]);
    expect(world.poked).toEqual(["upload of otelcol-contrib 0.162.0"]);
    const audit = await world.pool.query(
      "select principal, action, outcome, detail->'files'->0->>'sha256' as sha from audit where action like 'release.upload%' order by seq desc limit 2",
    );
    expect(audit.rows).toEqual([
      { principal: "admin-owner", action: "release.upload", outcome: "accepted", sha: digests[0] },
      { principal: "admin-owner", action: "release.upload.open", outcome: "accepted", sha: digests[0] },
    ]);
  });

  test("that is sent again is harmless, and feeds replication again", async () => {
    const folder = await world.publish("0.162.0");
    await world.myrctl(["artifacts", "upload", folder]);
    const at = await generation();
    // replicated meanwhile, and lost since: rows know the bytes, nobody has them
    await world.pool.query("delete from staging");
    const again = await world.myrctl(["artifacts", "upload", folder]);
    expect(again).toMatchObject({ code: 0, out: expect.stringContaining("were known already") as string });
    expect(await generation()).toBe(at);
    expect((await world.pool.query("select from staging")).rowCount).toBe(1);
    expect(world.poked).toHaveLength(2);
  });

  test("of a deleted release brings it back, with a higher generation", async () => {
    const folder = await world.publish("0.162.0");
    await world.myrctl(["artifacts", "upload", folder]);
    await transaction(world.pool, (tx) =>
      unwantRelease(tx, { distribution: "otelcol-contrib", version: "0.162.0" }, "test"),
    );
    const at = await generation();
    expect(await artifacts()).toMatchObject([{ state: "removed", wanted: false }]);
    expect(await world.myrctl(["artifacts", "upload", folder])).toMatchObject({ code: 0 });
    expect(await artifacts()).toMatchObject([{ state: "verified", wanted: true }]);
    expect(await generation()).toBe(at + 1);
  });
});

describe("a cut", () => {
  test("in the middle costs what was on the way: the upload goes on where it was", async () => {
    const folder = await world.publish("0.162.0", { bytes: 3_000_000 });
    const proxy = await startCuttingProxy(world.server, 1_500_000);
    try {
      const said = await world.myrctl(["artifacts", "upload", folder], { server: proxy.url });
      expect(said).toMatchObject({ code: 0, err: expect.stringContaining("trying again") as string });
      expect(proxy.sent()).toBeLessThan(4_400_000);
    } finally {
      proxy.close();
    }
    const digest = await sha256(archive(folder, "0.162.0"));
    expect(await sha256(join(world.stagingDir, digest))).toBe(digest);
  });

  test("leaves nothing visible before everything is there, whoever asks", async () => {
    const folder = await world.publish("0.162.0", { platforms: ["linux_amd64", "linux_arm64"] });
    const opened = (await open(folder, "0.162.0")).json<{ id: string }>();
    const put = await world.api.app.inject({
      method: "PUT",
      url: `/api/v1/uploads/${opened.id}/otelcol-contrib_0.162.0_linux_amd64.tar.gz?offset=0`,
      headers: { ...world.api.as.admin, "content-type": "application/octet-stream" },
      payload: await readFile(archive(folder, "0.162.0")),
    });
    expect(put.json()).toMatchObject({ staged: true });
    const finish = () =>
      world.api.app.inject({ method: "POST", url: `/api/v1/uploads/${opened.id}/finish`, headers: world.api.as.admin });
    expect((await finish()).json()).toMatchObject({
      code: "upload_unfinished",
      detail: expect.stringContaining("linux_arm64") as string,
    });
    expect(await artifacts()).toEqual([]);
    const { json } = await world.api.app.inject({ url: "/api/v1/releases", headers: world.api.as.viewer });
    expect(json()).toEqual({ items: [] });
    // what is staged of it is not released as something that nobody wants, and goes on after a restart
    const proof = { execution: "e", generation: await generation(), minCopies: 3 };
    expect(await releasable(world.pool, HOLDER, proof)).toEqual([]);
    expect(await world.myrctl(["artifacts", "upload", folder])).toMatchObject({ code: 0 });
    expect(await artifacts()).toHaveLength(2);
    expect((await finish()).statusCode).toBe(404);
  });

  test("between the last byte and its name is mended by an empty piece", async () => {
    const folder = await world.publish("0.162.0");
    const digest = await sha256(archive(folder, "0.162.0"));
    await open(folder, "0.162.0");
    await uploadStore(world.stagingDir, world.pool).append(
      {
        fileName: "x",
        sha256: digest,
        sizeBytes: 1e9,
        offset: 0,
        body: chunks(await readFile(archive(folder, "0.162.0"))),
      },
      HOLDER,
    );
    expect((await open(folder, "0.162.0")).json()).toMatchObject({ files: [{ staged: false }] });
    expect(await world.myrctl(["artifacts", "upload", folder])).toMatchObject({ code: 0 });
  });

  test("that left wrong bytes begins anew", async () => {
    const folder = await world.publish("0.162.0", { bytes: 5_000 });
    const digest = await sha256(archive(folder, "0.162.0"));
    await uploadStore(world.stagingDir, world.pool).append(
      { fileName: "x", sha256: digest, sizeBytes: 1e9, offset: 0, body: chunks(Buffer.alloc(1_000)) },
      HOLDER,
    );
    const said = await world.myrctl(["artifacts", "upload", folder]);
    expect(said).toMatchObject({ code: 0, err: expect.stringContaining("expected") as string });
    expect(await sha256(join(world.stagingDir, digest))).toBe(digest);
  });

  test("that nobody goes on with for a day is removed", async () => {
    const folder = await world.publish("0.162.0");
    const store = uploadStore(world.stagingDir, world.pool);
    for (const digest of ["a".repeat(64), "b".repeat(64)])
      await store.append(
        { fileName: "x", sha256: digest, sizeBytes: 10, offset: 0, body: chunks(Buffer.alloc(1)) },
        HOLDER,
      );
    const old = new Date(Date.now() - 25 * 3_600_000);
    await utimes(join(world.stagingDir, "partial", `upload-${"a".repeat(64)}`), old, old);
    await open(folder, "0.162.0");
    expect(await readdir(join(world.stagingDir, "partial"))).toEqual([`upload-${"b".repeat(64)}`]);
  });

  test("two at once: one writes, the other hears that it does", async () => {
    const store = uploadStore(world.stagingDir, world.pool);
    const piece = { fileName: "x.tar.gz", sha256: "c".repeat(64), sizeBytes: 10, offset: 0 };
    let begun = (): void => undefined;
    let goOn = (): void => undefined;
    const first = new Promise<void>((resolve) => (begun = resolve));
    const held = new Promise<void>((resolve) => (goOn = resolve));
    async function* slowly() {
      yield Buffer.alloc(1);
      begun();
      await held;
      yield Buffer.alloc(1);
    }
    const writing = store.append({ ...piece, body: slowly() }, HOLDER);
    await first;
    await expect(store.append({ ...piece, body: chunks(Buffer.alloc(1)) }, HOLDER)).rejects.toMatchObject({
      code: "upload_busy",
    });
    goOn();
    expect(await writing).toBe(2);
  });
});

describe("refused with its cause, before a byte of it is sent", () => {
  const refusal = async (folder: string, more: string[] = []) => {
    const said = await world.myrctl(["artifacts", "upload", folder, ...more]);
    expect(await artifacts()).toEqual([]);
    expect(await readdir(world.stagingDir)).toEqual(["staging-id"]);
    return said;
  };

  test.each([
    [".sha256", /0_linux_amd64\.tar\.gz\.sha256 is missing/],
    [".sigstore.json", /0_linux_amd64\.tar\.gz\.sigstore\.json is missing/],
    ["", /0_linux_amd64\.tar\.gz is missing/],
  ])("a folder without %s", async (suffix, expected) => {
    const folder = await world.publish("0.162.0");
    await rm(archive(folder, "0.162.0") + suffix);
    expect(await refusal(folder)).toMatchObject({ code: 2, err: expect.stringMatching(expected) as string });
  });

  test("an archive that was damaged on its way", async () => {
    const folder = await world.publish("0.162.0");
    await truncate(archive(folder, "0.162.0"), 100);
    expect(await refusal(folder)).toMatchObject({ code: 2, err: expect.stringContaining("is damaged") as string });
  });

  test.each([
    [
      "signed for another version",
      { tag: "v0.161.0" },
      /signed another release than v0\.162\.0 \(identity_version_mismatch\)/,
    ],
    [
      "signed by somebody else",
      { identity: "https://github.com/someone/else/.github/workflows/base-release.yaml@refs/tags/v0.162.0" },
      /is not accepted \(identity_mismatch\)/,
    ],
  ])("what is %s", async (_, sign: { tag?: string; identity?: string }, expected) => {
    const folder = await world.publish("0.162.0", { sign });
    const said = await refusal(folder.replace(/v0\.162\.0$/, sign.tag ?? "v0.162.0"));
    expect(said).toMatchObject({ code: 1, err: expect.stringMatching(expected) as string });
    expect(said.err).toContain("otelcol-contrib_0.162.0_linux_amd64.tar.gz is refused");
    const { rows } = await world.pool.query("select outcome, code from audit order by seq desc limit 1");
    expect(rows).toEqual([{ outcome: "refused", code: "upload_refused" }]);
  });

  test.each([
    ["solaris_sparc", /no archive exists for platform solaris_sparc/],
    ["linux_x64", /no archive exists for platform linux_x64/],
  ])("the platform %s", async (platform, expected) => {
    const folder = await world.publish("0.162.0", { platforms: [platform] });
    expect(await refusal(folder)).toMatchObject({ code: 2, err: expect.stringMatching(expected) as string });
  });

  test("a folder with two versions, an empty one, one with a strange name", async () => {
    const folder = await world.publish("0.162.0");
    const other = await world.publish("0.163.0");
    for (const name of await readdir(other)) await copyFile(join(other, name), join(folder, name));
    expect((await refusal(folder)).err).toMatch(
      /more than one release \(otelcol-contrib 0\.162\.0, otelcol-contrib 0\.163\.0\)/,
    );
    const empty = await world.publish("0.164.0", { platforms: [] });
    expect((await refusal(empty)).err).toContain("holds no archive named");
    await writeFile(join(empty, "collector.tar.gz"), "");
    expect((await refusal(empty)).err).toContain("collector.tar.gz is not named");
    expect((await refusal(join(empty, "nowhere"))).err).toContain("cannot be read");
  });

  test("the version of a name that is not that of the request, and an archive above 1 GiB", async () => {
    const folder = await world.publish("0.162.0");
    expect((await open(folder, "0.163.0")).json()).toMatchObject({ code: "invalid_request" });
    expect((await open(folder, "0.162.0", { sizeBytes: 1024 ** 3 + 1 })).json()).toMatchObject({
      code: "artifact_too_large",
    });
    expect((await open(folder, "0.162.0", { checksum: "none" })).json()).toMatchObject({ code: "checksum_malformed" });
  });

  test("the same version with other bytes, also when it was deleted meanwhile", async () => {
    await world.myrctl(["artifacts", "upload", await world.publish("0.162.0")]);
    const other = await world.publish("0.162.0");
    const refused = { code: 1, err: expect.stringContaining("artifact_changed") as string };
    expect(await world.myrctl(["artifacts", "upload", other])).toMatchObject(refused);
    await transaction(world.pool, (tx) =>
      unwantRelease(tx, { distribution: "otelcol-contrib", version: "0.162.0" }, "t"),
    );
    expect(await world.myrctl(["artifacts", "upload", other])).toMatchObject(refused);
  });

  test("everybody but an admin", async () => {
    const folder = await world.publish("0.162.0");
    expect(await world.myrctl(["artifacts", "upload", folder], { role: "operator" })).toMatchObject({ code: 1 });
    const put = await world.api.app.inject({
      method: "PUT",
      url: `/api/v1/uploads/${"0".repeat(32)}/x?offset=0`,
      headers: world.api.as.operator,
    });
    expect(put.statusCode).toBe(403);
  });

  test("what would not fit: into this host's staging, onto the depots", async () => {
    const folder = await world.publish("0.162.0");
    vi.spyOn(world.store, "freeBytes").mockResolvedValueOnce(64 * 1024 ** 2);
    expect((await open(folder, "0.162.0")).json()).toMatchObject({
      status: 507,
      code: "upload_no_room",
      detail: expect.stringMatching(
        /upload would not fit: the staging folder of this host has 64\.0 MiB free/,
      ) as string,
    });
    await world.pool.query(
      `insert into depots (node_id, control_url, read_url, answered_at, disks) values
         ('d1', 'http://d1', 'http://d1', now(), '[{"path": "/a", "state": "ok", "freeBytes": 10}]'),
         ('d2', 'http://d2', 'http://d2', now(), '[{"path": "/a", "state": "ok", "freeBytes": 9}, {"path": "/b", "state": "ok", "freeBytes": 1000000}]')`,
    );
    expect((await open(folder, "0.162.0")).json()).toMatchObject({
      status: 507,
      detail: expect.stringMatching(/2 depots need 0\.0 MiB each, and these have not: d1 \(0\.0 MiB free\)$/) as string,
    });
    // one that does not answer is not asked for room
    await world.pool.query("update depots set error = 'away' where node_id = 'd1'");
    expect((await open(folder, "0.162.0")).statusCode).toBe(200);
  });

  test("by a host without a worker, or whose worker is about to end", async () => {
    const folder = await world.publish("0.162.0");
    const { id } = world.worker;
    await noteDraining(world.pool, id, new Date(), new Date());
    const expected = { status: 503, code: "no_staging_here" };
    expect((await open(folder, "0.162.0")).json()).toMatchObject(expected);
    await world.pool.query("update workers set draining_since = null, id = gen_random_uuid()::text where id = $1", [
      id,
    ]);
    expect((await open(folder, "0.162.0")).json()).toMatchObject(expected);
    await world.pool.query("update workers set id = $1, staging = gen_random_uuid()", [id]);
    expect((await open(folder, "0.162.0")).json()).toMatchObject(expected);
    await world.pool.query("update workers set staging = $1", [await world.store.stagingId()]);
    expect((await open(folder, "0.162.0")).statusCode).toBe(200);
  });
});

async function* chunks(...parts: Buffer[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}
