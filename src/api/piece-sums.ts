/**
 * How wrong bytes of a source are seen before a host gets them. An artifact is read once to its end; when its SHA-256 is
 * right, the CRC-32 of each of its pieces is known, and every later stream, ranges too, is compared piece by piece. The
 * sums find rot and confusion, cheaply; that nobody forged anything the host proves by itself, with digest and signature.
 */
import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";

/** Held back until it is compared: so much of each stream is in memory. */
export const PIECE_BYTES = 256 * 1024;

/** The sums of an artifact's pieces; the last piece may be shorter. */
export type PieceSums = { sizeBytes: number; sums: Uint32Array };

/** Of the bytes of `body`, when they are the whole artifact; otherwise what is wrong with them. */
export async function sumPieces(
  body: AsyncIterable<Uint8Array>,
  { sha256, sizeBytes }: { sha256: string; sizeBytes: number },
): Promise<PieceSums | { wrong: string }> {
  const hash = createHash("sha256");
  const sums = new Uint32Array(Math.ceil(sizeBytes / PIECE_BYTES));
  let offset = 0;
  for await (const chunk of body) {
    if (offset + chunk.length > sizeBytes) return { wrong: `it is longer than ${sizeBytes} bytes` };
    hash.update(chunk);
    for (const { piece, part } of cut(chunk, offset)) sums[piece] = crc32(part, sums[piece]);
    offset += chunk.length;
  }
  if (offset < sizeBytes) throw new Error("it ended early");
  const got = hash.digest("hex");
  return got === sha256 ? { sizeBytes, sums } : { wrong: `it is ${got}` };
}

/** A source gave other bytes than the artifact's. */
export class WrongBytes extends Error {
  override readonly name = "WrongBytes";
}

/**
 * The bytes of `body`, which begin at `start`, the beginning of a piece, as whole pieces that are right. Fails with
 * `WrongBytes` before anything of a wrong piece is handed on.
 */
export async function* checkedPieces(
  body: AsyncIterable<Uint8Array>,
  start: number,
  { sizeBytes, sums }: PieceSums,
): AsyncGenerator<{ offset: number; bytes: Uint8Array }> {
  let held: Uint8Array[] = [];
  let [offset, sent, sum] = [start, start, 0];
  for await (const chunk of body) {
    if (offset + chunk.length > sizeBytes) throw new WrongBytes(`more than ${sizeBytes} bytes came`);
    for (const { piece, part } of cut(chunk, offset)) {
      held.push(part);
      sum = crc32(part, sum);
      offset += part.length;
      if (offset < Math.min(sizeBytes, (piece + 1) * PIECE_BYTES)) continue;
      if (sum !== sums[piece]) throw new WrongBytes(`bytes ${sent} to ${offset - 1} are wrong`);
      for (const bytes of held) {
        yield { offset: sent, bytes };
        sent += bytes.length;
      }
      [held, sum] = [[], 0];
    }
  }
}

/** A chunk at the borders of pieces. */
function* cut(chunk: Uint8Array, offset: number): Generator<{ piece: number; part: Uint8Array }> {
  for (let from = 0; from < chunk.length;) {
    const piece = Math.floor((offset + from) / PIECE_BYTES);
    const to = Math.min(chunk.length, (piece + 1) * PIECE_BYTES - offset);
    yield { piece, part: chunk.subarray(from, to) };
    from = to;
  }
}

/** The sums that are known, by digest; the ones that were not asked for longest go first. `prove` runs once at a time. */
export function createPieceSums(most: number, prove: (sha256: string, sizeBytes: number) => Promise<PieceSums>) {
  const known = new Map<string, Promise<PieceSums>>();
  return (sha256: string, sizeBytes: number): Promise<PieceSums> => {
    const found = known.get(sha256) ?? prove(sha256, sizeBytes);
    known.delete(sha256);
    known.set(sha256, found);
    found.catch(() => {
      if (known.get(sha256) === found) known.delete(sha256);
    });
    const [oldest] = known.keys();
    if (known.size > most && oldest !== undefined) known.delete(oldest);
    return found;
  };
}
