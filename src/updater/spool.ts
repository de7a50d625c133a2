/**
 * Takes a download in: hashed while it is written, in blocks, because each write is a way to another thread and back and
 * the pieces of a network are small. A block is hashed while the one before it is on its way to the disk.
 */
import { createHash, type Hash } from "node:crypto";
import type { OutputFile } from "./files.ts";

const BLOCK_BYTES = 4 * 1024 ** 2;

export class Spool {
  private readonly file: OutputFile;
  private hash: Hash = createHash("sha256");
  /** One that fills, one that is being written. */
  private filling = Buffer.allocUnsafe(BLOCK_BYTES);
  private spare = Buffer.allocUnsafe(BLOCK_BYTES);
  private filled = 0;
  private writing: Promise<void> = Promise.resolve();
  private taking: Promise<void> = Promise.resolve();
  /** Bytes taken so far; after `flush` all of them are in the file. */
  bytes = 0;

  constructor(file: OutputFile) {
    this.file = file;
  }

  /** Takes a piece; what the file system says of an earlier block is thrown here or by `flush`. One at a time. */
  async take(piece: Uint8Array): Promise<void> {
    this.taking = this.gather(piece);
    await this.taking;
  }

  private async gather(piece: Uint8Array): Promise<void> {
    for (let from = 0; from < piece.byteLength;) {
      const part = piece.subarray(from, from + BLOCK_BYTES - this.filled);
      this.filling.set(part, this.filled);
      this.filled += part.byteLength;
      from += part.byteLength;
      if (this.filled === BLOCK_BYTES) await this.pass();
    }
    this.bytes += piece.byteLength;
  }

  /** Afterwards everything taken is in the file, and so is the piece that is being taken. */
  async flush(): Promise<void> {
    await this.taking.catch(() => undefined); // what failed there is a write, and fails again below
    if (this.filled > 0) await this.pass();
    await this.writing;
  }

  async startOver(): Promise<void> {
    await this.flush();
    if (this.bytes > 0) await this.file.restart();
    this.bytes = 0;
    this.hash = createHash("sha256");
  }

  digest(): string {
    return this.hash.digest("hex");
  }

  /** Begins to write the block that filled, once the one before it is written. */
  private async pass(): Promise<void> {
    await this.writing;
    const block = this.filling.subarray(0, this.filled);
    [this.filling, this.spare] = [this.spare, this.filling];
    this.filled = 0;
    this.writing = this.file.write(block);
    this.writing.catch(() => undefined); // told by whoever waits for it next
    this.hash.update(block);
  }
}
