/** An agent's WebSocket, seen from the server: a bounded way in, a bounded way out. */
import { WebSocket } from "ws";
import { Connection } from "./connection.ts";
import type { Credential } from "./credentials.ts";

/** A reader this far behind is cut off: it will come back, and the rows say what it has to get. */
const MAX_BACKLOG_BYTES = 16 * 1024 ** 2;

export class WebSocketConnection extends Connection {
  readonly transport = "websocket";
  private readonly socket: WebSocket;

  constructor(socket: WebSocket, credential: Credential, address: string, nowMs: number) {
    super(credential, address, nowMs);
    this.socket = socket;
  }

  get open(): boolean {
    return this.socket.readyState === WebSocket.OPEN;
  }

  get ready(): boolean {
    return this.open;
  }

  sendFrame(frame: Uint8Array): boolean {
    if (!this.open) return false;
    if (this.socket.bufferedAmount > MAX_BACKLOG_BYTES) {
      this.cut();
      return false;
    }
    this.socket.send(frame);
    return true;
  }

  ping(): void {
    this.socket.ping();
  }

  close(code: number, reason: string): void {
    this.socket.close(code, reason);
  }

  cut(): void {
    this.socket.terminate();
  }
}
