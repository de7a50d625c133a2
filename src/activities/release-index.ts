/**
 * Asking a source which releases it has: a folder by reading it, a web address by one conditional request. Bounded in size
 * and time. Nothing is sent but the request; redirects are judged as those of archives are.
 */
import { opendir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Agent } from "undici";
import { MAX_RELEASES, newestFirst, readReleaseIndex } from "../domain/artifact/discovery.ts";
import { failure, isFailure } from "../domain/errors.ts";
import { follow, unreachable, type Dispatchers } from "./artifact-source.ts";
import { publicLookup } from "./private-address.ts";

export type IndexAnswer = { versions: string[]; etag: string | null; lastModified: string | null };
export type KnownAnswer = Pick<IndexAnswer, "etag" | "lastModified">;
export type ReleaseIndex = {
  /** What the source has, the newest first; `unchanged` since `known`. Fails with a code of the catalogue. */
  read(url: string, known?: KnownAnswer): Promise<IndexAnswer | "unchanged">;
  close(): Promise<void>;
};

const MAX_BYTES = 4 * 1024 ** 2;
const MAX_MS = 60_000;
const ACCEPT = "application/atom+xml, application/json;q=0.9, text/html;q=0.8, */*;q=0.1";

/** `maxMs`: from the first byte sent to the last one read. */
export function createReleaseIndex({ maxMs = MAX_MS }: { maxMs?: number } = {}): ReleaseIndex {
  const connect = { timeout: 15_000 };
  const agents: Dispatchers = {
    guarded: new Agent({ connect: { ...connect, lookup: publicLookup } }),
    trusting: new Agent({ connect }),
  };
  return {
    read: (url, known) => (url.startsWith("file:") ? readFolder(url) : readWeb(agents, url, known, maxMs)),
    close: async () => {
      await Promise.all([agents.guarded.close(), agents.trusting.close()]);
    },
  };
}

/** Folders `v<version>`; only so many entries are looked at that a wrong folder costs nothing. */
async function readFolder(url: string): Promise<IndexAnswer> {
  const names: string[] = [];
  let left = 10 * MAX_RELEASES;
  try {
    for await (const entry of await opendir(fileURLToPath(url))) {
      if (entry.isDirectory() || entry.isSymbolicLink()) names.push(entry.name);
      if (--left === 0) break;
    }
  } catch (error) {
    throw unreachable(url, error);
  }
  return { versions: newestFirst(names), etag: null, lastModified: null };
}

async function readWeb(
  agents: Dispatchers,
  url: string,
  known: KnownAnswer | undefined,
  maxMs: number,
): Promise<IndexAnswer | "unchanged"> {
  const headers: Record<string, string> = { accept: ACCEPT };
  if (known?.etag) headers["if-none-match"] = known.etag;
  else if (known?.lastModified) headers["if-modified-since"] = known.lastModified;
  const answer = await follow(agents, url, headers, AbortSignal.timeout(maxMs));
  const header = (name: string): string | null => {
    const value = answer.headers[name];
    return typeof value === "string" && value.length <= 1_000 ? value : null;
  };
  if (answer.statusCode === 304 && known !== undefined) {
    answer.body.destroy();
    return "unchanged";
  }
  if (answer.statusCode !== 200) {
    answer.body.destroy();
    if (answer.statusCode < 500 && answer.statusCode !== 429)
      throw failure("release_index_missing", { url: bare(url), status: answer.statusCode });
    throw unreachable(url, new Error(`it answered ${answer.statusCode}`));
  }
  const versions = readReleaseIndex(await readText(url, answer.body));
  if (versions === undefined)
    throw failure("release_index_malformed", { url: bare(url), because: "it is neither a feed nor a listing" });
  return { versions, etag: header("etag"), lastModified: header("last-modified") };
}

async function readText(url: string, body: AsyncIterable<Buffer> & { destroy(): unknown }): Promise<string> {
  const pieces: Buffer[] = [];
  let size = 0;
  try {
    for await (const piece of body) {
      size += piece.length;
      if (size > MAX_BYTES)
        throw failure("release_index_malformed", { url: bare(url), because: `it is larger than ${MAX_BYTES} bytes` });
      pieces.push(piece);
    }
  } catch (error) {
    throw isFailure(error) ? error : unreachable(url, error);
  }
  return Buffer.concat(pieces).toString("utf8");
}

/** Without what may be a secret. */
const bare = (url: string): string => url.replace(/[?#].*$/s, "");
