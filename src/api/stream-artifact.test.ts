import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import fc from "fast-check";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import type { DepotReader } from "../depot/client.ts";
import { failure } from "../domain/errors.ts";
import { PIECE_BYTES } from "./piece-sums.ts";
import { createArtifactStreams, type SourceFault, type StreamDeps } from "./stream-artifact.ts";

const SIZE = 2 * PIECE_BYTES + 1_000;
const WHOLE = Buffer.from(Uint8Array.from({ length: SIZE }, (_, i) => (i * 31 + (i >> 8)) % 251));
const sha256 = createHash("sha256").update(WHOLE).digest("hex");
const folder = mkdtempSync(join(tmpdir(), "myriarch-stream-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** What a source does with what it is asked for. */
type Source = { flip?: number; cutAt?: number; chunk?: number; short?: number; away?: boolean };
let asked: { node: string; offset: number }[];
let switched: SourceFault[];
let wrong: SourceFault[];
let nowMs: number;
let sources: Record<string, Source>;
beforeEach(() => {
  [asked, switched, wrong, nowMs, sources] = [[], [], [], 0, {}];
});

const reader: DepotReader = {
  read: async (node, _, offset) => {
    asked.push({ node, offset });
    const it = sources[node] ?? {};
    if (it.away === true) throw failure("depot_unreachable", { url: node, message: "refused" });
    const bytes = Buffer.from(WHOLE.subarray(0, SIZE - (it.short ?? 0)));
    if (it.flip !== undefined) bytes.writeUInt8(bytes.readUInt8(it.flip) ^ 1, it.flip);
    return { size: bytes.length, offset, body: Readable.from(chunks(bytes, offset, it)) };
  },
  close: async () => undefined,
};
async function* chunks(bytes: Buffer, offset: number, { cutAt = Infinity, chunk = 65_536 }: Source) {
  for (let at = offset; at < bytes.length; at += chunk) {
    if (at >= cutAt) throw new Error("ECONNRESET");
    yield bytes.subarray(at, Math.min(bytes.length, at + chunk, cutAt));
  }
}
const create = (more: Partial<StreamDeps> = {}) =>
  createArtifactStreams({
    reader,
    sources: async () => Object.keys(sources).map((node) => ({ node, readUrl: node })),
    stagingDir: join(folder, "none"),
    nowMs: () => nowMs,
    onSwitch: (fault) => void switched.push(fault),
    onWrong: (fault) => void wrong.push(fault),
    ...more,
  });
/** What the host gets, and what ended it. */
async function take(
  streams: ReturnType<typeof create>,
  start = 0,
  end = SIZE,
): Promise<{ bytes: Buffer; error: string | undefined }> {
  const pieces: Uint8Array[] = [];
  try {
    const body = await streams({ sha256, sizeBytes: SIZE, start, end }, new AbortController().signal);
    for await (const piece of body) pieces.push(piece);
  } catch (error) {
    return { bytes: Buffer.concat(pieces), error: (error as { code?: string }).code ?? String(error) };
  }
  return { bytes: Buffer.concat(pieces), error: undefined };
}
const isRight = ({ bytes, error }: Awaited<ReturnType<typeof take>>, start = 0, end = SIZE): void => {
  expect(error).toBeUndefined();
  expect(bytes.equals(WHOLE.subarray(start, end))).toBe(true);
};

describe("a stream", () => {
  test("is the artifact, whole or in part, and proves it once", async () => {
    sources = { a: {} };
    const streams = create();
    isRight(await take(streams));
    for (const [start, end] of [
      [0, 1],
      [1, SIZE],
      [PIECE_BYTES - 1, PIECE_BYTES + 1],
      [PIECE_BYTES, 2 * PIECE_BYTES],
      [SIZE - 1, SIZE],
    ] as const)
      isRight(await take(streams, start, end), start, end);
    expect(asked).toHaveLength(1 + 6);
    expect([switched, wrong]).toEqual([[], []]);
  });

  test("goes on from another source when one is cut, at the very byte", async () => {
    sources = { a: {}, b: {}, c: {} };
    const streams = create();
    await take(streams);
    sources["a"] = { cutAt: PIECE_BYTES + 100 };
    sources["b"] = { away: true };
    isRight(await take(streams, 10), 10);
    expect(switched.map(({ node, offset }) => [node, offset])).toEqual([
      ["a", PIECE_BYTES],
      ["b", PIECE_BYTES],
    ]);
  });

  test("breaks off when no source is left: the host gets what was right, and nothing after it", async () => {
    sources = { a: {} };
    const streams = create();
    await take(streams);
    sources["a"] = { cutAt: PIECE_BYTES + 100 };
    const { bytes, error } = await take(streams);
    expect([bytes.equals(WHOLE.subarray(0, PIECE_BYTES)), error]).toEqual([true, "artifact_unavailable"]);
    sources["a"] = { away: true };
    expect((await take(create())).error).toBe("artifact_unavailable");
  });

  test.each([0, PIECE_BYTES - 1, PIECE_BYTES, SIZE - 1])(
    "with byte %i wrong at one source comes from another one",
    async (flip) => {
      sources = { a: { flip }, b: {} };
      const streams = create();
      isRight(await take(streams)); // found while it is proved
      expect(wrong).toMatchObject([{ node: "a" }]);
      sources = { b: { flip }, a: {} };
      isRight(await take(streams, 5), 5); // found in the stream; a is asked last, and then first
      expect(wrong.map(({ node }) => node)).toEqual(["a", "b"]);
    },
  );

  test("never has bytes of a source of another length", async () => {
    sources = { a: { short: 1 }, b: {} };
    isRight(await take(create()));
    expect(wrong).toMatchObject([{ node: "a", error: `it has ${SIZE - 1} of ${SIZE} bytes` }]);
  });

  test("asks a source of wrong bytes last for ten minutes, and then like the others", async () => {
    sources = { a: { flip: 7 }, b: {} };
    const streams = create();
    await take(streams);
    sources["a"] = {};
    asked = [];
    await take(streams);
    expect(asked).toEqual([{ node: "b", offset: 0 }]);
    nowMs += 600_000;
    await take(streams);
    expect(asked[1]).toEqual({ node: "a", offset: 0 });
    sources = { a: { flip: 7 } };
    expect(await take(streams)).toEqual({ bytes: Buffer.alloc(0), error: "artifact_unavailable" });
  });

  test("comes from the staging of this host when it is there and right", async () => {
    const staging = join(folder, "staging");
    rmSync(staging, { recursive: true, force: true });
    mkdirSync(staging);
    writeFileSync(join(staging, sha256), WHOLE);
    sources = { a: {} };
    const streams = create({ stagingDir: staging });
    isRight(await take(streams, 3, 500), 3, 500);
    expect(asked).toEqual([]);
    writeFileSync(join(staging, sha256), WHOLE.subarray(1));
    isRight(await take(streams));
    const rotten = Buffer.from(WHOLE);
    rotten.writeUInt8(rotten.readUInt8(9) ^ 4, 9);
    writeFileSync(join(staging, sha256), rotten);
    nowMs += 600_000;
    isRight(await take(streams));
    expect(wrong.map(({ node }) => node)).toEqual(["(staging)", "(staging)"]);
  });

  test("that nobody takes any more lets its source go", async () => {
    sources = { a: {}, b: {} };
    const streams = create();
    await take(streams);
    const gone = new AbortController();
    const body = await streams({ sha256, sizeBytes: SIZE, start: 0, end: SIZE }, gone.signal);
    await body.next();
    await body.return(undefined);
    asked = [];
    await take(streams);
    expect(asked).toEqual([{ node: "a", offset: 0 }]); // no stream of it counts any more
  });

  test("whatever sources do, is right as far as it goes, and whole when one of them is right", async () => {
    const source = fc.record(
      {
        flip: fc.nat(SIZE - 1),
        cutAt: fc.nat(SIZE),
        chunk: fc.integer({ min: 1_000, max: 300_000 }),
        short: fc.constantFrom(0, 1),
        away: fc.constantFrom(false, true),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(source, { maxLength: 3 }),
        fc.nat(SIZE - 1),
        fc.boolean(),
        async (list, start, known) => {
          const streams = create();
          sources = { z: {} };
          if (known) await take(streams);
          sources = Object.fromEntries(list.map((it, i) => [`n${i}`, it]));
          const { bytes, error } = await take(streams, start);
          expect(bytes.equals(WHOLE.subarray(start, start + bytes.length))).toBe(true);
          expect(bytes.length === SIZE - start).toBe(error === undefined);
          const isGood = (it: Source) => !it.away && !it.short && it.flip === undefined && (it.cutAt ?? SIZE) >= SIZE;
          if (list.some(isGood)) expect(error).toBeUndefined();
        },
      ),
      { numRuns: 60 },
    );
  });
});
