/** One agent's WebSocket, seen from the server: a bounded way in, a bounded way out. */
import { WebSocket } from "ws";
import { encodeServerToAgent } from "../../protocol/codec.ts";
import type { ServerToAgent } from "../../protocol/messages.ts";
import type { Agent } from "./registry.ts";
import type { Credential } from "./credentials.ts";

/** A reader this far behind is cut off: it will come back, and the rows say what it has to get. */
const MAX_BACKLOG_BYTES = 16 * 1024 ** 2;

export const CLOSE = { goingAway: 1001, malformed: 1007, policy: 1008, tryLater: 1013, replaced: 4001 } as const;

export class Connection {
  readonly socket: WebSocket;
  readonly credential: Credential;
  readonly address: string;
  /** Whom this connection speaks for at the moment; it may change its UID. */
  agent: Agent | undefined;
  /** The UID that it was told to use instead of one that it may not use. */
  assignedUid: string | undefined;
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

  constructor(socket: WebSocket, credential: Credential, address: string, nowMs: number) {
    this.socket = socket;
    this.credential = credential;
    this.address = address;
    this.messageAtMs = nowMs;
    this.aliveAtMs = nowMs;
  }

  /** False when it could not be handed to the socket; then the connection is ending. */
  send(message: ServerToAgent): boolean {
    return this.sendFrame(encodeServerToAgent(message));
  }

  sendFrame(frame: Uint8Array): boolean {
    if (this.socket.readyState !== WebSocket.OPEN) return false;
    if (this.socket.bufferedAmount > MAX_BACKLOG_BYTES) {
      this.socket.terminate();
      return false;
    }
    this.socket.send(frame);
    return true;
  }

  close(code: number, reason: string): void {
    this.socket.close(code, reason);
  }
}
