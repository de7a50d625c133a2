/** Release discovery against sources as they are: web servers and folders; what it tells, over API, events and myrctl. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createArtifactSource } from "../../src/activities/artifact-source.ts";
import { createArtifactActivities, type ArtifactDeps } from "../../src/activities/artifacts.ts";
import { createDiscoveryActivities, type DiscoveryDeps } from "../../src/activities/release-discovery.ts";
import { createReleaseIndex } from "../../src/activities/release-index.ts";
import type { noticePage } from "../../src/domain/rest/notice.ts";
import { transaction } from "../../src/store/database.ts";
import { openNotice } from "../../src/store/notices.ts";
import { revokeRelease, unrevokeRelease } from "../../src/store/releases.ts";
import type { z } from "zod";
import { insertHosts, insertSnapshot } from "../support/api-rows.ts";
import { createTestApi, type TestApi } from "../support/api.ts";
import { myrctl } from "../support/myrctl.ts";

let api: TestApi;
let folder: string;
let web: Server;
let base: string;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
const asked: string[] = [];
const source = createArtifactSource({ idleTimeoutMs: 2_000 });
const index = createReleaseIndex({ maxMs: 2_000 });
const quiet = (): undefined => undefined;
const EVERY_MS = 21_600_000;
const DIST = "otelcol-contrib";

beforeAll(async () => {
  api = await createTestApi();
  await insertHosts(api.database.pool);
  await insertSnapshot(api.database.pool); // fleet demo wants otelcol-contrib 0.162.0
  await api.app.listen({ host: "127.0.0.1", port: 0 });
  folder = await mkdtemp(join(tmpdir(), "myriarch-discovery-"));
  await writeFile(join(folder, "token"), api.tokens.operator, { mode: 0o600 });
  web = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    answer(request, response);
  });
  await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
});
afterAll(async () => {
  web.closeAllConnections();
  await new Promise((resolve) => web.close(resolve));
  await Promise.all([source.close(), index.close()]);
  await rm(folder, { recursive: true });
  await api.close();
});
beforeEach(() => {
  asked.length = 0;
});
afterEach(async () => {
  await api.database.pool.query("delete from notices");
  await api.database.pool.query("delete from release_discovery");
  await api.database.pool.query("delete from releases");
});

const look = (settings: Partial<DiscoveryDeps["settings"]> = {}) =>
  createDiscoveryActivities({
    pool: api.database.pool,
    now: () => api.clock.now,
    log: { info: quiet, warn: quiet, error: quiet },
    index,
    source,
    settings: { sourceBaseUrl: `${base}/mirror`, discoverEveryMs: EVERY_MS, ...settings },
  }).discoverReleases();
type Page = z.output<typeof noticePage>;
const notices = async (query = ""): Promise<Page> => {
  const response = await api.app.inject({ url: `/api/v1/notices${query}`, headers: api.as.viewer });
  expect(response.statusCode).toBe(200);
  return response.json();
};
const ctl = (...argv: string[]) => {
  const { port } = api.app.server.address() as AddressInfo;
  return myrctl(argv, { MYRIARCH_SERVER: `http://127.0.0.1:${port}`, MYRIARCH_TOKEN_FILE: join(folder, "token") });
};

/** A mirror with these releases; of those in `bare` archives are listed and their files are not there yet. */
function mirror(versions: readonly string[], { bare = [] as readonly string[], distribution = DIST } = {}) {
  const files = new Set(
    versions
      .filter((version) => !bare.includes(version))
      .flatMap((version) => {
        const asset = `/mirror/v${version}/${distribution}_${version}_linux_amd64.tar.gz`;
        return [`${asset}.sha256`, `${asset}.sigstore.json`];
      }),
  );
  const listing = `<html><pre>${versions.map((version) => `<a href="v${version}/">v${version}/</a>`).join("\n")}</pre></html>`;
  const etag = `"${versions.join("-")}"`;
  return (request: IncomingMessage, response: ServerResponse): void => {
    if (files.has(request.url ?? "")) return void response.end("content");
    if (request.url !== "/mirror/") return void response.writeHead(404).end();
    if (request.headers["if-none-match"] === etag) return void response.writeHead(304, { etag }).end();
    response.writeHead(200, { etag, "content-type": "text/html" }).end(listing);
  };
}

describe("a newer release", () => {
  test("is told once, with the fleets that are older; nothing of it is fetched", async () => {
    answer = mirror(["0.161.0", "0.162.0", "0.163.0"]);
    expect(await look()).toEqual({
      state: "looked",
      releases: 3,
      told: [{ distribution: DIST, version: "0.163.0" }],
      againMs: EVERY_MS,
    });
    const { items, discovery } = await notices();
    expect(items).toMatchObject([
      {
        kind: "release_available",
        state: "open",
        text: "otelcol-contrib 0.163.0 is out; fleet demo is at 0.162.0",
        fleets: [{ fleet: "demo", version: "0.162.0" }],
        acknowledged: null,
      },
    ]);
    expect(discovery).toMatchObject({ source: `${base}/mirror/`, newest: "0.163.0", error: null });
    expect(await look()).toMatchObject({ told: [] });
    expect((await notices()).items).toHaveLength(1);
    expect(asked.filter((line) => line.endsWith(".tar.gz"))).toEqual([]);
    const { rows } = await api.database.pool.query("select from artifacts union all select from releases");
    expect(rows).toEqual([]);
  });

  test("supersedes the one before; what an unchanged source said is kept", async () => {
    answer = mirror(["0.163.0"]);
    await look();
    expect(await look()).toMatchObject({ state: "looked", releases: 1 }); // 304
    answer = mirror(["0.163.0", "0.164.0"]);
    await look();
    const { items } = await notices("?state=all");
    expect(items.map(({ version, state }) => [version, state])).toEqual([
      ["0.164.0", "open"],
      ["0.163.0", "superseded"],
    ]);
    expect(items[1]?.supersededBy).toBe(items[0]?.id);
    answer = mirror(["0.163.0"]); // the source forgot the newest: no older one is news
    expect(await look()).toMatchObject({ told: [] });
  });

  test("is not told before its files are there, and then it is", async () => {
    answer = mirror(["0.163.0", "0.164.0"], { bare: ["0.164.0"] });
    expect(await look()).toMatchObject({ told: [{ version: "0.163.0" }] });
    answer = mirror(["0.163.0", "0.164.0"]);
    expect(await look()).toMatchObject({ told: [{ version: "0.164.0" }] });
  });

  test("of a distribution that no fleet uses is not asked about", async () => {
    answer = mirror(["0.163.0"], { distribution: "otelcol" });
    expect(await look()).toMatchObject({ state: "looked", told: [] });
    expect(asked).toEqual(["GET /mirror/", expect.stringContaining(`/v0.163.0/${DIST}_`)]);
  });

  test("that was revoked is none", async () => {
    const release = { distribution: DIST, version: "0.163.0" };
    const entry = { at: api.clock.now.toISOString(), by: "ada", reason: "eats disks" };
    await transaction(api.database.pool, (tx) => revokeRelease(tx, release, entry, api.clock.now));
    answer = mirror(["0.163.0"]);
    expect(await look()).toMatchObject({ told: [] });
  });

  test("is settled as soon as Git has moved, without another look", async () => {
    answer = mirror(["0.163.0"]);
    await look();
    const move = (version: string) =>
      api.database.pool.query(
        `update snapshots set objects = jsonb_set(objects, '{0,spec,version,target}', $1::jsonb)`,
        [JSON.stringify(version)],
      );
    await move("0.163.0");
    expect((await notices()).items).toEqual([]);
    expect((await notices("?state=settled")).items).toMatchObject([
      { settled: "no fleet of otelcol-contrib is older" },
    ]);
    await move("0.162.0");
    expect((await notices()).items).toHaveLength(1);
  });
});

describe("a source", () => {
  test("that is a folder is read, with no server and no feed", async () => {
    for (const version of ["0.162.0", "0.163.0"]) {
      const release = join(folder, "carried in", `v${version}`);
      await mkdir(release, { recursive: true });
      for (const end of [".sha256", ".sigstore.json"])
        await writeFile(join(release, `${DIST}_${version}_linux_amd64.tar.gz${end}`), "content");
    }
    const sourceBaseUrl = pathToFileURL(join(folder, "carried in")).href;
    expect(await look({ sourceBaseUrl })).toMatchObject({ releases: 2, told: [{ version: "0.163.0" }] });
    expect(await look({ sourceBaseUrl: pathToFileURL(join(folder, "gone")).href })).toMatchObject({
      state: "failed",
      code: "artifact_unreachable",
    });
  });

  test("with a feed of its own is asked there", async () => {
    const files = mirror(["0.163.0"]);
    answer = (request, response) =>
      request.url === "/releases.atom"
        ? response.end('<feed><entry><link href="https://git.example/o/r/releases/tag/v0.163.0"/></entry></feed>')
        : files(request, response);
    expect(await look({ releasesFeedUrl: `${base}/releases.atom` })).toMatchObject({ told: [{ version: "0.163.0" }] });
    expect(asked).not.toContain("GET /mirror/");
  });

  test.each([
    ["lists nothing", 404, "", "release_index_missing"],
    ["wants a credential", 403, "", "release_index_missing"],
    ["is broken", 500, "", "artifact_unreachable"],
    ["asks for patience", 429, "", "artifact_unreachable"],
    ["answers another page", 200, "please sign in", "release_index_malformed"],
    ["says too much", 200, `<html>${" ".repeat(5 * 1024 ** 2)}</html>`, "release_index_malformed"],
  ])("that %s fails with its cause, is asked again sooner, and loses nothing", async (_, status, body, code) => {
    answer = mirror(["0.163.0"]);
    await look();
    answer = (_request, response) => void response.writeHead(status).end(body);
    expect(await look()).toMatchObject({ state: "failed", code, againMs: 900_000 });
    const { items, discovery } = await notices();
    expect(items).toHaveLength(1);
    expect(discovery).toMatchObject({ newest: "0.163.0", error: { code } });
    const said = await ctl("notices", "list");
    expect(said.out).toContain(`(${code})`);
    answer = mirror(["0.163.0"]);
    expect(await look()).toMatchObject({ state: "looked" });
    expect((await notices()).discovery?.error).toBeNull();
  });

  test("that never ends its answer is given up in time", async () => {
    answer = (_request, response) => void response.writeHead(200).write("<html>");
    expect(await look()).toMatchObject({ state: "failed", code: "artifact_unreachable" });
  });

  test("that leads to another scheme is not followed", async () => {
    answer = (_request, response) => void response.writeHead(302, { location: "file:///etc/passwd" }).end();
    expect(await look()).toMatchObject({ state: "failed", code: "artifact_redirect_refused" });
  });

  test("is not asked when that is switched off, or no fleet has a version", async () => {
    expect(await look({ discoverEveryMs: 0 })).toEqual({ state: "off", againMs: 0 });
    await api.database.pool.query("update snapshots set objects = objects #- '{0,spec,version}'");
    expect(await look()).toEqual({ state: "unused", againMs: 900_000 });
    await api.database.pool.query("delete from snapshots");
    await insertSnapshot(api.database.pool);
    expect(asked).toEqual([]);
  });
});

describe("a notice", () => {
  const acknowledge = (id: string, role: "viewer" | "operator", body?: object) =>
    api.app.inject({
      method: "POST",
      url: `/api/v1/notices/${id}/acknowledge`,
      headers: api.as[role],
      ...(body && { payload: body }),
    });
  const open = async (kind: Parameters<typeof openNotice>[1], version: string): Promise<string> => {
    await transaction(api.database.pool, (tx) => openNotice(tx, kind, { distribution: DIST, version }, api.clock.now));
    const { rows } = await api.database.pool.query<{ id: bigint }>("select max(id) as id from notices");
    return String(rows[0]?.id);
  };

  test("is acknowledged by an operator, once, and audited; a viewer may not", async () => {
    const id = await open("release_available", "0.163.0");
    expect((await acknowledge(id, "viewer")).statusCode).toBe(403);
    const first = await acknowledge(id, "operator", { comment: "next week" });
    expect(first.json()).toMatchObject({
      changed: true,
      notice: { state: "acknowledged", acknowledged: { by: "operator-owner", comment: "next week" } },
    });
    expect((await acknowledge(id, "operator", { comment: "again" })).json()).toMatchObject({
      changed: false,
      notice: { acknowledged: { comment: "next week" } },
    });
    expect((await notices()).items).toEqual([]);
    expect((await notices("?state=acknowledged")).items).toHaveLength(1);
    const { rows } = await api.database.pool.query(
      "select principal, outcome, detail->>'changed' as changed from audit where object = $1 order by seq",
      [`notice/${id}`],
    );
    expect(rows).toEqual([
      { principal: "operator-owner", outcome: "accepted", changed: "true" },
      { principal: "operator-owner", outcome: "accepted", changed: "false" },
    ]);
    expect((await acknowledge("999999", "operator")).json()).toMatchObject({ status: 404, code: "not_found" });
    expect((await acknowledge("x", "operator")).statusCode).toBe(400);
    expect((await acknowledge(id, "operator", { coment: "typo" })).statusCode).toBe(400);
  });

  test("is an event when it opens and when it is acknowledged", async () => {
    const seen: object[] = [];
    const both = Promise.withResolvers<void>();
    const stop = await api.hub.subscribe((event) => {
      if (event.kind !== "stored" || event.event.topic !== "notices") return;
      if (seen.push(event.event.data) === 2) both.resolve();
    });
    const id = await open("release_available", "0.163.0");
    expect((await acknowledge(id, "operator")).statusCode).toBe(200);
    await both.promise;
    stop();
    const what = { id, kind: "release_available", distribution: DIST, version: "0.163.0" };
    expect(seen).toEqual([
      { ...what, state: "open" },
      { ...what, state: "acknowledged" },
    ]);
  });

  test("of a revoked release says who runs it, and comes anew when it is revoked again", async () => {
    const release = { distribution: DIST, version: "0.162.0" };
    const entry = { at: api.clock.now.toISOString(), by: "ada", reason: "eats disks" };
    const { pool } = api.database;
    await transaction(pool, (tx) => revokeRelease(tx, release, entry, api.clock.now));
    const [first] = (await notices()).items;
    expect(first).toMatchObject({
      kind: "release_revoked",
      text: "otelcol-contrib 0.162.0 was revoked by ada: eats disks; 1 host runs it: demo 1; Git still wants it for fleet demo",
      hosts: [{ fleet: "demo", hosts: 1 }],
    });
    await acknowledge(first?.id ?? "", "operator");
    await transaction(pool, (tx) => unrevokeRelease(tx, release, entry, api.clock.now));
    expect((await notices("?state=settled")).items).toMatchObject([{ settled: "it is allowed again" }]);
    await transaction(pool, (tx) => revokeRelease(tx, release, { ...entry, reason: "still" }, api.clock.now));
    expect((await notices()).items).toMatchObject([{ id: first?.id, acknowledged: null }]);
    await transaction(pool, (tx) => revokeRelease(tx, release, entry, api.clock.now)); // changes nothing
    expect((await notices()).items).toHaveLength(1);
  });

  test("of a release that cannot be installed comes with the end of its fetch, and goes with its files", async () => {
    const { pool } = api.database;
    const { rows } = await pool.query<{ id: string }>(
      `insert into artifacts (distribution, version, os, arch, file_name, source_url)
       values ($1, '0.162.0', 'linux', 'amd64', 'x.tar.gz', 'file:///x') returning id`,
      [DIST],
    );
    const id = rows[0]?.id ?? "";
    const log = { info: quiet, warn: quiet, error: quiet };
    const { giveUpArtifact } = createArtifactActivities({
      pool,
      log,
      source,
      now: () => api.clock.now,
    } as unknown as ArtifactDeps);
    await giveUpArtifact(id, { code: "digest_mismatch", message: "other bytes" });
    expect((await notices()).items).toEqual([]);
    const message = "release too old or incomplete: .sigstore.json of x.tar.gz does not exist";
    await giveUpArtifact(id, { code: "artifact_incomplete", message });
    expect((await notices()).items).toMatchObject([
      {
        kind: "release_too_old",
        text: `otelcol-contrib 0.162.0 cannot be installed: ${message}; Git wants it for fleet demo`,
      },
    ]);
    await pool.query("update artifacts set state = 'fetching', error_code = null, error_message = null");
    expect((await notices()).items).toHaveLength(1); // tried again is not mended
    await pool.query("update artifacts set state = 'verified'");
    expect((await notices("?state=settled")).items).toMatchObject([{ settled: "it is complete now" }]);
    await pool.query("delete from artifacts");
  });

  test("lists in pages, whatever states lie between", async () => {
    for (let patch = 0; patch < 7; patch++) {
      const id = await open("release_available", `0.163.${patch}`);
      if (patch % 3 === 1) await acknowledge(id, "operator");
    }
    const versions: string[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const { items, next }: Page = await notices(`?limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`);
      versions.push(...items.map(({ version }) => version));
      cursor = next;
    }
    expect(versions).toEqual(["0.163.6", "0.163.5", "0.163.3", "0.163.2", "0.163.0"]);
    expect((await notices("?kind=release_revoked&state=all")).items).toEqual([]);
  });

  test("reads and is acknowledged by myrctl", async () => {
    expect((await ctl("notices", "list")).out).toBe("nothing new\n\nnobody has looked for new releases yet\n");
    answer = mirror(["0.163.0"]);
    await look();
    const listed = await ctl("notices", "list");
    const id = (await notices()).items[0]?.id ?? "";
    expect(listed.out).toBe(
      `ID${" ".repeat(Math.max(id.length, 2) - 2)}  SINCE                 STATE  KIND               WHAT\n` +
        `${id.padEnd(2)}  2026-11-29 02:14:07Z  open   release_available  otelcol-contrib 0.163.0 is out; fleet demo is at 0.162.0\n` +
        `\nlooked for new releases 2026-11-29 02:14:07Z at ${base}/mirror/: the newest is 0.163.0\n`,
    );
    expect(await ctl("notices", "ack", id, "--comment", "next week")).toMatchObject({
      code: 0,
      out: `notice ${id} acknowledged: otelcol-contrib 0.163.0 is out; fleet demo is at 0.162.0\n`,
    });
    expect((await ctl("notices", "ack", id)).out).toContain("was acknowledged by operator-owner already");
    expect((await ctl("notices", "ack", "999999")).code).toBe(1);
    expect((await ctl("notices", "list", "--state", "new")).code).toBe(2);
    const json = await ctl("--json", "notices", "list", "--state", "all");
    expect(JSON.parse(json.out)).toMatchObject({ items: [{ id, state: "acknowledged" }] });
  });
});
