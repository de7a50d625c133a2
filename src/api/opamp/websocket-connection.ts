/**
 * An agent's WebSocket, seen from the server, on the socket that Node hands over after the upgrade: a bounded way in, a
 * bounded way out. Why its frames are read here and not by a library: docs/adr/0011-agent-frames.md.
 */
import type { Socket } from "node:net";
import { binaryFrame, closeFrame, FrameFault, FrameReader, pingFrame, pongFrame } from "../../protocol/frames.ts";
import type { FrameSink } from "../../protocol/frames.ts";
import type { Entrant } from "./admission.ts";
import { Connection, MAX_MESSAGE_BYTES } from "./connection.ts";
import type { EndOfTurn } from "./end-of-turn.ts";
import { plainReply } from "./plain-way.ts";

/** A reader this far behind is cut off: it will come back, and the rows say what it has to get. */
const MAX_BACKLOG_BYTES = 4 * 1024 ** 2;
/** Pongs are answers that nobody waits for: behind this they are left out. */
const MAX_PONG_BACKLOG_BYTES = 64 * 1024;
const ABNORMAL = 1006;
const PING = pingFrame();
const NOTHING = Buffer.alloc(0);

/** What a connection reports, and what it needs; the same for all. */
export type WebSocketEvents = {
  endOfTurn: EndOfTurn;
  /** How long the other end may take to answer a close. Until then what it sends is read: a reset would eat our last word. */
  closeMs: number;
  onFrame: (connection: WebSocketConnection, data: Buffer, isBinary: boolean) => void;
  onPong: (connection: WebSocketConnection) => void;
  /** It broke the protocol, or its message is too large; the connection is ending. */
  onFault: (connection: WebSocketConnection, fault: FrameFault) => void;
  /** The socket failed; it ends. */
  onFailed: (connection: WebSocketConnection, error: Error) => void;
  onSlowReader: (connection: WebSocketConnection) => void;
  /** It is gone, once. `code` is what the other end said, 1006 if it said nothing. */
  onClosed: (connection: WebSocketConnection, code: number) => void;
};

export class WebSocketConnection extends Connection implements FrameSink {
  readonly transport = "websocket";
  private readonly socket: Socket;
  private readonly events: WebSocketEvents;
  private readonly reader: FrameReader;
  private state: "open" | "closing" | "closed" = "open";
  private closeCode = ABNORMAL;
  private cutting: NodeJS.Timeout | undefined;
  /** Monotonic milliseconds since when a message is not whole. */
  private partialAtMs: number | undefined;
  private plain: { uid: string; frame: string } | undefined;
  /** So many plain answers are to be written at the end of the turn. */
  private owed = 0;

  /** `head`: what came with the upgrade already. The 101 must have been written. */
  constructor(socket: Socket, head: Buffer, entrant: Entrant, nowMs: number, events: WebSocketEvents) {
    super(entrant.credential, entrant.address, nowMs);
    this.socket = socket;
    this.events = events;
    this.reader = new FrameReader(this, MAX_MESSAGE_BYTES);
    socket.setTimeout(0);
    socket.setNoDelay(true);
    socket.on("error", (error) => this.failed(error));
    socket.on("end", () => this.ended());
    socket.on("close", () => this.gone());
    socket.on("data", (chunk: Buffer) => this.read(chunk));
    if (head.length > 0) this.read(head);
  }

  get open(): boolean {
    return this.state === "open";
  }

  get ready(): boolean {
    return this.open;
  }

  sendFrame(frame: Uint8Array): boolean {
    if (!this.mayWrite()) return false;
    this.flush();
    this.socket.write(binaryFrame(frame));
    return true;
  }

  /** Nearly everything that is ever sent: the text of one frame, made once, which Node writes faster than bytes. */
  acknowledge(instanceUid: string): void {
    if (!this.mayWrite()) return;
    if (this.plain?.uid !== instanceUid) {
      this.flush();
      this.plain = { uid: instanceUid, frame: binaryFrame(plainReply(instanceUid)).toString("latin1") };
    }
    if (this.owed++ === 0) this.events.endOfTurn.add(this);
  }

  /** Writes the answers that are owed; before anything else, which comes after them. */
  flush(): void {
    const { owed, plain } = this;
    this.owed = 0;
    if (owed > 0 && plain !== undefined && this.state === "open") this.socket.write(plain.frame.repeat(owed), "latin1");
  }

  private mayWrite(): boolean {
    if (this.state !== "open") return false;
    if (this.socket.writableLength <= MAX_BACKLOG_BYTES) return true;
    this.events.onSlowReader(this);
    this.cut();
    return false;
  }

  ping(): void {
    if (this.mayWrite()) this.socket.write(PING);
  }

  close(code: number, reason: string): void {
    if (this.state !== "open") return;
    this.flush();
    this.state = "closing";
    this.socket.write(closeFrame(code, reason));
    // The answer would not be understood: our end is the sign that the other end may go.
    if (this.reader.ended) this.socket.end();
    this.cutting = setTimeout(() => this.cut(), this.events.closeMs);
  }

  cut(): void {
    if (this.state === "open") this.state = "closing";
    this.reader.stop();
    this.socket.destroy();
  }

  /** Resolves when it is gone and that was reported. */
  async whenGone(): Promise<void> {
    if (this.state !== "closed") await new Promise((resolve) => this.socket.once("close", resolve));
  }

  /** What it holds of a message that is not whole yet, and since when (monotonic milliseconds). */
  partial(): { bytes: number; sinceMs: number } | undefined {
    const { partialAtMs } = this;
    return partialAtMs === undefined ? undefined : { bytes: this.reader.heldBytes, sinceMs: partialAtMs };
  }

  private read(chunk: Buffer): void {
    const messageAtMs = this.messageAtMs;
    try {
      this.reader.read(chunk);
    } catch (error) {
      if (!(error instanceof FrameFault)) throw error;
      this.events.onFault(this, error);
      this.close(error.code, error.message);
    }
    if (this.reader.heldBytes === 0) this.partialAtMs = undefined;
    // Whoever says whole messages in between has a new one that is not.
    else if (this.partialAtMs === undefined || messageAtMs !== this.messageAtMs) this.partialAtMs = performance.now();
  }

  onMessage(data: Buffer): void {
    this.events.onFrame(this, data, true);
  }

  onText(): void {
    this.events.onFrame(this, NOTHING, false);
  }

  onPing(data: Buffer): void {
    if (this.open && this.socket.writableLength <= MAX_PONG_BACKLOG_BYTES) this.socket.write(pongFrame(data));
  }

  onPong(): void {
    this.events.onPong(this);
  }

  /** Its close is answered with the same code, unless it is the answer to ours. */
  onClose(code: number): void {
    this.closeCode = code;
    this.close(code, "");
    this.socket.end();
  }

  /** The other end says no more. */
  private ended(): void {
    if (this.state === "open") this.state = "closing";
    this.cutting ??= setTimeout(() => this.cut(), this.events.closeMs);
    this.socket.end();
  }

  private failed(error: Error): void {
    if (this.state === "open") this.state = "closing";
    this.events.onFailed(this, error);
    this.socket.destroy();
  }

  private gone(): void {
    this.state = "closed";
    clearTimeout(this.cutting);
    this.reader.stop();
    this.events.onClosed(this, this.closeCode);
  }
}
