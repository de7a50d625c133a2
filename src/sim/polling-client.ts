/**
 * The agent's end of OpAMP over plain HTTP, with the habits of the reference client: one request at a time, at once when
 * something changed, else every heartbeat interval. The same message again, ever later, on network errors, 429 and 503;
 * after any other refusal the message is lost, and the gap in the sequence makes the server ask for everything.
 */
import { gzipSync } from "node:zlib";
import { request, type Dispatcher } from "undici";
import { STATE_KEYS } from "../protocol/agent-client.ts";
import type { AgentClientOptions, CuttableClient, StateKey } from "../protocol/agent-client.ts";
import { reconnectDelayMs, retryAfterMs } from "../protocol/backoff.ts";
import { decodeServerToAgent, encodeAgentToServer } from "../protocol/codec.ts";
import { hasBit, SERVER_FLAG } from "../protocol/messages.ts";
import type { AgentToServer, ServerToAgent } from "../protocol/messages.ts";

const POLL_MS = 30_000;
const REQUEST_MS = 30_000;
const STOP_MS = 3_000;
const GZIP_FROM_BYTES = 1_024;

/** Makes a client that is not started yet. */
export const createPollingClient = (options: AgentClientOptions, http: Dispatcher): CuttableClient =>
  new PollingClient(options, http);

class PollingClient implements CuttableClient {
  private readonly options: AgentClientOptions;
  private readonly http: Dispatcher;
  private uid: string;
  private sequence = 0n;
  private readonly unsent = new Set<StateKey>(STATE_KEYS);
  private pollMs: number;
  private heldUntil = 0;
  private isConnected = false;
  private state: "new" | "started" | "stopped" = "new";
  private readonly stopping = new AbortController();
  private inFlight = new AbortController();
  private wake: () => void = () => undefined;
  private loop: Promise<void> = Promise.resolve();

  constructor(options: AgentClientOptions, http: Dispatcher) {
    this.options = options;
    this.http = http;
    this.uid = options.instanceUid;
    // Zero switches heartbeats off; whoever polls has to ask all the same.
    this.pollMs = options.heartbeatIntervalMs || POLL_MS;
  }

  get instanceUid(): string {
    return this.uid;
  }

  get connected(): boolean {
    return this.isConnected;
  }

  start(): void {
    if (this.state !== "new") return;
    this.state = "started";
    this.loop = this.poll();
  }

  update(changed: readonly StateKey[]): void {
    for (const key of changed) this.unsent.add(key);
    this.wake();
  }

  sendFull(): void {
    this.update(STATE_KEYS);
  }

  cut(forMs: number): void {
    this.heldUntil = performance.now() + forMs;
    this.setConnected(false);
    this.inFlight.abort();
    this.wake();
  }

  async stop(): Promise<void> {
    const wasConnected = this.isConnected;
    this.state = "stopped";
    this.stopping.abort();
    this.wake();
    await this.loop;
    const goodbye = this.encode({ agentDisconnect: true });
    if (wasConnected)
      await this.ask(goodbye, AbortSignal.timeout(STOP_MS)).catch((error: unknown) =>
        this.options.log.warn({ error: String(error) }, "the goodbye did not arrive"),
      );
    this.setConnected(false);
  }

  private async poll(): Promise<void> {
    while (this.state === "started") {
      const answer = await this.deliver(this.encode());
      if (answer !== undefined) this.receive(answer);
      if (this.unsent.size === 0 || answer === undefined) await this.idle(this.pollMs);
    }
  }

  /** Until it is delivered or lost. */
  private async deliver(frame: Buffer): Promise<ServerToAgent | undefined> {
    for (let attempt = 0; this.state === "started"; attempt++) {
      let leastMs = 0;
      await this.idle(this.heldUntil - performance.now(), true);
      try {
        this.inFlight = new AbortController();
        const limit = AbortSignal.timeout(REQUEST_MS);
        const got = await this.ask(frame, AbortSignal.any([this.inFlight.signal, this.stopping.signal, limit]));
        if (got.message !== undefined) {
          this.setConnected(true);
          return got.message;
        }
        this.options.log.warn({ status: got.status }, "the server refused a message");
        if (got.status !== 429 && got.status !== 503) return this.lost();
        leastMs = got.leastMs;
      } catch (error) {
        if (this.state === "started") this.options.log.info({ error: String(error) }, "OpAMP request failed");
      }
      this.setConnected(false);
      await this.idle(reconnectDelayMs(attempt, (this.options.chance ?? Math.random)(), leastMs), true);
    }
    return undefined;
  }

  private lost(): undefined {
    this.setConnected(false);
    return undefined;
  }

  private async ask(
    frame: Buffer,
    signal: AbortSignal,
  ): Promise<{ status: number; message: ServerToAgent | undefined; leastMs: number }> {
    const { endpoint, headers } = this.options;
    const isLarge = frame.length >= GZIP_FROM_BYTES;
    const response = await request(endpoint.replace(/^ws/, "http"), {
      method: "POST",
      dispatcher: this.http,
      signal,
      headers: {
        ...(typeof headers === "function" ? headers() : headers),
        "content-type": "application/x-protobuf",
        "opamp-instance-uid": this.uid,
        ...(isLarge && { "content-encoding": "gzip" }),
      },
      body: isLarge ? gzipSync(frame) : frame,
    });
    const body = Buffer.from(await response.body.arrayBuffer());
    const retry = response.headers["retry-after"];
    const leastMs = retryAfterMs(Array.isArray(retry) ? retry[0] : retry, Date.now()) ?? 0;
    const { statusCode: status } = response;
    return { status, leastMs, message: status === 200 ? decodeServerToAgent(withHeader(body)) : undefined };
  }

  /** What the server does not know yet; with nothing new it is a heartbeat. */
  private encode(extra: Pick<AgentToServer, "agentDisconnect"> = {}): Buffer {
    const state = this.options.state();
    const frame = encodeAgentToServer({
      instanceUid: this.uid,
      sequenceNum: this.sequence++,
      capabilities: this.options.capabilities,
      flags: 0n,
      ...Object.fromEntries(STATE_KEYS.filter((key) => this.unsent.has(key)).map((key) => [key, state[key]])),
      ...extra,
    });
    this.unsent.clear();
    return Buffer.from(frame.subarray(1));
  }

  private receive(message: ServerToAgent): void {
    const renamed = message.agentIdentification?.newInstanceUid;
    if (renamed !== undefined) this.uid = renamed;
    if (renamed !== undefined || hasBit(message.flags, SERVER_FLAG.reportFullState)) this.sendFull();
    const seconds = Number(message.connectionSettings?.opamp?.heartbeatIntervalSeconds ?? 0n);
    if (seconds > 0) this.pollMs = seconds * 1_000;
    const deliver = async (): Promise<void> => this.options.onMessage(message);
    deliver().catch((error: unknown) => this.options.log.warn({ error: String(error) }, "a message was not handled"));
  }

  private setConnected(connected: boolean): void {
    if (this.isConnected === connected) return;
    this.isConnected = connected;
    if (connected) this.options.onConnected?.();
    else this.options.onDisconnected?.();
  }

  /** Until the time is over or the client ends; unless it is `deaf`, also until there is something to say. */
  private async idle(ms: number, deaf = false): Promise<void> {
    if (ms <= 0 || this.state === "stopped") return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.wake = () => undefined;
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.wake = () => {
        if (!deaf || this.state === "stopped") done();
      };
    });
  }
}

/** The decoder reads frames, which begin with a header byte; plain HTTP has none. */
const withHeader = (body: Buffer): Buffer => Buffer.concat([Buffer.of(0), body]);
