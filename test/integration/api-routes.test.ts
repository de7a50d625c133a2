import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { failure } from "../../src/domain/errors.ts";
import { HOSTS, insertHosts, insertRollout, insertSnapshot } from "../support/api-rows.ts";
import { createTestApi, type TestApi } from "../support/api.ts";

let api: TestApi;
beforeAll(async () => {
  api = await createTestApi();
  await insertHosts(api.database.pool);
  await insertSnapshot(api.database.pool);
  await insertRollout(api.database.pool);
});
afterAll(() => api.close());

const get = async (url: string) => {
  const answer = await api.app.inject({ url, headers: api.as.viewer });
  return { status: answer.statusCode, body: answer.json<Record<string, unknown>>(), headers: answer.headers };
};

describe("agents", () => {
  it("are listed with what they report, should have and are linked to", async () => {
    const { status, body } = await get("/api/v1/agents?kind=collector");
    expect(status).toBe(200);
    expect(body).toMatchObject({
      next: null,
      items: [
        { hostName: "core-1", connected: false, fleet: "demo", wants: { version: "0.162.0" }, phase: "pending" },
        { hostName: "edge-1", version: "0.162.0", link: { state: "linked", uid: HOSTS.edgeUpdater } },
      ],
    });
  });
  it("are paged by cursor without a gap or a repetition", async () => {
    const seen: unknown[] = [];
    let next: string | null = "";
    for (let pages = 0; next !== null && pages < 10; pages++) {
      const { body } = await get(`/api/v1/agents?limit=1${next === "" ? "" : `&cursor=${next}`}`);
      seen.push(...(body["items"] as { uid: string }[]).map(({ uid }) => uid));
      next = body["next"] as string | null;
    }
    expect(seen).toEqual([HOSTS.core, HOSTS.edge, HOSTS.edgeUpdater]);
  });
  it.each([
    ["connected=true&kind=collector", [HOSTS.edge]],
    ["fleet=demo&healthy=false", [HOSTS.core]],
    ["version=0.161.0", [HOSTS.core]],
    ["host=EDGE&kind=updater", [HOSTS.edgeUpdater]],
    ["unassigned=true", [HOSTS.edgeUpdater]],
    ["fleet=none-of-these", []],
  ])("filtered by %s", async (query, uids) => {
    const { body } = await get(`/api/v1/agents?${query}`);
    expect((body["items"] as { uid: string }[]).map(({ uid }) => uid)).toEqual(uids);
  });
  it.each([
    ["/api/v1/agents?limit=0", 400, "invalid_request"],
    ["/api/v1/agents?cursor=nonsense", 400, "invalid_request"],
    ["/api/v1/agents/0190a000-0000-7000-8000-0000000000ff", 404, "not_found"],
    ["/api/v1/agents/not-a-uid", 400, "invalid_request"],
  ])("%s is refused", async (url, status, code) => {
    expect(await get(url)).toMatchObject({ status, body: { status, code } });
  });
  it("masks what looks like a secret among the attributes of one", async () => {
    const { body } = await get(`/api/v1/agents/${HOSTS.edge}`);
    expect(body["attributes"]).toEqual({ site: "fra", "deploy.token": "[masked]" });
  });
  it("explains why an agent has what it has", async () => {
    const { body } = await get(`/api/v1/agents/${HOSTS.core}/explain`);
    expect(body).toMatchObject({
      verdict: "waiting",
      says: expect.stringMatching(/^core-1 runs 0\.161\.0, Git wants 0\.162\.0: in demo\/1, its wave has not begun/),
      next: { what: "one operator", at: null },
      waitsFor: "person",
      version: [{ step: "running" }, { step: "artifact" }, { step: "rollout" }],
      configuration: [{ step: "running", says: "core-1 has no configuration of ours" }],
    });
    expect((body["because"] as { what: string }[]).map(({ what }) => what)).toEqual([
      "it is a collector",
      "it belongs to fleet demo",
      "it runs 0.161.0, Git wants 0.162.0",
      "its attempt is in phase pending",
      "its updater: none",
      "it is not connected; values are from then",
    ]);
  });
});

describe("explain", () => {
  it("walks from what runs back to rollout, commit, file and object", async () => {
    const { body } = await get(`/api/v1/agents/${HOSTS.edge}/explain`);
    expect(body).toMatchObject({ verdict: "in_sync", next: null, waitsFor: "nobody" });
    expect((body["version"] as { says: string }[]).map(({ says }) => says)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^rollout demo\/1, wave 1, attempt 1: succeeded at /),
        'c1 "to 0.162.0" by kim',
        "Git: target 0.162.0 of otelcol-contrib",
        "Fleet demo at fleets/demo.yaml:1",
      ]),
    );
  });
});

describe("fleets", () => {
  it("show what Git wants, what is offered and what runs as three values", async () => {
    await api.database.pool.query(
      `insert into offers (host, recipient, kind, direction, fleet, n, attempt, version)
       values ($1, $1, 'package', 'forward', 'demo', 1, 1, '0.162.0')`,
      [HOSTS.core],
    );
    const { body } = await get("/api/v1/fleets/demo");
    expect(body).toMatchObject({
      wants: { distribution: "otelcol-contrib", version: "0.162.0" },
      offered: [{ version: "0.162.0", hosts: 1 }],
      runs: [
        { version: "0.161.0", hosts: 1 },
        { version: "0.162.0", hosts: 1 },
      ],
      agents: 2,
      connected: 1,
      onWanted: 1,
      held: null,
      source: { file: "fleets/demo.yaml", line: 1 },
      rollout: { n: 1, state: "waiting_approval" },
    });
  });
  it("that are held say what Git says, what runs and why", async () => {
    const held = { n: 1, wantedKey: "k1", because: "ana aborted #1", at: "2026-11-29T02:00:00.000Z" };
    await api.database.pool.query("update fleets set held = $1 where name = 'demo'", [JSON.stringify(held)]);
    const { body } = await get("/api/v1/fleets/demo");
    expect(body["held"]).toMatchObject({
      sentence: "held: Git says 0.162.0, hosts run 0.161.0 (1), 0.162.0 (1), because ana aborted #1",
    });
    await api.database.pool.query("update fleets set held = null");
  });
  it("that do not exist are 404", async () => {
    expect(await get("/api/v1/fleets/none")).toMatchObject({ status: 404, body: { code: "not_found" } });
  });
});

describe("rollouts", () => {
  it("are listed with state, reason, next and counts", async () => {
    const { body } = await get("/api/v1/rollouts");
    expect(body).toMatchObject({
      next: null,
      items: [
        {
          fleet: "demo",
          n: 1,
          state: "waiting_approval",
          reason: "wave rest waits",
          next: { what: "one operator", at: null },
          counts: { succeeded: 1, pending: 1, failed: 0 },
          total: 2,
          temporalUrl: "http://127.0.0.1:8233/namespaces/default/workflows/rollout%2Fdemo%2F1",
        },
      ],
    });
  });
  it("have waves, and controls in their fixed order with what speaks against each", async () => {
    const { body } = await get("/api/v1/rollouts/demo/1");
    expect(body["waves"]).toMatchObject([
      { name: "canary", state: "ended", counts: { succeeded: 1 } },
      { name: "rest", state: "waiting_approval", approval: "required" },
    ]);
    expect(body).toMatchObject({ groups: [], noWayBack: [] });
    expect(body["controls"]).toMatchObject([
      { name: "approve", allowed: true },
      { name: "pause", allowed: true },
      { name: "resume", allowed: false, reason: "it is not paused" },
      { name: "retry", allowed: false },
      { name: "rollback", allowed: true, needsReason: true },
      { name: "abort", allowed: true, needsReason: true },
    ]);
  });
  it("list their targets with phase, since and why", async () => {
    const { body } = await get("/api/v1/rollouts/demo/1/targets?limit=1");
    expect(body).toMatchObject({ next: "0", items: [{ hostName: "edge-1", phase: "succeeded", runs: "0.162.0" }] });
    const rest = await get("/api/v1/rollouts/demo/1/targets?phase=pending&cursor=0");
    expect(rest.body).toMatchObject({
      items: [
        {
          hostName: "core-1",
          phase: "pending",
          connected: false,
          why: expect.stringMatching(
            /^its wave has not begun: wave rest waits for an approval; the host is offline too/,
          ),
          next: { what: "one operator", at: null },
          waitsFor: "person",
          todo: "approve the wave: myrctl rollouts approve demo/1",
        },
      ],
    });
  });
  it("name what did not arrive by cause, and who has no way back", async () => {
    const { pool } = api.database;
    const attempts = "update attempts set phase = $2, finished_at = $3, code = $4, error = $5 where host = $1";
    await pool.query(attempts, [
      HOSTS.core,
      "cancelled",
      new Date(),
      "updater_missing",
      "core-1 has no linked updater",
    ]);
    await pool.query("update targets set way_back = 'no_way_back' where host = $1", [HOSTS.edge]);
    const { body } = await get("/api/v1/rollouts/demo/1");
    await pool.query(attempts, [HOSTS.core, "pending", null, null, ""]);
    await pool.query("update targets set way_back = 'yes' where host = $1", [HOSTS.edge]);
    expect(body).toMatchObject({
      groups: [{ kind: "cannot_be_offered", cause: "updater_missing", count: 1, hosts: ["core-1"] }],
      noWayBack: [{ code: "no_way_back", count: 1, hosts: ["edge-1"] }],
    });
  });
  it.each(["core-1", "CORE-1", HOSTS.core])("show one target by %s, with its attempts and offers", async (host) => {
    const { body } = await get(`/api/v1/rollouts/demo/1/targets/${host}`);
    expect(body).toMatchObject({
      host: HOSTS.core,
      phase: "pending",
      waitsFor: "person",
      attempts: [{ attempt: 1 }],
      offers: [{ attempt: 1, kind: "package", direction: "forward", version: "0.162.0", sentAt: null, closedAt: null }],
    });
  });
  it.each([
    ["/api/v1/rollouts/demo/1/targets/nowhere", 404],
    ["/api/v1/rollouts/demo/2/targets/core-1", 404],
    ["/api/v1/rollouts/demo/2", 404],
    ["/api/v1/rollouts/demo/x", 400],
    ["/api/v1/rollouts/Not_A_Name/1", 400],
    ["/api/v1/rollouts/demo/2/targets", 404],
  ])("%s is refused", async (url, status) => {
    expect((await get(url)).status).toBe(status);
  });
});

describe("controls", () => {
  const post = (url: string, payload?: object, headers: Record<string, string> = {}) =>
    api.app.inject({ method: "POST", url, ...(payload && { payload }), headers: { ...api.as.operator, ...headers } });

  it("reach the workflow with principal, reason, wave and key", async () => {
    api.calls.length = 0;
    const answer = await post(
      "/api/v1/rollouts/demo/1/approve",
      { wave: "rest", reason: "canary is fine" },
      { "idempotency-key": "k-1" },
    );
    expect(answer.json()).toEqual({ changed: true, state: "paused", message: "approve taken" });
    expect(api.calls).toEqual([
      {
        fleet: "demo",
        n: 1,
        control: "approve",
        input: { reason: "canary is fine", wave: "rest" },
        principal: "operator-owner",
        key: "k-1",
      },
    ]);
  });
  it("need no body", async () => {
    expect((await post("/api/v1/rollouts/demo/1/pause")).statusCode).toBe(200);
  });
  it("that wait for a worker answer 202", async () => {
    api.answerControl(async () => ({
      status: 202,
      answer: { changed: true, state: "paused", message: "held", pending: true },
    }));
    const answer = await post("/api/v1/rollouts/demo/1/pause");
    expect([answer.statusCode, answer.json()]).toMatchObject([202, { pending: true }]);
  });
  it.each([
    [failure("control_conflict", { control: "approve", because: "no wave waits" }), 409],
    [failure("not_found", { what: "rollout demo/9" }), 404],
    [failure("reason_required", { action: "abort" }), 400],
    [failure("control_unanswered", { control: "retry" }), 503],
  ])("that are refused keep their code: %s", async (refusal, status) => {
    api.answerControl(async () => {
      throw refusal;
    });
    const answer = await post("/api/v1/rollouts/demo/1/abort", {});
    expect(answer.statusCode).toBe(status);
    expect(answer.headers["content-type"]).toContain("application/problem+json");
    expect(answer.json()).toMatchObject({ code: refusal.code, detail: refusal.message, status });
  });
  it.each([
    ["/api/v1/rollouts/demo/1/explode", {}, 400],
    ["/api/v1/rollouts/demo/1/pause", { because: "unknown field" }, 400],
    ["/api/v1/rollouts/demo/1/pause", { reason: "x".repeat(501) }, 400],
  ])("%s with %j is refused before anybody is asked", async (url, payload, status) => {
    api.calls.length = 0;
    expect((await post(url, payload)).statusCode).toBe(status);
    expect(api.calls).toEqual([]);
  });
});

describe("deleting an agent", () => {
  const remove = (uid: string, payload: object) =>
    api.app.inject({ method: "DELETE", url: `/api/v1/agents/${uid}`, headers: api.as.admin, payload });

  it("needs a reason, and that no update of it runs", async () => {
    expect((await remove(HOSTS.core, {})).json()).toMatchObject({ code: "reason_required" });
    await api.database.pool.query("update attempts set phase = 'offered' where host = $1", [HOSTS.core]);
    expect((await remove(HOSTS.core, { reason: "old" })).json()).toMatchObject({ code: "control_conflict" });
  });
  it("forgets it and is audited with the reason", async () => {
    const force = { reason: "scrapped", force: true };
    expect((await remove(HOSTS.core, force)).json()).toEqual({ uid: HOSTS.core, hostName: "core-1" });
    expect((await get(`/api/v1/agents/${HOSTS.core}`)).status).toBe(404);
    const { body } = await get("/api/v1/audit?action=agents.delete");
    expect(body["items"]).toMatchObject([
      { principal: "admin-owner", object: HOSTS.core, outcome: "accepted", detail: force },
    ]);
  });
});

describe("every answer", () => {
  it("that can change carries an ETag, and is 304 for who has it", async () => {
    const first = await get("/api/v1/fleets");
    const etag = String(first.headers["etag"]);
    const again = await api.app.inject({ url: "/api/v1/fleets", headers: { ...api.as.viewer, "if-none-match": etag } });
    expect([again.statusCode, again.body]).toEqual([304, ""]);
  });
  it("names its request, also in a problem", async () => {
    const { headers, body } = await get("/api/v1/fleets/none");
    expect(body["requestId"]).toBe(headers["x-request-id"]);
  });
  it("is described by OpenAPI 3.1, every operation with its answers", async () => {
    const document = (await api.app.inject("/api/v1/openapi.json")).json<{
      openapi: string;
      paths: Record<string, Record<string, { responses: object; summary?: string }>>;
    }>();
    expect(document.openapi).toBe("3.1.0");
    expect(Object.keys(document.paths)).toEqual(
      expect.arrayContaining([
        "/api/v1/agents",
        "/api/v1/rollouts/{fleet}/{n}/{control}",
        "/api/v1/events",
        "/healthz",
      ]),
    );
    for (const [path, operations] of Object.entries(document.paths))
      for (const [method, operation] of Object.entries(operations)) {
        expect(Object.keys(operation.responses).length, `${method} ${path}`).toBeGreaterThan(0);
        expect(operation.summary, `${method} ${path}`).toBeTruthy();
      }
  });
});
