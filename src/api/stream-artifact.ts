/**
 * The bytes of an artifact from whoever has them: the staging of this host, else depots, the one with the fewest streams
 * of ours first. When a source dies in the middle the next one goes on at the same byte; when none is left the stream
 * breaks off, and is never padded.
 */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import type { DepotReader } from "../depot/client.ts";
import { failure } from "../domain/errors.ts";

export type StreamDeps = {
  reader: DepotReader;
  /** Nodes that have the digest, best first. */
  sources: (sha256: string) => Promise<{ node: string; readUrl: string }[]>;
  /** Staging of a worker on this host. */
  stagingDir: string;
  onSwitch: (fields: { sha256: string; node: string; offset: number; error: string }) => void;
};
type Piece = { sha256: string; start: number; end: number };
type Opened = { node: string; body: Readable };

/** Opens the first source; fails with `artifact_unavailable` when there is none. Afterwards the stream goes on alone. */
export function createArtifactStreams(deps: StreamDeps) {
  const streams = new Map<string, number>();
  return async (piece: Piece, signal: AbortSignal): Promise<AsyncGenerator<Uint8Array>> => {
    const tried = new Set<string>();
    const next = (start: number): Promise<Opened | undefined> =>
      openNext(deps, streams, tried, { ...piece, start }, signal);
    const first = await next(piece.start);
    if (first === undefined) throw failure("artifact_unavailable", { retryAfterS: RETRY_S });
    return pieces(deps, streams, piece, first, next, signal);
  };
}

async function openNext(
  deps: StreamDeps,
  streams: ReadonlyMap<string, number>,
  tried: Set<string>,
  { sha256, start }: Piece,
  signal: AbortSignal,
): Promise<Opened | undefined> {
  if (!tried.has(STAGING)) {
    tried.add(STAGING);
    const staged = await openStaged(join(deps.stagingDir, sha256), start);
    if (staged !== undefined) return { node: STAGING, body: staged };
  }
  for (;;) {
    const rest = (await deps.sources(sha256)).filter(({ node }) => !tried.has(node));
    const next = rest.toSorted((a, b) => (streams.get(a.node) ?? 0) - (streams.get(b.node) ?? 0))[0];
    if (next === undefined) return undefined;
    tried.add(next.node);
    try {
      return { node: next.node, body: (await deps.reader.read(next.readUrl, sha256, start, signal)).body };
    } catch (error) {
      signal.throwIfAborted();
      deps.onSwitch({ sha256, node: next.node, offset: start, error: String(error) });
    }
  }
}

async function* pieces(
  deps: StreamDeps,
  streams: Map<string, number>,
  piece: Piece,
  first: Opened,
  next: (start: number) => Promise<Opened | undefined>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const count = (node: string, by: number): void => void streams.set(node, (streams.get(node) ?? 0) + by);
  let offset = piece.start;
  for (let source: Opened | undefined = first; source !== undefined; source = await next(offset)) {
    let why = "it ended early";
    count(source.node, 1);
    try {
      for await (const chunk of source.body as AsyncIterable<Buffer>) {
        const part = chunk.subarray(0, piece.end - offset);
        offset += part.length;
        yield part;
        if (offset >= piece.end) return;
      }
    } catch (error) {
      signal.throwIfAborted();
      why = String(error);
    } finally {
      count(source.node, -1);
      source.body.destroy();
    }
    deps.onSwitch({ sha256: piece.sha256, node: source.node, offset, error: why });
  }
  throw failure("artifact_unavailable", { retryAfterS: RETRY_S });
}

const STAGING = "(staging)";
const RETRY_S = 10;

async function openStaged(path: string, start: number): Promise<Readable | undefined> {
  try {
    await stat(path);
    return createReadStream(path, { start });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
