/**
 * One agent's way to this server, whatever carries it. Delivery, commands and liveness see this port only. Over a WebSocket
 * what is sent leaves at once; over plain HTTP it waits for the agent's next request, so offers are read again then.
 */
import { encodeServerToAgent } from "../../protocol/codec.ts";
import type { ServerToAgent } from "../../protocol/messages.ts";
import type { Agent } from "./registry.ts";
import type { Credential } from "./credentials.ts";

export const CLOSE = {
  goingAway: 1001,
  malformed: 1007,
  policy: 1008,
  tooLarge: 1009,
  tryLater: 1013,
  replaced: 4001,
} as const;

/**
 * The largest message that is taken from an agent, after inflation. The specification recommends 64 MiB; what agents
 * really send is a few KiB, and the largest that is kept of it, an effective configuration, is 4 MiB. Ten thousand
 * connections may each begin a message at once, so less is better.
 */
export const MAX_MESSAGE_BYTES = 16 * 1024 ** 2;

export abstract class Connection {
  abstract readonly transport: "websocket" | "http";
  readonly credential: Credential;
  readonly address: string;
  /** Whom this connection speaks for at the moment; it may change its UID. */
  agent: Agent | undefined;
  /** The UID that it was told to use instead of one that it may not use. */
  assignedUid: string | undefined;
  /** The UID that it may not use. */
  refusedUid: string | undefined;
  /** Until then (monotonic milliseconds) nothing that it says is looked at. */
  parkedUntilMs = 0;
  /** The server's capabilities were told: once is enough. */
  greeted = false;
  /** Frames that wait for the agent's row to be read, and whether one is being worked on. */
  readonly waiting: Buffer[] = [];
  working = false;
  /** Monotonic milliseconds: last message, and last sign of life of any kind. */
  messageAtMs: number;
  aliveAtMs: number;
  /** What was last sent over this very connection, so that a reconnect gets it again and a sweep does not. */
  sent: { offer: string; tokenAtMs: number } | undefined;
  /** Something may be open for the agent and could not be sent because the connection was not `ready`. */
  due = false;

  constructor(credential: Credential, address: string, nowMs: number) {
    this.credential = credential;
    this.address = address;
    this.messageAtMs = nowMs;
    this.aliveAtMs = nowMs;
  }

  /** It has not ended. */
  abstract get open(): boolean;
  /** What is sent now leaves now. Offers are only sent then: a hold may come before the next moment. */
  abstract get ready(): boolean;

  /** False when it can never arrive; then the connection is ending. */
  send(message: ServerToAgent): boolean {
    return this.sendFrame(encodeServerToAgent(message));
  }

  /** Answers that nothing is new. */
  abstract acknowledge(instanceUid: string): void;
  /** The same as `send` with an encoded message, header byte included. */
  abstract sendFrame(frame: Uint8Array): boolean;
  /** Asks the other end for a sign of life, where the transport can. */
  abstract ping(): void;
  /** Ends it with a word to the other end, where the transport has one. */
  abstract close(code: number, reason: string): void;
  /** Ends it at once. */
  abstract cut(): void;
}
