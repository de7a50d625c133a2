/** An agent's WebSocket, seen from the server: a bounded way in, a bounded way out. */
import type { Socket } from "node:net";
import { WebSocket } from "ws";
import { Connection } from "./connection.ts";
import type { Credential } from "./credentials.ts";
import { plainReply } from "./plain-way.ts";

/** A reader this far behind is cut off: it will come back, and the rows say what it has to get. */
const MAX_BACKLOG_BYTES = 4 * 1024 ** 2;

export class WebSocketConnection extends Connection {
  readonly transport = "websocket";
  private readonly websocket: WebSocket;
  private readonly socket: Socket;
  private readonly onSlowReader: (connection: Connection) => void;
  private lookedAtMs = 0;
  private wholeBytes = 0;

  constructor(
    sockets: { websocket: WebSocket; socket: Socket },
    credential: Credential,
    nowMs: number,
    onSlowReader: (connection: Connection) => void,
  ) {
    super(credential, sockets.socket.remoteAddress ?? "", nowMs);
    this.websocket = sockets.websocket;
    this.socket = sockets.socket;
    this.onSlowReader = onSlowReader;
  }

  get open(): boolean {
    return this.websocket.readyState === WebSocket.OPEN;
  }

  get ready(): boolean {
    return this.open;
  }

  sendFrame(frame: Uint8Array): boolean {
    if (!this.open) return false;
    if (this.websocket.bufferedAmount > MAX_BACKLOG_BYTES) {
      this.onSlowReader(this);
      this.cut();
      return false;
    }
    this.websocket.send(frame);
    return true;
  }

  acknowledge(instanceUid: string): void {
    this.sendFrame(plainReply(instanceUid));
  }

  ping(): void {
    this.websocket.ping();
  }

  close(code: number, reason: string): void {
    this.websocket.close(code, reason);
  }

  cut(): void {
    this.websocket.terminate();
  }

  /** About how many bytes of a message that is not whole yet are held for it: what came since anything whole did. */
  partialBytes(nowMs: number): number {
    if (this.aliveAtMs >= this.lookedAtMs) this.wholeBytes = this.socket.bytesRead;
    this.lookedAtMs = nowMs;
    return this.socket.bytesRead - this.wholeBytes;
  }
}
