import { createHash } from "node:crypto";
import { open } from "node:fs/promises";

const BLOCK_BYTES = 1024 ** 2;

/**
 * SHA-256 of a file as 64 lower-case hexadecimal characters. It goes through one block of memory, however large the file
 * is (a stream makes garbage faster than it is collected). Throws what the file system throws.
 */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  const block = Buffer.allocUnsafe(BLOCK_BYTES);
  const file = await open(path, "r");
  try {
    for (;;) {
      const { bytesRead } = await file.read(block, 0, BLOCK_BYTES);
      if (bytesRead === 0) return hash.digest("hex");
      hash.update(block.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}
