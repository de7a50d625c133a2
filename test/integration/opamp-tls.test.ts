/** The listener with TLS of its own, and client certificates as credentials. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { request } from "node:https";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { createListenerServer } from "../../src/api/listener.ts";
import { CHANNELS } from "../../src/domain/channels.ts";
import { createAgentClient, type AgentClient } from "../../src/protocol/agent-client.ts";
import { encodeAgentToServer } from "../../src/protocol/codec.ts";
import { agentRow } from "../support/agent-rows.ts";
import { createTestAuthority, type Issued, type TestAuthority } from "../support/certificates.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import {
  description,
  eventually,
  newUid,
  silentLog,
  startOpamp,
  upgradeStatus,
  type OpampSetup,
} from "../support/opamp.ts";

let db: TestDatabase;
let opamp: OpampSetup;
let authority: TestAuthority;
let foreign: TestAuthority;
let url: string;
let token: string;
const clients: AgentClient[] = [];

beforeAll(async () => {
  db = await createTestDatabase();
  [authority, foreign] = await Promise.all([createTestAuthority(), createTestAuthority()]);
  opamp = await startOpamp(db, { tls: { ...(await serverCertificate()), clientCa: authority.ca } });
  url = `https://127.0.0.1:${(opamp.http.address() as AddressInfo).port}/v1/opamp`;
  ({ token } = await opamp.enroll("tls"));
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.stop()));
});
afterAll(async () => {
  await opamp?.stop();
  await db?.drop();
});
const serverCertificate = () => authority.issue({ commonName: "server", dns: ["localhost"], ip: ["127.0.0.1"] });

type Shown = Partial<Issued> & { authorization?: string };

/** The status of an upgrade. */
function knock({ cert, key, authorization }: Shown): Promise<number> {
  const headers = authorization === undefined ? {} : { authorization };
  const socket = new WebSocket(opamp.endpoint, { ca: authority.ca, headers, ...(cert && { cert, key }) });
  return upgradeStatus(socket);
}

const poll = (shown: Shown): Promise<number> =>
  new Promise((resolve, reject) => {
    const { cert, key, authorization } = shown;
    const headers = { "content-type": "application/x-protobuf", ...(authorization && { authorization }) };
    const asked = request(url, { method: "POST", agent: false, ca: authority.ca, headers, ...(cert && { cert, key }) });
    asked.on("error", reject);
    asked.on("response", (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    asked.end(encodeAgentToServer({ instanceUid: newUid(), sequenceNum: 0n, capabilities: 1n, flags: 0n }).subarray(1));
  });

function start(shown: Issued, name: string, host: string, more: Record<string, string> = {}): AgentClient {
  const agentDescription = description({ "service.name": name }, { "host.name": host, ...more });
  const client = createAgentClient({
    endpoint: opamp.endpoint,
    headers: {},
    tls: { ca: authority.ca, cert: shown.cert, key: shown.key },
    instanceUid: newUid(),
    capabilities: name === "myriarch-updater" ? 0x2819n : 0x7807n,
    state: () => ({ agentDescription }),
    onMessage: () => undefined,
    log: silentLog,
    chance: () => 0,
  });
  clients.push(client);
  client.start();
  return client;
}
const rowOf = (uid: string) => agentRow(db.pool, uid);

describe.each([
  ["WebSocket", 101, knock],
  ["plain HTTP", 200, poll],
] as const)("over %s", (_, welcome, attempt) => {
  it("a certificate of our authority is a credential", async () => {
    expect(await attempt(await authority.issue({ commonName: "host-1" }))).toBe(welcome);
    expect(await attempt(await authority.issue({ commonName: "", dns: ["host-2.example.com"] }))).toBe(welcome);
  });
  it("a token is one as ever, with or without a certificate", async () => {
    const authorization = `Bearer ${token}`;
    expect(await attempt({ authorization })).toBe(welcome);
    expect(await attempt({ authorization, ...(await foreign.issue({ commonName: "host-1" })) })).toBe(welcome);
  });
  it.each([
    ["nothing", async () => ({})],
    ["a certificate of another authority", () => foreign.issue({ commonName: "host-1" })],
    ["one that is over", () => authority.issue({ commonName: "host-1", from: -600, until: -1 })],
    ["one that is not valid yet", () => authority.issue({ commonName: "host-1", from: 600 })],
    ["one that names nobody", () => authority.issue({ commonName: "" })],
    [
      "a refused token beside a good certificate",
      async () => ({
        ...(await authority.issue({ commonName: "host-1" })),
        authorization: "Bearer myr_enroll_unknown",
      }),
    ],
  ] as const)("%s is refused with 401", async (_name, shown) => {
    expect(await attempt(await shown())).toBe(401);
  });
});

it("is the credential of rows, and links an updater to its collector", async () => {
  const own = await authority.issue({ commonName: "web-1" });
  const collector = start(own, "otelcol", "web-1");
  const link = { "dev.myriarch.collector.instance_uid": collector.instanceUid };
  const updater = start(own, "myriarch-updater", "WEB-1", link);
  const other = start(await authority.issue({ commonName: "web-2" }), "myriarch-updater", "web-1", link);
  await eventually("the link", async () => (await rowOf(updater.instanceUid))?.["link"] === "linked");
  await eventually("the mismatch", async () => (await rowOf(other.instanceUid))?.["link"] === "mismatch");
  expect(await rowOf(collector.instanceUid)).toMatchObject({ credential: "cert:web-1" });
});

it("a subject that is denied loses its connections, and comes back when it is allowed", async () => {
  const client = start(await authority.issue({ commonName: "lost" }), "otelcol", "lost");
  await eventually("the row", async () => (await rowOf(client.instanceUid))?.["connected"] === true);
  await db.pool.query("insert into denied_certificates (subject, reason, denied_by) values ('lost', 'stolen', 'test')");
  await db.pool.query("select pg_notify($1, '')", [CHANNELS.credentials]);
  await eventually("the end", () => !client.connected, 5_000);
  expect(await knock(await authority.issue({ commonName: "lost" }))).toBe(401);
  await db.pool.query("delete from denied_certificates");
  await db.pool.query("select pg_notify($1, '')", [CHANNELS.credentials]);
  await eventually("its return", () => client.connected);
});

it("a connection ends with its certificate", async () => {
  const client = start(await authority.issue({ commonName: "short", until: 3 }), "otelcol", "short");
  await eventually("the row", async () => (await rowOf(client.instanceUid))?.["connected"] === true);
  await eventually("the end", () => !client.connected, 8_000);
});

it("a handshake that stops in the middle is cut and disturbs nobody", async () => {
  const limits = { headersTimeout: 300, connectionsCheckingInterval: 100 };
  const server = createListenerServer((_, response) => response.end("ok"), await serverCertificate(), limits);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const { connect } = await import("node:net");
  const silent = Array.from({ length: 50 }, () => connect(port, "127.0.0.1"));
  const ends = silent.map((socket) =>
    once(
      socket.on("error", () => undefined),
      "close",
    ),
  );
  const status = await new Promise((resolve, reject) => {
    const asked = request({ port, host: "127.0.0.1", ca: authority.ca, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.on("error", reject).end();
  });
  expect(status).toBe(200);
  await Promise.all(ends);
  server.close();
});
