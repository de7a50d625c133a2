/**
 * The bytes of an artifact from whoever has them: the staging of this host, else depots, the one with the fewest streams
 * of ours first. When a source dies in the middle, or gives wrong bytes, the next one goes on at the same byte, and the
 * host gets none of the wrong ones; when none is left the stream breaks off, and is never padded.
 */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import type { DepotReader } from "../depot/client.ts";
import { failure } from "../domain/errors.ts";
import { checkedPieces, createPieceSums, PIECE_BYTES, sumPieces, WrongBytes, type PieceSums } from "./piece-sums.ts";

export type SourceFault = { sha256: string; node: string; offset: number; error: string };
export type StreamDeps = {
  reader: DepotReader;
  /** Nodes that have the digest, best first. */
  sources: (sha256: string) => Promise<{ node: string; readUrl: string }[]>;
  /** Staging of a worker on this host. */
  stagingDir: string;
  nowMs: () => number;
  /** A source failed; another one goes on. */
  onSwitch: (fault: SourceFault) => void;
  /** A source gave wrong bytes: no host got them, and it is asked last for a while. Once in that while. */
  onWrong: (fault: SourceFault) => void;
};
/** `start` to `end` (not included) of the artifact of `sizeBytes`. */
type Piece = { sha256: string; sizeBytes: number; start: number; end: number };
type Opened = { node: string; body: Readable };

/** Artifacts whose sums are kept: 16 KiB per GiB of each. */
const KNOWN_ARTIFACTS = 64;
/** How long a source of wrong bytes is asked last: its own scrub, or the repair of the copy, comes meanwhile. */
const DISTRUST_MS = 10 * 60_000;
const STAGING = "(staging)";
const RETRY_S = 10;

/** Opens the first source; fails with `artifact_unavailable` when there is none. Afterwards the stream goes on alone. */
export function createArtifactStreams(deps: StreamDeps) {
  const sources = createSources(deps);
  const sumsOf = createPieceSums(KNOWN_ARTIFACTS, (sha256, sizeBytes) => prove(sources, sha256, sizeBytes));
  return async (piece: Piece, signal: AbortSignal): Promise<AsyncGenerator<Uint8Array>> => {
    const sums = await sumsOf(piece.sha256, piece.sizeBytes);
    signal.throwIfAborted();
    const next = sources.of(piece, signal);
    const start = piece.start - (piece.start % PIECE_BYTES);
    const first = await next(start);
    if (first === undefined) throw unavailable();
    return stream(sources, piece, sums, start, first, next, signal);
  };
}

const unavailable = () => failure("artifact_unavailable", { retryAfterS: RETRY_S });

type Sources = ReturnType<typeof createSources>;

/** Who is asked next, and what is remembered of those who were asked. */
function createSources(deps: StreamDeps) {
  const streams = new Map<string, number>();
  const distrusted = new Map<string, number>();
  const isDistrusted = (sha256: string, node: string): boolean =>
    (distrusted.get(`${sha256} ${node}`) ?? 0) > deps.nowMs();
  const faults = {
    failed: deps.onSwitch,
    wrong: (fault: SourceFault): void => {
      const isKnown = isDistrusted(fault.sha256, fault.node);
      for (const [key, until] of distrusted) if (until <= deps.nowMs()) distrusted.delete(key);
      distrusted.set(`${fault.sha256} ${fault.node}`, deps.nowMs() + DISTRUST_MS);
      (isKnown ? deps.onSwitch : deps.onWrong)(fault);
    },
  };
  return {
    ...faults,
    count: (node: string, by: number): void => void streams.set(node, (streams.get(node) ?? 0) + by),
    /** Each call opens a source that was not asked before, at `start`. Undefined: none is left. */
    of: ({ sha256, sizeBytes }: Pick<Piece, "sha256" | "sizeBytes">, signal?: AbortSignal) => {
      const tried = new Set<string>();
      const staging = { node: STAGING, readUrl: "" };
      const rank = ({ node }: { node: string }): number =>
        (isDistrusted(sha256, node) ? 1e9 : 0) + (node === STAGING ? -1 : (streams.get(node) ?? 0));
      return async (start: number): Promise<Opened | undefined> => {
        for (;;) {
          const rest = [staging, ...(await deps.sources(sha256))].filter(({ node }) => !tried.has(node));
          const next = rest.toSorted((a, b) => rank(a) - rank(b))[0];
          if (next === undefined) return undefined;
          tried.add(next.node);
          const fault = { sha256, node: next.node, offset: start };
          try {
            const found = await open(deps, next, sha256, start, signal);
            if (found === undefined) continue;
            if (found.size === sizeBytes) return { node: next.node, body: found.body };
            found.body.destroy();
            faults.wrong({ ...fault, error: `it has ${found.size} of ${sizeBytes} bytes` });
          } catch (error) {
            signal?.throwIfAborted();
            faults.failed({ ...fault, error: String(error) });
          }
        }
      };
    },
  };
}

/** Undefined: staging does not have it, which is no fault. */
async function open(
  { reader, stagingDir }: StreamDeps,
  { node, readUrl }: { node: string; readUrl: string },
  sha256: string,
  start: number,
  signal: AbortSignal | undefined,
): Promise<{ size: number; body: Readable } | undefined> {
  if (node !== STAGING) return reader.read(readUrl, sha256, start, signal);
  const path = join(stagingDir, sha256);
  try {
    const { size } = await stat(path);
    return { size, body: createReadStream(path, { start }) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Reads the artifact once, from the first source that has it right. */
async function prove(sources: Sources, sha256: string, sizeBytes: number): Promise<PieceSums> {
  const next = sources.of({ sha256, sizeBytes });
  for (let source = await next(0); source !== undefined; source = await next(0)) {
    const fault = { sha256, node: source.node, offset: 0 };
    sources.count(source.node, 1);
    try {
      const found = await sumPieces(source.body as AsyncIterable<Buffer>, { sha256, sizeBytes });
      if (!("wrong" in found)) return found;
      sources.wrong({ ...fault, error: found.wrong });
    } catch (error) {
      sources.failed({ ...fault, error: String(error) });
    } finally {
      sources.count(source.node, -1);
      source.body.destroy();
    }
  }
  throw unavailable();
}

async function* stream(
  sources: Sources,
  piece: Piece,
  sums: PieceSums,
  start: number,
  first: Opened,
  next: (start: number) => Promise<Opened | undefined>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let at = start; // always the beginning of a piece: pieces are right, and sent, as a whole
  for (let source: Opened | undefined = first; source !== undefined; source = await next(at)) {
    let fault: Error = new Error("it ended early");
    sources.count(source.node, 1);
    try {
      for await (const { offset, bytes } of checkedPieces(source.body as AsyncIterable<Buffer>, at, sums)) {
        const part = bytes.subarray(Math.max(0, piece.start - offset), piece.end - offset);
        if (part.length > 0) yield part;
        at = offset + bytes.length;
        if (at >= piece.end) return;
      }
    } catch (error) {
      signal.throwIfAborted();
      fault = error instanceof Error ? error : new Error(String(error));
    } finally {
      sources.count(source.node, -1);
      source.body.destroy();
    }
    const told = { sha256: piece.sha256, node: source.node, offset: at, error: fault.message };
    if (fault instanceof WrongBytes) sources.wrong(told);
    else sources.failed(told);
  }
  throw unavailable();
}
