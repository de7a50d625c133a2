/**
 * The read listener: content by digest, whole or a range; never changed, so the digest is its ETag. Downloads for hosts
 * go first: they wait for no bandwidth, and copies for other nodes take at most three of four places.
 */
import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { rangeOf } from "../domain/artifact/range.ts";
import { TRANSFER_CLASSES, type TransferClass } from "../domain/depot/token-bucket.ts";
import { flowed, FLOOR, NO_TRICKLE, type Floor } from "../domain/depot/trickle.ts";
import { failure } from "../domain/errors.ts";
import { baseServer, digestOf, type ListenerOptions } from "./listener.ts";
import type { Meter } from "./meter.ts";
import { QUEUE_MS, type DepotNode } from "./node.ts";
import { UNLIMITED, type Bandwidth } from "./pace.ts";
import { createSlots } from "./slots.ts";
import { CLASS_HEADER } from "./wire.ts";

export type ReadOptions = ListenerOptions & {
  /** Readers at a time; as many more wait for their turn. Default 64. */
  slots?: number;
  /** What goes out. Default unlimited. */
  outlet?: Bandwidth;
  /** The slowest reader that keeps its place. */
  floor?: Floor;
  monotonicMs?: () => number;
};

/** Not listening yet. */
export function buildReadServer(node: DepotNode, options: ReadOptions): FastifyInstance {
  const app = baseServer(options);
  const enter = createPlaces(options.slots ?? 64);
  app.get("/artifact/sha256/:sha256", { exposeHeadRoute: true }, async (request, reply) => {
    const sha256 = digestOf(request);
    const transferClass = classOf(request);
    const opened = await node.open(sha256);
    if (opened === undefined) throw failure("not_found", { what: sha256 });
    const etag = `"${sha256}"`;
    const match = request.headers["if-match"];
    if (match !== undefined && match !== etag && match !== "*") return reply.code(412).send();
    void reply.header("etag", etag).header("accept-ranges", "bytes").type("application/octet-stream");
    const range = rangeOf(request.headers.range, opened.size);
    if (range === "unsatisfiable") return reply.code(416).header("content-range", `bytes */${opened.size}`).send();
    const { start, end } = range ?? { start: 0, end: opened.size };
    const isHead = request.method === "HEAD";
    const signal = isHead ? NEVER : await placeOf(reply, (gone) => enter(transferClass, gone));
    if (range) void reply.code(206).header("content-range", `bytes ${start}-${end - 1}/${opened.size}`);
    void reply.header("content-length", end - start);
    if (isHead) return reply.send(Readable.from([])); // a stream: its length stays ours
    const pieces = outgoing(opened.read(start, end), transferClass, options, node.meter, signal);
    return reply.send(Readable.from(pieces, { objectMode: false }));
  });
  return app;
}

const NEVER = new AbortController().signal;

/** Takes a place until the answer is over, however it ends; the signal says when it is. */
async function placeOf(reply: FastifyReply, enter: (gone: AbortSignal) => Promise<() => void>): Promise<AbortSignal> {
  const gone = new AbortController();
  reply.raw.once("close", () => gone.abort(new Error("the reader is gone")));
  const leave = await enter(gone.signal);
  gone.signal.addEventListener("abort", leave, { once: true });
  if (gone.signal.aborted) leave();
  return gone.signal;
}

/** Places of readers: of four, copies take three at most, so that a host always finds one. */
function createPlaces(slots: number) {
  const all = createSlots({ size: slots, queue: slots, waitMs: QUEUE_MS });
  const copies = createSlots({ size: Math.ceil(slots * 0.75), queue: slots, waitMs: QUEUE_MS });
  return async (transferClass: TransferClass, gone: AbortSignal): Promise<() => void> => {
    if (transferClass === "install") return all.enter(gone);
    const leaveCopies = await copies.enter(gone);
    try {
      const leave = await all.enter(gone);
      return () => (leave(), leaveCopies());
    } catch (error) {
      leaveCopies();
      throw error;
    }
  };
}

/** The pieces, each when it may go out. Ends with an error when the reader takes next to nothing. */
async function* outgoing(
  pieces: AsyncIterable<Uint8Array>,
  transferClass: TransferClass,
  { outlet = UNLIMITED, floor = FLOOR, monotonicMs = () => performance.now() }: ReadOptions,
  meter: Meter,
  gone: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let flow = NO_TRICKLE;
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; at += outlet.slice) {
      const slice = piece.subarray(at, at + outlet.slice);
      if (transferClass === "install") outlet.charge(slice.length);
      else await outlet.take(slice.length, gone);
      meter.add("out", transferClass, slice.length);
      const givenMs = monotonicMs();
      yield slice;
      const next = flowed(flow, monotonicMs() - givenMs, slice.length, floor);
      if (next === undefined) throw new Error(`the reader takes less than ${floor.minBytes} bytes in its time`);
      flow = next;
    }
  }
}

/** Unknown words are refused: a typing error would silently make a host wait behind copies. */
function classOf(request: FastifyRequest): TransferClass {
  const said = request.headers[CLASS_HEADER] ?? "replicate";
  const known = TRANSFER_CLASSES.find((it) => it === said);
  if (known === undefined)
    throw failure("invalid_request", { message: `${CLASS_HEADER} is one of ${TRANSFER_CLASSES.join(", ")}` });
  return known;
}
