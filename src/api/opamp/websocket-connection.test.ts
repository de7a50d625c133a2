/** One connection between a client and the server's end of it, over a real socket. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { afterAll, afterEach, beforeEach, expect, it } from "vitest";
import { WebSocket } from "ws";
import { encodeServerToAgent } from "../../protocol/codec.ts";
import { createEndOfTurn } from "./end-of-turn.ts";
import { acceptance } from "./handshake.ts";
import { plainReply } from "./plain-way.ts";
import { WebSocketConnection, type WebSocketEvents } from "./websocket-connection.ts";

const UID = "0190a1b2-c3d4-7e8f-9a0b-1c2d3e4f5061";
const HANDSHAKE =
  "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
/** Longer than any test: what needs it to end does not end. */
const NEVER_MS = 3_600_000;
const entrant = {
  credential: { name: "token:x", title: "x", labels: {}, succeeds: [], endsAtMs: undefined },
  address: "127.0.0.1",
};
const server = createServer();
const said: unknown[][] = [];
let gone: PromiseWithResolvers<number>;
let onFrame: WebSocketEvents["onFrame"] = () => undefined;
const events: WebSocketEvents = {
  endOfTurn: createEndOfTurn(),
  closeMs: NEVER_MS,
  onFrame(connection, data, isBinary) {
    said.push(["frame", data.toString("hex"), isBinary]);
    onFrame(connection, data, isBinary);
  },
  onPong: () => void said.push(["pong"]),
  onFault: (_, { code }) => void said.push(["fault", code]),
  onFailed: () => void said.push(["failed"]),
  onSlowReader: () => void said.push(["slow"]),
  onClosed: (_, code) => gone.resolve(code),
};
let ours: PromiseWithResolvers<WebSocketConnection>;
server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
  socket.write(acceptance(request.headers["sec-websocket-key"] ?? ""));
  ours.resolve(new WebSocketConnection(socket, head, entrant, performance.now(), events));
});

beforeEach(async () => {
  said.length = 0;
  gone = Promise.withResolvers();
  ours = Promise.withResolvers();
  onFrame = () => undefined;
  if (server.listening) return;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterEach(async () => {
  const connection = await ours.promise;
  connection.cut();
  await connection.whenGone();
});
afterAll(() => server.close());

const port = (): number => (server.address() as AddressInfo).port;
async function opened(): Promise<{ client: WebSocket; connection: WebSocketConnection }> {
  const client = new WebSocket(`ws://127.0.0.1:${port()}`);
  await once(client, "open");
  return { client, connection: await ours.promise };
}
/** A client that writes its own bytes; `then` come in one piece with its handshake. */
async function raw(then: Buffer = Buffer.alloc(0)): Promise<{ socket: Socket; received: () => Buffer }> {
  const socket = connect({ port: port(), host: "127.0.0.1", allowHalfOpen: true });
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  socket.write(Buffer.concat([Buffer.from(HANDSHAKE), then]));
  await ours.promise;
  const received = (): Buffer => {
    const all = Buffer.concat(chunks);
    return all.subarray(all.indexOf("\r\n\r\n") + 4);
  };
  return { socket, received };
}
/** A frame with a mask of zeros. */
const frame = (first: number, ...content: number[]): Buffer =>
  Buffer.of(first, 0x80 | content.length, 0, 0, 0, 0, ...content);

it("answers of a turn leave at its end, in order, one for each message, and before what is sent after them", async () => {
  const offer = encodeServerToAgent({ instanceUid: UID, flags: 1n, capabilities: 0n });
  onFrame = (connection, data) => {
    connection.acknowledge(UID);
    if (data[0] === 2) connection.sendFrame(offer);
  };
  const { socket, received } = await raw(Buffer.concat([frame(0x82, 1), frame(0x82, 2), frame(0x82, 3)]));
  const answers = [plainReply(UID), plainReply(UID), Buffer.from(offer), plainReply(UID)];
  const expected = Buffer.concat(answers.flatMap((it) => [Buffer.of(0x82, it.length), it]));
  while (received().length < expected.length) await once(socket, "data");
  expect(received().toString("hex")).toBe(expected.toString("hex"));
  socket.destroy();
});

it("answers that are owed leave before a close", async () => {
  onFrame = (connection) => {
    connection.acknowledge(UID);
    connection.close(1001, "going");
  };
  const { client } = await opened();
  const answered = once(client, "message");
  const end = once(client, "close");
  client.send(Buffer.of(1));
  expect(((await answered) as [Buffer])[0].equals(plainReply(UID))).toBe(true);
  expect(((await end) as [number, Buffer]).map(String)).toEqual(["1001", "going"]);
});

it("a close of the other end is answered with its code", async () => {
  const { client, connection } = await opened();
  const end = once(client, "close");
  client.close(4_000, "why");
  expect(((await end) as [number])[0]).toBe(4_000);
  expect(await gone.promise).toBe(4_000);
  expect([connection.open, connection.sendFrame(Buffer.of(1))]).toEqual([false, false]);
  await connection.whenGone();
});

it("a close of ours ends when it is answered", async () => {
  const { client, connection } = await opened();
  const end = once(client, "close");
  connection.close(1008, "the credential has ended");
  expect(connection.open).toBe(false);
  expect(((await end) as [number])[0]).toBe(1008);
  expect(await gone.promise).toBe(1008);
});

it.each([
  ["an unmasked frame", Buffer.of(0x82, 1, 1), 1002],
  ["a message of 2^63 bytes", Buffer.of(0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0), 1009],
])("%s: the close arrives although the other end goes on sending", async (_, bytes, code) => {
  const { socket, received } = await raw(bytes);
  const pieces = setInterval(() => socket.write(Buffer.alloc(64 * 1024)), 1);
  const end = once(socket, "end");
  while (received().length < 4) await once(socket, "data");
  await end;
  clearInterval(pieces);
  expect([received()[0], received().readUInt16BE(2)]).toEqual([0x88, code]);
  socket.end();
  expect(await gone.promise).toBe(1006);
  expect(said).toEqual([["fault", code]]);
});

it("who ends without a close, or breaks off, is gone", async () => {
  const { socket } = await raw(frame(0x02, 1));
  socket.end();
  expect(await gone.promise).toBe(1006);
  expect(said).toEqual([]);
});

it("pings are answered with their content, also between fragments; pongs are signs of life", async () => {
  const { client, connection } = await opened();
  const pinged = once(client, "ping");
  const ponged = once(client, "pong");
  connection.ping();
  await pinged;
  client.send(Buffer.of(1), { fin: false });
  client.ping("x");
  expect(String(((await ponged) as [Buffer])[0])).toBe("x");
  expect(connection.partial()?.bytes).toBeGreaterThan(0);
  client.send(Buffer.of(2), { fin: true });
  client.close();
  await gone.promise;
  expect(said).toEqual([["pong"], ["frame", "0102", true]]);
  expect(connection.partial()).toBeUndefined();
});

it("a client that broke the protocol, or sent a text, is let go at once after the close", async () => {
  const texts = await opened();
  onFrame = (connection) => connection.close(1007, "text");
  const end = once(texts.client, "close");
  texts.client.send("text");
  expect(((await end) as [number])[0]).toBe(1007);
  await gone.promise;
});

it("of a text its coming is told, and nothing after it is read", async () => {
  const { socket } = await raw(Buffer.concat([frame(0x81, 0x61), frame(0x82, 1)]));
  socket.end();
  await gone.promise;
  expect(said).toEqual([["frame", "", false]]);
});

it("who does not answer a close is cut", async () => {
  events.closeMs = 20;
  const { socket } = await raw();
  (await ours.promise).close(1001, "going");
  expect(await gone.promise).toBe(1006);
  events.closeMs = NEVER_MS;
  socket.destroy();
});

it("nothing is read after a cut, not even what came in the same piece", async () => {
  onFrame = (connection) => connection.cut();
  await raw(Buffer.concat([frame(0x82, 1), frame(0x82, 2)]));
  expect(await gone.promise).toBe(1006);
  expect(said).toEqual([["frame", "01", true]]);
});
