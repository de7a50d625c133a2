/** What operators see and do: pins, the dry run of retention, drain, removal, words, matrix, history, explanations. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { artifactRoutes } from "../../src/api/routes/artifacts.ts";
import type { DepotClient } from "../../src/depot/client.ts";
import { transaction } from "../../src/store/database.ts";
import { copyMade, depotSilent, endWork, savePlan } from "../../src/store/depots.ts";
import { noteWords } from "../../src/store/replication-history.ts";
import { createTestApi, type TestApi } from "../support/api.ts";
import { insertHosts } from "../support/api-rows.ts";
import { givenArtifact, givenListing } from "../support/kept-rows.ts";

const MIN_COPIES = 2;
let api: TestApi;
let temporalAnswers = true;
const woken: string[] = [];
const FINDINGS = {
  life: "l1",
  count: 1,
  recent: [{ n: 1, at: "2026-11-29T02:00:00.000Z", kind: "corrupt", sha256: "ab".repeat(32), disk: "/a" }],
};
beforeAll(async () => {
  const status = async () => ({ ...STATUS, findings: FINDINGS });
  api = await createTestApi({
    guarded: (pool) => [
      artifactRoutes({
        pool,
        now: () => api.clock.now,
        minCopies: MIN_COPIES,
        keepForMs: 30 * 86_400_000,
        wakeReplication: async (cause) => {
          if (!temporalAnswers) throw new Error("gone");
          woken.push(cause);
        },
        depotClient: () => ({ status }) as unknown as DepotClient,
      }),
    ],
  });
});
const STATUS = {
  config: null,
  problem: null,
  disks: [],
  transfers: [],
  scrub: {
    running: null,
    lightEndedAt: null,
    deepEndedAt: null,
    found: { right: 0, wrong: 0, missing: 0, unreadable: 0 },
  },
};
afterAll(() => api.close());
beforeEach(() =>
  api.database.pool.query(
    `delete from artifacts; delete from releases; delete from release_pins; delete from depots; delete from agents;
     delete from replication_executions; delete from replication_history; delete from replication_words`,
  ),
);

type Role = "viewer" | "operator" | "admin";
const call = (method: "GET" | "POST" | "DELETE", url: string, payload?: object, role: Role = "admin") =>
  api.app.inject({ method, url: `/api/v1${url}`, headers: api.as[role], ...(payload && { payload }) });
const get = async <T>(url: string): Promise<T> => (await call("GET", url, undefined, "viewer")).json<T>();
const audits = async (action: string): Promise<unknown[]> =>
  (await api.database.pool.query("select object, detail from audit where action = $1 order by seq", [action])).rows;
const given = (version: string, content = version, arch?: string) =>
  givenArtifact(api.database.pool, version, content, { at: api.clock.now, ...(arch !== undefined && { arch }) });
const PIN = "/releases/otelcol-contrib/0.150.0/pin";

describe("a pin", () => {
  test("is made and taken by operators, with a reason and an end, audited; the dry run names it", async () => {
    await given("0.150.0");
    expect((await call("POST", PIN, {}, "viewer")).statusCode).toBe(403);
    const until = "2027-06-30T00:00:00.000Z";
    const made = await call("POST", PIN, { reason: "a host without network", until }, "operator");
    expect(made.json()).toEqual({
      distribution: "otelcol-contrib",
      version: "0.150.0",
      pinned: true,
      changed: true,
      until,
      archives: 1,
    });
    const { items } = await get<{ items: unknown[] }>("/releases/retention");
    expect(items).toMatchObject([
      {
        version: "0.150.0",
        decision: "keep",
        says: "stays: pinned by operator-owner: a host without network",
        needs: [{ kind: "pin" }],
        pin: { by: "operator-owner", until },
      },
    ]);
    expect((await call("DELETE", PIN, {}, "operator")).json()).toMatchObject({ pinned: false, changed: true });
    expect((await call("DELETE", PIN, {}, "operator")).json()).toMatchObject({ changed: false });
    expect(await audits("release.pin")).toMatchObject([
      { object: "release/otelcol-contrib/0.150.0", detail: { until } },
    ]);
  });
  test("is refused with an end in the past, for an unknown release, and with a field that there is not", async () => {
    await given("0.150.0");
    expect((await call("POST", PIN, { until: "2020-01-01T00:00:00Z" })).json()).toMatchObject({
      code: "invalid_request",
      detail: expect.stringContaining("in the past"),
    });
    expect((await call("POST", PIN, { forever: true })).statusCode).toBe(400);
    expect((await call("POST", "/releases/otelcol-contrib/9.9.9/pin", {})).statusCode).toBe(404);
  });
});

test("the dry run says since when nobody needs what, and until when it stays; asking changes nothing", async () => {
  await given("0.150.0");
  await given("0.162.0");
  await insertHosts(api.database.pool);
  const first = await get<{ items: { version: string; decision: string; until: string | null }[] }>(
    "/releases/retention",
  );
  expect(first.items).toMatchObject([
    { version: "0.150.0", decision: "wait", until: "2026-12-29T02:14:07.123Z", needs: [] },
    { version: "0.162.0", decision: "keep", until: null },
  ]);
  const { rows } = await api.database.pool.query("select from releases where unneeded_since is not null");
  expect(rows).toEqual([]);
});

describe("a depot", () => {
  test("drains and takes copies again, for admins; the next execution is asked for, and said when Temporal is away", async () => {
    const { sha256 } = await given("0.162.0");
    await givenListing(api.database.pool, "e1", { d1: [sha256], d2: [sha256] });
    expect((await call("POST", "/depots/d1/drain", {}, "operator")).statusCode).toBe(403);
    const drained = await call("POST", "/depots/d1/drain", { reason: "its machine is old" });
    expect(drained.json()).toMatchObject({
      state: "draining",
      changed: true,
      note: expect.stringContaining("begins now"),
    });
    expect(woken).toEqual(["drain of d1"]);
    expect((await get<{ items: unknown[] }>("/depots")).items[0]).toMatchObject({
      state: "draining",
      drain: { by: "admin-owner", reason: "its machine is old" },
    });
    expect((await call("POST", "/depots/d2/drain", {})).json()).toMatchObject({ code: "control_conflict" });
    temporalAnswers = false;
    const back = await call("POST", "/depots/d1/undrain", {});
    expect(back.json()).toMatchObject({ state: "active", changed: true, note: expect.stringContaining("Temporal") });
    temporalAnswers = true;
    expect((await call("POST", "/depots/d9/drain", {})).statusCode).toBe(404);
    expect(await audits("depot.drain")).toMatchObject([{ object: "d1", detail: { reason: "its machine is old" } }]);
  });

  test("is removed with a reason; what would be lost is named, and needs force, as one that does not answer does", async () => {
    const only = await given("0.162.0", "only here");
    const both = await given("0.163.0", "on both");
    await givenListing(api.database.pool, "e1", { d1: [only.sha256, both.sha256], d2: [both.sha256] });
    expect((await call("DELETE", "/depots/d1", {})).json()).toMatchObject({ code: "reason_required" });
    const refused = (await call("DELETE", "/depots/d1", { reason: "old" })).json<{ code: string; detail: string }>();
    expect(refused.code).toBe("depot_removal_unsafe");
    expect(refused.detail).toContain("nobody else is known to have otelcol-contrib 0.162.0 linux_amd64");
    expect((await get<{ items: unknown[] }>("/depots")).items).toHaveLength(2);
    await depotSilent(api.database.pool, "d2", "depot_unreachable: gone");
    const dead = (await call("DELETE", "/depots/d2", { reason: "it burnt" })).json<{ detail: string }>();
    expect(dead.detail).toContain("does not answer, and may come back");
    const gone = await call("DELETE", "/depots/d2", { reason: "it burnt", force: true });
    expect(gone.json()).toEqual({ nodeId: "d2", lost: [], rare: [] });
    const last = await call("DELETE", "/depots/d1", { reason: "all is over", force: true });
    expect(last.json()).toMatchObject({
      lost: ["otelcol-contrib 0.162.0 linux_amd64", "otelcol-contrib 0.163.0 linux_amd64"],
    });
    expect((await call("DELETE", "/depots/d1", { reason: "again", force: true })).statusCode).toBe(404);
    expect((await audits("depot.remove"))[0]).toMatchObject({
      object: "d2",
      detail: { reason: "it burnt", force: true },
    });
    expect((await get<{ items: { kind: string }[] }>("/replication/history?node=d1")).items[0]?.kind).toBe("removed");
  });

  test("says what it lacks, why, and what happens next; what it found on its disks is in the history at once", async () => {
    const one = await given("0.162.0", "one");
    const two = await given("0.163.0", "two");
    await givenListing(api.database.pool, "e1", { d1: [one.sha256], d2: [one.sha256, two.sha256] });
    await transaction(api.database.pool, (tx) =>
      savePlan(tx, "e1", [{ kind: "copy", node: "d1", sha256: two.sha256, bytes: 3, source: "d2", wave: 0 }]),
    );
    type List = { running: object | null; items: object[] };
    expect(await get<List>("/depots")).toMatchObject({
      running: { transfers: { pending: 1, done: 0, failed: 0 }, bytes: { moved: 0, all: 3 }, etaSeconds: null },
      items: [
        { have: 1, whole: 1, want: 2, capacity: { freeBytes: 1_000, missingBytes: 3, freeAfterBytes: 997 } },
        { whole: 2 },
      ],
    });
    type Explanation = { says: string; copies: { why: string; next: string }[]; removal: object };
    expect((await get<Explanation>("/depots/d1/explain")).copies[0]?.next).toBe("it is being transferred now");
    const failed = { state: "failed", tries: 3, code: "depot_full", message: "no disk has room" } as const;
    await endWork(api.database.pool, { execution: "e1", nodeId: "d1", sha256: two.sha256 }, failed);
    const explained = await get<Explanation>("/depots/d1/explain");
    expect(explained).toMatchObject({ says: "d1 answers and lacks 1 artifact", removal: { safe: true } });
    expect(explained.copies[0]?.why).toContain("failed after 3 tries: no disk has room");
    expect(await get<List>("/depots")).toMatchObject({
      running: { lastError: { node: "d1", message: "no disk has room" } },
    });
    expect((await call("GET", "/depots/d9/explain")).statusCode).toBe(404);
    await get("/depots/d1/status");
    await get("/depots/d1/status");
    expect((await get<{ items: object[] }>("/replication/history?node=d1")).items).toMatchObject([
      { kind: "corrupt", sha256: "ab".repeat(32), detail: { disk: "/a" }, at: "2026-11-29T02:00:00.000Z" },
    ]);
  });
});

test("replicated is never said while an answering node lacks it, on any disk; a silent node is nowhere said to be well (D31)", async () => {
  const { id, sha256 } = await given("0.162.0", "one");
  const word = async (): Promise<string> => (await get<{ replication: string }>(`/artifacts/${id}`)).replication;
  const matrix = async (): Promise<string | undefined> =>
    (await get<{ rows: { cells: string }[] }>("/replication/matrix")).rows[0]?.cells;
  const { pool } = api.database;
  await givenListing(pool, "e1", { d1: [], d2: [], d3: [] });
  expect([await word(), await matrix()]).toEqual(["lost", "---"]);
  await copyMade(pool, "d1", sha256, 2);
  expect([await word(), await matrix()]).toEqual(["degraded", "#--"]);
  await copyMade(pool, "d2", sha256, 2);
  expect([await word(), await matrix()]).toEqual(["partial", "##-"]);
  await copyMade(pool, "d3", sha256, 1);
  expect([await word(), await matrix()]).toEqual(["partial", "##+"]);
  await copyMade(pool, "d3", sha256, 2);
  expect([await word(), await matrix()]).toEqual(["replicated", "###"]);
  await depotSilent(pool, "d3", "depot_unreachable: gone");
  expect([await word(), await matrix()]).toEqual(["replicated", "##?"]);
  await depotSilent(pool, "d2", "depot_unreachable: gone");
  expect([await word(), await matrix()]).toEqual(["degraded", "#??"]);
  await depotSilent(pool, "d1", "depot_unreachable: gone");
  expect([await word(), await matrix()]).toEqual(["unreachable", "???"]);
  const { items } = await get<{ items: { answering: boolean; error: string | null }[] }>("/depots");
  for (const item of items) expect(item).toMatchObject({ answering: false, error: "depot_unreachable: gone" });
  // it answers again without it
  await givenListing(pool, "e2", { d1: [sha256], d2: [sha256], d3: [] });
  expect([await word(), await matrix()]).toEqual(["partial", "##-"]);
});

test("the history pages by id, of one artifact or of all, with names", async () => {
  const { sha256 } = await given("0.162.0", "one");
  const words = () => transaction(api.database.pool, (tx) => noteWords(tx, MIN_COPIES, api.clock.now));
  await givenListing(api.database.pool, "e1", { d1: [sha256] });
  await words();
  await givenListing(api.database.pool, "e2", { d1: [sha256], d2: [sha256] });
  await words();
  type Page = { items: { id: string; kind: string; artifacts: string[] }[] };
  const all = await get<Page>(`/replication/history?sha256=${sha256}`);
  expect(all.items.map(({ kind }) => kind)).toEqual(["healed", "degraded"]);
  expect(all.items[0]?.artifacts).toEqual(["otelcol-contrib 0.162.0 linux_amd64"]);
  const older = await get<Page>(`/replication/history?before=${all.items[0]?.id ?? ""}&limit=1`);
  expect(older.items.map(({ kind }) => kind)).toEqual(["degraded"]);
  expect((await call("GET", "/replication/history?sha256=nothex")).statusCode).toBe(400);
});
