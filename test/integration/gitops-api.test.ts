import { createHmac } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { gitopsRoutes } from "../../src/api/routes/gitops.ts";
import { gitopsWebhookRoutes } from "../../src/api/routes/gitops-webhook.ts";
import { readGitopsState } from "../../src/store/gitops.ts";
import { noteNotification } from "../../src/store/notifications.ts";
import type { Pool } from "../../src/store/database.ts";
import { createTestApi, type TestApi } from "../support/api.ts";
import { insertSnapshot } from "../support/api-rows.ts";

const SECRET = "planted-webhook-secret";
let api: TestApi;
let pool: Pool;
let secret: string | undefined = SECRET;
let poked: string[] = [];
let isTemporalAway = false;

beforeAll(async () => {
  const deps = {
    get pool() {
      return pool;
    },
    now: () => new Date("2026-11-29T02:00:00Z"),
    poke: async (cause: string) => {
      if (isTemporalAway) throw new Error("unavailable");
      poked.push(cause);
    },
    secret: async () => secret,
    perMinute: 60,
  };
  api = await createTestApi({ guarded: () => [gitopsRoutes(deps)], ownCredential: [gitopsWebhookRoutes(deps)] });
  pool = api.database.pool;
});
afterAll(() => api.close());
beforeEach(async () => {
  await pool.query("update gitops_state set delivery_at = null");
  secret = SECRET;
  poked = [];
  isTemporalAway = false;
});

const sign = (body: string, key = SECRET): string => `sha256=${createHmac("sha256", key).update(body).digest("hex")}`;
let sender = 0;
/** Each delivery from an address of its own: what one test is refused counts for no other. */
const deliver = (headers: Record<string, string | string[]>, payload: string | Buffer = "{}") =>
  api.app.inject({
    method: "POST",
    url: "/api/v1/gitops/webhook",
    remoteAddress: `10.0.0.${(sender += 1) % 250}`,
    headers: { "content-type": "application/json", ...headers },
    payload,
  });

describe("webhook", () => {
  test("GitLab's token and GitHub's signature over the raw bytes each wake the sync at once", async () => {
    const body = '{"ref": "refs/heads/main",  "odd": "\u00fc"}';
    expect((await deliver({ "x-gitlab-token": SECRET })).statusCode).toBe(202);
    expect((await deliver({ "x-hub-signature-256": sign(body) }, body)).statusCode).toBe(202);
    expect((await deliver({ "x-hub-signature-256": sign(body), "x-gitlab-token": SECRET }, body)).json()).toMatchObject(
      { accepted: true, note: "starts now" },
    );
    expect(poked).toEqual(["webhook", "webhook", "webhook"]);
    expect((await readGitopsState(pool)).deliveryAt).not.toBeNull();
  });

  const right = sign("{}");
  const refused: [string, Record<string, string | string[]>][] = [
    ["no header at all", {}],
    ["a signature that is too short", { "x-hub-signature-256": "sha256=abc" }],
    ["an empty signature", { "x-hub-signature-256": "" }],
    ["a signature one digit too long", { "x-hub-signature-256": `${right}0` }],
    ["a signature without its algorithm", { "x-hub-signature-256": right.slice("sha256=".length) }],
    ["a signature that says SHA-1", { "x-hub-signature-256": right.replace("sha256", "sha1") }],
    ["a signature of the right length that is no hex", { "x-hub-signature-256": `sha256=${"z".repeat(64)}` }],
    ["a signature with another secret", { "x-hub-signature-256": sign("{}", "other") }],
    ["a signature of another body", { "x-hub-signature-256": sign("{ }") }],
    ["the header twice, both right", { "x-hub-signature-256": [right, right] }],
    ["the header twice, one right", { "x-hub-signature-256": [right, sign("{}", "other")] }],
    ["two signatures in one header", { "x-hub-signature-256": `${right}, ${right}` }],
    ["SHA-1 only", { "x-hub-signature": `sha1=${createHmac("sha1", SECRET).update("{}").digest("hex")}` }],
    ["a wrong token", { "x-gitlab-token": "nope" }],
    ["an empty token", { "x-gitlab-token": "" }],
    ["a token that begins right", { "x-gitlab-token": SECRET.slice(0, -1) }],
    ["a token that goes on", { "x-gitlab-token": `${SECRET}x` }],
    ["the token twice, both right", { "x-gitlab-token": [SECRET, SECRET] }],
    ["two tokens in one header", { "x-gitlab-token": `${SECRET}, ${SECRET}` }],
    ["a wrong token beside a right signature", { "x-gitlab-token": "nope", "x-hub-signature-256": right }],
    ["a wrong signature beside a right token", { "x-gitlab-token": SECRET, "x-hub-signature-256": sign("{ }") }],
    ["a malformed signature beside a right token", { "x-gitlab-token": SECRET, "x-hub-signature-256": "sha256=abc" }],
    ["both wrong", { "x-gitlab-token": "nope", "x-hub-signature-256": sign("{ }") }],
    ["an API token of an admin", {}],
  ];
  test.each(refused)("%s: 401, no sync, no stack trace", async (what, headers) => {
    const more = what.includes("admin") ? api.as.admin : {};
    const answer = await deliver({ ...headers, ...more });
    expect(answer.statusCode).toBe(401);
    expect(answer.json()).toMatchObject({ code: "unauthenticated" });
    expect(answer.body).not.toMatch(/ at .*\.ts|planted/);
    expect(poked).toEqual([]);
    expect((await readGitopsState(pool)).deliveryAt).toBeNull();
  });

  test("hex digits may be upper case, a wrong SHA-1 beside a right signature does not count, header names have no case", async () => {
    const upper = `sha256=${sign("{}").slice("sha256=".length).toUpperCase()}`;
    expect((await deliver({ "x-hub-signature-256": upper })).statusCode).toBe(202);
    expect((await deliver({ "X-Hub-Signature-256": right, "x-hub-signature": "sha1=00" })).statusCode).toBe(202);
  });

  test("the signature is over the raw bytes: other spacing, other escapes, bytes that are no UTF-8", async () => {
    const spaced = '{ "a":1 }';
    expect((await deliver({ "x-hub-signature-256": sign('{"a":1}') }, spaced)).statusCode).toBe(401);
    expect((await deliver({ "x-hub-signature-256": sign(spaced) }, spaced)).statusCode).toBe(202);
    const odd = Buffer.from([0x22, 0xff, 0xfe, 0x22]);
    const hex = createHmac("sha256", SECRET).update(odd).digest("hex");
    expect((await deliver({ "x-hub-signature-256": `sha256=${hex}` }, odd)).statusCode).toBe(202);
  });

  test("a rotated secret counts from the next delivery on, without a restart", async () => {
    expect((await deliver({ "x-gitlab-token": "rotated-webhook-secret" })).statusCode).toBe(401);
    secret = "rotated-webhook-secret\n";
    expect((await deliver({ "x-gitlab-token": "rotated-webhook-secret" })).statusCode).toBe(202);
    expect((await deliver({ "x-gitlab-token": SECRET })).statusCode).toBe(401);
  });

  test.each<[string, Record<string, string>, string | Buffer]>([
    ["an empty token", { "x-gitlab-token": "" }, "{}"],
    ["no header", {}, "{}"],
    ["another content type", { "content-type": "text/plain" }, "x"],
    ["a large body", {}, Buffer.alloc(1024 ** 2 + 1, 32)],
  ])("without a configured secret it does not exist: %s", async (_, headers, body) => {
    for (const none of [undefined, "", " \n"]) {
      secret = none;
      const answer = await deliver(headers, body);
      expect([answer.statusCode, answer.json<{ code: string }>().code]).toEqual([404, "webhook_not_configured"]);
    }
  });

  test("who proves nothing learns nothing of the limits: 401 before 413 and 415", async () => {
    expect((await deliver({}, Buffer.alloc(1024 ** 2 + 1, 32))).statusCode).toBe(401);
    expect((await deliver({ "content-type": "text/plain" }, "x")).statusCode).toBe(401);
  });

  test("over 1 MiB: 413; not JSON: 415", async () => {
    const big = Buffer.alloc(1024 ** 2 + 1, 32);
    expect((await deliver({ "x-gitlab-token": SECRET }, big)).statusCode).toBe(413);
    expect((await deliver({ "x-gitlab-token": SECRET, "content-type": "text/plain" }, "x")).statusCode).toBe(415);
    expect(
      (await deliver({ "x-gitlab-token": SECRET, "content-type": "application/x-www-form-urlencoded" }, "payload=x"))
        .statusCode,
    ).toBe(415);
    expect((await deliver({ "x-gitlab-token": SECRET }, '{"ref": ')).statusCode).toBe(415);
    expect((await deliver({ "x-hub-signature-256": sign("payload=x") }, "payload=x")).statusCode).toBe(415);
    expect(poked).toEqual([]);
  });

  test("with Temporal away a delivery is noted in its row and answered", async () => {
    isTemporalAway = true;
    await pool.query("update gitops_state set delivery_at = null");
    const answer = await deliver({ "x-gitlab-token": SECRET });
    expect(answer.statusCode).toBe(202);
    expect(answer.json<{ note: string }>().note).toContain("when Temporal answers");
    expect((await readGitopsState(pool)).deliveryAt).not.toBeNull();
  });

  test("refusals are audited, without the secret, and limited per address", async () => {
    const statuses: number[] = [];
    for (let i = 0; i < 22; i += 1) {
      const answer = await api.app.inject({
        method: "POST",
        url: "/api/v1/gitops/webhook",
        remoteAddress: "10.9.9.9",
        headers: { "content-type": "application/json", "x-gitlab-token": "guess" },
        payload: "{}",
      });
      statuses.push(answer.statusCode);
    }
    expect(statuses.slice(0, 20).every((status) => status === 401)).toBe(true);
    expect(statuses.slice(20)).toEqual([429, 429]);
    const { rows } = await pool.query("select outcome, code from audit where action = 'gitops.webhook' limit 1");
    expect(rows).toEqual([{ outcome: "refused", code: "unauthenticated" }]);
    expect(api.log.join("\n")).not.toContain("planted-webhook");
  });

  test("over the rate: 429 with a time to come back", async () => {
    const statuses: number[] = [];
    for (let i = 0; i < 70; i += 1) statuses.push((await deliver({ "x-gitlab-token": SECRET })).statusCode);
    expect(statuses).toContain(202);
    expect(statuses.at(-1)).toBe(429);
    expect((await deliver({ "x-gitlab-token": SECRET })).headers["retry-after"]).toMatch(/^\d+$/);
  });
});

describe("status, issues, sync", () => {
  test("each needs a credential; sync needs an operator", async () => {
    for (const url of ["/api/v1/gitops/status", "/api/v1/gitops/issues"]) {
      expect((await api.app.inject({ url })).statusCode).toBe(401);
      expect((await api.app.inject({ url, headers: api.as.viewer })).statusCode).toBe(200);
    }
    const sync = { method: "POST" as const, url: "/api/v1/gitops/sync" };
    expect((await api.app.inject({ ...sync, headers: api.as.viewer })).statusCode).toBe(403);
    expect(poked).toEqual([]);
    const answer = await api.app.inject({ ...sync, headers: api.as.operator });
    expect([answer.statusCode, poked.length]).toEqual([202, 1]);
    const { rows } = await pool.query("select outcome from audit where action = 'gitops.sync'");
    expect(rows).toEqual([{ outcome: "accepted" }]);
  });

  test("the status says what is in force, how old it is, and the issues of a refused revision with file and line", async () => {
    await insertSnapshot(pool);
    const issue = {
      code: "unknown_field",
      severity: "error",
      file: "fleets/demo.yaml",
      line: 7,
      column: 3,
      path: "spec.blueprnt",
      message: "no",
      hint: "did you mean blueprint?",
    };
    await pool.query("insert into gitops_issues (commit, n, issue) values ('c2', 1, $1)", [JSON.stringify(issue)]);
    await pool.query(
      `update gitops_state set state = 'error', error_code = 'invalid_revision', error_message = 'refused', seen_commit = 'c2',
         rejected_commit = 'c2', applied_at = '2026-11-29T01:59:00Z', checked_at = '2026-11-29T02:00:00Z'`,
    );
    const status = (await api.app.inject({ url: "/api/v1/gitops/status", headers: api.as.viewer })).json<object>();
    expect(status).toMatchObject({
      state: "error",
      error: { code: "invalid_revision" },
      appliedCommit: "c1",
      seenCommit: "c2",
      appliedAgeS: 60,
      author: "kim",
      objects: { Fleet: 1, Blueprint: 0 },
      issues: [issue],
      issuesCommit: "c2",
    });
    const issues = (await api.app.inject({ url: "/api/v1/gitops/issues", headers: api.as.viewer })).json<object>();
    expect(issues).toEqual({ commit: "c2", items: [issue], next: null });
  });
});

describe("notifications", () => {
  const page = async (query = "") =>
    (await api.app.inject({ url: `/api/v1/notifications${query}`, headers: api.as.viewer })).json<{
      items: { id: string; kind: string; data: object; deliveredAt: string | null }[];
      next: string | null;
    }>();

  test("are read by page, newest first, by a viewer; an occasion stands once", async () => {
    expect((await api.app.inject({ url: "/api/v1/notifications" })).statusCode).toBe(401);
    const at = new Date("2026-11-29T02:00:00Z");
    const note = (n: number) =>
      noteNotification(pool, { key: `k:${n}`, kind: n === 2 ? "other" : "invalid_revision", at, data: { n } });
    expect(await Promise.all([note(1), note(1), note(1)])).toContain(true);
    expect([await note(1), await note(2), await note(3)]).toEqual([false, true, true]);
    const first = await page("?limit=2");
    expect(first.items.map(({ data }) => data)).toEqual([{ n: 3 }, { n: 2 }]);
    expect(first.items[0]).toMatchObject({ at: at.toISOString(), deliveredAt: null });
    const second = await page(`?limit=2&cursor=${first.next}`);
    expect([second.items.map(({ data }) => data), second.next]).toEqual([[{ n: 1 }], null]);
    expect((await page("?kind=other")).items).toHaveLength(1);
    expect((await api.app.inject({ url: "/api/v1/notifications?cursor=x", headers: api.as.viewer })).statusCode).toBe(
      400,
    );
    const openapi = (await api.app.inject({ url: "/api/v1/openapi.json" })).json<{ paths: object }>();
    expect(openapi.paths).toHaveProperty(["/api/v1/notifications"]);
  });
});
