/**
 * Runs the new collector before anything on the host changes: it must start, name the expected version, have the
 * components that it will need, and accept the configuration that it will get. Its output stays in the host's log. And the
 * supervisor must be able to start again once it was stopped.
 */
import { StepError } from "../domain/update/step-error.ts";
import { normalizeVersion } from "../domain/update/version.ts";
import type { Clock } from "./clock.ts";
import { lacks, missingComponents } from "./component-check.ts";
import { readForeignFile } from "./files.ts";
import type { Log, ServiceAccount } from "./host/service.ts";
import { runProgram, type ProgramResult, type RunBinary } from "./run-program.ts";
import { savedConfigProblem } from "./saved-config.ts";

export type Preflight = {
  binaryPath: string;
  version: string;
  /** Off when undefined. */
  validate: { effectiveConfig: string; account: () => Promise<ServiceAccount> } | undefined;
  /** The supervisor's copy of its last remote configuration. */
  lastRemoteConfig: string;
  /** Where the supervisor writes what its collector runs with. Components are compared with it; not when undefined. */
  effectiveConfig?: string | undefined;
  /** Who keeps supervisor or collector from starting again, in words; undefined: nobody. Not asked when undefined. */
  portProblem?: (() => Promise<string | undefined>) | undefined;
};

const VERSION_TIMEOUT_MS = 30_000;
const VALIDATE_TIMEOUT_MS = 60_000;

/** Throws (class `preflight`) with what failed, exit code and where to look. */
export async function preflight(it: Preflight, clock: Clock, log: Log, timeoutMs = VERSION_TIMEOUT_MS): Promise<void> {
  const run: RunBinary = async (what, { args, ...rest }) => {
    try {
      return await runProgram({ file: it.binaryPath, args, ...rest }, clock);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new StepError("preflight", `${what} cannot be run (${code ?? "unknown reason"})`, error);
    }
  };
  await checkVersion(it.version, run, log, timeoutMs);
  await checkLastRemoteConfig(it.lastRemoteConfig);
  const problem = await it.portProblem?.();
  if (problem !== undefined) throw new StepError("preflight", `the supervisor could not start again: ${problem}`);
  await checkConfiguration(it, run, log);
}

/** Components and `validate`. The list says what is missing, `validate` whether it matters. */
async function checkConfiguration(it: Preflight, run: RunBinary, log: Log): Promise<void> {
  const missing = it.effectiveConfig === undefined ? [] : await missingComponents(it.effectiveConfig, run, log);
  const verdict = it.validate === undefined ? "not_run" : await validate(it.validate, run, log);
  if (missing.length > 0 && verdict === "accepted")
    log.info({ missing }, "preflight: not listed, but the collector understands them");
  else if (missing.length > 0)
    throw lacks(missing, "offer a build that has them, or take them out of the configuration first");
  if (verdict === "accepted" || verdict === "not_run") return;
  throw new StepError("preflight", verdict.refusedBecause);
}

async function checkVersion(version: string, run: RunBinary, log: Log, timeoutMs: number): Promise<void> {
  const result = await run("--version", { args: ["--version"], timeoutMs });
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

/** The supervisor does not start again on a saved configuration that it cannot read: stopping it would lose the host. */
async function checkLastRemoteConfig(path: string): Promise<void> {
  const problem = await savedConfigProblem(path);
  if (problem === undefined) return;
  throw new StepError(
    "preflight",
    `the supervisor could not start again: its saved remote configuration ${problem}; mend or remove ${path}`,
  );
}

/** Providers other than environment variables: they may read files or the network with the rights of whoever runs this. */
export function hasForeignProviders(config: string): boolean {
  return Array.from(config.matchAll(/\$\{([A-Za-z][A-Za-z0-9+.-]*):/g)).some(([, scheme]) => scheme !== "env");
}

type Verdict = "accepted" | "not_run" | { refusedBecause: string };

/**
 * `validate` runs with user, group and environment of the supervisor's service: its configuration was written by a less
 * privileged account and may make the collector read what only we can read. Where we cannot become that account, only
 * configurations whose every provider is `env` are checked.
 */
async function validate(
  { effectiveConfig, account }: NonNullable<Preflight["validate"]>,
  run: RunBinary,
  log: Log,
): Promise<Verdict> {
  const bytes = await readForeignFile(effectiveConfig);
  if (bytes === undefined || bytes.byteLength === 0) return "not_run"; // the supervisor has not written one yet
  const { uid, gid, environment } = await account();
  const own = process.getuid?.();
  const same = uid !== undefined && uid === own;
  const canBecome = own === 0 && uid !== undefined && gid !== undefined;
  if ((environment === undefined || !(same || canBecome)) && hasForeignProviders(bytes.toString("utf8"))) {
    log.info({}, "preflight: validate skipped: providers");
    return "not_run";
  }
  const identity = !same && canBecome ? { uid, gid } : {};
  const result = await run("validate", {
    args: ["validate", "--config", effectiveConfig],
    timeoutMs: VALIDATE_TIMEOUT_MS,
    env: environment,
    ...identity,
  });
  log.info({ ...result }, "preflight: validate");
  if (result.timedOut) return { refusedBecause: "validate does not end in time" };
  if (result.code === 0) return "accepted";
  const how = ending(result);
  return { refusedBecause: `validate refuses the effective configuration (exit ${how}); see the updater's log` };
}

const ending = ({ code }: ProgramResult): string => (code === null ? "a signal" : `code ${code}`);
