/** An agent's WebSocket, seen from the server: a bounded way in, a bounded way out. */
import type { Socket } from "node:net";
import { WebSocket } from "ws";
import type { Entrant } from "./admission.ts";
import { Connection } from "./connection.ts";
import { plainReply } from "./plain-way.ts";

/** A reader this far behind is cut off: it will come back, and the rows say what it has to get. */
const MAX_BACKLOG_BYTES = 4 * 1024 ** 2;

export class WebSocketConnection extends Connection {
  readonly transport = "websocket";
  private readonly websocket: WebSocket;
  private readonly socket: Socket;
  private readonly onSlowReader: (connection: Connection) => void;
  private wholeBytes: number;
  private plain: { uid: string; frame: string } | undefined;

  constructor(
    sockets: { websocket: WebSocket; socket: Socket },
    { credential, address }: Entrant,
    nowMs: number,
    onSlowReader: (connection: Connection) => void,
  ) {
    super(credential, address, nowMs);
    this.websocket = sockets.websocket;
    this.socket = sockets.socket;
    this.wholeBytes = this.socket.bytesRead;
    this.onSlowReader = onSlowReader;
  }

  get open(): boolean {
    return this.websocket.readyState === WebSocket.OPEN;
  }

  get ready(): boolean {
    return this.open;
  }

  sendFrame(frame: Uint8Array): boolean {
    if (!this.mayWrite()) return false;
    this.websocket.send(frame);
    return true;
  }

  /**
   * Nearly everything that is ever sent, so it is written as one text of one frame, made once: the library would write head
   * and content apart. Nothing of it can be in the middle of a frame: without compression it writes each at once.
   */
  acknowledge(instanceUid: string): void {
    if (!this.mayWrite()) return;
    if (this.plain?.uid !== instanceUid) this.plain = { uid: instanceUid, frame: frameOf(plainReply(instanceUid)) };
    this.socket.write(this.plain.frame, "latin1");
  }

  private mayWrite(): boolean {
    if (!this.open) return false;
    if (this.websocket.bufferedAmount <= MAX_BACKLOG_BYTES) return true;
    this.onSlowReader(this);
    this.cut();
    return false;
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

  /** A message is whole. Pongs are not: they may come between the parts of one. */
  gotWhole(): void {
    this.wholeBytes = this.socket.bytesRead;
  }

  /** About how many bytes of a message that is not whole yet are held for it: what came since the last whole one. */
  partialBytes(): number {
    return this.socket.bytesRead - this.wholeBytes;
  }
}

/** One whole binary message (RFC 6455, 5.2) of less than 126 bytes, a character per byte. */
const frameOf = (message: Uint8Array): string => Buffer.of(0x82, message.length, ...message).toString("latin1");
