/** The OpAMP side of the API process, put together: door, registry, receive, fold, delivery, liveness. */
import { randomBytes } from "node:crypto";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Logger } from "pino";
import { uuidV7 } from "../../protocol/uid.ts";
import type { Pool } from "../../store/database.ts";
import type { Listener } from "../../store/listen.ts";
import { createClientAddress } from "../client-address.ts";
import { createAdmission } from "./admission.ts";
import { CLOSE, type Connection } from "./connection.ts";
import { createCredentials, type Credentials } from "./credentials.ts";
import { createDelivery } from "./deliver-offers.ts";
import { createFold } from "./fold.ts";
import { createFollowUps } from "./follow-ups.ts";
import { createForgetAway } from "./forget-away.ts";
import { createIdentityAudit } from "./identity-audit.ts";
import { createLiveness, type Liveness } from "./liveness.ts";
import { createPeers } from "./peers.ts";
import { serverCapabilities } from "./push-heartbeat.ts";
import { createReceive } from "./receive.ts";
import { createRefusalLog, whoOf, type Refused } from "./refusal-log.ts";
import { createRegistry } from "./registry.ts";
import { createReports, throttledErrors } from "./reports.ts";
import { createSeal } from "./seal.ts";
import { createDoor } from "./upgrade.ts";
import { createHttp, createWebSocketEvents } from "./transports.ts";
import { WebSocketConnection } from "./websocket-connection.ts";
import { createWhoSpeaks } from "./who-speaks.ts";

/** The part of the server's settings that is used here. */
export type OpampSettings = {
  /** `trustedProxies`: default none. */
  server: { publicUrl: string; trustedProxies?: readonly string[] };
  artifacts: { downloadTokenTtlMs: number; agentBaseUrls: readonly string[] };
  /** `heartbeatIntervalMs`: default 30 s, as agents have it by themselves. */
  agents: { offlineAfterMs: number; forgetAfterMs: number; acceptRate: number; heartbeatIntervalMs?: number };
};
export type OpampDeps = {
  pool: Pool;
  /** Must listen to all of CHANNELS. */
  listener: Listener;
  settings: OpampSettings;
  /** `secrets.keyFile`: the first signs and seals, all of them open. */
  keys: readonly Uint8Array[];
  log: Pick<Logger, "info" | "warn" | "error">;
  now: () => Date;
  /** Between two looks at who is silent and what is unsent; default 10 s. */
  sweepMs?: number;
  /** What all connections together may hold of messages that are not whole yet; default 256 MiB. */
  maxPartialBytes?: number;
  /** How long a message may take to become whole; default one minute. */
  maxPartialMs?: number;
};
export type OpampServer = {
  /** Answers WebSocket upgrades at /v1/opamp of this HTTP server. */
  attach(server: Server): void;
  /** Answers a request at /v1/opamp that is no upgrade: the plain HTTP transport. */
  answer(request: IncomingMessage, response: ServerResponse): void;
  /** Tells agents to come back elsewhere, writes what is in memory; at most 10 s. */
  close(): Promise<void>;
  connections(): number;
  /** Of this process since it started. */
  stats(): { connections: number; connected: number; refused: number };
};

const CLOSE_MS = 5_000;
const DEFAULT_HEARTBEAT_MS = 30_000;
const LATE = { code: "malformed_message", because: "a message took too long to become whole" } as const;
const HOLDS_MOST = { code: "server_busy", because: "too much waits to be whole" } as const;

export function createOpampServer(deps: OpampDeps): OpampServer {
  const { pool, settings, log, now } = deps;
  const count = { connected: 0, refused: 0 };
  const connections = new Set<Connection>();
  const onError = throttledErrors(log);
  const say = createRefusalLog(log);
  const onRefused = (refused: Refused): void => {
    count.refused++;
    say(refused);
  };
  const credentials = createCredentials({ pool, now });
  const talk = createConversation(deps, credentials, () => void liveness.cutEnded().catch(onError), onRefused, onError);
  const { registry, fold, delivery, receive } = talk;
  const liveness: Liveness = createLiveness({
    pool,
    connections,
    credentials,
    fold,
    now,
    onError,
    offlineAfterMs: settings.agents.offlineAfterMs,
    sweepMs: deps.sweepMs,
    maxPartialBytes: deps.maxPartialBytes,
    maxPartialMs: deps.maxPartialMs,
    onPartialCut: (it, isLate) => onRefused({ ...(isLate ? LATE : HOLDS_MOST), ...whoOf(it) }),
    sweepOffers() {
      talk.follow.sweep();
      return delivery.sweep();
    },
    forgetAway: createForgetAway({ pool, now, afterMs: settings.agents.forgetAfterMs }),
  });
  const acceptPerSecond = settings.agents.acceptRate;
  const addressOf = createClientAddress(settings.server.trustedProxies ?? []);
  const admission = createAdmission({ credentials, addressOf, acceptPerSecond, chance: Math.random, now, onError });
  const events = createWebSocketEvents({ connections, receive, liveness, onRefused, log });
  const door = createDoor({
    admission,
    onError,
    onRefused: ({ code }, address) => onRefused({ code, address }),
    onConnection(socket, head, entrant) {
      count.connected++;
      connections.add(new WebSocketConnection(socket, head, entrant, performance.now(), events));
    },
  });
  const http = createHttp({ admission, registry, receive, delivery, connections }, onRefused, onError);
  return {
    attach: (server) => door.attach(server),
    answer: http.answer,
    connections: () => connections.size,
    stats: () => ({ connections: connections.size, ...count }),
    async close() {
      admission.shut();
      await Promise.all([liveness.stop(), delivery.stop(), talk.stop()]);
      await closeAll(connections);
      await fold.stop();
    },
  };
}

/** What is said, and what it leads to. */
function createConversation(
  { pool, listener, settings, keys, log, now }: OpampDeps,
  credentials: Credentials,
  cutEnded: () => void,
  onRefused: (refused: Refused) => void,
  onError: (e: unknown) => void,
) {
  const [key] = keys;
  if (key === undefined) throw new TypeError("the OpAMP server needs a key");
  const replica = listener.id;
  const reports = createReports({ pool, log, now, onError });
  const registry = createRegistry(pool, replica);
  const seal = createSeal(keys);
  const heartbeatIntervalMs = settings.agents.heartbeatIntervalMs ?? DEFAULT_HEARTBEAT_MS;
  const capabilities = serverCapabilities(heartbeatIntervalMs);
  const follow = createFollowUps({ pool, listener, registry, seal, heartbeatIntervalMs, now, onError });
  const written = { onLinks: reports.links, onWritten: follow.written };
  const fold = createFold({ pool, registry, replica, now, onError, ...written, beforeWrite: () => identity.told() });
  const { downloadTokenTtlMs, agentBaseUrls } = settings.artifacts;
  const publicUrl = settings.server.publicUrl;
  const sending = { downloadTokenTtlMs, agentBaseUrls, publicUrl };
  const delivery = createDelivery({ pool, listener, registry, key, now, onError, settings: sending });
  const identity = createIdentity(
    { pool, listener, now },
    { registry, fold, replica, capabilities, onRenamed: reports.renamed, credentials, cutEnded, onError },
  );
  const receive = createReceive({
    who: identity.who,
    fold,
    capabilities,
    now,
    onError,
    seal,
    onReport: follow.reported,
    onAttached: (agent) => void delivery.wake(agent.uid),
    onRefused: (connection, code, because) => onRefused({ code, ...whoOf(connection), because }),
  });
  const stop = async (): Promise<void> => {
    await follow.stop();
    await identity.stop();
  };
  return { registry, fold, delivery, receive, follow, stop };
}

type IdentityParts = Pick<Parameters<typeof createWhoSpeaks>[0], "registry" | "fold" | "capabilities" | "onRenamed"> & {
  replica: string;
  credentials: Credentials;
  cutEnded: () => void;
  onError: (error: unknown) => void;
};

/** Who speaks here, and what the processes of one database tell each other about it. */
function createIdentity({ pool, listener, now }: Pick<OpampDeps, "pool" | "listener" | "now">, parts: IdentityParts) {
  const { registry, fold, replica, capabilities, onRenamed, credentials, cutEnded, onError } = parts;
  const audited = createIdentityAudit({ pool, now, onError });
  const who = createWhoSpeaks({
    registry,
    fold,
    capabilities,
    now,
    newUid: () => uuidV7(now().getTime(), randomBytes(10)),
    onRenamed,
    onMoved: audited.moved,
    onTakenOver: (uid) => peers.took(uid),
  });
  const peers = createPeers({
    pool,
    listener,
    replica,
    onError,
    onMovedAway: (uid, by) => who.letGo(uid, by),
    onDeleted: (uid) => who.forget(uid),
    onCredentials() {
      credentials.forget();
      cutEnded();
    },
  });
  const stop = async (): Promise<void> => {
    peers.stop();
    await audited.stop();
  };
  return { who, told: () => peers.told(), stop };
}

/** Says goodbye to all; whoever has not answered within the bound is cut. */
async function closeAll(connections: ReadonlySet<Connection>): Promise<void> {
  const all = Array.from(connections);
  for (const connection of all) connection.close(CLOSE.goingAway, "the server is going away");
  const cut = setTimeout(() => {
    for (const connection of all) connection.cut();
  }, CLOSE_MS);
  await Promise.all(all.filter((it) => it instanceof WebSocketConnection).map((it) => it.whenGone()));
  clearTimeout(cut);
}
