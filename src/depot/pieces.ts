/** Reading files of a disk in bounded pieces, each its own operation, so that a large file is no hung disk. */
import { createHash } from "node:crypto";
import type { Disk } from "./disk.ts";

const PIECE = 1 << 18;

/** Bytes from `start` to `end` (exclusive), or to the end of the file. */
export async function* piecesOf(disk: Disk, path: string, start = 0, end = Infinity): AsyncGenerator<Uint8Array> {
  const file = await disk.run("open", (fs) => fs.open(path));
  try {
    for (let position = start; position < end;) {
      const piece = Buffer.allocUnsafe(Math.min(PIECE, end - position));
      const at = position;
      const count = await disk.run("read", () => file.read(piece, at));
      if (count === 0) return;
      yield piece.subarray(0, count);
      position += count;
    }
  } finally {
    await file.close();
  }
}

/** SHA-256 of a file. `pace` is asked after each piece. */
export async function digestOnDisk(
  disk: Disk,
  path: string,
  pace: (bytes: number) => Promise<void> = async () => undefined,
): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of piecesOf(disk, path)) {
    hash.update(piece);
    await pace(piece.length);
  }
  return hash.digest("hex");
}
