/**
 * What a simulated host remembers when the simulator is started again: its names, what is installed, its last attempt.
 * One file for all hosts, replaced as a whole; it is never half of one.
 */
import { randomBytes } from "node:crypto";
import { open, readFile, rename } from "node:fs/promises";
import type { UpdateAttempt } from "../domain/update/health-report.ts";
import { uuidV7 } from "../protocol/uid.ts";

export type Answer = {
  allPackagesHash: string;
  packageHash: string;
  offeredVersion: string;
  status: "installed" | "installing" | "installFailed" | "downloading";
  error: string;
};
export type HostMemory = {
  name: string;
  collectorUid: string;
  updaterUid: string;
  version: string;
  /** The version before the active one: the one-step return is allowed. */
  previousVersion: string | undefined;
  installed: { packageHash: string; allPackagesHash: string } | undefined;
  answer: Answer | undefined;
  attempt: UpdateAttempt | undefined;
  lastFailure: string;
  /** By content hash. */
  backoff: Record<string, { cause: string; untilMs: number }>;
  /** The one that was received last. */
  config: { hash: string; status: number; error: string } | undefined;
  /** Of the configuration that the collector runs. */
  pipelines?: string[];
};

export type Memory = {
  host(name: string): HostMemory;
  /** Something changed: it is on disk soon. */
  changed(): void;
  /** Resolves when everything is on disk. Throws what went wrong. */
  save(): Promise<void>;
};

const SAVE_MS = 200;

/** `file` undefined: nothing outlives the process. A file that is no state of ours is an error, not an empty state. */
export async function openMemory(file: string | undefined, initialVersion: string): Promise<Memory> {
  const hosts = new Map((await read(file)).map((host) => [host.name, host]));
  let saving: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  const write = async (): Promise<void> => {
    if (file === undefined) return;
    const next = `${file}.next`;
    const handle = await open(next, "w", 0o600);
    try {
      await handle.writeFile(JSON.stringify({ version: 1, hosts: Array.from(hosts.values()) }));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(next, file);
  };
  const save = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const mine = (saving ?? Promise.resolve()).then(write);
    saving = mine.catch(() => undefined);
    await mine;
  };
  return {
    host(name) {
      const known = hosts.get(name) ?? blank(name, initialVersion);
      hosts.set(name, known);
      return known;
    },
    changed() {
      timer ??= setTimeout(() => {
        save().catch((error: unknown) => process.emitWarning(`the state file was not written: ${String(error)}`));
      }, SAVE_MS).unref();
    },
    save,
  };
}

async function read(file: string | undefined): Promise<HostMemory[]> {
  if (file === undefined) return [];
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  const state = JSON.parse(text) as { version?: unknown; hosts?: HostMemory[] };
  if (state.version !== 1 || !Array.isArray(state.hosts)) throw new Error(`${file} is no state file of the simulator`);
  return state.hosts;
}

const blank = (name: string, version: string): HostMemory => ({
  name,
  collectorUid: uuidV7(Date.now(), randomBytes(10)),
  updaterUid: uuidV7(Date.now(), randomBytes(10)),
  version,
  previousVersion: undefined,
  installed: undefined,
  answer: undefined,
  attempt: undefined,
  lastFailure: "",
  backoff: {},
  config: undefined,
});
