/**
 * The agent's end of an OpAMP WebSocket: what updater, stand-in supervisor and simulator speak through.
 * The first message of a process has sequence number 0 and the full state; later ones carry what changed; a reconnect
 * goes on counting and says only what changed meanwhile. Full state again when the server asks for it.
 */
import { WebSocket, type RawData } from "ws";
import { reconnectDelayMs, retryAfterMs } from "./backoff.ts";
import { decodeServerToAgent, DEFAULT_MAX_MESSAGE_BYTES, encodeAgentToServer } from "./codec.ts";
import { AGENT_CAPABILITY, hasBit, SERVER_ERROR, SERVER_FLAG } from "./messages.ts";
import type { AgentToServer, ServerToAgent } from "./messages.ts";

/** What an agent reports of itself. An absent part is never sent. */
export type AgentState = Pick<
  AgentToServer,
  | "agentDescription"
  | "health"
  | "effectiveConfig"
  | "remoteConfigStatus"
  | "packageStatuses"
  | "customCapabilities"
  | "availableComponents"
>;
export type StateKey = keyof AgentState;
/** Everything that full state holds, whatever the transport. */
export const STATE_KEYS: readonly StateKey[] = [
  "agentDescription",
  "health",
  "effectiveConfig",
  "remoteConfigStatus",
  "packageStatuses",
  "customCapabilities",
  "availableComponents",
];

/** The part of a pino logger that is used. */
export type AgentLog = {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
};

export type AgentClientOptions = {
  /** ws:// or wss:// URL; its path is used as it stands. */
  endpoint: string;
  /** Sent at each connect; a function is asked each time, so that a changed token file counts. Never logged. */
  headers: Record<string, string> | (() => Record<string, string>);
  instanceUid: string;
  capabilities: bigint;
  /** The state as of now; asked whenever something is sent. */
  state: () => AgentState;
  /** Every message of the server, in order, after the client has followed it (new UID, full state, heartbeat). */
  onMessage: (message: ServerToAgent) => void | Promise<void>;
  onConnected?: () => void;
  onDisconnected?: () => void;
  log: AgentLog;
  /** Longest silence towards the server; default 30 s; 0: no heartbeats. */
  heartbeatIntervalMs?: number;
  tls?: { ca?: string | Buffer; cert?: string | Buffer; key?: string | Buffer; rejectUnauthorized?: boolean };
  /** Which of this machine's addresses to connect from; a simulator's many connections need more than one has ports. */
  localAddress?: string;
  /** Chance in [0, 1); default Math.random. */
  chance?: () => number;
};

export type AgentClient = {
  /** Begins to connect, and goes on until `stop`. */
  start(): void;
  /** Tells the server the named parts of the state: now, or at the next connect. */
  update(changed: readonly StateKey[]): void;
  sendFull(): void;
  /** Says agent_disconnect, closes with 1000; resolves when the socket is gone (at most 3 s). */
  stop(): Promise<void>;
  readonly instanceUid: string;
  readonly connected: boolean;
};
/** What a simulator does to its agents. */
export type CuttableClient = AgentClient & {
  /** The network is gone for this long: no goodbye; afterwards the client connects again as after any break. */
  cut(forMs: number): void;
};

const HEARTBEAT_MS = 30_000;
const HANDSHAKE_MS = 30_000;
const STOP_MS = 3_000;
/** A server answers each message: one that is silent over this many heartbeats is gone, whatever TCP believes. */
const SILENT_HEARTBEATS = 3;

/** Makes a client that is not started yet. */
export function createAgentClient(options: AgentClientOptions): CuttableClient {
  return new Client(options);
}

class Client implements CuttableClient {
  private readonly options: AgentClientOptions;
  private uid: string;
  private formerUid = "";
  private sequence = 0n;
  private readonly unsent = new Set<StateKey>(STATE_KEYS);
  private socket: WebSocket | undefined;
  private attempt = 0;
  private waitAtLeastMs = 0;
  private heartbeatMs: number;
  private heardAt = 0;
  /** Not before this does it connect again. */
  private heldUntil = 0;
  private beat: NodeJS.Timeout | undefined;
  private retry: NodeJS.Timeout | undefined;
  private state: "new" | "started" | "stopped" = "new";

  constructor(options: AgentClientOptions) {
    this.options = options;
    this.uid = options.instanceUid;
    this.heartbeatMs = options.heartbeatIntervalMs ?? HEARTBEAT_MS;
  }

  get instanceUid(): string {
    return this.uid;
  }

  get connected(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  start(): void {
    if (this.state !== "new") return;
    this.state = "started";
    this.connect();
  }

  update(changed: readonly StateKey[]): void {
    for (const key of changed) this.unsent.add(key);
    if (this.connected) this.send();
  }

  sendFull(): void {
    this.update(STATE_KEYS);
  }

  async stop(): Promise<void> {
    this.state = "stopped";
    clearTimeout(this.retry);
    clearTimeout(this.beat);
    const socket = this.socket;
    if (socket === undefined || socket.readyState === WebSocket.CLOSED) return;
    const closed = new Promise((resolve) => {
      socket.once("close", resolve);
    });
    const cut = setTimeout(() => socket.terminate(), STOP_MS);
    if (this.connected) this.send({ agentDisconnect: true });
    socket.close(1000);
    await closed;
    clearTimeout(cut);
  }

  cut(forMs: number): void {
    if (this.state !== "started") return;
    this.heldUntil = performance.now() + forMs;
    if (this.socket !== undefined) return this.socket.terminate();
    clearTimeout(this.retry);
    this.retry = setTimeout(() => this.connect(), forMs);
  }

  private connect(): void {
    const { endpoint, headers, tls, localAddress } = this.options;
    this.waitAtLeastMs = 0;
    const socket = new WebSocket(endpoint, {
      headers: typeof headers === "function" ? headers() : headers,
      // A redirect would send the credential elsewhere: it is refused like any other answer that is no upgrade.
      followRedirects: false,
      perMessageDeflate: false,
      handshakeTimeout: HANDSHAKE_MS,
      maxPayload: DEFAULT_MAX_MESSAGE_BYTES,
      ...(localAddress !== undefined && { localAddress }),
      ...tls,
    });
    this.socket = socket;
    socket.on("open", () => {
      this.heardAt = performance.now();
      this.options.onConnected?.();
      this.send();
    });
    socket.on("message", (data, isBinary) => this.receive(socket, data, isBinary));
    socket.on("ping", () => {
      this.heardAt = performance.now();
    });
    socket.on("unexpected-response", (_, response) => {
      const status = response.statusCode ?? 0;
      if (status === 429 || status === 503)
        this.waitAtLeastMs = retryAfterMs(response.headers["retry-after"], Date.now()) ?? 0;
      // A server that says when to come keeps a place for then: what was waited before counts no more.
      if (this.waitAtLeastMs > 0) this.attempt = 0;
      this.options.log.warn({ status }, "the server refused the connection");
      // Whoever listens for this must end the handshake; only then does the close event come.
      socket.terminate();
    });
    socket.on("error", (error) => this.options.log.warn({ error: error.message }, "OpAMP connection failed"));
    socket.on("close", (code) => this.lost(socket, code));
  }

  private lost(socket: WebSocket, code: number): void {
    if (socket !== this.socket) return;
    this.socket = undefined;
    clearTimeout(this.beat);
    this.options.onDisconnected?.();
    if (this.state === "stopped") return;
    const chance = (this.options.chance ?? Math.random)();
    const ownMs = reconnectDelayMs(this.attempt++, chance, this.waitAtLeastMs);
    const delayMs = Math.max(ownMs, this.heldUntil - performance.now());
    this.options.log.info({ code, delayMs }, "OpAMP connection ended; connecting again");
    this.retry = setTimeout(() => this.connect(), delayMs);
  }

  /** Sends what the server does not know yet; with nothing new it is a heartbeat. */
  private send(extra: Pick<AgentToServer, "agentDisconnect"> = {}): void {
    const state = this.options.state();
    const message: AgentToServer = {
      instanceUid: this.uid,
      sequenceNum: this.sequence++,
      capabilities: this.options.capabilities,
      flags: 0n,
      ...Object.fromEntries(STATE_KEYS.filter((key) => this.unsent.has(key)).map((key) => [key, state[key]])),
      ...extra,
    };
    this.unsent.clear();
    const frame = encodeAgentToServer(message);
    if (frame.length <= DEFAULT_MAX_MESSAGE_BYTES) this.socket?.send(frame);
    // The gap in the sequence makes the server ask again: by then the state may fit.
    else this.options.log.warn({ bytes: frame.length }, "a message is too large and was dropped");
    this.armHeartbeat();
  }

  private armHeartbeat(): void {
    clearTimeout(this.beat);
    if (this.state === "stopped") return;
    if (this.heartbeatMs === 0 || !hasBit(this.options.capabilities, AGENT_CAPABILITY.reportsHeartbeat)) return;
    this.beat = setTimeout(() => {
      if (performance.now() - this.heardAt <= SILENT_HEARTBEATS * this.heartbeatMs) this.send();
      else this.socket?.terminate();
    }, this.heartbeatMs);
  }

  private receive(socket: WebSocket, data: RawData, isBinary: boolean): void {
    this.heardAt = performance.now();
    if (socket !== this.socket) return;
    let message: ServerToAgent;
    try {
      if (!isBinary || !(data instanceof Buffer)) throw new TypeError("not a binary message");
      message = decodeServerToAgent(data);
    } catch (error) {
      this.options.log.warn({ error: String(error) }, "the server sent no OpAMP message");
      socket.close(1007);
      return;
    }
    if (!["", this.uid, this.formerUid].includes(message.instanceUid)) {
      this.options.log.warn({ uid: message.instanceUid }, "a message for another agent was ignored");
      return;
    }
    this.attempt = 0;
    this.follow(message);
    const deliver = async (): Promise<void> => this.options.onMessage(message);
    deliver().catch((error: unknown) => this.options.log.warn({ error: String(error) }, "a message was not handled"));
  }

  /** What every agent does with a message, whatever it is for. */
  private follow(message: ServerToAgent): void {
    const { errorResponse, agentIdentification, connectionSettings } = message;
    if (errorResponse !== undefined) {
      this.options.log.warn(
        { type: errorResponse.type, text: errorResponse.errorMessage },
        "the server reports an error",
      );
      if (errorResponse.type !== SERVER_ERROR.unavailable) return;
      this.waitAtLeastMs = Number((errorResponse.retryAfterNanoseconds ?? 0n) / 1_000_000n);
      this.attempt++;
      this.socket?.close(1000);
      return;
    }
    const renamed = agentIdentification !== undefined && agentIdentification.newInstanceUid !== this.uid;
    if (renamed) {
      this.formerUid = this.uid;
      this.uid = agentIdentification.newInstanceUid;
      // The server knows nothing of the new name yet.
      for (const key of STATE_KEYS) this.unsent.add(key);
    }
    const heartbeat = connectionSettings?.opamp?.heartbeatIntervalSeconds;
    if (heartbeat !== undefined) {
      this.heartbeatMs = Number(heartbeat) * 1000;
      this.armHeartbeat();
    }
    if (hasBit(message.flags, SERVER_FLAG.reportFullState)) this.sendFull();
    else if (renamed) this.update([]);
  }
}
