/**
 * Archives that an operator sends, piece by piece: `partial/upload-<digest>` until the digest is right, then staged as
 * a fetched one is. The API of the same host writes them; several processes may share the folder, so each file has one
 * writer at a time (an advisory lock of its own).
 */
import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rm, stat, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { failure } from "../domain/errors.ts";
import type { Pool } from "../store/database.ts";
import { stagedAt, withUploadLock } from "../store/staging.ts";
import { hashFile } from "../verify/hash-file.ts";
import type { Staging } from "./artifact-staging.ts";

export type UploadPiece = {
  fileName: string;
  sha256: string;
  sizeBytes: number;
  /** Where the body goes: exactly behind what is here. */
  offset: number;
  body: AsyncIterable<Uint8Array>;
};
export type UploadStore = {
  /** Bytes of this archive that are here, and whether it is whole and staged. */
  received(sha256: string, holder: string): Promise<{ bytes: number; staged: boolean }>;
  /** Removes what uploads left that nobody went on with since then. */
  sweep(before: Date): Promise<void>;
  freeBytes(): Promise<number>;
  /** Which folder this is: whoever reads the same shares it. Undefined: no worker has prepared it. */
  stagingId(): Promise<string | undefined>;
  /**
   * Appends a piece, durably. The bytes that are here afterwards; with the last the archive is staged for `holder`, or
   * `digest_mismatch` and nothing of it is here. A piece that is cut keeps what came.
   */
  append(piece: UploadPiece, holder: string): Promise<number>;
};

type Options = { folder: string; pool: Pool; stagingFor: (holder: string) => Pick<Staging, "place"> };

const ID_FILE = "staging-id";

/** The id of a staging folder, made at the first call; the same for every process that works in it. */
export async function claimStagingId(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(join(folder, ID_FILE), randomUUID(), { flag: "wx", mode: 0o600 }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    },
  );
  const id = await readStagingId(folder);
  if (id !== undefined) return id;
  // a power cut left it empty
  await rm(join(folder, ID_FILE));
  return claimStagingId(folder);
}

async function readStagingId(folder: string): Promise<string | undefined> {
  const text = await readFile(join(folder, ID_FILE), "utf8").catch(ifAbsent);
  return text !== undefined && UUID.test(text) ? text : undefined;
}
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function createUploadStore({ folder, pool, stagingFor }: Options): UploadStore {
  const partialOf = (sha256: string): string => join(folder, "partial", `upload-${sha256}`);
  const received: UploadStore["received"] = async (sha256, holder) => {
    const path = await stagedAt(pool, sha256, holder);
    const staged = path === undefined ? undefined : await sizeOf(join(folder, sha256));
    return { bytes: staged ?? (await sizeOf(partialOf(sha256))) ?? 0, staged: staged !== undefined };
  };
  return {
    received,
    freeBytes: async () => {
      const { bavail, bsize } = await statfs(folder);
      return bavail * bsize;
    },
    sweep: (before) => sweep(join(folder, "partial"), before),
    stagingId: () => readStagingId(folder),
    append: (piece, holder) =>
      withUploadLock(pool, piece, async () => {
        const { sha256, sizeBytes, fileName } = piece;
        const { bytes, staged } = await received(sha256, holder);
        if (bytes !== piece.offset) throw failure("upload_offset", { asset: fileName, received: bytes });
        if (staged) return bytes;
        await mkdir(join(folder, "partial"), { recursive: true, mode: 0o700 });
        const path = partialOf(sha256);
        const size = await appendTo(path, piece);
        if (size < sizeBytes) return size;
        const got = await hashFile(path);
        if (got !== sha256) {
          await rm(path, { force: true });
          throw failure("digest_mismatch", { want: sha256, got });
        }
        await stagingFor(holder).place({ path, sha256, sizeBytes });
        return size;
      }),
  };
}

/** Afterwards every byte that came is on the disk, also when the body was cut. */
async function appendTo(path: string, { fileName, sizeBytes, offset, body }: UploadPiece): Promise<number> {
  const file = await open(path, "a", 0o600);
  let position = offset;
  try {
    for await (const part of body) {
      if (position + part.length > sizeBytes)
        throw failure("invalid_request", { message: `more is sent of ${fileName} than the ${sizeBytes} bytes it has` });
      await file.appendFile(part);
      position += part.length;
    }
    return position;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    throw failure("upload_no_room", { because: "the staging folder of this host is full" }, error);
  } finally {
    await file.sync();
    await file.close();
  }
}

async function sweep(folder: string, before: Date): Promise<void> {
  for (const name of (await readdir(folder).catch(ifAbsent)) ?? []) {
    if (!name.startsWith("upload-")) continue;
    const mtime = (await stat(join(folder, name)).catch(ifAbsent))?.mtime;
    if (mtime !== undefined && mtime < before) await rm(join(folder, name), { force: true });
  }
}

const sizeOf = async (path: string): Promise<number | undefined> => (await stat(path).catch(ifAbsent))?.size;

const ifAbsent = (error: NodeJS.ErrnoException): undefined => {
  if (error.code !== "ENOENT") throw error;
};
