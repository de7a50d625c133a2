/**
 * What `status` shows: read from disk, whether the updater runs or not. Nothing is repaired or moved aside, and what this
 * account may not read is named instead of being shown as absent.
 */
import { join } from "node:path";
import { JOURNAL_FILE } from "./attempt-journal.ts";
import { openBackoff } from "./backoff.ts";
import type { Clock } from "./clock.ts";
import type { UpdaterSettings } from "./config.ts";
import { systemFiles, type Files } from "./files.ts";
import { lockOwner } from "./host-folder.ts";
import { Layout } from "./layout.ts";

export type HostStatus = {
  /** Process of the updater; null while none runs. */
  updater: { pid: number } | null;
  active: { version: string; marker: boolean; previousVersion: string; source: string; binarySha256: string } | null;
  versions: string[];
  /** `"unreadable"` when its content is no JSON; the next start then goes by the bytes on disk. */
  journal: unknown;
  lastAttempt: unknown;
  /** Contents that failed lately, and when each may be tried again. */
  notBefore: { contentHash: string; cause: string; notBefore: string }[];
  /** Paths that this account may not read: what is null or empty above may be there. */
  unreadable: string[];
};

const DENIED = new Set(["EACCES", "EPERM"]);

export async function readStatus(settings: UpdaterSettings, clock: Clock): Promise<HostStatus> {
  const { installDir, binary, stateDir, update } = settings;
  const unreadable = new Set<string>();
  async function reading<T>(path: string, otherwise: T, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!DENIED.has(String((error as NodeJS.ErrnoException).code))) throw error;
      unreadable.add(path);
      return otherwise;
    }
  }
  const layout = new Layout({ installDir, binary, activation: update.activation }, systemFiles);
  const inState = async <T>(name: string, otherwise: T, work: (path: string) => Promise<T>): Promise<T> =>
    await reading(join(stateDir, name), otherwise, async () => await work(join(stateDir, name)));
  const status = {
    updater: await inState("lock", null, async () => {
      const pid = await lockOwner(stateDir);
      return pid === undefined ? null : { pid };
    }),
    active: await reading(installDir, null, async () => await readActive(layout)),
    versions: await reading(installDir, [], async () => await layout.installed()),
    journal: await inState(JOURNAL_FILE, null, readJson),
    lastAttempt: await inState("attempt.json", null, readJson),
    notBefore: await inState("backoff.json", [], async () => {
      const folder = { folder: stateDir, files: readOnly, log: silent };
      return (await openBackoff(folder, clock, update.failedRetryBackoff)).all();
    }),
  };
  return { ...status, unreadable: [...unreadable] };
}

async function readActive(layout: Layout): Promise<HostStatus["active"]> {
  const active = await layout.active();
  if (active === undefined) return null;
  const { version, marker, binarySha256 } = active;
  return {
    version,
    marker: marker !== undefined,
    previousVersion: marker?.previousVersion ?? "",
    source: marker?.source ?? "",
    binarySha256,
  };
}

/** A broken file stays where it is: moving it aside is for the updater, which tells of it. */
const readOnly: Files = { ...systemFiles, rename: async () => undefined };
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

async function readJson(path: string): Promise<unknown> {
  const text = await systemFiles.read(path);
  if (text === undefined) return null;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return "unreadable";
  }
}

export function describeStatus(status: HostStatus): string {
  const { updater, active, versions, journal, notBefore, unreadable } = status;
  const unknown = unreadable.length > 0 ? "none that this account can read" : "none";
  const by = active?.marker === true ? `installed from ${active.source}` : "put there by hand: no signed way back";
  return [
    `updater:      ${updater === null ? (unreadable.length > 0 ? "unknown" : "does not run") : `runs (process ${updater.pid})`}`,
    active === null ? `active:       ${unknown}` : `active:       v${active.version} (${by})`,
    `on disk:      ${versions.map((version) => `v${version}`).join(", ") || unknown}`,
    `journal:      ${describeJournal(journal, updater !== null, unknown)}`,
    `last attempt: ${describeAttempt(status.lastAttempt, unknown)}`,
    ...notBefore.map((it) => `not before:   ${it.notBefore} archive ${it.contentHash.slice(0, 12)}… (${it.cause})`),
    ...unreadable.map((path) => `unreadable:   ${path}; ask as root, or as the account of the updater`),
  ].join("\n");
}

function describeJournal(journal: unknown, runs: boolean, absent: string): string {
  if (journal === null) return absent;
  if (runs) return "open: an update or a repair is going on";
  return "open: an update was cut off; the next start, or `recover`, repairs it";
}

function describeAttempt(lastAttempt: unknown, absent: string): string {
  if (lastAttempt === null) return absent;
  if (typeof lastAttempt !== "object") return "its file is unreadable; the next start moves it aside";
  const attempt = lastAttempt as { status?: string; version?: string; error?: string; statusNanos?: string };
  const at = /^\d{1,19}$/.test(attempt.statusNanos ?? "")
    ? ` at ${new Date(Number(BigInt(attempt.statusNanos ?? "0") / 1_000_000n)).toISOString()}`
    : "";
  return `v${attempt.version} ${attempt.status}${at}${attempt.error ? `: ${attempt.error}` : ""}`;
}
