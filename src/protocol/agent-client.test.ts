import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocketServer, type WebSocket } from "ws";
import { createAgentClient, type AgentClient, type AgentClientOptions } from "./agent-client.ts";
import { decodeAgentToServer, encodeServerToAgent } from "./codec.ts";
import type { AgentToServer, ServerToAgent } from "./messages.ts";

const UID = "0190a1b2-c3d4-7e8f-9a0b-1c2d3e4f5061";
const OTHER = "0190a1b2-c3d4-7e8f-9a0b-1c2d3e4f5062";
const HEALTH = {
  healthy: true,
  startTimeUnixNano: 1n,
  lastError: "",
  status: "",
  statusTimeUnixNano: 0n,
  componentHealthMap: new Map(),
};
const DESCRIPTION = { identifyingAttributes: new Map([["service.name", "x"]]), nonIdentifyingAttributes: new Map() };

/** A server that answers what the test says, and keeps what it got. */
type Script = {
  endpoint: string;
  heard: AgentToServer[];
  upgrades: IncomingMessage[];
  sockets: WebSocket[];
  closes: number[];
  refuse: { status: number; headers: Record<string, string> }[];
  answer: (message: AgentToServer) => Partial<ServerToAgent> | undefined;
  stop(): Promise<void>;
};

async function startScript(): Promise<Script> {
  const http = createServer();
  const wss = new WebSocketServer({ noServer: true });
  const script: Omit<Script, "endpoint" | "stop"> = {
    heard: [],
    upgrades: [],
    sockets: [],
    closes: [],
    refuse: [],
    answer: () => ({}),
  };
  http.on("upgrade", (request, socket, head) => {
    script.upgrades.push(request);
    const refusal = script.refuse.shift();
    if (refusal !== undefined) {
      const headers = Object.entries(refusal.headers).map(([key, value]) => `${key}: ${value}\r\n`);
      socket.end(`HTTP/1.1 ${refusal.status} No\r\n${headers.join("")}Content-Length: 0\r\nConnection: close\r\n\r\n`);
      return;
    }
    wss.handleUpgrade(request, socket, head, (websocket) => {
      script.sockets.push(websocket);
      websocket.on("close", (code) => script.closes.push(code));
      websocket.on("message", (data) => {
        const message = decodeAgentToServer(data as Buffer);
        script.heard.push(message);
        const answer = script.answer(message);
        if (answer !== undefined) websocket.send(encodeServerToAgent(reply(message.instanceUid, answer)));
      });
    });
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  return Object.assign(script, {
    endpoint: `ws://127.0.0.1:${port}/v1/opamp`,
    async stop() {
      for (const socket of script.sockets) socket.terminate();
      await new Promise((resolve) => http.close(resolve));
    },
  });
}
const reply = (instanceUid: string, more: Partial<ServerToAgent> = {}): ServerToAgent => ({
  instanceUid,
  flags: 0n,
  capabilities: 0x1fn,
  ...more,
});

let server: Script;
let client: AgentClient | undefined;
let received: ServerToAgent[];
const log = { info: () => undefined, warn: () => undefined };

beforeEach(async () => {
  server = await startScript();
  received = [];
});
afterEach(async () => {
  await client?.stop();
  await server.stop();
});

function start(more: Partial<AgentClientOptions> = {}): AgentClient {
  client = createAgentClient({
    endpoint: server.endpoint,
    headers: { Authorization: "Bearer secret" },
    instanceUid: UID,
    capabilities: 0x2819n,
    state: () => ({ agentDescription: DESCRIPTION, health: HEALTH }),
    onMessage: (message) => void received.push(message),
    log,
    chance: () => 0,
    ...more,
  });
  client.start();
  return client;
}
async function until(what: string, fits: () => boolean): Promise<void> {
  const deadline = performance.now() + 8_000;
  while (!fits()) {
    if (performance.now() > deadline) throw new Error(`waited for: ${what}`);
    await pause(5);
  }
}
const partsOf = ({ sequenceNum, agentDescription, health }: AgentToServer) => [
  Number(sequenceNum),
  agentDescription !== undefined,
  health !== undefined,
];

describe("what an agent says", () => {
  it("everything first, then what changed, then only that it is there", async () => {
    const agent = start({ heartbeatIntervalMs: 60 });
    await until("the first message", () => server.heard.length === 1);
    agent.update(["health"]);
    await until("a heartbeat", () => server.heard.length >= 3);
    expect(server.heard.slice(0, 3).map(partsOf)).toEqual([
      [0, true, true],
      [1, false, true],
      [2, false, false],
    ]);
    expect(server.upgrades[0]?.headers.authorization).toBe("Bearer secret");
  });

  it("goes on counting after a reconnect and says only what changed meanwhile", async () => {
    // It reconnects at once: only between the two connections is there a moment without one.
    const agent: AgentClient = start({ onDisconnected: () => agent.update(["health"]) });
    await until("the first message", () => server.heard.length === 1);
    server.sockets[0]?.terminate();
    await until("the second connection", () => server.heard.length === 2);
    expect(server.heard.map(partsOf)).toEqual([
      [0, true, true],
      [1, false, true],
    ]);
  });

  it("everything again when the server asks, once", async () => {
    server.answer = ({ sequenceNum }) => ({ flags: sequenceNum === 0n ? 1n : 0n });
    start();
    await until("the answer", () => received.length === 2);
    expect(server.heard.map(partsOf)).toEqual([
      [0, true, true],
      [1, true, true],
    ]);
  });

  it("nothing in answer to a message that asks for nothing", async () => {
    const agent = start();
    await until("the answer", () => received.length === 1);
    agent.update(["health"]);
    await until("what was asked for by us", () => received.length === 2);
    expect(server.heard.map(partsOf)).toEqual([
      [0, true, true],
      [1, false, true],
    ]);
  });

  it("goodbye when it is stopped, and closes with 1000", async () => {
    const agent = start();
    await until("the first message", () => server.heard.length === 1);
    await agent.stop();
    await until("the close", () => server.closes.length === 1);
    expect(server.heard.at(-1)?.agentDisconnect).toBe(true);
    expect(server.closes).toEqual([1000]);
  });

  it("no heartbeats when the server switches them off, and at its interval when it names one", async () => {
    const off = (heartbeatIntervalSeconds: bigint) => ({
      connectionSettings: { hash: Buffer.of(1), opamp: { destinationEndpoint: "", heartbeatIntervalSeconds } },
    });
    server.answer = ({ instanceUid, sequenceNum }) => (instanceUid === UID ? off(sequenceNum < 1n ? 1n : 0n) : {});
    const heardOf = (uid: string) => server.heard.filter(({ instanceUid }) => instanceUid === uid).length;
    const witness = start({ heartbeatIntervalMs: 300, instanceUid: OTHER });
    start({ heartbeatIntervalMs: 60_000 });
    await until("one heartbeat", () => heardOf(UID) === 2);
    const before = heardOf(OTHER);
    await until("more than a second of the witness's heartbeats", () => heardOf(OTHER) >= before + 4);
    expect(heardOf(UID)).toBe(2);
    await witness.stop();
  });
});

describe("another UID", () => {
  it("is used at once, on the same connection, with the sequence going on and everything told again", async () => {
    server.answer = ({ instanceUid }) =>
      instanceUid === UID ? { agentIdentification: { newInstanceUid: OTHER } } : {};
    const agent = start();
    await until("the second message", () => server.heard.length === 2);
    expect(server.heard.map(({ instanceUid }) => instanceUid)).toEqual([UID, OTHER]);
    expect(server.heard.map(partsOf)).toEqual([
      [0, true, true],
      [1, true, true],
    ]);
    expect(agent.instanceUid).toBe(OTHER);
    expect(server.upgrades).toHaveLength(1);
  });

  it("of a message for somebody else is ignored", async () => {
    server.answer = () => undefined;
    start();
    await until("the first message", () => server.heard.length === 1);
    server.sockets[0]?.send(encodeServerToAgent(reply(OTHER, { command: { type: 0 } })));
    server.sockets[0]?.send(encodeServerToAgent(reply(UID)));
    await until("its own", () => received.length === 1);
    expect(received[0]?.command).toBeUndefined();
  });
});

describe("a server that refuses", () => {
  it.each([503, 429])("with %i and Retry-After is asked again no earlier", async (status) => {
    server.refuse = [{ status, headers: { "Retry-After": "1" } }];
    const began = performance.now();
    start();
    await until("the second try", () => server.heard.length === 1);
    expect(performance.now() - began).toBeGreaterThanOrEqual(1_000);
  });

  it("with 401 is asked again with the credential of then", async () => {
    server.refuse = [{ status: 401, headers: {} }];
    let token = "old";
    start({
      headers: () => ({ Authorization: `Bearer ${token}` }),
      onDisconnected: () => {
        token = "new";
      },
    });
    await until("the second try", () => server.heard.length === 1);
    expect(server.upgrades.map(({ headers }) => headers.authorization)).toEqual(["Bearer old", "Bearer new"]);
  });

  it("with a redirect never gets the credential sent elsewhere", async () => {
    const elsewhere = await startScript();
    server.refuse = [{ status: 302, headers: { Location: elsewhere.endpoint } }];
    start();
    await until("the second try", () => server.heard.length === 1);
    expect(elsewhere.upgrades).toHaveLength(0);
    await elsewhere.stop();
  });

  it("with UNAVAILABLE is left alone for as long as it said", async () => {
    server.answer = ({ sequenceNum }) =>
      sequenceNum === 0n
        ? { errorResponse: { type: 2, errorMessage: "busy", retryAfterNanoseconds: 700_000_000n } }
        : {};
    const began = performance.now();
    start();
    await until("the second connection", () => server.heard.length === 2);
    expect(server.upgrades).toHaveLength(2);
    expect(performance.now() - began).toBeGreaterThanOrEqual(700);
  });

  it("a server that sends what is no message is left and tried again", async () => {
    server.answer = ({ sequenceNum }) => (sequenceNum === 0n ? undefined : {});
    start();
    await until("the first message", () => server.heard.length === 1);
    server.sockets[0]?.send(Buffer.from("05aa", "hex"));
    await until("the second connection", () => server.heard.length === 2);
    expect(server.closes).toEqual([1007]);
  });

  it("a server that answers nothing for three heartbeats is gone, whatever TCP believes", async () => {
    server.answer = () => undefined;
    start({ heartbeatIntervalMs: 50 });
    await until("another connection", () => server.upgrades.length >= 2);
  });

  it("a handler that fails does not end the conversation", async () => {
    const agent = start({
      onMessage: (message) => {
        received.push(message);
        throw new Error("handler");
      },
    });
    await until("the first answer", () => received.length === 1);
    agent.update(["health"]);
    await until("the second answer", () => received.length === 2);
  });
});
