/**
 * The trusted root from a Sigstore TUF repository (contract, "Signature verification": when no trusted root file is
 * named). The cache is asked first: nothing is requested until its metadata expires, and a repository that is away does
 * no harm before that. What the cache holds is verified again at each use, except its `root.json`, which is where trust
 * begins: hence the folder belongs to this account alone.
 */
import { chmod, mkdir, stat } from "node:fs/promises";
import { DEFAULT_MIRROR_URL, getTrustedRoot, TUFError } from "@sigstore/tuf";
import type { TrustedRoot } from "@sigstore/protobuf-specs";
import type { TrustMaterial } from "@sigstore/verify";
import { failure, isFailure } from "../domain/errors.ts";
import { trustOf } from "./policy.ts";

export const PUBLIC_TUF_MIRROR = DEFAULT_MIRROR_URL;

export type TufSource = {
  /** Base URL of the repository, without a slash at its end. */
  mirrorUrl: string;
  /** The repository's first `root.json`. Absent: the one that came with this program, which fits the public repository only. */
  rootFile?: string | undefined;
  cacheFolder: string;
  /** Longest time of one request. */
  timeoutMs?: number;
};

const TIMEOUT_MS = 10_000;
const RETRY = { retries: 1, minTimeout: 500 };

/**
 * The root as cache and repository have it. Throws `trusted_root_unreadable`, which says what to do: the repository is
 * away and the cache does not suffice, metadata has expired, the cache folder cannot be used, or there is no first root.
 */
export async function fetchTrustedRoot(source: TufSource): Promise<TrustMaterial> {
  try {
    await prepareCache(source.cacheFolder);
    return trustOf(await fromTuf(source));
  } catch (error) {
    if (isFailure(error)) throw error;
    throw failure("trusted_root_unreadable", { message: explain(error, source) }, error);
  }
}

/** The library heals whatever is damaged in the cache but its `root.json`, which only a new beginning mends. */
async function fromTuf({ mirrorUrl, rootFile, cacheFolder, timeoutMs = TIMEOUT_MS }: TufSource): Promise<TrustedRoot> {
  const ask = (forceInit: boolean) =>
    getTrustedRoot({
      mirrorURL: mirrorUrl,
      ...(rootFile === undefined ? {} : { rootPath: rootFile }),
      cachePath: cacheFolder,
      forceCache: true,
      forceInit,
      timeout: timeoutMs,
      retry: RETRY,
    });
  try {
    return await ask(false);
  } catch (error) {
    if (error instanceof TUFError || codeOf(error) !== undefined) throw error;
    return await ask(true);
  }
}

async function prepareCache(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (process.platform === "win32") return; // access lists are the installer's there
  const { uid, mode } = await stat(folder);
  if (uid !== process.getuid?.() || (mode & 0o022) !== 0)
    throw failure("trusted_root_unreadable", {
      message: `the TUF cache ${folder} could be written by another account; remove it, it is made anew`,
    });
  if ((mode & 0o077) !== 0) await chmod(folder, 0o700);
}

const codeOf = (error: unknown): string | undefined => {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  return typeof code === "string" && /^E[A-Z0-9]+$/.test(code) ? code : undefined;
};

/** The chain of causes as names and texts; the library puts some of them into texts only. */
function chainOf(error: unknown): string {
  const parts: string[] = [];
  for (let at = error; at instanceof Error && parts.length < 8; at = at.cause)
    parts.push(`${at.name} ${codeOf(at) ?? ""} ${at.message}`);
  return parts.join("; ");
}

const FOLDER_TROUBLE = /\b(EACCES|EPERM|EROFS|ENOTDIR|EISDIR|EEXIST|ENOSPC|EDQUOT|EMFILE)\b/;

function explain(error: unknown, { mirrorUrl, rootFile, cacheFolder }: TufSource): string {
  const { path, code } = error as NodeJS.ErrnoException;
  if (rootFile !== undefined && path === rootFile) return `the first root ${rootFile} cannot be read (${code})`;
  const chain = chainOf(error);
  const trouble = FOLDER_TROUBLE.exec(chain)?.[1];
  if (trouble !== undefined)
    return `the TUF cache ${cacheFolder} cannot be used (${trouble}); it must be a folder that this account may write`;
  if (error instanceof TUFError && error.code === "TUF_INIT_CACHE_ERROR")
    return `no first root is known for ${mirrorUrl}; name its root.json in tufRootFile`;
  if (/expired/i.test(chain)) return `what ${mirrorUrl} says has expired; is the clock of this host right?`;
  if (error instanceof TUFError && /fetch failed|Failed to download|Timeout|aborted/i.test(chain))
    return `${mirrorUrl} cannot be reached and the cache does not suffice; allow it, or name a trustedRootFile`;
  if (error instanceof TUFError) return `${mirrorUrl} is not the repository that its first root names`;
  return `the first root for ${mirrorUrl} cannot be used; it must be the repository's root.json`;
}

const REFRESH_MS = 24 * 3_600_000;

export type KeeperDeps = {
  /** Rejects when the signal is aborted. */
  clock: { sleep(ms: number, signal?: AbortSignal): Promise<void> };
  log: { warn(fields: object, message: string): void };
};

/** Holds the last good root in memory: a refresh that fails takes nothing away. */
export type RootKeeper = {
  /** The last good root; without one it is fetched now. Throws as `fetchTrustedRoot`. */
  trust(): Promise<TrustMaterial>;
  /** Refreshes at once and every 24 hours until the signal is aborted. Never throws: what fails is logged. */
  keepFresh(signal: AbortSignal): Promise<void>;
};

export function createRootKeeper(source: TufSource, { clock, log }: KeeperDeps): RootKeeper {
  let last: TrustMaterial | undefined;
  let running: Promise<TrustMaterial> | undefined;
  /** One at a time: they would write the same cache. */
  const refresh = (): Promise<TrustMaterial> => {
    running ??= fetchTrustedRoot(source)
      .then((trust) => (last = trust))
      .finally(() => (running = undefined));
    return running;
  };
  return {
    trust: async () => last ?? (await refresh()),
    keepFresh: async (signal) => {
      while (!signal.aborted) {
        try {
          await refresh();
        } catch (error) {
          const kept = last === undefined ? "signed archives are refused until it is" : "the last one stays in use";
          log.warn({ reason: (error as Error).message }, `the trusted root was not refreshed; ${kept}`);
        }
        try {
          await clock.sleep(REFRESH_MS, signal);
        } catch (error) {
          if (!signal.aborted) throw error;
        }
      }
    },
  };
}
