import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { artifactRoutes } from "../../src/api/routes/artifacts.ts";
import { failure } from "../../src/domain/errors.ts";
import type { DepotClient } from "../../src/depot/client.ts";
import type { NodeStatus } from "../../src/domain/depot/node-status.ts";
import { depotAnswered, depotSilent, openExecution, readWantedSet } from "../../src/store/depots.ts";
import { transaction } from "../../src/store/database.ts";
import { createTestApi, type TestApi } from "../support/api.ts";

const SHA = "ab".repeat(32);
const DEPOT = { nodeId: "d1", zone: "eu", controlUrl: "http://127.0.0.1:1", readUrl: "http://127.0.0.1:2" };
let api: TestApi;
let adopted: string[];
const woken: string[] = [];
const scrubbed: string[] = [];
const STATUS: NodeStatus = {
  config: { generation: 3, wanted: 2, complete: 1, partial: 1, missing: 0 },
  problem: null,
  disks: [{ path: "/a", state: "ok", freeBytes: 1 }],
  transfers: [],
  scrub: {
    running: null,
    lightEndedAt: null,
    deepEndedAt: null,
    found: { right: 0, wrong: 0, missing: 0, unreadable: 0 },
  },
};
let artifact: string;
beforeAll(async () => {
  adopted = [];
  const adopt = async (epoch: string): Promise<void> => {
    if (adopted.length > 0) throw failure("depot_unreachable", { url: "http://127.0.0.1:1", message: "gone" });
    adopted.push(epoch);
  };
  const scrub = async (kind: string) => void scrubbed.push(kind);
  const status = async () => STATUS;
  const depotClient = () => ({ adopt, scrub, status }) as unknown as DepotClient;
  api = await createTestApi({
    guarded: (pool) => [
      artifactRoutes({
        pool,
        now: () => new Date(),
        minCopies: 2,
        keepForMs: 30 * 86_400_000,
        wakeReplication: async (cause) => void woken.push(cause),
        depotClient,
      }),
    ],
  });
  const made = await api.database.pool.query<{ id: string }>(
    `insert into artifacts (distribution, version, os, arch, file_name, source_url, sha256, size_bytes, state, wanted, verification)
     values ('otelcol-contrib', '0.161.0', 'linux', 'amd64', 'f', 'u', decode($1, 'hex'), 5, 'verified', true, $2) returning id`,
    [SHA, { identity: "who", issuer: "o", repository: "r", logIndex: "7", signedAt: ["2026-01-01T00:00:00Z"] }],
  );
  artifact = made.rows[0]?.id ?? "";
});
afterAll(() => api.close());

const get = (url: string, role: "viewer" | "admin" | undefined = "viewer") =>
  api.app.inject({ method: "GET", url: `/api/v1${url}`, headers: role ? api.as[role] : {} });
const post = (url: string, payload: object, role: "viewer" | "operator" | "admin" = "admin") =>
  api.app.inject({ method: "POST", url: `/api/v1${url}`, headers: api.as[role], payload });
async function answers(execution: string, copies: { sha256: string; disks: number }[]): Promise<void> {
  const { epoch, generation } = await readWantedSet(api.database.pool);
  await openExecution(api.database.pool, { id: execution, cause: "test", epoch, generation });
  await transaction(api.database.pool, (tx) =>
    depotAnswered(tx, "d1", { execution, generation, disks: [{ path: "/a", state: "ok", freeBytes: 1 }], copies }),
  );
}
const replication = async (): Promise<string> =>
  (await get(`/artifacts/${artifact}`)).json<{ replication: string }>().replication;

describe("artifacts and depots over REST", () => {
  test("nothing is answered without a credential; adding needs admin", async () => {
    for (const url of ["/artifacts", `/artifacts/${artifact}`, "/depots"]) {
      const answer = await api.app.inject({ method: "GET", url: `/api/v1${url}` });
      expect(answer.statusCode).toBe(401);
    }
    expect((await post("/depots", DEPOT, "operator")).statusCode).toBe(403);
  });
  test("a depot is added once, audited, and refused with an address that is none", async () => {
    expect((await post("/depots", DEPOT)).json()).toEqual({ nodeId: "d1", changed: true });
    expect((await post("/depots", DEPOT)).json()).toEqual({ nodeId: "d1", changed: false });
    expect((await post("/depots", { ...DEPOT, readUrl: "ftp://x" })).statusCode).toBe(400);
    expect((await post("/depots", { ...DEPOT, more: 1 })).statusCode).toBe(400);
    const { rowCount } = await api.database.pool.query(
      "select from audit where action = 'depot.add' and outcome = 'accepted'",
    );
    expect(rowCount).toBe(1);
  });
  test("what an artifact's signature proved and where its copies are; replicated is never said too early", async () => {
    expect(await replication()).toBe("lost");
    await answers("e1", []);
    expect(await replication()).toBe("lost");
    await answers("e2", [{ sha256: SHA, disks: 1 }]);
    expect((await get(`/artifacts/${artifact}`)).json()).toMatchObject({
      platform: "linux_amd64",
      sha256: SHA,
      verification: { identity: "who", logIndex: "7" },
      copies: [{ node: "d1", disks: 1, answering: true }],
      replication: "degraded",
    });
    await depotSilent(api.database.pool, "d1", "depot_unreachable: gone");
    expect((await get("/depots")).json()).toMatchObject({
      wanted: 1,
      minCopies: 2,
      items: [{ nodeId: "d1", answering: false }],
      executions: [{ id: "e2" }, { id: "e1" }],
    });
    expect((await get("/artifacts")).json<{ items: unknown[] }>().items).toHaveLength(1);
    expect((await get(`/artifacts/${randomUUID()}`)).statusCode).toBe(404);
  });
  test("a node is asked how it stands by any reader, and scrubbed by operators, audited", async () => {
    expect((await get("/depots/d1/status")).json()).toEqual({ nodeId: "d1", ...STATUS });
    expect((await get("/depots/none/status")).statusCode).toBe(404);
    expect((await post("/depots/d1/scrub", {}, "viewer")).statusCode).toBe(403);
    expect((await post("/depots/d1/scrub", { kind: "quick" }, "operator")).statusCode).toBe(400);
    expect((await post("/depots/d1/scrub", {}, "operator")).statusCode).toBe(202);
    expect((await post("/depots/d1/scrub", { kind: "light" }, "operator")).statusCode).toBe(202);
    expect(scrubbed).toEqual(["deep", "light"]);
    const { rows } = await api.database.pool.query(
      "select object, detail from audit where action = 'depot.scrub' order by seq",
    );
    expect(rows).toEqual([
      { object: "d1", detail: { kind: "deep" } },
      { object: "d1", detail: { kind: "light" } },
    ]);
  });
  test("adopting needs a reason and a depot that takes it", async () => {
    expect((await post("/depots/d1/adopt", {})).statusCode).toBe(400);
    expect((await post("/depots/none/adopt", { reason: "mine" })).statusCode).toBe(404);
    expect((await post("/depots/d1/adopt", { reason: "moved disks" })).json()).toEqual({ nodeId: "d1", adopted: true });
    expect(adopted).toEqual([(await readWantedSet(api.database.pool)).epoch]);
    expect((await post("/depots/d1/adopt", { reason: "again" })).statusCode).toBe(502);
  });
});
