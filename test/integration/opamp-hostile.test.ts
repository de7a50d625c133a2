/** Bad input at the OpAMP door: each is refused, said once with code, agent and credential, and disturbs nobody else. */
import { once } from "node:events";
import { createServer, request, type IncomingMessage } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { createListenerServer, LISTENER_LIMITS } from "../../src/api/listener.ts";
import { createEndOfTurn } from "../../src/api/opamp/end-of-turn.ts";
import { acceptance } from "../../src/api/opamp/handshake.ts";
import { WebSocketConnection } from "../../src/api/opamp/websocket-connection.ts";
import { mintDownloadToken } from "../../src/api/download-token.ts";
import { encodeAgentToServer } from "../../src/protocol/codec.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { post } from "../support/http-agent.ts";
import { description, eventually, newUid, silentLog, startAgent, startOpamp } from "../support/opamp.ts";
import type { OpampSetup, TestAgent } from "../support/opamp.ts";

const MIB = 1024 ** 2;
let db: TestDatabase;
let opamp: OpampSetup;
let token: string;
let witness: TestAgent;
type Line = { code?: string; agent?: string; credential?: string; address?: string };
const lines: Line[] = [];
const log = { ...silentLog, warn: (fields: Line): void => void lines.push(fields) };
const sockets: WebSocket[] = [];

beforeAll(async () => {
  db = await createTestDatabase();
  opamp = await startOpamp(db, { log });
  ({ token } = await opamp.enroll("hostile"));
  witness = startAgent({ endpoint: opamp.endpoint, token, capabilities: 0x7807n, state: described("witness") });
  await eventually("the witness", () => witness.received.length > 0);
});
beforeEach(async () => {
  lines.length = 0;
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.terminate();
  const before = witness.received.length;
  witness.report(described("witness"));
  await eventually("an answer to the witness", () => witness.received.length > before);
  expect(witness.client.connected).toBe(true);
});
afterAll(async () => {
  await witness?.stop();
  await opamp?.stop();
  await db?.drop();
});

const described = (host: string) => ({
  agentDescription: description({ "service.name": "otelcol" }, { "host.name": host }),
});
const said = (code: string, fits: (line: Line) => boolean = () => true) =>
  eventually(`a line with ${code}`, () => lines.some((line) => line.code === code && fits(line)));
const frame = (uid: string, sequenceNum = 0n, more = {}) =>
  encodeAgentToServer({ instanceUid: uid, sequenceNum, capabilities: 0x7807n, flags: 0n, ...more });

/** A connection that has said who it is, with a credential of its own so that its log line is its own. */
async function introduced(endpoint = opamp.endpoint) {
  const uid = newUid();
  const credential = `hostile-${uid}`;
  const own = await opamp.enroll(credential);
  const socket = new WebSocket(endpoint, { headers: { Authorization: `Bearer ${own.token}` } });
  sockets.push(socket);
  socket.on("error", () => undefined);
  await once(socket, "open");
  socket.send(frame(uid, 0n, described("hostile")));
  await once(socket, "message");
  return { uid, credential, socket, token: own.token };
}
const closed = async (socket: WebSocket): Promise<number> => ((await once(socket, "close")) as [number])[0];

/** A varint of protobuf. */
function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}
const field = (number: number, body: Buffer): Buffer =>
  Buffer.concat([varint(number * 8 + 2), varint(body.length), body]);
/** Health inside health, 5,000 times. */
function depthBomb(): Buffer {
  let health: Buffer = Buffer.of(0x08, 1);
  for (let depth = 0; depth < 5_000; depth++)
    health = field(6, Buffer.concat([field(1, Buffer.from("x")), field(2, health)]));
  return health;
}
const uidField = (uid: string): Buffer => field(1, Buffer.from(uid.replaceAll("-", ""), "hex"));
const framed = (...parts: Buffer[]): Buffer => Buffer.concat([Buffer.of(0), ...parts]);

describe("over a WebSocket", () => {
  it.each([
    ["a header that is not 0", () => Buffer.concat([Buffer.of(7), frame(newUid()).subarray(1)])],
    ["a UID of 15 bytes", () => framed(field(1, Buffer.alloc(15, 1)))],
    ["a UID of zeros", () => framed(field(1, Buffer.alloc(16)))],
    ["no UID", () => Buffer.of(0)],
    ["a depth bomb", (uid: string) => framed(uidField(uid), field(5, depthBomb()))],
    ["invalid UTF-8", (uid: string) => framed(uidField(uid), field(5, field(3, Buffer.of(0xc3, 0x28))))],
    ["a text frame", () => "text"],
  ] as const)("%s ends the connection with 1007, and is one line with who it was", async (_, bad) => {
    const { uid, credential, socket } = await introduced();
    socket.send(bad(uid));
    expect(await closed(socket)).toBe(1007);
    await said("malformed_message", (line) => line.agent === uid && line.credential === credential);
  });

  it("a frame larger than is taken ends it with 1009 before it came", async () => {
    const { uid, credential, socket } = await introduced();
    socket.send(Buffer.alloc(17 * MIB));
    expect(await closed(socket)).toBe(1009);
    await said("payload_too_large", (line) => line.agent === uid && line.credential === credential);
  });

  it("what all hold of messages that are not whole is bounded: who holds most is cut, whole messages are taken", async () => {
    const small = await startOpamp(db, { sweepMs: 50, maxPartialBytes: MIB, log });
    try {
      const { endpoint } = small;
      const [most, less, talker] = [await introduced(endpoint), await introduced(endpoint), await introduced(endpoint)];
      // At once after a whole message, and with a pong between: neither hides it.
      const part = (bytes: number) => Buffer.alloc(bytes, 1);
      const begun = less.socket;
      begun.send(frame(less.uid, 1n).subarray(0, 4), { fin: false });
      begun.send(part(400 * 1024), { fin: false });
      for (let sent = 0; sent < 3 * MIB; sent += 64 * 1024)
        talker.socket.send(frame(talker.uid, 1n, described("x".repeat(60 * 1024))));
      await once(talker.socket, "message");
      await new Promise((resolve) => {
        begun.pong("", true, resolve);
      });
      expect([begun.readyState, talker.socket.readyState]).toEqual([WebSocket.OPEN, WebSocket.OPEN]);
      most.socket.send(frame(most.uid, 1n).subarray(0, 4), { fin: false });
      most.socket.send(part(900 * 1024), { fin: false });
      most.socket.pong();
      expect(await closed(most.socket)).toBe(1006);
      await said("server_busy", (line) => line.agent === most.uid && line.credential === most.credential);
      expect([begun.readyState, talker.socket.readyState]).toEqual([WebSocket.OPEN, WebSocket.OPEN]);
    } finally {
      await small.stop();
    }
  });

  it("a message that does not become whole in time ends its connection, whatever drips and pongs come", async () => {
    const slow = await startOpamp(db, { sweepMs: 50, maxPartialMs: 300, log });
    try {
      const [drips, talker] = [await introduced(slow.endpoint), await introduced(slow.endpoint)];
      const end = closed(drips.socket);
      drips.socket.send(frame(drips.uid, 1n).subarray(0, 4), { fin: false });
      const dripping = setInterval(() => {
        drips.socket.send(Buffer.of(1), { fin: false });
        drips.socket.pong();
        talker.socket.send(frame(talker.uid, 1n));
      }, 20);
      const code = await end.finally(() => clearInterval(dripping));
      expect(code).toBe(1006);
      await said("malformed_message", (line) => line.agent === drips.uid && line.credential === drips.credential);
      expect(talker.socket.readyState).toBe(WebSocket.OPEN);
    } finally {
      await slow.stop();
    }
  });

  it("compression is not agreed to, so that no frame can be a bomb", async () => {
    const socket = new WebSocket(opamp.endpoint, {
      headers: { Authorization: `Bearer ${token}` },
      perMessageDeflate: true,
    });
    sockets.push(socket);
    await once(socket, "open");
    expect(socket.extensions).toBe("");
  });

  it("a frame without the header byte is an old client's, and is taken", async () => {
    const { uid, socket } = await introduced();
    socket.send(frame(uid, 1n).subarray(1));
    const [answer] = (await once(socket, "message")) as [Buffer];
    expect(answer[0]).toBe(0);
  });

  it("an agent that does not read is cut at a bounded backlog, and that is said once", async () => {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const upgraded = once(server, "upgrade") as Promise<[IncomingMessage, Socket, Buffer]>;
    const reader = new WebSocket(`ws://127.0.0.1:${port}`);
    sockets.push(reader);
    const opened = once(reader, "open");
    const [asked, socket, head] = await upgraded;
    socket.write(acceptance(asked.headers["sec-websocket-key"] ?? ""));
    await opened;
    reader.pause();
    const credential = { name: "token:x", title: "x", labels: {}, succeeds: [], endsAtMs: undefined };
    const entrant = { credential, address: "127.0.0.1" };
    let slow = 0;
    const nobody = (): void => undefined;
    const endOfTurn = createEndOfTurn();
    const events = {
      endOfTurn,
      closeMs: 60_000,
      onFrame: nobody,
      onPong: nobody,
      onFault: nobody,
      onFailed: nobody,
      onClosed: nobody,
    };
    const connection = new WebSocketConnection(socket, head, entrant, performance.now(), {
      ...events,
      onSlowReader: () => void slow++,
    });
    const ended = connection.whenGone();
    let sent = 0;
    while (sent < 256 * MIB && connection.sendFrame(Buffer.alloc(64 * 1024))) {
      sent += 64 * 1024;
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
    await ended;
    // The kernel's buffers take some megabytes of their own.
    expect(sent).toBeLessThan(64 * MIB);
    expect([slow, connection.open, connection.sendFrame(Buffer.alloc(1))]).toEqual([1, false, false]);
    server.close();
  });
});

describe("over plain HTTP", () => {
  it.each([
    ["a UID of 15 bytes", () => field(1, Buffer.alloc(15, 1)), {}, 400, "malformed_message"],
    ["a UID of zeros", () => field(1, Buffer.alloc(16)), {}, 400, "malformed_message"],
    ["a depth bomb", () => Buffer.concat([uidField(newUid()), field(5, depthBomb())]), {}, 400, "malformed_message"],
    ["a body that is too large", () => Buffer.alloc(17 * MIB), {}, 413, "payload_too_large"],
    ["a zip bomb", () => gzipSync(Buffer.alloc(64 * MIB)), { "content-encoding": "gzip" }, 413, "payload_too_large"],
  ] as const)("%s is refused, and is one line with who it was", async (_, body, headers, status, code) => {
    const uid = newUid();
    const own = await opamp.enroll(`http-${uid}`);
    const who = { authorization: `Bearer ${own.token}`, "opamp-instance-uid": uid };
    for (let i = 0; i < 2; i++)
      expect((await post(opamp.endpoint, body(), { ...who, ...headers })).status).toBe(status);
    await said(code, (line) => line.agent === uid);
    expect(lines.filter((line) => line.agent === uid)).toMatchObject([{ code, credential: `http-${uid}` }]);
  });
});

describe("a credential that is none", () => {
  it.each([
    ["a forged token", () => `myr_enroll_${"x".repeat(43)}`],
    [
      "a download token, even of this server",
      () => mintDownloadToken(opamp.key, { artifact: newUid(), agent: newUid(), issuedAtMs: Date.now() }),
    ],
  ])("%s is refused over both transports, and is one line", async (_, made) => {
    const authorization = `Bearer ${made()}`;
    const socket = new WebSocket(opamp.endpoint, { headers: { authorization } });
    const [, response] = (await once(socket, "unexpected-response")) as [unknown, { statusCode: number }];
    socket.on("error", () => undefined).terminate();
    expect(response.statusCode).toBe(401);
    expect((await post(opamp.endpoint, frame(newUid()).subarray(1), { authorization })).status).toBe(401);
  });

  it("1,000 connections with one cost a handful of queries, and a good agent from the same address gets in", async () => {
    const counted = await startOpamp(db, {
      log: { info: () => undefined, warn: (it: Line) => void lines.push(it), error: () => undefined },
    });
    const asked = vi.spyOn(db.pool, "query");
    const queries = () =>
      asked.mock.calls.filter(([text]: unknown[]) => typeof text === "string" && text.includes("enrollment_tokens"));
    const knock = (authorization: string): Promise<number> =>
      new Promise((resolve, reject) => {
        const headers = { authorization, connection: "Upgrade", upgrade: "websocket" };
        const key = { "sec-websocket-version": "13", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" };
        const upgrade = request(counted.endpoint.replace("ws:", "http:"), {
          agent: false,
          headers: { ...headers, ...key },
        });
        upgrade.on("response", (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        });
        upgrade.on("upgrade", (_, socket) => {
          socket.destroy();
          resolve(101);
        });
        upgrade.on("error", reject).end();
      });
    try {
      const answers = await Promise.all(Array.from({ length: 1_000 }, () => knock("Bearer myr_enroll_leaked")));
      expect(answers.filter((status) => status === 401)).toHaveLength(60);
      expect(answers.filter((status) => status === 429)).toHaveLength(940);
      expect(await knock(`Bearer ${token}`)).toBe(101);
      expect(queries().length).toBeLessThan(50);
      expect(
        lines.filter(({ code }) => code === "unauthenticated" || code === "rate_limited").length,
      ).toBeLessThanOrEqual(2);
    } finally {
      asked.mockRestore();
      await counted.stop();
    }
  });
});

describe("half-open handshakes", () => {
  it("are cut by the listener, one letter at a time or none, and disturb nobody", async () => {
    expect(LISTENER_LIMITS.headersTimeout).toBeLessThanOrEqual(30_000);
    const short = { headersTimeout: 300, connectionsCheckingInterval: 100 };
    const server = createListenerServer((_, response) => response.end("ok"), undefined, short);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const slow = Array.from({ length: 200 }, (_, i) => {
      const socket = connect(port, "127.0.0.1").on("error", () => undefined);
      if (i % 2 === 0) socket.write("GET /v1/opamp HTTP/1.1\r\nHost: ");
      return once(socket.resume(), "close");
    });
    const status = await new Promise((resolve, reject) => {
      const asked = request({ port, host: "127.0.0.1", agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      asked.on("error", reject).end();
    });
    expect(status).toBe(200);
    await Promise.all(slow);
    server.close();
  });
});
