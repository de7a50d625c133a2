/** Bytes of a source or a sender on their way into an upload: at our pace, not below theirs, until the end or a cut. */
import type { Readable } from "node:stream";
import { failure, type Failure } from "../domain/errors.ts";
import { flowed, NO_TRICKLE, type Floor } from "../domain/depot/trickle.ts";
import type { ReadAnswer } from "./client.ts";
import type { Pace } from "./pace.ts";
import type { Upload } from "./upload.ts";

/** Reads from a source node, from an offset on. */
export type ReadSource = (sha256: string, offset: number, signal: AbortSignal) => Promise<ReadAnswer>;
export type Drain = {
  pace: Pace;
  floor: Floor;
  monotonicMs: () => number;
  /** Ends it; its reason is what it fails with. */
  signal: AbortSignal;
  wrote: (bytes: number) => void;
};

/** Opens the source at an offset; its failures are `depot_source_failed`. */
export const sourceOf = (sha256: string, read: ReadSource, tries: number, signal: AbortSignal) => ({
  tries,
  open: async (offset: number): Promise<ReadAnswer> => {
    try {
      return await read(sha256, offset, signal);
    } catch (error) {
      throw signal.aborted ? (signal.reason as Error) : sourceFailed(error);
    }
  },
});

/**
 * Writes what the source sends, going on after cuts while tries are left. Resolves with what stopped it before the end,
 * undefined when all of it is written; failures of our own disks are thrown, with the upload discarded.
 */
export async function drainSource(
  source: ReturnType<typeof sourceOf>,
  upload: Upload,
  started: () => void,
  drain: Drain,
): Promise<Failure | undefined> {
  let last: unknown;
  for (let left = source.tries; left > 0; left--) {
    let answer: ReadAnswer;
    try {
      answer = await source.open(upload.bytes());
    } catch (error) {
      return error as Failure;
    }
    started();
    last = await drainInto(answer.body, upload, drain).catch(async (error: unknown) => {
      await upload.discard();
      throw error;
    });
    if (upload.bytes() >= answer.size) return undefined;
    if (drain.signal.aborted) return drain.signal.reason as Failure;
    last ??= failure("depot_short_body", { want: answer.size, got: upload.bytes() });
  }
  return sourceFailed(last);
}

const sourceFailed = (error: unknown): Failure =>
  failure("depot_source_failed", { message: error instanceof Error ? error.message : String(error) }, error);

/** Resolves with what cut the body, undefined when it ended by itself. Failures of our own disks are thrown. */
export async function drainInto(body: Readable, upload: Upload, drain: Drain): Promise<unknown> {
  const { signal, wrote } = drain;
  const end = (): void => void body.destroy(signal.reason as Error);
  if (signal.aborted) end();
  signal.addEventListener("abort", end, { once: true });
  try {
    for await (const piece of arriving(body, drain)) {
      await ownDisks(upload.write(piece));
      wrote(piece.length);
    }
    return undefined;
  } catch (error) {
    body.destroy();
    if (error instanceof OwnFailure) throw error.cause;
    return signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener("abort", end);
  }
}

/** The pieces of a body, each when it may come in. Fails when they are a trickle. */
async function* arriving(body: Readable, { pace, floor, monotonicMs, signal }: Drain): AsyncGenerator<Buffer> {
  let flow = NO_TRICKLE;
  let askedMs = monotonicMs();
  for await (const piece of body as AsyncIterable<Buffer>) {
    const next = flowed(flow, monotonicMs() - askedMs, piece.length, floor);
    if (next === undefined)
      throw new Error(`it sends less than ${floor.minBytes} bytes in ${floor.windowMs / 1_000} s`);
    flow = next;
    await pace(piece.length, signal);
    yield piece;
    askedMs = monotonicMs();
  }
}

/** Tells failures of our disks from those of whoever sends. */
class OwnFailure extends Error {}
async function ownDisks(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    throw new OwnFailure("a disk of ours failed", { cause: error });
  }
}
