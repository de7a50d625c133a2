import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { systemFiles, type OutputFile } from "./files.ts";
import { Spool } from "./spool.ts";

const MIB = 1024 ** 2;
const BYTES = randomBytes(13 * MIB + 7);
const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "updater-spool-"));
  path = join(folder, "spool");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A real file whose writes begin late, as on a busy disk: a block that is used again too early shows in the file. */
async function open(before: (write: number) => Promise<void> = async () => undefined): Promise<OutputFile> {
  const file = await systemFiles.create(path, 0o600);
  let writes = 0;
  return {
    ...file,
    write: async (block) => {
      await before(++writes);
      await file.write(block);
    },
  };
}
async function late(): Promise<void> {
  for (let turn = 0; turn < 20; turn++)
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
}
async function takeAll(spool: Spool, bytes: Buffer, pieceBytes: number): Promise<void> {
  for (let at = 0; at < bytes.length; at += pieceBytes) await spool.take(bytes.subarray(at, at + pieceBytes));
}

it.each([65_536, 1_000_003, 4 * MIB, 9 * MIB])(
  "pieces of %i bytes arrive whole, in order, hashed",
  async (pieceBytes) => {
    const file = await open(late);
    const spool = new Spool(file);
    await takeAll(spool, BYTES, pieceBytes);
    await spool.flush();
    await file.close();
    expect([spool.bytes, spool.digest()]).toEqual([BYTES.length, sha256(BYTES)]);
    expect(sha256(readFileSync(path))).toBe(sha256(BYTES));
  },
);

it("goes on after a flush, also after one in the middle of a piece", async () => {
  const file = await open(late);
  const spool = new Spool(file);
  await takeAll(spool, BYTES.subarray(0, 3 * MIB), 65_536);
  const taking = spool.take(BYTES.subarray(3 * MIB, 12 * MIB));
  await spool.flush();
  await taking;
  expect(readFileSync(path)).toHaveLength(12 * MIB);
  await takeAll(spool, BYTES.subarray(12 * MIB), 65_536);
  await spool.flush();
  await file.close();
  expect([spool.digest(), sha256(readFileSync(path))]).toEqual([sha256(BYTES), sha256(BYTES)]);
});

it("starts over with an empty file and a new hash", async () => {
  const file = await open(late);
  const spool = new Spool(file);
  await takeAll(spool, BYTES, MIB);
  await spool.startOver();
  expect([spool.bytes, readFileSync(path).length]).toEqual([0, 0]);
  await takeAll(spool, BYTES.subarray(5), MIB);
  await spool.flush();
  await file.close();
  expect([spool.digest(), sha256(readFileSync(path))]).toEqual([sha256(BYTES.subarray(5)), sha256(BYTES.subarray(5))]);
});

it.each([1, 2, 3, 4])("a full disk at write %i is told, and what follows does not hide it", async (full) => {
  const file = await open(async (write) => {
    if (write === full) throw Object.assign(new Error("no space"), { code: "ENOSPC" });
  });
  const spool = new Spool(file);
  const noSpace = expect.objectContaining({ code: "ENOSPC" }) as Error;
  await expect(takeAll(spool, BYTES, MIB).then(async () => await spool.flush())).rejects.toThrow(noSpace);
  await expect(spool.flush()).rejects.toThrow(noSpace);
  await file.close();
});
