import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { hashSecret, createApiToken } from "../../src/store/tokens.ts";
import { createLoginLink, LOGIN_LINK_MS, SESSION_MS } from "../../src/store/sessions.ts";
import { createTestApi, type TestApi } from "../support/api.ts";

let api: TestApi;
const start = new Date("2026-11-29T02:14:07.123Z");
beforeAll(async () => {
  api = await createTestApi({
    ownCredential: [async (app) => void app.post("/own", async () => ({ own: true }))],
    guarded: () => [async (app) => void app.post("/guarded-by-default", async () => ({ done: true }))],
  });
});
afterAll(() => api.close());
beforeEach(() => {
  api.clock.now = start;
});

const audits = async (where: string) =>
  (
    await api.database.pool.query(
      `select principal, action, object, outcome, code, detail from audit where ${where} order by seq`,
    )
  ).rows;
/** Each test from an address of its own: the limit of refusals is per address. */
let host = 0;
const from = () => ({ remoteAddress: `10.0.0.${++host}` });

describe("without a credential", () => {
  it.each([
    ["GET", "/healthz", 200],
    ["GET", "/readyz", 200],
    ["GET", "/", 200],
    ["GET", "/index.html", 200],
    ["GET", "/api/v1/openapi.json", 200],
    ["GET", "/api/docs/", 200],
    ["POST", "/api/v1/own", 200],
    ["GET", "/no-such-page", 404],
    ["GET", "/metrics", 404],
    ["GET", "/..%2fpackage.json", 404],
    ["GET", "/api/v1/agents", 401],
    ["GET", "/api/v1/fleets", 401],
    ["GET", "/api/v1/rollouts", 401],
    ["GET", "/api/v1/rollouts/demo/1/targets", 401],
    ["POST", "/api/v1/rollouts/demo/1/pause", 401],
    ["GET", "/api/v1/tokens/api", 401],
    ["POST", "/api/v1/tokens/enrollment", 401],
    ["GET", "/api/v1/audit", 401],
    ["GET", "/api/v1/audit/verify", 401],
    ["GET", "/api/v1/events", 401],
    ["GET", "/api/v1/system", 401],
    ["GET", "/api/v1/me", 401],
    ["POST", "/api/v1/session", 401],
    ["POST", "/api/v1/guarded-by-default", 401],
    ["GET", "/api/v1/no-such-route", 401],
    ["GET", "/api/other", 401],
  ] as const)("%s %s is %i", async (method, url, status) => {
    const answer = await api.app.inject({ method, url, ...from() });
    expect(answer.statusCode).toBe(status);
    if (status === 401) expect(answer.json()).toMatchObject({ code: "unauthenticated" });
  });
  it("nothing is audited: browsers ask before they sign in", async () => {
    expect(await audits("outcome = 'refused'")).toEqual([]);
  });
});

describe("roles", () => {
  const calls = [
    ["GET", "/api/v1/agents", "viewer"],
    ["GET", "/api/v1/audit", "viewer"],
    ["GET", "/api/v1/me", "viewer"],
    ["POST", "/api/v1/rollouts/demo/1/pause", "operator"],
    ["POST", "/api/v1/rollouts/demo/1/approve", "operator"],
    ["POST", "/api/v1/guarded-by-default", "operator"],
    ["GET", "/api/v1/tokens/api", "admin"],
    ["GET", "/api/v1/tokens/enrollment", "admin"],
    ["GET", "/api/v1/tokens/enrollment/snippet", "viewer"],
    ["DELETE", "/api/v1/tokens/api/0190a000-0000-7000-8000-0000000000ff", "admin"],
    ["DELETE", "/api/v1/agents/0190a000-0000-7000-8000-0000000000ff", "admin"],
  ] as const;
  const order = ["viewer", "operator", "admin"] as const;
  it.each(calls.flatMap(([method, url, need]) => order.map((have) => ({ method, url, need, have }))))(
    "$method $url needs $need, asked by $have",
    async ({ method, url, need, have }) => {
      const answer = await api.app.inject({ method, url, headers: api.as[have], ...from() });
      const may = order.indexOf(have) >= order.indexOf(need);
      if (may) expect(answer.statusCode).not.toBe(403);
      else expect(answer.json()).toMatchObject({ status: 403, code: "forbidden" });
    },
  );
  it("a refusal is audited with who, what and why", async () => {
    expect(
      await audits("code = 'forbidden' and action like 'POST /api/v1/rollouts%approve' or action like '%:control'"),
    ).toContainEqual(
      expect.objectContaining({
        principal: "viewer-owner",
        action: "POST /api/v1/rollouts/:fleet/:n/:control",
        object: "/api/v1/rollouts/demo/1/pause",
        outcome: "refused",
        code: "forbidden",
      }),
    );
  });
});

describe("an API token", () => {
  const ask = (authorization: string, address = from()) =>
    api.app.inject({ url: "/api/v1/me", headers: { authorization }, ...address });

  it.each(["Bearer wrong", "Bearer ", "Basic dXNlcjpwYXNz", "Bearer myr_api_" + "A".repeat(43)])(
    "that is not one is refused and audited: %s",
    async (authorization) => {
      const before = (await audits("code = 'unauthenticated'")).length;
      expect((await ask(authorization)).statusCode).toBe(401);
      expect((await audits("code = 'unauthenticated'")).length).toBe(before + 1);
    },
  );
  it("acts for its owner", async () => {
    expect((await ask(api.as.operator.authorization)).json()).toMatchObject({
      principal: "operator-owner",
      role: "operator",
      via: "token",
    });
  });
  it("ends at its time", async () => {
    const made = await createApiToken(api.database.pool, {
      name: "short",
      owner: "ana",
      role: "viewer",
      createdBy: "test",
      expiresAt: new Date(start.getTime() + 1_000),
      at: start,
    });
    expect((await ask(`Bearer ${made?.token}`)).statusCode).toBe(200);
    api.clock.now = new Date(start.getTime() + 1_001);
    expect((await ask(`Bearer ${made?.token}`)).statusCode).toBe(401);
  });
  it("is refused with 429 after too many wrong ones from one address, which are not audited any more", async () => {
    const address = from();
    const codes: number[] = [];
    for (let i = 0; i < 25; i++) codes.push((await ask(`Bearer wrong-${i}`, address)).statusCode);
    expect(codes.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 401));
    expect(codes.slice(20)).toEqual(Array.from({ length: 5 }, () => 429));
    expect((await audits(`detail->>'address' = '${address.remoteAddress}'`)).length).toBe(20);
    expect((await ask(api.as.viewer.authorization, address)).statusCode).toBe(200);
  });
});

describe("tokens over the API", () => {
  it("are shown once, kept as hash, work at once and are refused after they are revoked", async () => {
    const made = await api.app.inject({
      method: "POST",
      url: "/api/v1/tokens/api",
      headers: api.as.admin,
      payload: { name: "ci", role: "operator", owner: "kim" },
    });
    expect(made.statusCode).toBe(201);
    const { token, id } = made.json<{ token: string; id: string }>();
    const { rows } = await api.database.pool.query<{ hash: Buffer }>("select hash from api_tokens where id = $1", [id]);
    expect(rows[0]?.hash).toEqual(hashSecret(token));
    const ask = () => api.app.inject({ url: "/api/v1/me", headers: { authorization: `Bearer ${token}` }, ...from() });
    expect((await ask()).json()).toMatchObject({ principal: "kim", role: "operator" });

    const list = await api.app.inject({ url: "/api/v1/tokens/api", headers: api.as.admin });
    expect(list.body).not.toContain(token);
    const revoke = () => api.app.inject({ method: "DELETE", url: `/api/v1/tokens/api/${id}`, headers: api.as.admin });
    expect((await revoke()).json()).toEqual({ id, name: "ci", changed: true });
    expect((await revoke()).json()).toMatchObject({ changed: false });
    expect((await ask()).statusCode).toBe(401);
    expect(await audits("object = 'api/ci'")).toMatchObject([
      { action: "tokens.create", principal: "admin-owner", outcome: "accepted" },
      { action: "tokens.revoke", principal: "admin-owner", outcome: "accepted" },
    ]);
    expect(JSON.stringify(await audits("true"))).not.toContain(token);
  });
  it("for enrollment carry labels", async () => {
    const payload = { name: "edge", labels: { site: "fra" } };
    const make = () =>
      api.app.inject({ method: "POST", url: "/api/v1/tokens/enrollment", headers: api.as.admin, payload });
    expect((await make()).json()).toMatchObject({
      name: "edge",
      labels: { site: "fra" },
      token: expect.stringMatching(/^myr_enroll_/),
    });
    expect((await make()).json()).toMatchObject({ status: 409, code: "already_exists" });
  });
  it.each([
    [{ name: "", role: "viewer" }],
    [{ name: "a b", role: "viewer" }],
    [{ name: "x", role: "root" }],
    [{ name: "x", role: "viewer", expiresAt: "tomorrow" }],
    [{ name: "x", role: "viewer", isAdmin: true }],
  ])("are refused when asked for as %j", async (payload) => {
    const answer = await api.app.inject({ method: "POST", url: "/api/v1/tokens/api", headers: api.as.admin, payload });
    expect(answer.json()).toMatchObject({ status: 400, code: "invalid_request", issues: [expect.anything()] });
  });
});

describe("a login link", () => {
  const login = (link: string) => api.app.inject({ url: `/login?link=${link}`, ...from() });
  const link = () => createLoginLink(api.database.pool, { principal: "admin", role: "admin", now: api.clock.now });
  const cookieOf = (answer: { headers: Record<string, unknown> }) =>
    String(answer.headers["set-cookie"]).split(";")[0] ?? "";

  it("opens one session, once", async () => {
    const secret = await link();
    const answer = await login(secret);
    expect([answer.statusCode, answer.headers["location"]]).toEqual([303, "/"]);
    expect(answer.headers["set-cookie"]).toMatch(
      /^myriarch_session=myr_session_[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/,
    );
    const me = await api.app.inject({ url: "/api/v1/me", headers: { cookie: cookieOf(answer) } });
    expect(me.json()).toMatchObject({ principal: "admin", role: "admin", via: "session" });
    expect((await login(secret)).json()).toMatchObject({ status: 403, code: "login_link_invalid" });
    expect(JSON.stringify(await audits("true")) + api.log.join("")).not.toContain(secret);
  });
  it("is worth nothing after 15 minutes, and the session after 12 hours", async () => {
    const late = await link();
    api.clock.now = new Date(start.getTime() + LOGIN_LINK_MS + 1);
    expect((await login(late)).statusCode).toBe(403);
    const cookie = cookieOf(await login(await link()));
    api.clock.now = new Date(api.clock.now.getTime() + SESSION_MS + 1);
    expect((await api.app.inject({ url: "/api/v1/me", headers: { cookie }, ...from() })).statusCode).toBe(401);
  });
  it("gives a session that no other site's page can act with", async () => {
    const cookie = cookieOf(await login(await link()));
    const pause = (origin?: string) =>
      api.app.inject({
        method: "POST",
        url: "/api/v1/rollouts/demo/1/pause",
        headers: { cookie, host: "127.0.0.1:8080", ...(origin !== undefined && { origin }) },
        ...from(),
      });
    expect((await pause("https://evil.example")).json()).toMatchObject({ status: 403, code: "cross_origin" });
    expect((await pause("null")).statusCode).toBe(403);
    expect((await pause("http://127.0.0.1:8080")).statusCode).toBe(200);
    expect((await pause("http://fleet.example.com")).statusCode).toBe(200);
  });
  it("can be ended", async () => {
    const cookie = cookieOf(await login(await link()));
    expect((await api.app.inject({ method: "DELETE", url: "/api/v1/session", headers: { cookie } })).statusCode).toBe(
      204,
    );
    expect((await api.app.inject({ url: "/api/v1/me", headers: { cookie }, ...from() })).statusCode).toBe(401);
  });
});

describe("a session opened with an API token", () => {
  it("has the token's role and ends with it", async () => {
    const made = await createApiToken(api.database.pool, {
      name: "browser",
      owner: "ana",
      role: "operator",
      createdBy: "test",
      expiresAt: null,
      at: start,
    });
    const opened = await api.app.inject({
      method: "POST",
      url: "/api/v1/session",
      headers: { authorization: `Bearer ${made?.token}` },
    });
    expect(opened.json()).toMatchObject({ principal: "ana", role: "operator" });
    const cookie = String(opened.headers["set-cookie"]).split(";")[0] ?? "";
    const me = () => api.app.inject({ url: "/api/v1/me", headers: { cookie }, ...from() });
    expect((await me()).statusCode).toBe(200);
    await api.app.inject({ method: "DELETE", url: `/api/v1/tokens/api/${made?.id}`, headers: api.as.admin });
    expect((await me()).statusCode).toBe(401);
  });
});

describe("the page", () => {
  it("comes with a policy that allows nothing inline and nothing from elsewhere", async () => {
    const { headers } = await api.app.inject("/");
    const policy = String(headers["content-security-policy"]);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
  });
});

describe("ready", () => {
  it("is also who lost Temporal, but degraded", async () => {
    api.temporalReachable(false);
    const answer = await api.app.inject("/readyz");
    expect([answer.statusCode, answer.json()]).toEqual([
      200,
      { ready: true, degraded: true, database: true, temporal: false, draining: 0 },
    ]);
    api.temporalReachable(true);
  });
});

describe("errors", () => {
  it.each([
    [{ "content-type": "application/json" }, "{", 400, "invalid_request"],
    [{ "content-type": "text/csv" }, "a,b", 415, "unsupported_media_type"],
    [
      { "content-type": "application/json" },
      JSON.stringify({ reason: "x".repeat(1024 ** 2) }),
      413,
      "payload_too_large",
    ],
  ])("of the body are problems: %j", async (headers, payload, status, code) => {
    const answer = await api.app.inject({
      method: "POST",
      url: "/api/v1/rollouts/demo/1/pause",
      headers: { ...api.as.operator, ...headers },
      payload,
    });
    expect(answer.json()).toMatchObject({ status, code });
  });
  it("that nobody foresaw answer 500 without their text, which is in the log with the request's id", async () => {
    api.answerControl(async () => {
      throw new Error("planted-internal-detail");
    });
    const answer = await api.app.inject({
      method: "POST",
      url: "/api/v1/rollouts/demo/1/pause",
      headers: api.as.operator,
    });
    expect(answer.json()).toMatchObject({ status: 500, code: "internal" });
    expect(answer.body).not.toContain("planted");
    const line = api.log.find((entry) => entry.includes("planted-internal-detail"));
    expect(line).toContain(String(answer.headers["x-request-id"]));
  });
});

describe("secrets", () => {
  it("never reach the log: tokens, cookies, links", async () => {
    const secret = `myr_api_${"planted".repeat(5)}`;
    await api.app.inject({
      url: `/api/v1/me?token=${secret}`,
      headers: { authorization: `Bearer ${secret}`, cookie: `myriarch_session=${secret}` },
      ...from(),
    });
    await api.app.inject({ url: `/login?link=${secret}`, ...from() });
    expect(api.log.length).toBeGreaterThan(0);
    expect(api.log.join("\n")).not.toContain(secret);
    for (const token of Object.values(api.tokens)) expect(api.log.join("\n")).not.toContain(token);
  });
});
