/** OpAMP over plain HTTP: what is about requests and answers. The conversation itself is tested over both transports. */
import { createHash, randomUUID } from "node:crypto";
import { request } from "node:http";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { CHANNELS } from "../../src/domain/channels.ts";
import { encodeAgentToServer } from "../../src/protocol/codec.ts";
import type { AgentToServer } from "../../src/protocol/messages.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { httpAgent, post, type HttpAgent } from "../support/http-agent.ts";
import { description, eventually, health, newUid, startAgent, startOpamp, type OpampSetup } from "../support/opamp.ts";

const COLLECTOR = 0x7807n;
const UPDATER = 0x2819n;
const MIB = 1024 ** 2;
let db: TestDatabase;
let opamp: OpampSetup;
let token: string;
const setups: OpampSetup[] = [];

beforeAll(async () => {
  db = await createTestDatabase();
  opamp = await startOpamp(db);
  ({ token } = await opamp.enroll("http"));
});
afterEach(async () => {
  await Promise.all(setups.splice(0).map((setup) => setup.stop()));
});
afterAll(async () => {
  await opamp?.stop();
  await db?.drop();
});

const collector = (host: string, more: Record<string, string> = {}) => ({
  agentDescription: description(
    { "service.name": "otelcol-contrib", "service.version": "0.161.0" },
    { "host.name": host, "os.type": "linux", "host.arch": "amd64", ...more },
  ),
  health: health(true),
});
const updater = (host: string) => ({
  agentDescription: description({ "service.name": "myriarch-updater" }, { "host.name": host }),
  health: health(true),
});
const agentAt = (
  endpoint: string,
  more: { uid?: string; gzip?: boolean; capabilities?: bigint; sequence?: bigint } = {},
) => httpAgent({ endpoint, token, uid: newUid(), capabilities: COLLECTOR, ...more });
const auth = () => ({ authorization: `Bearer ${token}` });
const message = (more: Partial<AgentToServer> = {}): Uint8Array =>
  encodeAgentToServer({ instanceUid: newUid(), sequenceNum: 0n, capabilities: COLLECTOR, flags: 0n, ...more }).subarray(
    1,
  );
const connected = async (uid: string): Promise<boolean | undefined> =>
  (await db.pool.query<{ connected: boolean }>("select connected from agents where uid = $1", [uid])).rows[0]
    ?.connected;
const isConnected = (uid: string, wanted = true) =>
  eventually(`connected = ${wanted}`, async () => (await connected(uid)) === wanted);

describe("an answer", () => {
  it("always names the agent; the first one tells the capabilities, later ones nothing more", async () => {
    const agent = agentAt(opamp.endpoint);
    const first = await agent.say(collector("answers"));
    expect(first).toMatchObject({ status: 200, message: { instanceUid: agent.uid(), capabilities: 0x1fn, flags: 0n } });
    expect(first.headers["content-type"]).toBe("application/x-protobuf");
    const second = await agent.say();
    expect(second.message).toEqual({ instanceUid: agent.uid(), capabilities: 0n, flags: 0n });
  });

  it("comes to a request that is packed", async () => {
    const agent = agentAt(opamp.endpoint, { gzip: true });
    expect((await agent.say(collector("packed"))).status).toBe(200);
    await isConnected(agent.uid());
  });

  it("asks for everything once after a gap, and again only after the next gap", async () => {
    const agent = agentAt(opamp.endpoint, { sequence: 7n });
    const flags: (bigint | undefined)[] = [];
    for (const more of [{}, {}, collector("gap"), {}]) flags.push((await agent.say(more)).message?.flags);
    const jumped = agentAt(opamp.endpoint, { uid: agent.uid(), sequence: 20n });
    flags.push((await jumped.say()).message?.flags, (await jumped.say(collector("gap"))).message?.flags);
    expect(flags).toEqual([1n, 0n, 0n, 0n, 1n, 0n]);
  });

  it("gives the requests of one agent one after the other", async () => {
    const agent = agentAt(opamp.endpoint);
    const answers = await Promise.all([agent.say(collector("order")), agent.say(), agent.say()]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(answers.map((answer) => answer.message?.flags)).toEqual([0n, 0n, 0n]);
  });

  it("gives another UID to who asks for one, and that one can be used", async () => {
    const agent = agentAt(opamp.endpoint);
    const former = agent.uid();
    const answer = await agent.say({ ...collector("asks"), flags: 1n });
    expect(answer.message?.instanceUid).toBe(former);
    expect(agent.uid()).not.toBe(former);
    await agent.say(collector("asks"));
    await isConnected(agent.uid());
    expect(await connected(former)).toBeUndefined();
  });
});

describe("a refusal", () => {
  it.each([
    ["another content type", { "content-type": "application/json" }, 415],
    ["another encoding", { "content-encoding": "br" }, 415],
    ["what is said to be packed and is not", { "content-encoding": "gzip" }, 400],
  ])("of %s", async (_, headers, status) => {
    expect((await post(opamp.endpoint, message(), { ...auth(), ...headers })).status).toBe(status);
  });

  it("of bytes that are no message is a protobuf error that names the agent, if it said who it is", async () => {
    const uid = newUid();
    const headers = { ...auth(), "opamp-instance-uid": uid };
    const answer = await post(opamp.endpoint, Buffer.from("0a10ffff", "hex"), headers);
    expect(answer).toMatchObject({ status: 400, message: { instanceUid: uid, errorResponse: { type: 1 } } });
  });

  it("of a larger body than is taken is 413, announced or not", async () => {
    const large = Buffer.alloc(17 * MIB, 1);
    expect((await post(opamp.endpoint, large, auth())).status).toBe(413);
    expect((await post(opamp.endpoint, large, { ...auth(), "transfer-encoding": "chunked" })).status).toBe(413);
  });

  it("of bodies that become large when unpacked is 413, and their memory is not taken", async () => {
    const bomb = gzipSync(Buffer.alloc(256 * MIB));
    const before = process.memoryUsage().rss;
    const headers = { ...auth(), "content-encoding": "gzip" };
    const answers = await Promise.all(Array.from({ length: 10 }, () => post(opamp.endpoint, bomb, headers)));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(413));
    // Unpacked as a whole they would be 2,560 MiB.
    expect(process.memoryUsage().rss - before).toBeLessThan(600 * MIB);
    expect((await agentAt(opamp.endpoint).say(collector("beside"))).status).toBe(200);
  });

  it("of a credential comes before the body was sent", async () => {
    const status = await new Promise((resolve, reject) => {
      const asked = request(opamp.endpoint.replace("ws:", "http:"), {
        method: "POST",
        headers: { "content-type": "application/x-protobuf", "content-length": 1_000_000 },
      });
      asked.on("response", (response) => {
        resolve(response.statusCode);
        asked.destroy();
      });
      asked.on("error", reject);
      asked.flushHeaders();
    });
    expect(status).toBe(401);
  });

  it("of new agents over the accept rate says when to come back; agents that are known are answered", async () => {
    const slow = await startOpamp(db, { acceptRate: 1 });
    setups.push(slow);
    const [first, second] = [agentAt(slow.endpoint), agentAt(slow.endpoint)];
    await first.say(collector("rate-1"));
    const refused = await second.say(collector("rate-2"));
    expect(refused).toMatchObject({ status: 503, message: { instanceUid: second.uid(), errorResponse: { type: 2 } } });
    expect(Number(refused.headers["retry-after"])).toBeGreaterThanOrEqual(1);
    expect((await first.say()).status).toBe(200);
  });
});

describe("who is there", () => {
  it("is who polled a short while ago", async () => {
    const short = await startOpamp(db, { offlineAfterMs: 600, sweepMs: 100 });
    setups.push(short);
    const agent = agentAt(short.endpoint);
    await agent.say(collector("polls"));
    await isConnected(agent.uid());
    await isConnected(agent.uid(), false);
    expect((await agent.say()).message?.flags).toBe(0n);
    await isConnected(agent.uid());
  });

  it("is not who said goodbye", async () => {
    const agent = agentAt(opamp.endpoint);
    await agent.say(collector("goodbye"));
    await isConnected(agent.uid());
    await agent.say({ agentDisconnect: true });
    await isConnected(agent.uid(), false);
  });

  it("goes on after a change of the transport, to and fro", async () => {
    const uid = newUid();
    const socket = startAgent({
      endpoint: opamp.endpoint,
      token,
      uid,
      capabilities: COLLECTOR,
      state: collector("both"),
    });
    await isConnected(uid);
    await agentAt(opamp.endpoint, { uid }).say(collector("both"));
    await eventually("the end of the socket", () => socket.ends() > 0);
    await socket.stop();
    const back = startAgent({
      endpoint: opamp.endpoint,
      token,
      uid,
      capabilities: COLLECTOR,
      state: collector("both"),
    });
    await eventually("an answer", () => back.received.length > 0);
    await isConnected(uid);
    expect(back.client.instanceUid).toBe(uid);
    await back.stop();
  });

  it("may poll one replica and then the other, and is not asked for everything each time", async () => {
    const other = await startOpamp(db);
    setups.push(other);
    const uid = newUid();
    const row = () => db.pool.query<{ sequence_num: string }>("select sequence_num from agents where uid = $1", [uid]);
    const flags: (bigint | undefined)[] = [];
    for (let i = 0n; i < 6n; i++) {
      const { endpoint } = i % 2n === 0n ? opamp : other;
      const agent = agentAt(endpoint, { uid, sequence: i });
      flags.push((await agent.say(i === 0n ? collector("to-and-fro") : {})).message?.flags);
      // Polls are half a minute apart in life: the row is written by then.
      await eventually("the row", async () => (await row()).rows[0]?.sequence_num === String(i));
    }
    expect(flags).toEqual([0n, 0n, 0n, 0n, 0n, 0n]);
  });
});

describe("an offer", () => {
  let artifact: string;
  beforeAll(async () => {
    const { rows } = await db.pool.query<{ id: string }>(
      `insert into artifacts (distribution, version, os, arch, file_name, sha256, size_bytes, bundle, source_url, state)
       values ('otelcol-contrib', '0.162.0', 'linux', 'amd64', 'a.tar.gz', $1, 10, '{}', 'x', 'verified') returning id`,
      [createHash("sha256").update("archive").digest()],
    );
    artifact = rows[0]?.id ?? "";
  });
  let n = 0;
  const open = async (agent: HttpAgent, holds: object = {}): Promise<string> => {
    const fleet = `http-${++n}`;
    await db.pool.query(
      `insert into rollouts (fleet, n, kind, wanted_key, commit, policy, state, holds)
       values ($1, 1, 'change', 'k', 'c', '{}', 'running', $2)`,
      [fleet, JSON.stringify(holds)],
    );
    await db.pool.query(
      `with opened as (insert into offers (host, recipient, kind, direction, fleet, n, attempt, version, artifact, packages_hash)
         values ($1, $2, 'package', 'forward', $3, 1, 1, '0.162.0', $4, $5) returning id)
       select pg_notify('${CHANNELS.offers}', $2::text) from opened`,
      [randomUUID(), agent.uid(), fleet, artifact, createHash("sha256").update("set").digest()],
    );
    return fleet;
  };
  const known = async (): Promise<HttpAgent> => {
    const agent = agentAt(opamp.endpoint, { capabilities: UPDATER });
    await agent.say(updater("offers"));
    await isConnected(agent.uid());
    return agent;
  };
  const offered = async (agent: HttpAgent) => (await agent.say()).message?.packagesAvailable?.packages.get("")?.version;
  const sentAt = async (fleet: string) =>
    (await db.pool.query<{ sent_at: Date | null }>("select sent_at from offers where fleet = $1", [fleet])).rows[0]
      ?.sent_at;

  it("that opens between two polls is in the next answer, once", async () => {
    const agent = await known();
    await open(agent);
    await eventually("the offer", async () => (await offered(agent)) === "v0.162.0");
    expect(await offered(agent)).toBeUndefined();
  });

  it("that is held before the next poll does not leave, and was not sent", async () => {
    const agent = await known();
    const fleet = await open(agent, { operator: { at: "2026-01-01T00:00:00Z", by: "ada", reason: "" } });
    for (let i = 0; i < 5; i++) expect(await offered(agent)).toBeUndefined();
    expect(await sentAt(fleet)).toBeNull();
    await db.pool.query("update rollouts set holds = '{}' where fleet = $1", [fleet]);
    await db.pool.query("select pg_notify($1, $2)", [CHANNELS.offers, agent.uid()]);
    await eventually("the offer", async () => (await offered(agent)) === "v0.162.0");
  });

  it("that was open before the agent came is in the first answer", async () => {
    const agent = await known();
    await agent.say({ agentDisconnect: true });
    await isConnected(agent.uid(), false);
    await open(agent);
    const back = agentAt(opamp.endpoint, { uid: agent.uid(), capabilities: UPDATER });
    const answer = await back.say(updater("offers"));
    expect(answer.message?.packagesAvailable?.packages.get("")?.version).toBe("v0.162.0");
  });
});
