/** The listener of `myriarchd --roles api`, as real processes: with TLS of its own, and plain behind a proxy. */
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { request as plain } from "node:http";
import { request as overTls } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import { WebSocket } from "ws";
import { stringify } from "yaml";
import { programPath, startProgram, type Program } from "../../src/embedded/program.ts";
import { createAgentClient } from "../../src/protocol/agent-client.ts";
import { encodeAgentToServer } from "../../src/protocol/codec.ts";
import { createApiToken, createEnrollmentToken } from "../../src/store/tokens.ts";
import { agentRowWhere } from "../support/agent-rows.ts";
import { createTestAuthority, type Issued, type TestAuthority } from "../support/certificates.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { httpAgent, post } from "../support/http-agent.ts";
import { description, eventually, health, newUid, silentLog, upgradeStatus } from "../support/opamp.ts";

const COLLECTOR = 0x7807n;
const MIB = 1024 ** 2;
/** Of refused credentials that one address may show in a minute. */
const PATIENCE = 60;
type Api = { url: string; opamp: string; log: () => Promise<string>; program: Program };

let db: TestDatabase;
let folder: string;
let authority: TestAuthority;
let tls: Api;
let proxied: Api;
let token: string;
let apiToken: string;
const clients: { stop: () => Promise<void> }[] = [];

beforeAll(async () => {
  db = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), "myriarch-listener-"));
  authority = await createTestAuthority();
  const at = new Date();
  const made = { name: "listener", createdBy: "test", expiresAt: null, at };
  token = (await createEnrollmentToken(db.pool, { ...made, labels: {} }))?.token ?? "";
  apiToken = (await createApiToken(db.pool, { ...made, owner: "ana", role: "viewer" }))?.token ?? "";
  const own = await authority.issue({ commonName: "server", dns: ["localhost"], ip: ["127.0.0.1"] });
  const pem = { "cert.pem": own.cert, "key.pem": own.key, "ca.pem": authority.ca };
  const files = { ...pem, key: randomBytes(32).toString("hex"), "trusted-root.json": "{}" };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text, { mode: 0o600 });
  const [certFile, keyFile, clientCaFile] = ["cert.pem", "key.pem", "ca.pem"].map((name) => join(folder, name));
  [tls, proxied] = await Promise.all([
    startApi("tls", { tls: { certFile, keyFile, clientCaFile } }),
    startApi("proxied", { trustedProxies: ["loopback", "10.0.0.0/8"] }),
  ]);
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.stop()));
});
afterAll(async () => {
  await Promise.all([tls?.program.stop(), proxied?.program.stop()]);
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  await db?.drop();
});

async function startApi(name: string, server: object): Promise<Api> {
  const dataDir = join(folder, name);
  await mkdir(dataDir);
  const config = join(dataDir, "server.yaml");
  const [key, trustedRootFile] = [join(folder, "key"), join(folder, "trusted-root.json")];
  const settings = {
    mode: "development",
    server: { listen: "127.0.0.1:0", publicUrl: "https://fleet.example.com", ...server },
    secrets: { keyFile: key },
    gitops: { url: `file://${join(folder, "none.git")}` },
    artifacts: { trustedRootFile, stagingDir: join(folder, "staging") },
    depots: { controlTokenFile: key, readTokenFile: key },
    telemetry: { metricsListen: "127.0.0.1:0" },
  };
  await writeFile(config, stringify(settings), { mode: 0o600 });
  const args = ["--config", config, "--roles", "api"];
  const env = { DATABASE_URL: db.url, TEMPORAL_ADDRESS: inject("temporalAddress") };
  const program = await startProgram({ name, script: programPath("myriarchd"), args, dataDir, env });
  const { url = "" } = program.ready;
  return { url, opamp: `${url}/v1/opamp`, program, log: () => readFile(program.logFile, "utf8") };
}

type Asked = { method?: string; headers?: Record<string, string>; body?: Uint8Array } & Partial<Issued>;

const ask = (url: string, { method = "GET", headers = {}, body, cert, key }: Asked = {}) =>
  new Promise<{ status: number; headers: Record<string, unknown>; text: string }>((resolve, reject) => {
    const make = url.startsWith("https:") ? overTls : plain;
    const options = { method, headers, agent: false, ca: authority.ca, ...(cert && { cert, key }) };
    const asked = make(url, options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => (text += part));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    asked.on("error", reject).end(body);
  });

/** The status of an upgrade. */
function knock(url: string, headers: Record<string, string>, shown: Partial<Issued> = {}): Promise<number> {
  const socket = new WebSocket(url.replace(/^http/, "ws"), { headers, ca: authority.ca, ...shown });
  return upgradeStatus(socket);
}

const collector = (host: string) => ({
  agentDescription: description({ "service.name": "otelcol" }, { "host.name": host }),
  health: health(true),
});
const message = (padding = 0): Uint8Array => {
  const base = { instanceUid: newUid(), sequenceNum: 0n, capabilities: COLLECTOR, flags: 0n };
  const { agentDescription } = collector("x".repeat(padding));
  return encodeAgentToServer({ ...base, agentDescription }).subarray(1);
};
const connected = (uid: string) => agentRowWhere(db.pool, uid, "the agent's row", (row) => row["connected"] === true);
const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
const protobuf = { "content-type": "application/x-protobuf" };

describe("with TLS of its own", () => {
  it("serves the API and the page by HTTPS, to anybody's browser without a certificate", async () => {
    expect(tls.url).toMatch(/^https:/);
    expect((await ask(`${tls.url}/healthz`)).status).toBe(200);
    expect((await ask(`${tls.url}/`)).headers["content-type"]).toMatch(/^text\/html/);
    const me = await ask(`${tls.url}/api/v1/me`, { headers: bearer(apiToken) });
    expect(JSON.parse(me.text)).toMatchObject({ principal: "ana", role: "viewer" });
    expect((await ask(`${tls.url}/api/v1/me`)).status).toBe(401);
  });
  it("does not speak plain HTTP, and goes on", async () => {
    await expect(ask(tls.url.replace("https:", "http:"))).rejects.toThrow(/socket hang up|ECONNRESET|Parse Error/);
    expect((await ask(`${tls.url}/healthz`)).status).toBe(200);
  });

  it.each(["its token", "its certificate"])("takes an agent with %s by WebSocket", async (what) => {
    const own = what === "its token" ? undefined : await authority.issue({ commonName: "web-1" });
    const state = collector(what);
    const client = createAgentClient({
      endpoint: tls.opamp.replace(/^https/, "wss"),
      headers: own === undefined ? { Authorization: `Bearer ${token}` } : {},
      tls: { ca: authority.ca, ...own },
      instanceUid: newUid(),
      capabilities: COLLECTOR,
      state: () => state,
      onMessage: () => undefined,
      log: silentLog,
      chance: () => 0,
    });
    clients.push(client);
    client.start();
    const { credential } = await connected(client.instanceUid);
    if (own === undefined) expect(credential).toMatch(/^token:/);
    else expect(credential).toBe("cert:web-1");
  });
  it("takes one that polls with its certificate", async () => {
    const own = await authority.issue({ commonName: "poll-1" });
    const answer = await ask(tls.opamp, { method: "POST", headers: protobuf, body: message(), ...own });
    expect(answer.status).toBe(200);
    await eventually("its row", async () => {
      const { rows } = await db.pool.query("select kind from agents where credential = 'cert:poll-1'");
      return rows.length === 1 && rows[0].kind === "collector";
    });
  });
  it("refuses a certificate of somebody else's, over both transports, and one for the API", async () => {
    const foreign = await (await createTestAuthority()).issue({ commonName: "web-1" });
    expect(await knock(tls.opamp, {}, foreign)).toBe(401);
    expect((await ask(tls.opamp, { method: "POST", headers: protobuf, body: message(), ...foreign })).status).toBe(401);
    const own = await authority.issue({ commonName: "web-1" });
    expect((await ask(`${tls.url}/api/v1/agents`, own)).status).toBe(401);
  });

  it("believes no X-Forwarded-For: who is refused too often is told to wait, whatever it writes there", async () => {
    const statuses: number[] = [];
    for (let i = 0; i < PATIENCE + 5; i++)
      statuses.push(await knock(tls.opamp, { ...bearer("wrong"), "x-forwarded-for": `198.51.100.${i}` }));
    expect(statuses.at(-1)).toBe(429);
    expect(await tls.log()).not.toContain("198.51.100.");
    expect(await knock(tls.opamp, bearer(token))).toBe(101);
  });
});

describe("plain, behind a proxy", () => {
  it("takes an agent that polls, packed or not", async () => {
    for (const gzip of [false, true]) {
      const agent = httpAgent({ endpoint: proxied.opamp, token, uid: newUid(), capabilities: COLLECTOR, gzip });
      expect((await agent.say(collector("polls"))).message).toMatchObject({ instanceUid: agent.uid(), flags: 0n });
      await connected(agent.uid());
      expect((await agent.say()).status).toBe(200);
    }
  });
  it.each([
    ["a large message of an agent, where other routes take a MiB", 200, () => message(2 * MIB), {}],
    ["the same, packed", 200, () => gzipSync(message(2 * MIB)), { "content-encoding": "gzip" }],
    ["one that is too large", 413, () => new Uint8Array(17 * MIB), {}],
    [
      "one that is too large when unpacked",
      413,
      () => gzipSync(new Uint8Array(17 * MIB)),
      { "content-encoding": "gzip" },
    ],
    ["one that is not gzip", 400, () => message(), { "content-encoding": "gzip" }],
    ["another encoding", 415, () => message(), { "content-encoding": "br" }],
    ["JSON", 415, () => Buffer.from("{}"), { "content-type": "application/json" }],
    ["an unknown token", 401, () => message(), bearer("wrong")],
  ] as const)("%s: %i", async (_, status, body, headers) => {
    const answer = await post(proxied.opamp, body(), { ...bearer(token), ...headers });
    expect(answer.status).toBe(status);
    // Always a message that a client of the protocol can read.
    expect(answer.headers["content-type"]).toBe("application/x-protobuf");
    expect(answer.message).toBeDefined();
  });
  it("who still sends when it is refused reads the answer: every time, not when it is quick enough", async () => {
    const body = new Uint8Array(24 * MIB);
    for (let i = 0; i < 8; i++) expect((await post(proxied.opamp, body, bearer(token))).status).toBe(413);
    expect((await post(proxied.opamp, body, bearer("wrong"))).status).toBe(401);
  });
  it("no credential at all is 401 too, and a GET is no way in", async () => {
    expect((await post(proxied.opamp, message(), {})).status).toBe(401);
    expect([404, 405]).toContain((await ask(proxied.opamp, { headers: bearer(token) })).status);
  });

  const refused = (via: string) => ({ ...bearer("wrong"), "x-forwarded-for": via });
  const doors = {
    "the WebSocket": (via: string) => knock(proxied.opamp, refused(via)),
    "plain HTTP": async (via: string) => (await post(proxied.opamp, message(), refused(via))).status,
  };
  it.each([
    ["the WebSocket", "203.0.113.1", "203.0.113.2"],
    ["plain HTTP", "203.0.113.3", "203.0.113.4"],
  ] as const)(
    "who is refused too often at %s is known by the address that the proxy says",
    async (door, bad, other) => {
      const try_ = doors[door];
      const statuses: number[] = [];
      // What it writes itself stands before what the proxies add, and changes nothing.
      for (let i = 0; i < PATIENCE; i++) statuses.push(await try_(`198.51.100.${i}, ${bad}, 10.1.2.3`));
      expect(new Set(statuses)).toEqual(new Set([401]));
      expect(await try_(`192.0.2.7, ${bad}`)).toBe(429);
      expect(await try_(`${bad}, ${other}`)).toBe(401);
      const log = await proxied.log();
      expect(log).toContain(`"address":"${bad}"`);
      expect(log).not.toContain("198.51.100.");
      // A good credential from there is not shut out.
      expect(await knock(proxied.opamp, { ...bearer(token), "x-forwarded-for": bad })).toBe(101);
    },
  );
  it("the API knows by the same rule whom it refuses too often", async () => {
    const me = async (via: string) => (await ask(`${proxied.url}/api/v1/me`, { headers: refused(via) })).status;
    const statuses: number[] = [];
    for (let i = 0; i < PATIENCE && statuses.at(-1) !== 429; i++)
      statuses.push(await me(`198.51.100.${i}, 203.0.113.9`));
    expect(statuses.at(-1)).toBe(429);
    expect(await me("203.0.113.9, 203.0.113.10")).toBe(401);
  });
});
