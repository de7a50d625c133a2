/**
 * The staging folder of one worker host: archives that are not replicated enough yet, named by their digest, durable
 * before a row says so; and `partial/`, downloads that go on where they were. A download is this process's own: it takes
 * an earlier one's file over by renaming it.
 */
import { createHash, randomUUID, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { isDigest } from "../domain/depot/config.ts";
import { failure, isFailure } from "../domain/errors.ts";
import { transaction, type Pool } from "../store/database.ts";
import { forgetStaged, noteStaged, releasable, releaseStaged, stagedAt, withStagingLock } from "../store/staging.ts";
import type { ArtifactSource, OpenedSource } from "./artifact-source.ts";

export type Downloaded = { path: string; sha256: string; sizeBytes: number };
type Proof = { execution: string; generation: number; minCopies: number };
type Options = {
  folder: string;
  /** Name of this host in rows and queues. */
  holder: string;
  pool: Pool;
  maxBytes: number;
};
export type Staging = {
  holder: string;
  /** Makes the folders and removes files that no row names. */
  prepare(): Promise<void>;
  /** The archive at `url`, whole, not yet staged. `id` names the download over restarts. Undefined: it does not exist. */
  download(
    id: string,
    url: string,
    source: ArtifactSource,
    progress: (bytes: number) => void,
    signal: AbortSignal,
  ): Promise<Downloaded | undefined>;
  /** Gives a download its digest as name, durably, and notes it. */
  place(downloaded: Downloaded): Promise<void>;
  /** Removes a download that is of no use. */
  discard(downloaded: Downloaded): Promise<void>;
  /** A staged archive from `offset` on (default: its start); `size` is the whole. Fails with `staging_gone`, and forgets the row, when the file is not there. */
  open(sha256: string, offset?: number): Promise<{ size: number; body: Readable }>;
  /** Reads a staged archive; wrong bytes are removed, so that it is fetched again. Whether it was right. */
  check(sha256: string): Promise<boolean>;
  /** Removes what an execution proved to be replicated. The number of archives. */
  release(proof: Proof): Promise<number>;
};

export function createStaging({ folder, holder, pool, maxBytes }: Options): Staging {
  const partials = join(folder, "partial");
  const nameOf = (sha256: string): string => join(folder, sha256);
  return {
    holder,
    prepare: async () => {
      await mkdir(partials, { recursive: true, mode: 0o700 });
      for (const sha256 of (await readdir(folder)).filter(isDigest))
        await withStagingLock(pool, sha256, async (client) => {
          if ((await stagedAt(client, sha256, holder)) === undefined) await rm(nameOf(sha256), { force: true });
        });
    },
    download: async (id, url, source, progress, signal) =>
      keepingWhatHelps(await claimPartial(partials, id), (path) =>
        fetchInto(path, url, { source, progress, signal, maxBytes }),
      ),
    place: ({ path, sha256 }) =>
      withStagingLock(pool, sha256, async (client) => {
        await rename(path, nameOf(sha256));
        await rm(`${path}.json`, { force: true });
        await syncFolder(folder);
        await noteStaged(client, sha256, holder, nameOf(sha256));
      }),
    discard: ({ path }) => removePartial(path),
    open: async (sha256, offset = 0) => {
      try {
        const { size } = await stat(nameOf(sha256));
        return { size, body: createReadStream(nameOf(sha256), { start: offset }) };
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
        await forgetStaged(pool, sha256, holder);
        throw failure("staging_gone", { sha256 }, error);
      }
    },
    check: (sha256) =>
      withStagingLock(pool, sha256, async (client) => {
        const hash = createHash("sha256");
        for await (const piece of createReadStream(nameOf(sha256))) hash.update(piece as Buffer);
        if (hash.digest("hex") === sha256) return true;
        await forgetStaged(client, sha256, holder);
        await rm(nameOf(sha256), { force: true });
        return false;
      }),
    release: (proof) => release(pool, holder, proof, nameOf),
  };
}

async function release(pool: Pool, holder: string, proof: Proof, nameOf: (sha256: string) => string): Promise<number> {
  let released = 0;
  for (const sha256 of await releasable(pool, holder, proof))
    await withStagingLock(pool, sha256, async () => {
      // the row goes first: a crash in between leaves a file without a row, which `prepare` removes
      if (!(await transaction(pool, (tx) => releaseStaged(tx, sha256, holder, proof)))) return;
      await rm(nameOf(sha256), { force: true });
      released++;
    });
  return released;
}

/** A download that can go on later is kept; what does not exist, or no retry mends, is not. */
async function keepingWhatHelps(
  path: string,
  fetch: (path: string) => Promise<Downloaded | undefined>,
): Promise<Downloaded | undefined> {
  try {
    const downloaded = await fetch(path);
    if (downloaded === undefined) await removePartial(path);
    return downloaded;
  } catch (error) {
    if (isFailure(error) && error.handling === "halt") await removePartial(path);
    throw error;
  }
}

async function removePartial(path: string): Promise<void> {
  await rm(path, { force: true });
  await rm(`${path}.json`, { force: true });
}

/** The file of an earlier try of this download, renamed so that it is ours, else a new one. */
async function claimPartial(folder: string, id: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const mine = join(folder, `${id}.${randomUUID()}`);
  const earlier = (await readdir(folder)).filter((name) => name.startsWith(`${id}.`) && !name.endsWith(".json"));
  for (const name of earlier) {
    try {
      await rename(join(folder, `${name}.json`), `${mine}.json`);
      await rename(join(folder, name), mine);
      return mine;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      await rm(join(folder, name), { force: true }); // without its note it cannot go on
    }
  }
  return mine;
}

type Fetching = { source: ArtifactSource; progress: (bytes: number) => void; signal: AbortSignal; maxBytes: number };
type Note = { url: string; validator: string };

/** Writes the content at `url` to `path`, going on after what is there already if the source still has the same. */
async function fetchInto(path: string, url: string, fetching: Fetching): Promise<Downloaded | undefined> {
  const note = await readNote(path, url);
  const before = note === undefined ? undefined : { offset: (await stat(path)).size, validator: note.validator };
  const opened = await fetching.source.open(url, before, fetching.signal);
  if (opened === undefined) return undefined;
  if (opened.size !== undefined && opened.size > fetching.maxBytes) {
    opened.body.destroy();
    throw failure("artifact_too_large", { maxBytes: fetching.maxBytes });
  }
  const hash = createHash("sha256");
  if (opened.offset > 0) await hashFile(path, hash, opened.offset);
  const file = await open(path, opened.offset > 0 ? "r+" : "w", 0o600);
  try {
    if (opened.validator === undefined) await rm(`${path}.json`, { force: true });
    else await writeFile(`${path}.json`, JSON.stringify({ url, validator: opened.validator } satisfies Note));
    const sizeBytes = await writeBody(file, opened, hash, url, fetching);
    await file.truncate(sizeBytes);
    await file.sync();
    return { path, sha256: hash.digest("hex"), sizeBytes };
  } finally {
    await file.close();
    opened.body.destroy();
  }
}

async function writeBody(
  file: FileHandle,
  opened: OpenedSource,
  hash: Hash,
  url: string,
  { progress, maxBytes, signal }: Fetching,
): Promise<number> {
  let position = opened.offset;
  try {
    for await (const piece of opened.body as AsyncIterable<Buffer>) {
      if (position + piece.length > maxBytes) throw failure("artifact_too_large", { maxBytes });
      hash.update(piece);
      await file.write(piece, 0, piece.length, position);
      position += piece.length;
      progress(position);
    }
  } catch (error) {
    signal.throwIfAborted();
    if (isFailure(error) || (error as NodeJS.ErrnoException).code === "ENOSPC") throw error;
    throw failure("artifact_unreachable", { url, message: `cut after ${position} bytes` }, error);
  }
  if (opened.size !== undefined && position < opened.size)
    throw failure("artifact_unreachable", { url, message: `ended after ${position} of ${opened.size} bytes` });
  return position;
}

async function readNote(path: string, url: string): Promise<Note | undefined> {
  try {
    const note = JSON.parse(await readFile(`${path}.json`, "utf8")) as Partial<Note>;
    await stat(path);
    return note.url === url && typeof note.validator === "string" ? { url, validator: note.validator } : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

async function hashFile(path: string, hash: Hash, bytes: number): Promise<void> {
  for await (const piece of createReadStream(path, { end: bytes - 1 })) hash.update(piece as Buffer);
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
