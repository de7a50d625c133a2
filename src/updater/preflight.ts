/**
 * Runs the new collector before anything on the host changes: it must start, name the expected version, and accept the
 * configuration that it will get. Its output stays in the host's log.
 */
import { parseAllDocuments } from "yaml";
import { StepError } from "../domain/update/step-error.ts";
import { normalizeVersion } from "../domain/update/version.ts";
import { decodeServerToAgent } from "../protocol/codec.ts";
import type { Clock } from "./clock.ts";
import { readForeignFile } from "./files.ts";
import type { Log, ServiceAccount } from "./host/service.ts";
import { runProgram, type ProgramResult } from "./run-program.ts";

export type Preflight = {
  binaryPath: string;
  version: string;
  /** Off when undefined. */
  validate: { effectiveConfig: string; account: () => Promise<ServiceAccount> } | undefined;
  /** The supervisor's copy of its last remote configuration. */
  lastRemoteConfig: string;
};

const VERSION_TIMEOUT_MS = 30_000;
const VALIDATE_TIMEOUT_MS = 60_000;

/** Throws (class `preflight`) with what failed, exit code and where to look. */
export async function preflight(it: Preflight, clock: Clock, log: Log, timeoutMs = VERSION_TIMEOUT_MS): Promise<void> {
  await checkVersion(it, clock, log, timeoutMs);
  await checkLastRemoteConfig(it.lastRemoteConfig);
  if (it.validate !== undefined) await validate(it.binaryPath, it.validate, clock, log);
}

async function checkVersion(
  { binaryPath, version }: Preflight,
  clock: Clock,
  log: Log,
  timeoutMs: number,
): Promise<void> {
  const result = await start({ file: binaryPath, args: ["--version"], timeoutMs }, clock, "--version");
  log.info({ ...result }, "preflight: --version");
  if (result.timedOut) throw new StepError("preflight", `--version does not end within ${timeoutMs / 1_000} s`);
  if (result.code !== 0)
    throw new StepError("preflight", `--version exits with ${ending(result)}; see the updater's log`);
  if (!namesVersion(result.output, version))
    throw new StepError("preflight", `the binary does not name version ${version}; see the updater's log`);
}

/** Whether an output has the version as a word of its own, with or without `v`. */
export function namesVersion(output: string, version: string): boolean {
  return output.split(/[\s,;:()"'=]+/).some((word) => normalizeVersion(word) === version);
}

/**
 * The supervisor saves a remote configuration before it checks it, and does not start again on one that it cannot read.
 * Stopping it then would lose the host, whatever is installed.
 */
async function checkLastRemoteConfig(path: string): Promise<void> {
  const bytes = await readForeignFile(path);
  if (bytes === undefined || bytes.byteLength === 0) return;
  const because = unreadableBecause(bytes);
  if (because === undefined) return;
  throw new StepError(
    "preflight",
    `the supervisor could not start again: its saved remote configuration ${because}; mend or remove ${path}`,
  );
}

/** Why the supervisor would refuse a saved AgentRemoteConfig; undefined when it would not. */
function unreadableBecause(bytes: Uint8Array): string | undefined {
  let bodies: Uint8Array[];
  try {
    // as field 3 of a message from the server: the one decoder that exists reads it
    const length: number[] = [];
    for (let rest = bytes.byteLength; ; rest = Math.floor(rest / 128)) {
      length.push(rest >= 128 ? (rest % 128) + 128 : rest);
      if (rest < 128) break;
    }
    const message = decodeServerToAgent(Buffer.concat([Buffer.from([0, 0x1a, ...length]), bytes]));
    bodies = Array.from(message.remoteConfig?.config.values() ?? [], ({ body }) => body);
  } catch {
    return "does not decode"; // whatever the decoder says of foreign bytes is of no use to a reader
  }
  for (const body of bodies) {
    try {
      const documents = parseAllDocuments(new TextDecoder("utf-8", { fatal: true }).decode(body));
      const first = "empty" in documents ? undefined : documents[0];
      if (first === undefined) continue;
      if (first.errors.length > 0) return "is not valid YAML";
      const value: unknown = first.toJS();
      if (value !== null && (typeof value !== "object" || Array.isArray(value))) return "is not a mapping";
    } catch {
      return "is not valid YAML"; // bad UTF-8, aliases without end: the supervisor's parser refuses them as well
    }
  }
  return undefined;
}

/** Providers other than environment variables: they may read files or the network with the rights of whoever runs this. */
export function hasForeignProviders(config: string): boolean {
  return Array.from(config.matchAll(/\$\{([A-Za-z][A-Za-z0-9+.-]*):/g)).some(([, scheme]) => scheme !== "env");
}

/**
 * `validate` runs with user, group and environment of the supervisor's service: its configuration was written by a less
 * privileged account and may make the collector read what only we can read. Where we cannot become that account, only
 * configurations whose every provider is `env` are checked.
 */
async function validate(
  binaryPath: string,
  { effectiveConfig, account }: NonNullable<Preflight["validate"]>,
  clock: Clock,
  log: Log,
): Promise<void> {
  const bytes = await readForeignFile(effectiveConfig);
  if (bytes === undefined || bytes.byteLength === 0) return; // the supervisor has not written one yet
  const { uid, gid, environment } = await account();
  const own = process.getuid?.();
  const same = uid !== undefined && uid === own;
  const canBecome = own === 0 && uid !== undefined && gid !== undefined;
  if ((environment === undefined || !(same || canBecome)) && hasForeignProviders(bytes.toString("utf8"))) {
    log.info({}, "preflight: validate skipped: providers");
    return;
  }
  const identity = !same && canBecome ? { uid, gid } : {};
  const run = {
    file: binaryPath,
    args: ["validate", "--config", effectiveConfig],
    timeoutMs: VALIDATE_TIMEOUT_MS,
    env: environment,
    ...identity,
  };
  const result = await start(run, clock, "validate");
  log.info({ ...result }, "preflight: validate");
  if (result.timedOut) throw new StepError("preflight", "validate does not end in time");
  if (result.code !== 0)
    throw new StepError(
      "preflight",
      `validate refuses the effective configuration (exit ${ending(result)}); see the updater's log`,
    );
}

async function start(run: Parameters<typeof runProgram>[0], clock: Clock, what: string): Promise<ProgramResult> {
  try {
    return await runProgram(run, clock);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StepError("preflight", `${what} cannot be run (${code ?? "unknown reason"})`, error);
  }
}

const ending = ({ code }: ProgramResult): string => (code === null ? "a signal" : `code ${code}`);
