/** An OpAMP server on a real port with a real database, and agents that speak to it through real sockets. */
import { createHash, randomBytes } from "node:crypto";
import type { RequestListener, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { WebSocket } from "ws";
import { createListenerServer, type ListenerTls } from "../../src/api/listener.ts";
import { createOpampServer, type OpampDeps, type OpampServer, type OpampSettings } from "../../src/api/opamp/server.ts";
import { CHANNELS } from "../../src/domain/channels.ts";
import {
  createAgentClient,
  type AgentClient,
  type AgentState,
  type StateKey,
} from "../../src/protocol/agent-client.ts";
import type { ComponentHealth, ServerToAgent } from "../../src/protocol/messages.ts";
import { uuidV7 } from "../../src/protocol/uid.ts";
import { createListener, type Listener } from "../../src/store/listen.ts";
import type { TestDatabase } from "./database.ts";
import { createPollingClient } from "./http-agent.ts";

export const silentLog = { info: () => undefined, warn: () => undefined, error: () => undefined };

export type OpampSetup = {
  server: OpampServer;
  endpoint: string;
  http: Server;
  key: Buffer;
  listener: Listener;
  enroll(name: string, labels?: Record<string, string>): Promise<{ token: string; id: string }>;
  stop(): Promise<void>;
};

type Settings = Partial<OpampSettings["agents"] & OpampSettings["artifacts"]> & {
  port?: number;
  trustedProxies?: readonly string[];
  sweepMs?: number;
  maxPartialBytes?: number;
  maxPartialMs?: number;
  tls?: ListenerTls;
  log?: OpampDeps["log"];
  /** Answers ordinary requests, for example downloads. */
  onRequest?: RequestListener;
};

/** Starts a replica on `port` (0: any). Several on one database are replicas of each other. */
export async function startOpamp(db: TestDatabase, settings: Settings = {}): Promise<OpampSetup> {
  const key = Buffer.alloc(32, 7);
  const errors: unknown[] = [];
  const listener = await createListener({
    url: db.url,
    channels: Object.values(CHANNELS),
    onError: (e) => errors.push(e),
  });
  const http = createListenerServer((request, response) => {
    if (request.url === "/v1/opamp") server.answer(request, response);
    else (settings.onRequest ?? ((_, other) => other.writeHead(404).end()))(request, response);
  }, settings.tls);
  await new Promise<void>((resolve) => http.listen(settings.port ?? 0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  const server = createOpampServer({
    pool: db.pool,
    listener,
    keys: [key],
    now: () => new Date(),
    log: settings.log ?? silentLog,
    ...(settings.sweepMs === undefined ? {} : { sweepMs: settings.sweepMs }),
    ...(settings.maxPartialBytes === undefined ? {} : { maxPartialBytes: settings.maxPartialBytes }),
    ...(settings.maxPartialMs === undefined ? {} : { maxPartialMs: settings.maxPartialMs }),
    settings: {
      server: { publicUrl: `http://127.0.0.1:${port}`, trustedProxies: settings.trustedProxies ?? [] },
      artifacts: {
        downloadTokenTtlMs: settings.downloadTokenTtlMs ?? 3_600_000,
        agentBaseUrls: settings.agentBaseUrls ?? [],
      },
      agents: {
        offlineAfterMs: settings.offlineAfterMs ?? 70_000,
        forgetAfterMs: settings.forgetAfterMs ?? 30 * 86_400_000,
        acceptRate: settings.acceptRate ?? 10_000,
        heartbeatIntervalMs: settings.heartbeatIntervalMs ?? 30_000,
      },
    },
  });
  server.attach(http);
  return {
    server,
    http,
    key,
    listener,
    endpoint: `${settings.tls === undefined ? "ws" : "wss"}://127.0.0.1:${port}/v1/opamp`,
    async enroll(name, labels = {}) {
      const token = `myr_enroll_${randomBytes(16).toString("hex")}`;
      const hash = createHash("sha256").update(token).digest();
      const { rows } = await db.pool.query<{ id: string }>(
        "insert into enrollment_tokens (name, hash, labels, created_by) values ($1, $2, $3, 'test') returning id",
        [name, hash, JSON.stringify(labels)],
      );
      return { token, id: rows[0]?.id ?? "" };
    },
    async stop() {
      await server.close();
      await listener.close();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

export const newUid = (): string => uuidV7(Date.now(), randomBytes(10));

export const health = (healthy: boolean, more: Partial<ComponentHealth> = {}): ComponentHealth => ({
  healthy,
  startTimeUnixNano: 1n,
  lastError: "",
  status: healthy ? "StatusOK" : "StatusStarting",
  statusTimeUnixNano: 0n,
  componentHealthMap: new Map(),
  ...more,
});

export const description = (identifying: Record<string, string>, other: Record<string, string>) => ({
  identifyingAttributes: new Map(Object.entries(identifying)),
  nonIdentifyingAttributes: new Map(Object.entries(other)),
});

export type TestAgent = {
  client: AgentClient;
  state: AgentState;
  received: ServerToAgent[];
  /** How often a connection of it ended, also for a moment. */
  ends(): number;
  report(state: Partial<AgentState>): void;
  stop(): Promise<void>;
};

export type Transport = "websocket" | "http";
type AgentOptions = {
  endpoint: string;
  token: string;
  uid?: string;
  capabilities: bigint;
  state: AgentState;
  /** Default: WebSocket. */
  transport?: Transport;
};

/** A started agent that keeps what it is sent. */
export function startAgent({ endpoint, token, uid, capabilities, state, transport }: AgentOptions): TestAgent {
  const received: ServerToAgent[] = [];
  const current = { ...state };
  let ends = 0;
  const client = (transport === "http" ? createPollingClient : createAgentClient)({
    endpoint,
    headers: { Authorization: `Bearer ${token}` },
    instanceUid: uid ?? newUid(),
    capabilities,
    state: () => current,
    onMessage: (message) => void received.push(message),
    onDisconnected: () => void ends++,
    log: silentLog,
    chance: () => 0.1,
  });
  client.start();
  return {
    client,
    state: current,
    received,
    ends: () => ends,
    report(changed) {
      Object.assign(current, changed);
      client.update(Object.keys(changed) as StateKey[]);
    },
    stop: () => client.stop(),
  };
}

/** Resolves with the first answer of `probe` that is not undefined or false; fails after `deadlineMs`, naming what it waited for. */
export async function eventually<T>(
  what: string,
  probe: () => Promise<T | undefined | false> | T | undefined | false,
  deadlineMs = 30_000,
): Promise<T> {
  const until = performance.now() + deadlineMs;
  for (;;) {
    const found = await probe();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > until) throw new Error(`waited ${deadlineMs} ms for: ${what}`);
    await pause(20);
  }
}

/** The status of an upgrade: 101, or the refusal. The socket is ended. */
export async function upgradeStatus(socket: WebSocket): Promise<number> {
  const status = await new Promise<number>((resolve, reject) => {
    socket.once("open", () => resolve(101));
    socket.once("unexpected-response", (_, response) => resolve(response.statusCode ?? 0));
    socket.once("error", reject);
  });
  socket.terminate();
  return status;
}
