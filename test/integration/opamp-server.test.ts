import { request } from "node:http";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { decodeServerToAgent, encodeAgentToServer } from "../../src/protocol/codec.ts";
import type { ServerToAgent } from "../../src/protocol/messages.ts";
import { agentRow, agentRowWhere, type AgentRow } from "../support/agent-rows.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { description, eventually, health, newUid, startAgent, startOpamp } from "../support/opamp.ts";
import type { OpampSetup, TestAgent, Transport } from "../support/opamp.ts";

const COLLECTOR = 0x7806n | 1n;
const UPDATER = 0x2819n;
let db: TestDatabase;
let opamp: OpampSetup;
let token: string;
const agents: TestAgent[] = [];
const setups: OpampSetup[] = [];

beforeAll(async () => {
  db = await createTestDatabase();
  opamp = await startOpamp(db);
  ({ token } = await opamp.enroll("tests", { env: "test" }));
});
afterEach(async () => {
  await Promise.all(agents.splice(0).map((agent) => agent.stop()));
  await Promise.all(setups.splice(0).map((setup) => setup.stop()));
});
afterAll(async () => {
  await opamp?.stop();
  await db?.drop();
});

let transport: Transport = "websocket";
const started = (agent: TestAgent): TestAgent => {
  agents.push(agent);
  return agent;
};
const collectorState = (host: string, version = "0.161.0") => ({
  agentDescription: description(
    { "service.name": "otelcol-contrib", "service.version": version },
    { "host.name": host, "os.type": "linux", "host.arch": "amd64" },
  ),
  health: health(true),
});
const updaterState = (host: string, collector?: string) => ({
  agentDescription: description(
    { "service.name": "myriarch-updater", "service.version": "1.0.0" },
    {
      "host.name": host,
      "os.type": "linux",
      "host.arch": "amd64",
      ...(collector === undefined ? {} : { "dev.myriarch.collector.instance_uid": collector }),
    },
  ),
  health: health(true),
});
const startCollector = (host: string, more: { uid?: string; token?: string; endpoint?: string } = {}) =>
  started(
    startAgent({
      endpoint: opamp.endpoint,
      token,
      transport,
      capabilities: COLLECTOR,
      state: collectorState(host),
      ...more,
    }),
  );
const startUpdater = (host: string, collector: string, more: { token?: string } = {}) =>
  started(
    startAgent({
      endpoint: opamp.endpoint,
      token,
      transport,
      capabilities: UPDATER,
      state: updaterState(host, collector),
      ...more,
    }),
  );

const rowOf = (uid: string) => agentRow(db.pool, uid);
const rowWhere = (uid: string, what: string, fits: (row: AgentRow) => boolean) =>
  agentRowWhere(db.pool, uid, what, fits);

describe("the door", () => {
  const knock = (headers: Record<string, string>, path = "/v1/opamp", endpoint = opamp.endpoint) =>
    new Promise<{ status: number | undefined; retryAfter: string | undefined }>((resolve, reject) => {
      const url = new URL(path, endpoint.replace("ws:", "http:"));
      const upgrade = {
        Connection: "Upgrade",
        Upgrade: "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
      };
      const asked = request(url, { headers: { ...upgrade, ...headers } });
      asked.on("response", (response) => {
        response.resume();
        resolve({ status: response.statusCode, retryAfter: response.headers["retry-after"] });
      });
      asked.on("upgrade", (response, socket) => {
        socket.destroy();
        resolve({ status: response.statusCode, retryAfter: undefined });
      });
      asked.on("error", reject).end();
    });

  it.each([
    ["no credential", {}],
    ["an unknown token", { Authorization: "Bearer myr_enroll_unknown" }],
    ["another scheme", { Authorization: "Basic dGVzdDp0ZXN0" }],
    ["an oversized token", { Authorization: `Bearer ${"x".repeat(5_000)}` }],
  ])("refuses %s with 401 before the upgrade", async (_, headers) => {
    expect((await knock(headers)).status).toBe(401);
  });

  it("refuses revoked and expired tokens", async () => {
    const revoked = await opamp.enroll("revoked");
    const expired = await opamp.enroll("expired");
    await db.pool.query("update enrollment_tokens set revoked_at = now() where id = $1", [revoked.id]);
    await db.pool.query("update enrollment_tokens set expires_at = now() - interval '1 s' where id = $1", [expired.id]);
    for (const refused of [revoked, expired])
      expect((await knock({ Authorization: `Bearer ${refused.token}` })).status).toBe(401);
  });

  it("answers another path with 404 and the right one with 101", async () => {
    const headers = { Authorization: `Bearer ${token}` };
    expect((await knock(headers, "/v1/other")).status).toBe(404);
    expect((await knock(headers)).status).toBe(101);
  });

  it("tells those over the accept rate when to come back", async () => {
    const slow = await startOpamp(db, { acceptRate: 1 });
    setups.push(slow);
    const headers = { Authorization: `Bearer ${token}` };
    expect((await knock(headers, "/v1/opamp", slow.endpoint)).status).toBe(101);
    const second = await knock(headers, "/v1/opamp", slow.endpoint);
    expect(second.status).toBe(503);
    expect(Number(second.retryAfter)).toBeGreaterThanOrEqual(1);
  });
});

const TRANSPORTS = ["websocket", "http"] as const;
describe.each(TRANSPORTS)("what agents report over %s", (by) => {
  beforeEach(() => void (transport = by));

  it("becomes one row with normalised version, platform, labels and raw health", async () => {
    const agent = startCollector("Web-01");
    agent.state.agentDescription?.identifyingAttributes.set("service.version", "v0.161.0");
    agent.state.agentDescription?.nonIdentifyingAttributes.set("host.arch", "x86_64");
    const row = await rowWhere(agent.client.instanceUid, "the row", (r) => r["connected"] === true);
    expect(row).toMatchObject({
      kind: "collector",
      host_name: "Web-01",
      version: "0.161.0",
      os: "linux",
      arch: "amd64",
      credential_labels: { env: "test" },
      healthy: true,
      start_time_nanos: 1n,
    });
    expect(row["healthy_since"]).toBeInstanceOf(Date);
    expect(row["health"]).toBeInstanceOf(Buffer);
  });

  it("keeps healthy_since over equal reports and silence, and begins again with a new start time", async () => {
    const agent = startCollector("since");
    const uid = agent.client.instanceUid;
    const first = (await rowWhere(uid, "healthy", (r) => r["healthy"] === true))["healthy_since"];
    agent.report({
      health: health(true, { statusTimeUnixNano: 9n, componentHealthMap: new Map([["a", health(false)]]) }),
    });
    const same = await rowWhere(
      uid,
      "an unhealthy component",
      (r) => (r["unhealthy_components"] as string[]).length === 1,
    );
    expect(same["healthy_since"]).toEqual(first);
    agent.report({ health: health(true, { startTimeUnixNano: 2_000_000_000_000_000_001n }) });
    const again = await rowWhere(uid, "the new start", (r) => r["start_time_nanos"] === 2_000_000_000_000_000_001n);
    expect(again["healthy_since"]).not.toEqual(first);
    agent.report({ health: health(false) });
    expect((await rowWhere(uid, "unhealthy", (r) => r["healthy"] === false))["healthy_since"]).toBeNull();
  });

  it("cannot break the batch with bytes that PostgreSQL does not hold", async () => {
    const nul = startCollector("nul\0host");
    const odd = nul.state.agentDescription?.nonIdentifyingAttributes;
    odd?.set("__proto__", "x\0y").set(String.raw`literal \u0000`, String.raw`\u0000 \ud800`);
    odd?.set(`${"k".repeat(254)}\u{1F600}`, `${"v".repeat(1_999)}\u{1F600}`);
    const other = startCollector("beside");
    await rowWhere(nul.client.instanceUid, "the odd row", () => true);
    await rowWhere(other.client.instanceUid, "the row beside it", () => true);
  });

  it("stores the update attempt and package status of an updater", async () => {
    const collector = startCollector("attempt");
    const agent = startUpdater("attempt", collector.client.instanceUid);
    const child = (status: string) => health(true, { status });
    const update = health(true, {
      status: "downloading",
      startTimeUnixNano: 1_764_000_000_000_000_001n,
      componentHealthMap: new Map([
        ["version", child("v0.162.0")],
        ["from", child("v0.161.0")],
        ["step:downloading", child("running")],
      ]),
    });
    agent.report({
      health: health(true, { componentHealthMap: new Map([["dev.myriarch.update", update]]) }),
      packageStatuses: {
        packages: new Map([
          [
            "",
            {
              name: "",
              agentHasVersion: "v0.161.0",
              agentHasHash: Buffer.of(1),
              serverOfferedVersion: "v0.162.0",
              serverOfferedHash: Buffer.of(2),
              status: 4,
              errorMessage: "an old error",
              downloadDetails: { downloadPercent: 40, downloadBytesPerSecond: 1 },
            },
          ],
        ]),
        serverProvidedAllPackagesHash: Buffer.from("beef", "hex"),
        errorMessage: "",
      },
    });
    const row = await rowWhere(agent.client.instanceUid, "the attempt", (r) => r["update_attempt"] !== null);
    expect(row["update_attempt"]).toMatchObject({
      version: "0.162.0",
      from: "0.161.0",
      status: "downloading",
      startNanos: "1764000000000000001",
    });
    expect(row["package_status"]).toEqual({
      allPackagesHash: "beef",
      status: "downloading",
      version: "0.161.0",
      offeredVersion: "0.162.0",
      error: "",
      percent: 40,
    });
    expect(row["unhealthy_components"]).toEqual([]);
  });

  it("an agent that says goodbye is offline, and a deleted one registers again", async () => {
    const agent = startCollector("gone");
    const uid = agent.client.instanceUid;
    await rowWhere(uid, "connected", (r) => r["connected"] === true);
    await agent.stop();
    await rowWhere(uid, "offline", (r) => r["connected"] === false);
    await db.pool.query("delete from agents where uid = $1", [uid]);
    const back = startCollector("gone", { uid });
    await rowWhere(uid, "connected again", (r) => r["connected"] === true);
    expect(back.received.every((m) => m.flags === 0n)).toBe(true);
  });

  it("a deleted agent that goes away stays deleted", async () => {
    const [agent, witness] = [startCollector("deleted"), startCollector("witness")];
    for (const { client } of [agent, witness])
      await rowWhere(client.instanceUid, "the row", (r) => r["connected"] === true);
    await db.pool.query("delete from agents where uid = $1", [agent.client.instanceUid]);
    await Promise.all([agent.stop(), witness.stop()]);
    await rowWhere(witness.client.instanceUid, "the witness offline", (r) => r["connected"] === false);
    expect(await rowOf(agent.client.instanceUid)).toBeUndefined();
  });

  it("reports go on being written after the database ended every connection", async () => {
    const agent = startCollector("cut");
    await rowWhere(agent.client.instanceUid, "the row", () => true);
    await db.pool.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
    );
    agent.report({ health: health(false, { lastError: "after the cut" }) });
    await rowWhere(agent.client.instanceUid, "the report", (r) => r["last_error"] === "after the cut");
    expect(agent.client.connected).toBe(true);
  });
});

describe.each(TRANSPORTS)("the linking rule over %s", (by) => {
  beforeEach(() => void (transport = by));

  it("links by UID, credential and host name without regard to case, and follows changes", async () => {
    const collector = startCollector("WEB-01");
    const updater = startUpdater("web-01", collector.client.instanceUid);
    await rowWhere(updater.client.instanceUid, "the link", (r) => r["link"] === "linked");
    collector.report({ agentDescription: collectorState("web-01", "0.162.0").agentDescription });
    await rowWhere(collector.client.instanceUid, "the new version", (r) => r["version"] === "0.162.0");
    expect(await rowOf(updater.client.instanceUid)).toMatchObject({ link: "linked" });
  });

  it("refuses another credential, says why, and audits it once", async () => {
    const foreign = await opamp.enroll(`foreign-${transport}`);
    const collector = startCollector("web-02");
    const updater = startUpdater("web-02", collector.client.instanceUid, { token: foreign.token });
    const uid = updater.client.instanceUid;
    const row = await rowWhere(uid, "the mismatch", (r) => r["link"] === "mismatch");
    expect(row["link_reason"]).toContain("different credentials");
    updater.report({ agentDescription: updaterState("web-02", collector.client.instanceUid).agentDescription });
    await eventually("the audit entry", async () => {
      const { rows } = await db.pool.query("select code from audit where object = $1", [`agent/${uid}`]);
      return rows.length === 1 && rows[0]?.code === "updater_mismatch";
    });
  });

  it("refuses another host", async () => {
    const collector = startCollector("host-a");
    const updater = startUpdater("host-b", collector.client.instanceUid);
    await rowWhere(updater.client.instanceUid, "the mismatch", (r) => r["link"] === "mismatch");
  });
});

describe("instance UIDs", () => {
  beforeEach(() => void (transport = "websocket"));

  it("another credential for a UID gets a new one, and the owner's row stays", async () => {
    const owner = startCollector("owner");
    const uid = owner.client.instanceUid;
    await rowWhere(uid, "the owner", () => true);
    const foreign = await opamp.enroll("foreign-uid");
    const thief = startCollector("owner", { uid, token: foreign.token });
    await eventually("another UID", () => thief.client.instanceUid !== uid);
    await rowWhere(thief.client.instanceUid, "the thief's own row", (r) => r["credential"] === `token:${foreign.id}`);
    expect(await rowOf(uid)).toMatchObject({ connected: true, host_name: "owner" });
  });

  it("a clone on another host gets a new one; on the same host the newer connection takes over", async () => {
    const original = startCollector("original");
    const uid = original.client.instanceUid;
    await rowWhere(uid, "the original", () => true);
    const clone = startCollector("clone", { uid });
    await eventually("another UID", () => clone.client.instanceUid !== uid);
    const twin = new WebSocket(opamp.endpoint, { headers: { Authorization: `Bearer ${token}` } });
    await new Promise((resolve) => twin.once("open", resolve));
    twin.send(
      encodeAgentToServer({
        instanceUid: uid,
        sequenceNum: 0n,
        capabilities: COLLECTOR,
        flags: 0n,
        ...collectorState("ORIGINAL"),
      }),
    );
    await eventually("the older connection to end", () => !original.client.connected);
    twin.close();
  });

  it("an agent that asks for a UID gets one", async () => {
    const agent = startCollector("asks");
    await rowWhere(agent.client.instanceUid, "the row", () => true);
    const socket = new WebSocket(opamp.endpoint, { headers: { Authorization: `Bearer ${token}` } });
    const answer = new Promise<ServerToAgent>((resolve) =>
      socket.once("message", (data) => resolve(decodeServerToAgent(data as Buffer))),
    );
    await new Promise((resolve) => socket.once("open", resolve));
    const asking = newUid();
    socket.send(encodeAgentToServer({ instanceUid: asking, sequenceNum: 0n, capabilities: 1n, flags: 1n }));
    expect(await answer).toMatchObject({ instanceUid: asking, capabilities: 0x1fn });
    expect((await answer).agentIdentification?.newInstanceUid).not.toBe(asking);
    socket.close();
  });
});

describe("sequence and full state", () => {
  it("an agent goes on where it was over another replica, without telling everything again", async () => {
    const first = await startOpamp(db);
    const agent = startCollector("goes-on", { endpoint: first.endpoint });
    await rowWhere(agent.client.instanceUid, "the row", (r) => r["connected"] === true);
    const { port } = first.http.address() as { port: number };
    await first.stop();
    await eventually("the end of the connection", () => !agent.client.connected);
    const before = agent.received.length;
    setups.push(await startOpamp(db, { port }));
    await eventually("an answer of the new replica", () => agent.received.length > before);
    expect(agent.received.slice(before).map((m) => m.flags)).toEqual([0n]);
    await rowWhere(agent.client.instanceUid, "connected", (r) => r["connected"] === true);
  });

  it("a gap is asked about once, and answered with everything", async () => {
    const socket = new WebSocket(opamp.endpoint, { headers: { Authorization: `Bearer ${token}` } });
    const received: ServerToAgent[] = [];
    socket.on("message", (data) => received.push(decodeServerToAgent(data as Buffer)));
    await new Promise((resolve) => socket.once("open", resolve));
    const base = { instanceUid: newUid(), capabilities: COLLECTOR, flags: 0n };
    const say = (sequenceNum: bigint, more = {}) => socket.send(encodeAgentToServer({ ...base, sequenceNum, ...more }));
    say(7n);
    say(8n);
    say(9n, collectorState("gap"));
    say(10n);
    say(12n);
    say(13n, collectorState("gap"));
    await eventually("six answers", () => received.length === 6);
    expect(received.map((m) => m.flags)).toEqual([1n, 0n, 0n, 0n, 1n, 0n]);
    expect(received.map((m) => m.capabilities)).toEqual([0x1fn, 0n, 0n, 0n, 0n, 0n]);
    socket.close();
  });

  it.each([
    ["a text frame", "text" as const],
    ["a header that is not 0", Buffer.from("05aa", "hex")],
    ["a UID of 15 bytes", Buffer.from(`000a0f${"11".repeat(15)}`, "hex")],
    ["a UID of zeros", Buffer.from(`000a10${"00".repeat(16)}`, "hex")],
    ["bytes that are no message", Buffer.from("000a10ffff", "hex")],
  ])("%s is answered as a bad request and ends the connection with 1007", async (_, frame) => {
    const socket = new WebSocket(opamp.endpoint, { headers: { Authorization: `Bearer ${token}` } });
    const answer = new Promise<ServerToAgent>((resolve) =>
      socket.once("message", (data) => resolve(decodeServerToAgent(data as Buffer))),
    );
    const closed = new Promise<number>((resolve) => socket.once("close", resolve));
    await new Promise((resolve) => socket.once("open", resolve));
    socket.send(frame);
    expect((await answer).errorResponse?.type).toBe(1);
    expect(await closed).toBe(1007);
  });
});

describe("the sweep", () => {
  const started = async (offlineAfterMs: number) => {
    const setup = await startOpamp(db, { sweepMs: 100, offlineAfterMs });
    setups.push(setup);
    return setup;
  };

  it("marks rows offline whose process died without a word, and they come back with their agent", async () => {
    const agent = startCollector("orphan");
    await rowWhere(agent.client.instanceUid, "connected", (r) => r["connected"] === true);
    await db.pool.query("update agents set last_seen_at = now() - interval '90 s' where uid = $1", [
      agent.client.instanceUid,
    ]);
    await started(70_000);
    await rowWhere(agent.client.instanceUid, "offline", (r) => r["connected"] === false);
    agent.report({ health: health(true, { statusTimeUnixNano: 5n }) });
    await rowWhere(agent.client.instanceUid, "back", (r) => r["connected"] === true);
  });

  it("cuts an agent that promised heartbeats and is silent, and keeps one that answers pings only", async () => {
    const { endpoint } = await started(900);
    const silent = async (host: string, capabilities: bigint) => {
      const socket = new WebSocket(endpoint, { headers: { Authorization: `Bearer ${token}` } });
      const closed = new Promise((resolve) => socket.once("close", resolve));
      await new Promise((resolve) => socket.once("open", resolve));
      socket.send(
        encodeAgentToServer({
          instanceUid: newUid(),
          sequenceNum: 0n,
          capabilities,
          flags: 0n,
          ...collectorState(host),
        }),
      );
      return { socket, closed };
    };
    const patient = await silent("patient", 0x1803n);
    const first = await silent("silent", 0x3803n);
    await first.closed;
    const second = await silent("silent-again", 0x3803n);
    await second.closed;
    expect(patient.socket.readyState).toBe(WebSocket.OPEN);
    patient.socket.close();
  });

  it("ends connections whose token was revoked", async () => {
    const { endpoint } = await started(70_000);
    const leaked = await opamp.enroll("leaked");
    const agent = startCollector("leaked", { endpoint, token: leaked.token });
    await rowWhere(agent.client.instanceUid, "connected", (r) => r["connected"] === true);
    await db.pool.query("update enrollment_tokens set revoked_at = now() where id = $1", [leaked.id]);
    await eventually("the end", () => !agent.client.connected);
  });
});
