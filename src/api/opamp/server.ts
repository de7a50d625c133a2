/** The OpAMP side of the API process, put together: door, registry, receive, fold, delivery, liveness. */
import { randomBytes, randomUUID } from "node:crypto";
import type { Server } from "node:http";
import type { Logger } from "pino";
import type { WebSocket } from "ws";
import { AGENT_CAPABILITY, COMMAND, hasBit, SERVER_FLAG } from "../../protocol/messages.ts";
import type { ServerToAgent } from "../../protocol/messages.ts";
import { uuidV7 } from "../../protocol/uid.ts";
import type { Pool } from "../../store/database.ts";
import type { Listener } from "../../store/listen.ts";
import { CLOSE, type Connection } from "./connection.ts";
import { createCredentials } from "./credentials.ts";
import { createDelivery } from "./deliver-offers.ts";
import { createFold } from "./fold.ts";
import { createLiveness } from "./liveness.ts";
import { createReceive } from "./receive.ts";
import { createRegistry, type Registry } from "./registry.ts";
import { createReports, throttledErrors } from "./reports.ts";
import { createSeal } from "./seal.ts";
import { createDoor } from "./upgrade.ts";
import { WebSocketConnection } from "./websocket-connection.ts";

/** The part of the server's settings that is used here. */
export type OpampSettings = {
  server: { publicUrl: string };
  artifacts: { downloadTokenTtlMs: number; agentBaseUrls: readonly string[] };
  agents: { offlineAfterMs: number; acceptRate: number };
};
export type OpampDeps = {
  pool: Pool;
  /** Must listen to CHANNELS.offers. */
  listener: Listener;
  settings: OpampSettings;
  /** `secrets.keyFile`: the first signs and seals, all of them open. */
  keys: readonly Uint8Array[];
  log: Pick<Logger, "info" | "warn" | "error">;
  now: () => Date;
  /** Between two looks at who is silent and what is unsent; default 10 s. */
  sweepMs?: number;
};
export type OpampServer = {
  /** Answers WebSocket upgrades at /v1/opamp of this HTTP server. */
  attach(server: Server): void;
  /** Tells agents to come back elsewhere, writes what is in memory; at most 10 s. */
  close(): Promise<void>;
  connections(): number;
  /** Of this process since it started. */
  stats(): { connections: number; connected: number; refused: number };
  /** Restarts the agent's collector, if it is connected here and can. */
  restart(uid: string): "sent" | "not_connected" | "not_supported";
  /** Asks the agent for everything it knows. */
  askFullState(uid: string): "sent" | "not_connected";
};

const CLOSE_MS = 5_000;

export function createOpampServer(deps: OpampDeps): OpampServer {
  const { settings, log, now } = deps;
  const count = { connected: 0, refused: 0 };
  const connections = new Set<Connection>();
  const sockets = new Set<WebSocket>();
  const onError = throttledErrors(log);
  const { registry, fold, delivery, receive } = createConversation(deps, onError);
  const liveness = createLiveness({
    pool: deps.pool,
    connections,
    fold,
    now,
    onError,
    offlineAfterMs: settings.agents.offlineAfterMs,
    sweepMs: deps.sweepMs,
    sweepOffers: () => delivery.sweep(),
  });
  const door = createDoor({
    now,
    onError,
    chance: Math.random,
    acceptPerSecond: settings.agents.acceptRate,
    credentials: createCredentials({ pool: deps.pool, now }),
    onRefused: () => void count.refused++,
    onConnection(socket, credential, address) {
      const connection = new WebSocketConnection(socket, credential, address, performance.now());
      connections.add(connection);
      sockets.add(socket);
      count.connected++;
      socket.on("message", (data, isBinary) => receive.frame(connection, data as Buffer, isBinary));
      socket.on("pong", () => liveness.alive(connection));
      socket.on("error", (error) => log.info({ address, error: error.message }, "OpAMP connection failed"));
      socket.on("close", (code) => {
        connections.delete(connection);
        sockets.delete(socket);
        receive.closed(connection, code);
      });
    },
  });
  return {
    attach: (server) => door.attach(server),
    connections: () => connections.size,
    stats: () => ({ connections: connections.size, ...count }),
    ...createCommands(registry),
    async close() {
      door.shut();
      await Promise.all([liveness.stop(), delivery.stop()]);
      await closeAll(sockets);
      await fold.stop();
    },
  };
}

/** What is said, and what it leads to. */
function createConversation({ pool, listener, settings, keys, log, now }: OpampDeps, onError: (e: unknown) => void) {
  const [key] = keys;
  if (key === undefined) throw new TypeError("the OpAMP server needs a key");
  const reports = createReports({ pool, log, now, onError });
  const registry = createRegistry(pool);
  const fold = createFold({ pool, registry, replica: randomUUID(), now, onError, onLinks: reports.links });
  const { downloadTokenTtlMs, agentBaseUrls } = settings.artifacts;
  const delivery = createDelivery({
    pool,
    listener,
    registry,
    key,
    now,
    onError,
    settings: { downloadTokenTtlMs, agentBaseUrls, publicUrl: settings.server.publicUrl },
  });
  const receive = createReceive({
    registry,
    fold,
    now,
    onError,
    onRenamed: reports.renamed,
    seal: createSeal(keys),
    newUid: () => uuidV7(now().getTime(), randomBytes(10)),
    onAttached: (agent) => void delivery.wake(agent.uid),
  });
  return { registry, fold, delivery, receive };
}

function createCommands(registry: Registry): Pick<OpampServer, "restart" | "askFullState"> {
  const send = (uid: string, what: Partial<ServerToAgent>): "sent" | "not_connected" => {
    const message = { instanceUid: uid, flags: 0n, capabilities: 0n, ...what };
    return registry.get(uid)?.connection?.send(message) === true ? "sent" : "not_connected";
  };
  return {
    restart(uid) {
      const record = registry.get(uid)?.record;
      if (record !== undefined && !hasBit(record.capabilities, AGENT_CAPABILITY.acceptsRestartCommand))
        return "not_supported";
      return send(uid, { command: { type: COMMAND.restart } });
    },
    askFullState: (uid) => send(uid, { flags: SERVER_FLAG.reportFullState }),
  };
}

/** Says goodbye to all; whoever has not answered within the bound is cut. */
async function closeAll(sockets: ReadonlySet<WebSocket>): Promise<void> {
  const gone = Array.from(sockets, (socket) => new Promise((resolve) => socket.once("close", resolve)));
  for (const socket of sockets) socket.close(CLOSE.goingAway, "the server is going away");
  const cut = setTimeout(() => {
    for (const socket of sockets) socket.terminate();
  }, CLOSE_MS);
  await Promise.all(gone);
  clearTimeout(cut);
}
