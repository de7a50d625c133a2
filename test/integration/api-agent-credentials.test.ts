/** What agents connect with and whether they are known, as admins change it: over the API and myrctl, felt by live connections. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { agentRow, agentRowWhere } from "../support/agent-rows.ts";
import { createTestApi, type TestApi } from "../support/api.ts";
import { createTestAuthority, type TestAuthority } from "../support/certificates.ts";
import { httpAgent } from "../support/http-agent.ts";
import { myrctl } from "../support/myrctl.ts";
import { description, eventually, health, newUid, silentLog, startAgent, startOpamp } from "../support/opamp.ts";
import type { OpampSetup, TestAgent } from "../support/opamp.ts";
import { createAgentClient } from "../../src/protocol/agent-client.ts";

const COLLECTOR = 0x7807n;
const UNKNOWN = "0190a000-0000-7000-8000-0000000000ff";
let api: TestApi;
let opamp: OpampSetup;
let folder: string;
let authority: TestAuthority;
const agents: { stop: () => Promise<void> }[] = [];

beforeAll(async () => {
  api = await createTestApi({ now: () => new Date() });
  authority = await createTestAuthority();
  const own = await authority.issue({ commonName: "server", ip: ["127.0.0.1"] });
  opamp = await startOpamp(api.database, { tls: { ...own, clientCa: authority.ca } });
  await api.app.listen({ host: "127.0.0.1", port: 0 });
  const server = `http://127.0.0.1:${(api.app.server.address() as AddressInfo).port}`;
  folder = await mkdtemp(join(tmpdir(), "myrctl-"));
  for (const role of ["viewer", "admin"] as const)
    await writeFile(join(folder, role), `${api.tokens[role]}\n`, { mode: 0o600 });
  await writeFile(join(folder, "cli.json"), JSON.stringify({ server, tokenFile: join(folder, "admin") }));
});
afterEach(async () => {
  await Promise.all(agents.splice(0).map((agent) => agent.stop()));
});
afterAll(async () => {
  await opamp?.stop();
  await api?.close();
  if (folder !== undefined) await rm(folder, { recursive: true });
});

type Method = "GET" | "POST" | "DELETE";
const ask = async (method: Method, url: string, payload?: object, role: "viewer" | "operator" | "admin" = "admin") => {
  const headers = api.as[role];
  const answer = await api.app.inject({ method, url: `/api/v1${url}`, headers, ...(payload && { payload }) });
  return { status: answer.statusCode, headers: answer.headers, body: answer.json<Record<string, unknown>>() };
};
const run = (...argv: string[]) => myrctl(argv, { MYRIARCH_DATA: folder });
const audits = async (object: string) =>
  (
    await api.database.pool.query(
      "select principal, action, outcome, detail from audit where object = $1 order by seq",
      [object],
    )
  ).rows;
type Made = { id: string; token: string };
const enroll = async (name: string): Promise<Made> =>
  (await ask("POST", "/tokens/enrollment", { name, labels: { site: "fra" } })).body as Made;
const collector = (host: string) => ({
  agentDescription: description({ "service.name": "otelcol" }, { "host.name": host }),
  health: health(true),
});
const rowOf = (uid: string) => agentRow(api.database.pool, uid);
const online = (uid: string) =>
  agentRowWhere(api.database.pool, uid, "the agent's row", (row) => row["connected"] === true);

describe("the successor of an enrollment token", () => {
  it("is made once, is shown once, stands in the list beside what it succeeds, and is audited", async () => {
    const old = await enroll("web");
    const endsAt = new Date(Date.now() + 3_600_000).toISOString();
    const made = await ask("POST", `/tokens/enrollment/${old.id}/rotate`, { endsAt });
    expect(made).toMatchObject({
      status: 201,
      headers: { "cache-control": "no-store" },
      body: { name: "web-2", labels: { site: "fra" }, successorOf: "web", expiresAt: null },
    });
    const secret = String(made.body["token"]);
    expect(secret).toMatch(/^myr_enroll_[\w-]{43}$/);
    const next = await ask("POST", `/tokens/enrollment/${String(made.body["id"])}/rotate`);
    expect(next).toMatchObject({ status: 201, body: { name: "web-3", successorOf: "web-2" } });

    const list = await ask("GET", "/tokens/enrollment");
    expect(list.body["items"]).toMatchObject([
      { name: "web", successorOf: null, expiresAt: endsAt },
      { name: "web-2", successorOf: "web", expiresAt: null },
      { name: "web-3", successorOf: "web-2", expiresAt: null },
    ]);
    expect(JSON.stringify(list.body) + JSON.stringify(await audits("enrollment/web")) + api.log.join("")).not.toContain(
      secret,
    );
    expect(await audits("enrollment/web")).toMatchObject([
      { action: "tokens.create" },
      {
        principal: "admin-owner",
        action: "tokens.rotate",
        outcome: "accepted",
        detail: { id: old.id, successor: "web-2", successorId: made.body["id"], endsAt },
      },
    ]);
  });

  it.each([
    ["of a token that is not there", UNKNOWN, {}, "admin", 404, "not_found"],
    ["of no token", "web", {}, "admin", 400, "invalid_request"],
    ["with a name that is taken", "OLD", { name: "taken" }, "admin", 409, "already_exists"],
    ["with a name that is none", "OLD", { name: "a b" }, "admin", 400, "invalid_request"],
    ["that ends at no time", "OLD", { endsAt: "tomorrow" }, "admin", 400, "invalid_request"],
    ["asked for by a viewer", "OLD", {}, "viewer", 403, "forbidden"],
    ["asked for by an operator", "OLD", {}, "operator", 403, "forbidden"],
  ] as const)("%s is refused, and nothing is made", async (what, id, body, role, status, code) => {
    const name = `refused${what.length}${status}`;
    const old = await enroll(name);
    await enroll("taken");
    const before = (await ask("GET", "/tokens/enrollment")).body["items"];
    const answer = await ask("POST", `/tokens/enrollment/${id === "OLD" ? old.id : id}/rotate`, body, role);
    expect(answer).toMatchObject({ status, body: { code } });
    expect((await ask("GET", "/tokens/enrollment")).body["items"]).toEqual(before);
    expect(await audits(`enrollment/${name}`)).toMatchObject([{ action: "tokens.create" }]);
  });

  it("takes agents over with their UID; revoking the old token ends who still uses it", async () => {
    const old = await enroll("fleet");
    const ca = { tls: { ca: authority.ca } };
    const moved = startTls(old.token, "moved", ca);
    const late = startTls(old.token, "late", ca);
    await Promise.all([online(moved.instanceUid), online(late.instanceUid)]);
    const made = (await ask("POST", `/tokens/enrollment/${old.id}/rotate`)).body as Made;
    await moved.stop();
    startTls(made.token, "moved", ca, moved.instanceUid);
    await eventually(
      "the new credential",
      async () => (await rowOf(moved.instanceUid))?.["credential"] === `token:${made.id}`,
    );
    expect(late.connected).toBe(true);
    expect((await ask("DELETE", `/tokens/enrollment/${old.id}`)).body).toMatchObject({ name: "fleet", changed: true });
    await eventually("the end of the old token", () => !late.connected, 5_000);
    expect(await rowOf(moved.instanceUid)).toMatchObject({ connected: true });
    expect((await audits("enrollment/fleet")).map(({ action }) => action)).toEqual([
      "tokens.create",
      "tokens.rotate",
      "tokens.revoke",
    ]);
  });

  it("is alone on the standard output of myrctl", async () => {
    const old = await enroll("cli");
    const made = await run("tokens", "rotate", "cli", "--name", "cli-next", "--ends-at", "2030-01-01T00:00:00Z");
    expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^myr_enroll_[\w-]{43}\n$/) });
    expect(made.err).toMatch(
      /^cli-next \(.*\) succeeds cli, which ends at 2030-01-01T00:00:00Z; it is shown this once:/,
    );
    expect(made.err).not.toContain(made.out.trim());
    const byId = await run("tokens", "rotate", old.id, "--json");
    expect(JSON.parse(byId.out)).toMatchObject({ name: "cli-2", successorOf: "cli" });
    expect(await run("tokens", "rotate", "cli", "--name", "cli-2")).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringContaining("already_exists"),
    });
    expect((await run("tokens", "list", "enrollment")).out).toMatch(/^cli-2 .* cli +site=fra$/m);
    expect(await run("tokens", "rotate", "nobody")).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringContaining("there is no enrollment token nobody"),
    });
    expect(await run("tokens", "rotate", "cli", "--token-file", join(folder, "viewer"))).toMatchObject({
      code: 1,
      out: "",
    });
    expect((await run("tokens", "revoke", "enrollment", old.id)).out).toBe("cli: revoked\n");
    expect((await run("tokens", "revoke", "enrollment", old.id)).out).toBe("cli: was revoked already\n");
  });
});

type ClientTls = { tls: { ca: string; cert?: string; key?: string } };

/** An agent over TLS, as a token's (empty: none) or a certificate's. */
function startTls(token: string, host: string, { tls }: ClientTls, uid = newUid()) {
  const state = collector(host);
  const client = createAgentClient({
    endpoint: opamp.endpoint,
    headers: token === "" ? {} : { Authorization: `Bearer ${token}` },
    tls,
    instanceUid: uid,
    capabilities: COLLECTOR,
    state: () => state,
    onMessage: () => undefined,
    log: silentLog,
    chance: () => 0,
  });
  agents.push(client);
  client.start();
  return client;
}

describe("the certificates of a subject", () => {
  const deny = (subject: string, more: object = { reason: "stolen" }, role: "viewer" | "admin" = "admin") =>
    ask("POST", "/tokens/certificates", { subject, ...more }, role);

  it("are denied with a reason: the connection ends, and comes back when they are allowed", async () => {
    const { cert, key } = await authority.issue({ commonName: "host/1" });
    const agent = startTls("", "host-1", { tls: { ca: authority.ca, cert, key } });
    await online(agent.instanceUid);
    expect(await deny("host/1")).toMatchObject({ status: 200, body: { subject: "host/1", changed: true } });
    await eventually("the end", () => !agent.connected, 5_000);
    expect((await deny("host/1")).body).toEqual({ subject: "host/1", changed: false });
    expect((await ask("GET", "/tokens/certificates")).body).toMatchObject({
      items: [{ subject: "host/1", reason: "stolen", deniedBy: "admin-owner" }],
    });
    expect((await ask("DELETE", "/tokens/certificates/host%2F1")).body).toEqual({ subject: "host/1", changed: true });
    expect((await ask("DELETE", "/tokens/certificates/host%2F1")).body).toEqual({ subject: "host/1", changed: false });
    await eventually("its return", () => agent.connected, 20_000);
    expect(await audits("certificate/host/1")).toEqual([
      { principal: "admin-owner", action: "tokens.deny", outcome: "accepted", detail: { reason: "stolen" } },
      { principal: "admin-owner", action: "tokens.allow", outcome: "accepted", detail: {} },
    ]);
  });

  it.each([
    ["without a reason", "x", {}, "admin", 400, "invalid_request"],
    ["with an empty one", "x", { reason: "" }, "admin", 400, "invalid_request"],
    ["of nobody", "", { reason: "x" }, "admin", 400, "invalid_request"],
    ["by a viewer", "x", { reason: "x" }, "viewer", 403, "forbidden"],
  ] as const)("are not denied %s", async (_, subject, more, role, status, code) => {
    expect(await deny(subject, more, role)).toMatchObject({ status, body: { code } });
    expect((await ask("GET", "/tokens/certificates")).body).toEqual({ items: [] });
  });
  it("are no viewer's to list or to allow", async () => {
    expect((await ask("GET", "/tokens/certificates", undefined, "viewer")).status).toBe(403);
    expect((await ask("DELETE", "/tokens/certificates/x", undefined, "viewer")).status).toBe(403);
  });

  it("are denied, listed and allowed by myrctl", async () => {
    expect((await run("tokens", "certificates")).out).toBe("no denied certificates\n");
    expect(await run("tokens", "deny-certificate", "web 1")).toMatchObject({ code: 2, out: "" });
    expect((await run("tokens", "deny-certificate", "web 1", "--reason", "lost laptop")).out).toBe("web 1: denied\n");
    expect((await run("tokens", "deny-certificate", "web 1", "--reason", "again")).out).toBe(
      "web 1: was denied already\n",
    );
    expect((await run("tokens", "certificates")).out).toMatch(
      /SUBJECT +DENIED +REASON\nweb 1 .* by admin-owner +lost laptop/,
    );
    expect((await run("tokens", "allow-certificate", "web 1")).out).toBe("web 1: allowed again\n");
    expect((await run("tokens", "allow-certificate", "web 1")).out).toBe("web 1: was not denied\n");
  });
});

describe("deleting an agent that is connected", () => {
  let plain: OpampSetup;
  let token: string;
  beforeAll(async () => {
    plain = await startOpamp(api.database);
    ({ token } = await plain.enroll("deletions"));
  });
  afterAll(() => plain?.stop());

  const start = (host: string): TestAgent => {
    const agent = startAgent({ endpoint: plain.endpoint, token, capabilities: COLLECTOR, state: collector(host) });
    agents.push(agent);
    return agent;
  };
  const remove = (uid: string, payload: object, role: "operator" | "admin" = "admin") =>
    ask("DELETE", `/agents/${uid}`, payload, role);
  const beginUpdate = async (uid: string, fleet: string, phase: string) => {
    await api.database.pool.query("insert into fleets (name) values ($1)", [fleet]);
    await api.database.pool.query(
      `insert into rollouts (fleet, n, kind, wanted_key, commit, state, reason, next_what, policy, started_at)
       values ($1, 1, 'change', $1, 'c', 'running', '', '', '{}', now())`,
      [fleet],
    );
    await api.database.pool.query(
      "insert into targets (fleet, n, host, host_name, ord, to_version) values ($1, 1, $2, $1, 0, '2')",
      [fleet, uid],
    );
    await api.database.pool.query(
      "insert into attempts (fleet, n, host, attempt, direction, phase) values ($1, 1, $2, 1, 'forward', $3)",
      [fleet, uid, phase],
    );
  };

  it("needs a reason, ends its connection, and makes a new one of it when it comes back", async () => {
    const agent = start("gone");
    const uid = agent.client.instanceUid;
    const before = await online(uid);
    for (const payload of [{}, { reason: "" }, { force: true }])
      expect((await remove(uid, payload)).status, JSON.stringify(payload)).toBe(400);
    expect((await remove(uid, { reason: "x" }, "operator")).body).toMatchObject({ code: "forbidden" });
    expect(await rowOf(uid)).toMatchObject({ connected: true });

    expect(await remove(uid, { reason: "sold" })).toMatchObject({ status: 200, body: { uid, hostName: "gone" } });
    const after = await eventually("its return", async () => {
      const row = await rowOf(uid);
      return row?.["connected"] === true && row;
    });
    expect(after["first_seen_at"]).not.toEqual(before["first_seen_at"]);
    expect((await audits(uid)).filter(({ outcome }) => outcome === "accepted")).toEqual([
      {
        principal: "admin-owner",
        action: "agents.delete",
        outcome: "accepted",
        detail: { reason: "sold", hostName: "gone" },
      },
    ]);
    await agent.stop();
    agents.length = 0;
    await eventually("its end", async () => (await rowOf(uid))?.["connected"] === false);
    expect((await remove(uid, { reason: "sold" })).status).toBe(200);
    expect((await remove(uid, { reason: "sold" })).body).toMatchObject({ status: 404, code: "not_found" });
  });

  it("is refused once an update of it has begun, unless by force", async () => {
    const agent = start("busy");
    const uid = agent.client.instanceUid;
    await online(uid);
    await beginUpdate(uid, "busy", "offered");
    expect(await remove(uid, { reason: "sold" })).toMatchObject({ status: 409, body: { code: "control_conflict" } });
    expect(agent.client.connected).toBe(true);
    expect((await remove(uid, { reason: "sold", force: true })).status).toBe(200);
    expect((await audits(uid)).at(-1)).toMatchObject({ detail: { reason: "sold", force: true } });
  });
  it("is done while an update of it waits for its turn", async () => {
    const agent = start("waits");
    await online(agent.client.instanceUid);
    await beginUpdate(agent.client.instanceUid, "waits", "pending");
    expect((await remove(agent.client.instanceUid, { reason: "sold" })).status).toBe(200);
  });

  it("is felt by one that polls: its next request comes from a stranger", async () => {
    const uid = newUid();
    const agent = httpAgent({ endpoint: plain.endpoint, token, uid, capabilities: COLLECTOR });
    await agent.say(collector("polls"));
    const before = await online(uid);
    expect((await remove(uid, { reason: "sold" })).status).toBe(200);
    const asked = await eventually("the question for everything", async () => {
      const { message } = await agent.say();
      return message !== undefined && (message.flags & 1n) === 1n && message;
    });
    expect(asked.instanceUid).toBe(uid);
    await agent.say(collector("polls"));
    expect((await online(uid))["first_seen_at"]).not.toEqual(before["first_seen_at"]);
  });
});
