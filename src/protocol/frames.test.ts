import { once, type EventEmitter } from "node:events";
import { Duplex } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as library from "ws";
import { binaryFrame, closeFrame, FrameFault, FrameReader, pingFrame, pongFrame } from "./frames.ts";

type Seen = ["message" | "ping", string] | ["text"] | ["pong"] | ["close", number];
const MAX = 70_000;

function reading(maxBytes = MAX): { reader: FrameReader; seen: Seen[] } {
  const seen: Seen[] = [];
  const reader = new FrameReader(
    {
      onMessage: (data) => void seen.push(["message", data.toString("hex")]),
      onText: () => void seen.push(["text"]),
      onPing: (data) => void seen.push(["ping", data.toString("hex")]),
      onPong: () => void seen.push(["pong"]),
      onClose: (code) => void seen.push(["close", code]),
    },
    maxBytes,
  );
  return { reader, seen };
}

/** A client's frame. `first`: FIN and operation. */
function masked(first: number, content: Uint8Array, mask = Buffer.of(0x1f, 0xa2, 0, 0x7c)): Buffer {
  const { length } = content;
  const size = length < 126 ? 2 : length < 65_536 ? 4 : 10;
  const head = Buffer.alloc(size);
  head[0] = first;
  head[1] = 0x80 | (size === 2 ? length : size === 4 ? 126 : 127);
  if (size === 4) head.writeUInt16BE(length, 2);
  if (size === 10) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, mask, content.map((byte, i) => byte ^ (mask[i & 3] ?? 0))]);
}
const content = (length: number, from = 1): Buffer => Buffer.from(Array.from({ length }, (_, i) => (from + i) & 0xff));

describe("what is read", () => {
  it.each([0, 1, 2, 3, 4, 5, 6, 7, 125, 126, 127, 65_535, 65_536])(
    "a message of %i bytes, at once or cut",
    (length) => {
      const data = content(length);
      const frame = masked(0x82, data);
      const expected = [["message", data.toString("hex")]];
      const whole = reading();
      whole.reader.read(Buffer.from(frame));
      expect(whole.seen).toEqual(expected);
      for (const at of [1, 2, 3, 5, 7, 9, 13, Math.floor(frame.length / 2)].filter((it) => it < frame.length)) {
        const { reader, seen } = reading();
        reader.read(Buffer.from(frame.subarray(0, at)));
        expect(seen).toEqual([]);
        expect(reader.heldBytes).toBeGreaterThan(0);
        reader.read(Buffer.from(frame.subarray(at)));
        expect(seen).toEqual(expected);
        expect(reader.heldBytes).toBe(0);
      }
    },
  );

  it("fragments with a ping between them, byte by byte", () => {
    const all = Buffer.concat([
      masked(0x02, content(3)),
      masked(0x89, Buffer.from("hi")),
      masked(0x00, content(0)),
      masked(0x00, content(5, 4)),
      masked(0x8a, Buffer.alloc(0)),
      masked(0x80, content(2, 9)),
      masked(0x82, content(1)),
    ]);
    const { reader, seen } = reading();
    for (const byte of all) reader.read(Buffer.of(byte));
    expect(seen).toEqual([["ping", "6869"], ["pong"], ["message", content(10).toString("hex")], ["message", "01"]]);
  });

  it("several messages that came together, each the receiver's own", () => {
    const { reader, seen } = reading();
    reader.read(Buffer.concat([1, 2, 3, 200].map((length) => masked(0x82, content(length)))));
    expect(seen.map(([, hex]) => String(hex).length / 2)).toEqual([1, 2, 3, 200]);
  });

  it.each([0, 1, 2, 3, 4, 5])("masks at every alignment: %i bytes before", (before) => {
    const data = content(37);
    const mask = Buffer.of(1, 2, 4, 8);
    const chunk = Buffer.concat([Buffer.alloc(before), masked(0x82, data, mask)]);
    const { reader, seen } = reading();
    reader.read(chunk.subarray(before));
    expect(seen).toEqual([["message", data.toString("hex")]]);
  });

  it("nothing after a close, and its code", () => {
    const { reader, seen } = reading();
    reader.read(Buffer.concat([masked(0x88, Buffer.of(0x03, 0xe9)), masked(0x82, content(3))]));
    expect(seen).toEqual([["close", 1001]]);
    const silent = reading();
    silent.reader.read(masked(0x88, Buffer.alloc(0)));
    expect(silent.seen).toEqual([["close", 1005]]);
  });

  it("of a text nothing is kept, and nothing after it read", () => {
    const { reader, seen } = reading();
    reader.read(Buffer.concat([masked(0x81, Buffer.from("text")), masked(0x82, content(3))]));
    expect(seen).toEqual([["text"]]);
    expect(reader.heldBytes).toBe(0);
  });
});

describe("what is refused", () => {
  const large = (length: bigint): Buffer => {
    const head = Buffer.alloc(14);
    head.set([0x82, 0xff]);
    head.writeBigUInt64BE(length, 2);
    return head;
  };
  it.each<[string, number, Buffer]>([
    ["a reserved bit", 1002, masked(0xc2, content(1))],
    ["an unknown operation", 1002, masked(0x83, content(1))],
    ["an unknown control operation", 1002, masked(0x8b, content(1))],
    ["a frame without a mask", 1002, binaryFrame(content(1))],
    ["a ping in fragments", 1002, masked(0x09, content(1))],
    ["a large ping", 1002, masked(0x89, content(126))],
    ["a fragment of nothing", 1002, masked(0x80, content(1))],
    ["a message within another", 1002, Buffer.concat([masked(0x02, content(1)), masked(0x82, content(1))])],
    ["a close of one byte", 1002, masked(0x88, content(1))],
    ["a close with 1005", 1002, masked(0x88, Buffer.of(0x03, 0xed))],
    ["a close with 999", 1002, masked(0x88, Buffer.of(0x03, 0xe7))],
    ["a close whose reason is no text", 1007, masked(0x88, Buffer.of(0x03, 0xe8, 0xc3, 0x28))],
    ["a large message, of which nothing came yet", 1009, large(BigInt(MAX + 1))],
    ["the largest that can be said", 1009, large(2n ** 64n - 1n)],
    ["fragments that are large together", 1009, Buffer.concat([masked(0x02, content(MAX)), masked(0x80, content(1))])],
  ])("%s", (_, code, bytes) => {
    for (const step of [bytes.length, 1]) {
      const { reader, seen } = reading();
      const read = (): void => {
        for (let at = 0; at < bytes.length; at += step) reader.read(Buffer.from(bytes.subarray(at, at + step)));
      };
      expect(read).toThrow(expect.objectContaining({ name: "FrameFault", code }));
      // What else it sends is dropped.
      reader.read(masked(0x82, content(3)));
      expect(seen).toEqual([]);
      expect(reader.heldBytes).toBe(0);
    }
  });

  it("a header reserves nothing of the length that it promises, and small pieces cost no more than twice their bytes", () => {
    const { reader } = reading(16 * 1024 ** 2);
    reader.read(masked(0x82, content(70_000)).subarray(0, 20));
    expect(reader.heldBytes).toBeLessThanOrEqual(1_100);
    const dripping = reading(16 * 1024 ** 2);
    for (let i = 0; i < 10_000; i++) dripping.reader.read(masked(i === 0 ? 0x02 : 0x00, content(1)));
    expect(dripping.reader.heldBytes).toBeLessThanOrEqual(20_000);
  });

  it("nothing else that is thrown at it: hostile bytes end in a fault or are read", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 8 }), (chunks) => {
        const { reader } = reading(1_000);
        try {
          for (const chunk of chunks) reader.read(Buffer.from(chunk));
        } catch (error) {
          expect(error).toBeInstanceOf(FrameFault);
        }
        expect(reader.heldBytes).toBeLessThanOrEqual(2_000);
      }),
    );
  });
});

/** Exported by it, and not in its types. */
const { Sender, Receiver } = library as unknown as {
  Sender: new (socket: Duplex) => {
    send(data: Buffer, options: object): void;
    ping(data: Buffer, mask: boolean): void;
  };
  Receiver: new (options: object) => Duplex & EventEmitter;
};

/** The two ends of a wire in memory. */
function wire(): [Duplex, Duplex] {
  const end = (other: () => Duplex): Duplex =>
    new Duplex({
      read: () => undefined,
      write: (chunk, _, done) => {
        other().push(chunk);
        done();
      },
      final: (done) => {
        other().push(null);
        done();
      },
    });
  const a: Duplex = end(() => b);
  const b: Duplex = end(() => a);
  return [a, b];
}

describe("against the ws library", () => {
  it("what its client sends is read, however it fragments and however the bytes are cut", async () => {
    const piece = fc.record({
      data: fc.uint8Array({ maxLength: 400 }),
      fragments: fc.integer({ min: 1, max: 4 }),
      ping: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 6 }), fc.integer({ min: 1, max: 97 }), async (pieces, step) => {
        const [out, far] = wire();
        const sender = new Sender(out);
        const bytes: Buffer[] = [];
        far.on("data", (chunk: Buffer) => bytes.push(chunk));
        for (const { data, fragments, ping } of pieces) {
          const cut = Math.ceil(data.length / fragments);
          for (let i = 0; i < fragments; i++) {
            const options = { binary: true, fin: i === fragments - 1, mask: true, compress: false };
            sender.send(Buffer.from(data.subarray(i * cut, (i + 1) * cut)), options);
            if (ping) sender.ping(Buffer.of(i), true);
          }
        }
        out.end();
        await once(far, "end");
        const all = Buffer.concat(bytes);
        const { reader, seen } = reading();
        for (let at = 0; at < all.length; at += step) reader.read(Buffer.from(all.subarray(at, at + step)));
        expect(seen.filter(([what]) => what === "message").map(([, hex]) => hex)).toEqual(
          pieces.map(({ data }) => Buffer.from(data).toString("hex")),
        );
        const pings = pieces.reduce((sum, { ping, fragments }) => sum + (ping ? fragments : 0), 0);
        expect(seen.filter(([what]) => what === "ping")).toHaveLength(pings);
      }),
      { numRuns: 50 },
    );
  });

  it.each([0, 1, 125, 126, 65_535, 65_536])("what is written is read by it: %i bytes", async (length) => {
    const [ours, theirs] = wire();
    const receiver = new Receiver({ isServer: false });
    const got: unknown[] = [];
    receiver.on("message", (data: Buffer) => got.push(data.toString("hex")));
    receiver.on("ping", () => got.push("ping"));
    receiver.on("pong", (data: Buffer) => got.push(`pong ${data.toString()}`));
    receiver.on("conclude", (code: number, reason: Buffer) => got.push([code, reason.toString()]));
    theirs.on("data", (chunk: Buffer) => receiver.write(chunk));
    ours.write(binaryFrame(content(length)));
    ours.write(pingFrame());
    ours.write(pongFrame(Buffer.from("x")));
    ours.end(closeFrame(4001, "replaced"));
    await once(theirs, "end");
    expect(got).toEqual([content(length).toString("hex"), "ping", "pong x", [4001, "replaced"]]);
  });
});
