/**
 * What a simulated host remembers when the simulator is started again: its names, what is installed, its last attempt.
 * One file for all hosts, replaced as a whole; it is never half of one.
 */
import { open, readFile, rename } from "node:fs/promises";
import type { AttemptOutcome } from "../domain/update/attempt.ts";
import type { UpdateAttempt } from "../domain/update/health-report.ts";
import type { ConfigMap } from "../protocol/messages.ts";
import { uuidV7 } from "../protocol/uid.ts";
import { drawBytes } from "./draw.ts";
import type { HostProfile } from "./plan.ts";

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
  /** Attempts begun, and how they ended. */
  attempts: number;
  outcomes: Record<AttemptOutcome, number>;
  lastFailure: string;
  /** By content hash. */
  backoff: Record<string, { cause: string; untilMs: number }>;
  /** The one that was received last. */
  config: { hash: string; status: number; error: string } | undefined;
  /** Configurations received, one that is sent again not counted. */
  configs: number;
  /** Hash of the configuration that the collector runs. */
  runs: string | undefined;
  /** It does not come up with that. */
  broken: boolean;
};

export type Memory = {
  host(profile: HostProfile): HostMemory;
  /** Many hosts get the same bytes: they are kept once, by the server's hash of them. */
  keepConfig(hash: string, config: ConfigMap): void;
  config(hash: string | undefined): ConfigMap;
  /** Something changed: it is on disk soon. */
  changed(): void;
  /** Resolves when everything is on disk. Throws what went wrong. */
  save(): Promise<void>;
};

const SAVE_MS = 200;
/** Of a big fleet the writing takes long: at most this part of the time is spent on it. */
const REST_TIMES = 10;
const NOTHING: ConfigMap = new Map();

/** `file` undefined: nothing outlives the process. A file that is no state of ours is an error, not an empty state. */
export async function openMemory(file: string | undefined): Promise<Memory> {
  const state = await read(file);
  const hosts = new Map<string, Partial<HostMemory>>(state.hosts.map((host) => [host.name, host]));
  const configs = new Map(state.configs.map(([hash, files]) => [hash, toConfig(files)]));
  let saving: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let restMs = SAVE_MS;

  const write = async (): Promise<void> => {
    if (file === undefined) return;
    const startedAt = performance.now();
    const kept = new Set(Array.from(hosts.values(), ({ runs }) => runs));
    for (const hash of configs.keys()) if (!kept.has(hash)) configs.delete(hash);
    const written = {
      version: 1,
      hosts: [...hosts.values()],
      configs: Array.from(configs, ([hash, it]) => [hash, toFiles(it)]),
    };
    await replace(file, JSON.stringify(written));
    restMs = Math.max(SAVE_MS, REST_TIMES * (performance.now() - startedAt));
  };
  const save = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const mine = (saving ?? Promise.resolve()).then(write);
    saving = mine.catch(() => undefined);
    await mine;
  };
  return {
    host(profile) {
      const known: HostMemory = { ...blank(profile), ...hosts.get(profile.name) };
      // A state file of before does not say what ran: the server sends the configuration again.
      if (!configs.has(known.runs ?? "")) Object.assign(known, { config: undefined, runs: undefined, broken: false });
      hosts.set(profile.name, known);
      return known;
    },
    keepConfig(hash, config) {
      if (!configs.has(hash)) configs.set(hash, config);
    },
    config: (hash) => configs.get(hash ?? "") ?? NOTHING,
    changed() {
      if (file === undefined) return;
      timer ??= setTimeout(() => {
        save().catch((error: unknown) => process.emitWarning(`the state file was not written: ${String(error)}`));
      }, restMs).unref();
    },
    save,
  };
}

async function replace(file: string, text: string): Promise<void> {
  const next = `${file}.next`;
  const handle = await open(next, "w", 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(next, file);
}

type Files = [name: string, contentType: string, base64: string][];
type State = { hosts: Partial<HostMemory> & { name: string }[]; configs: [hash: string, files: Files][] };

const toFiles = (config: ConfigMap): Files =>
  Array.from(config, ([name, { contentType, body }]) => [name, contentType, Buffer.from(body).toString("base64")]);
const toConfig = (files: Files): ConfigMap =>
  new Map(files.map(([name, contentType, body]) => [name, { contentType, body: Buffer.from(body, "base64") }]));

async function read(file: string | undefined): Promise<State> {
  const empty: State = { hosts: [], configs: [] };
  if (file === undefined) return empty;
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return empty;
    throw error;
  }
  const state = JSON.parse(text) as Partial<State> & { version?: unknown };
  if (state.version !== 1 || !Array.isArray(state.hosts)) throw new Error(`${file} is no state file of the simulator`);
  return { ...empty, ...state };
}

/** Simulated machines were made at one instant: what tells them apart is drawn. */
const MADE_MS = Date.UTC(2026, 0, 1);

const blank = ({ seed, name, uidOf, version }: HostProfile): HostMemory => ({
  name,
  collectorUid: uuidV7(MADE_MS, drawBytes(seed, uidOf, "collector")),
  updaterUid: uuidV7(MADE_MS, drawBytes(seed, uidOf, "updater")),
  version,
  previousVersion: undefined,
  installed: undefined,
  answer: undefined,
  attempt: undefined,
  attempts: 0,
  outcomes: { succeeded: 0, failed: 0, rolled_back: 0 },
  lastFailure: "",
  backoff: {},
  config: undefined,
  configs: 0,
  runs: undefined,
  broken: false,
});
