/**
 * Frames of RFC 6455 as a server reads and writes them, without extensions. What is read is bounded before anything is kept
 * of it; a message that came as one whole frame, which is nearly every one, is handed on where it lies.
 */
import { isUtf8 } from "node:buffer";

export type FrameSink = {
  /** A whole binary message, unmasked. The bytes are the receiver's own. */
  onMessage(data: Buffer): void;
  /** A text message begins; nothing of it is kept, and nothing after it is read. */
  onText(): void;
  onPing(data: Buffer): void;
  onPong(): void;
  /** The other end closes, with this code; 1005: it said none. Nothing after it is read. */
  onClose(code: number): void;
};

/** The peer broke the protocol; `code` is what its connection is to be closed with. The text names the rule, never the content. */
export class FrameFault extends Error {
  override readonly name = "FrameFault";
  readonly code: 1002 | 1007 | 1009;

  constructor(code: FrameFault["code"], rule: string) {
    super(rule);
    this.code = code;
  }
}

const OPERATION = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
const FIN = 0x80;
const MASKED = 0x80;
const WHOLE_BINARY = FIN | OPERATION.binary;
const NO_CODE = 1005;
/** Two bytes, a length of eight more, a mask of four. */
const MAX_HEAD_BYTES = 14;
const MAX_CONTROL_BYTES = 125;
/** What is kept of a message grows from this, by doubling: a header alone reserves nothing. */
const FIRST_BYTES = 1_024;

type Head = { operation: number; isFinal: boolean; length: number; mask: Buffer; got: number };

/** Reads one connection's bytes, however they are cut. After a fault, a text or a close it reads nothing more. */
export class FrameReader {
  private readonly sink: FrameSink;
  private readonly maxBytes: number;
  private hasEnded = false;
  /** The beginning of a frame, less than its head. */
  private cut: Buffer | undefined;
  /** The frame that is being read. */
  private head: Head | undefined;
  private message: Gathered | undefined;
  private control: Gathered | undefined;

  /** `maxBytes`: of a message, all its fragments together. */
  constructor(sink: FrameSink, maxBytes: number) {
    this.sink = sink;
    this.maxBytes = maxBytes;
  }

  /** Nothing is read any more, not even the answer to a close. */
  get ended(): boolean {
    return this.hasEnded;
  }

  /** From here on nothing is read, and nothing kept. */
  stop(): void {
    this.hasEnded = true;
    this.message = this.control = this.head = this.cut = undefined;
  }

  /** Bytes that are kept of what is not whole. */
  get heldBytes(): number {
    const heads = this.head === undefined ? (this.cut?.length ?? 0) : MAX_HEAD_BYTES;
    return heads + (this.message?.capacity ?? 0) + (this.control?.capacity ?? 0);
  }

  /** Calls the sink for everything that is whole by now. Throws a FrameFault. `chunk` is unmasked where it lies. */
  read(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length && !this.hasEnded) {
      if (this.head !== undefined) at = this.readContent(this.head, chunk, at);
      else {
        const next = this.message === undefined && this.cut === undefined ? this.readWhole(chunk, at) : -1;
        at = next < 0 ? this.readHead(chunk, at) : next;
      }
    }
  }

  /** The usual case: one masked frame with a whole message, all of it here. Its end, or -1: something else begins. */
  private readWhole(chunk: Buffer, at: number): number {
    if (chunk.length - at < 6 || chunk[at] !== WHOLE_BINARY) return -1;
    let length = (chunk[at + 1] ?? 0) - MASKED;
    let head = 2;
    if (length === 126) {
      length = ((chunk[at + 2] ?? 0) << 8) | (chunk[at + 3] ?? 0);
      head = 4;
    } else if (length < 0 || length > 126) return -1;
    const from = at + head + 4;
    const end = from + length;
    if (end > chunk.length || length > this.maxBytes) return -1;
    unmask(chunk, from, end, chunk, at + head, 0);
    this.sink.onMessage(chunk.subarray(from, end));
    return end;
  }

  /** Reads a head, which may be cut; returns where it ends. */
  private readHead(chunk: Buffer, at: number): number {
    const before = this.cut?.length ?? 0;
    const seen = chunk.subarray(at, at + MAX_HEAD_BYTES - before);
    const bytes = this.cut === undefined ? seen : Buffer.concat([this.cut, seen]);
    const size = headSize(bytes);
    if (bytes.length < size) {
      this.cut = Buffer.from(bytes);
      // What is wrong already need not become whole.
      if (bytes.length >= 2) this.check(bytes[0] ?? 0, bytes[1] ?? 0);
      return chunk.length;
    }
    this.cut = undefined;
    this.begin(bytes.subarray(0, size));
    return at + size - before;
  }

  private begin(bytes: Buffer): void {
    const first = bytes[0] ?? 0;
    this.check(first, bytes[1] ?? 0);
    const operation = first & 0x0f;
    if (operation === OPERATION.text) {
      this.hasEnded = true;
      return this.sink.onText();
    }
    const length = contentLength(bytes);
    const held = isControl(operation) ? 0 : (this.message?.length ?? 0);
    if (held + length > this.maxBytes) throw this.fault(1009, "the message is too large");
    const mask = Buffer.from(bytes.subarray(-4));
    const head = { operation, isFinal: (first & FIN) !== 0, length, mask, got: 0 };
    if (isControl(operation)) this.control = new Gathered();
    else this.message ??= new Gathered();
    if (length === 0) this.finish(head);
    else this.head = head;
  }

  /** What the first two bytes of a frame must not say. */
  private check(first: number, second: number): void {
    const operation = first & 0x0f;
    const length = second & 0x7f;
    if ((first & 0x70) !== 0) throw this.fault(1002, "no extension was agreed to");
    if ((operation > 2 && operation < 8) || operation > 10) throw this.fault(1002, "no such operation");
    if ((second & MASKED) === 0) throw this.fault(1002, "frames of a client are masked");
    if (isControl(operation)) {
      if ((first & FIN) === 0) throw this.fault(1002, "a control frame is never in fragments");
      if (length > MAX_CONTROL_BYTES) throw this.fault(1002, "a control frame is small");
    } else if ((operation === OPERATION.continuation) !== (this.message !== undefined))
      throw this.fault(1002, "fragments of a message follow each other");
  }

  private readContent(head: Head, chunk: Buffer, at: number): number {
    const end = Math.min(chunk.length, at + head.length - head.got);
    const into = isControl(head.operation) ? this.control : this.message;
    unmask(chunk, at, end, head.mask, 0, head.got);
    into?.add(chunk.subarray(at, end), this.maxBytes);
    head.got += end - at;
    if (head.got === head.length) this.finish(head);
    return end;
  }

  private finish({ operation, isFinal }: Head): void {
    this.head = undefined;
    if (!isControl(operation)) {
      if (!isFinal) return;
      const data = this.message?.bytes() ?? Buffer.alloc(0);
      this.message = undefined;
      return this.sink.onMessage(data);
    }
    const data = this.control?.bytes() ?? Buffer.alloc(0);
    this.control = undefined;
    if (operation === OPERATION.ping) return this.sink.onPing(data);
    if (operation === OPERATION.pong) return this.sink.onPong();
    this.hasEnded = true;
    this.sink.onClose(this.closeCode(data));
  }

  private closeCode(data: Buffer): number {
    if (data.length === 0) return NO_CODE;
    if (data.length === 1) throw this.fault(1002, "a close code has two bytes");
    const code = data.readUInt16BE(0);
    if (!mayBeSaid(code)) throw this.fault(1002, "no such close code");
    if (!isUtf8(data.subarray(2))) throw this.fault(1007, "a close reason is UTF-8");
    return code;
  }

  private fault(code: FrameFault["code"], rule: string): FrameFault {
    this.stop();
    return new FrameFault(code, rule);
  }
}

/** The content of a message so far, copied: many small pieces cost no more than their bytes. */
class Gathered {
  length = 0;
  private content = Buffer.alloc(0);

  get capacity(): number {
    return this.content.length;
  }

  add(piece: Buffer, maxBytes: number): void {
    const needed = this.length + piece.length;
    if (needed > this.content.length) {
      const doubled = Math.max(FIRST_BYTES, 2 * this.content.length);
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, Math.min(doubled, maxBytes)));
      this.content.copy(larger, 0, 0, this.length);
      this.content = larger;
    }
    piece.copy(this.content, this.length);
    this.length = needed;
  }

  bytes(): Buffer {
    return this.content.subarray(0, this.length);
  }
}

const isControl = (operation: number): boolean => operation >= OPERATION.close;

/** How long the head is that begins so; more than there is while that is not known. */
function headSize(bytes: Buffer): number {
  if (bytes.length < 2) return 2;
  const length = (bytes[1] ?? 0) & 0x7f;
  const mask = ((bytes[1] ?? 0) & MASKED) === 0 ? 0 : 4;
  return 2 + (length === 126 ? 2 : length === 127 ? 8 : 0) + mask;
}

function contentLength(bytes: Buffer): number {
  const length = (bytes[1] ?? 0) & 0x7f;
  if (length < 126) return length;
  // Above 2^53 it is not exact, and too large in any case.
  return length === 126 ? bytes.readUInt16BE(2) : bytes.readUInt32BE(2) * 2 ** 32 + bytes.readUInt32BE(6);
}

/** `already`: how many bytes of the frame were unmasked before. */
function unmask(data: Buffer, from: number, end: number, mask: Buffer, maskAt: number, already: number): void {
  const m0 = mask[maskAt + (already & 3)] ?? 0;
  const m1 = mask[maskAt + ((already + 1) & 3)] ?? 0;
  const m2 = mask[maskAt + ((already + 2) & 3)] ?? 0;
  const m3 = mask[maskAt + ((already + 3) & 3)] ?? 0;
  if ((m0 | m1 | m2 | m3) === 0) return;
  let i = from;
  for (const last = end - 3; i < last; i += 4) {
    data[i] = (data[i] ?? 0) ^ m0;
    data[i + 1] = (data[i + 1] ?? 0) ^ m1;
    data[i + 2] = (data[i + 2] ?? 0) ^ m2;
    data[i + 3] = (data[i + 3] ?? 0) ^ m3;
  }
  if (i < end) data[i] = (data[i] ?? 0) ^ m0;
  if (i + 1 < end) data[i + 1] = (data[i + 1] ?? 0) ^ m1;
  if (i + 2 < end) data[i + 2] = (data[i + 2] ?? 0) ^ m2;
}

/** Close codes that may stand in a frame (RFC 6455, 7.4). */
const mayBeSaid = (code: number): boolean =>
  (code >= 1000 && code <= 1014 && code !== 1004 && code !== 1005 && code !== 1006) || (code >= 3000 && code <= 4999);

/** A server's frame with a whole binary message. */
export const binaryFrame = (message: Uint8Array): Buffer => frameOf(OPERATION.binary, message);
export const pingFrame = (): Buffer => frameOf(OPERATION.ping, new Uint8Array(0));
export const pongFrame = (data: Uint8Array): Buffer => frameOf(OPERATION.pong, data);

/** A code that must not be said, as 1005, is left out. `reason`: at most 123 bytes. */
export function closeFrame(code: number, reason = ""): Buffer {
  if (!mayBeSaid(code)) return frameOf(OPERATION.close, new Uint8Array(0));
  return frameOf(OPERATION.close, Buffer.concat([Buffer.of(code >> 8, code & 0xff), Buffer.from(reason)]));
}

function frameOf(operation: number, content: Uint8Array): Buffer {
  const { length } = content;
  const size = length < 126 ? 2 : length < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(size + length);
  frame[0] = FIN | operation;
  frame[1] = size === 2 ? length : size === 4 ? 126 : 127;
  if (size === 4) frame.writeUInt16BE(length, 2);
  if (size === 10) frame.writeBigUInt64BE(BigInt(length), 2);
  frame.set(content, size);
  return frame;
}
