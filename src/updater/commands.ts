/** The commands of myriarch-updater. Exit codes: 0 done, 1 refused or failed, 2 used wrongly or not able to run. */
import { readFile, writeFile } from "node:fs/promises";
import { isAbsolute, resolve } from "node:path";
import { Command, CommanderError } from "commander";
import { pino } from "pino";
import { formatIssue } from "../domain/config/strict-yaml.ts";
import { runVerifyBundle, VERIFY_BUNDLE_USAGE } from "../verify/verify-bundle.ts";
import { systemClock } from "./clock.ts";
import { parseUpdaterConfig, type UpdaterSettings } from "./config.ts";
import { CannotStart } from "./host-folder.ts";
import { recoverOnce, run, type RunOptions } from "./run.ts";
import { runProgram } from "./run-program.ts";
import { systemdUnit, windowsService } from "./service-file.ts";
import { describeStatus, readStatus } from "./status.ts";

export type CommandContext = {
  /** Without program and script. */
  argv: readonly string[];
  version: string;
  /** How this program is started, for service files. */
  program: readonly string[];
  env: NodeJS.ProcessEnv;
  /** Aborted when the program is told to end. */
  signal: AbortSignal;
};

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const complain = (line: string): void => void process.stderr.write(`${line}\n`);

/** Runs one command; the result is the exit code. */
export async function runCommand(context: CommandContext): Promise<number> {
  // its arguments are read by the code that defines them
  if (context.argv[0] === "verify-bundle") return await runVerifyBundle(context.argv.slice(1));
  let code = 0;
  const program = new Command("myriarch-updater")
    .description("Installs collector versions on this host: downloads, verifies, swaps, checks health, rolls back.")
    .version(context.version)
    .exitOverride();
  const command = (
    name: string,
    description: string,
    action: (file: string, options: { json?: boolean; print?: boolean }) => Promise<number>,
  ) =>
    program
      .command(name)
      .description(description)
      .requiredOption("--config <file>", "configuration file (YAML)")
      .action(async (options: { config: string; json?: boolean; print?: boolean }) => {
        code = await action(resolve(options.config), options);
      });
  command("run", "connect to the server and carry out its offers", async (file) => await runForever(file, context));
  command("check-config", "check the configuration file", async (file) => await checkConfig(file));
  command("status", "show active version, versions on disk, journal and last attempt", showStatus).option(
    "--json",
    "as JSON",
  );
  command(
    "recover",
    "repair a host whose update was cut off, then exit",
    async (file) => await recoverNow(file, context),
  );
  command(
    "install-service",
    "write the systemd unit or make the Windows service",
    async (file, options) => await installService(file, context, options.print === true),
  ).option("--print", "only show what would be written");
  program
    .command("verify-bundle")
    .description("judge a Sigstore bundle by the rules that updates are judged by")
    .usage(VERIFY_BUNDLE_USAGE.replace("verify-bundle ", ""));
  try {
    await program.parseAsync(context.argv, { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (!(error instanceof CannotStart)) throw error;
    complain(`cannot start: ${error.message}`);
    return 2;
  }
}

/** Settings and warnings; every issue is printed. Undefined when the file cannot be used. */
async function load(file: string): Promise<UpdaterSettings | undefined> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    throw new CannotStart(`${file} cannot be read (${String((error as NodeJS.ErrnoException).code)})`);
  }
  const read = parseUpdaterConfig(text, file);
  for (const issue of read.ok ? read.warnings : read.issues) complain(formatIssue(issue));
  return read.ok ? read.settings : undefined;
}

async function checkConfig(file: string): Promise<number> {
  const settings = await load(file);
  if (settings === undefined) return 1;
  say(`${file}: ok`);
  return 0;
}

async function showStatus(file: string, { json }: { json?: boolean }): Promise<number> {
  const settings = await load(file);
  if (settings === undefined) return 1;
  const status = await readStatus(settings);
  say(json === true ? JSON.stringify(status, null, 2) : describeStatus(status));
  return 0;
}

function runOptions(settings: UpdaterSettings, configFile: string, { version, env }: CommandContext): RunOptions {
  // standard output says only that we are ready
  const log = pino({ base: null, timestamp: pino.stdTimeFunctions.isoTime }, pino.destination({ dest: 2, sync: true }));
  return { settings, configFile, version, log, env };
}

async function runForever(file: string, context: CommandContext): Promise<number> {
  const settings = await load(file);
  if (settings === undefined) return 1;
  await run(runOptions(settings, file, context), context.signal, () => say(JSON.stringify({ ready: true })));
  return 0;
}

async function recoverNow(file: string, context: CommandContext): Promise<number> {
  const settings = await load(file);
  if (settings === undefined) return 1;
  const recovered = await recoverOnce(runOptions(settings, file, context), context.signal);
  if (recovered.repair === "none") say("nothing to recover");
  else say(recovered.ok ? `v${recovered.version} is active and healthy (${recovered.repair})` : recovered.error);
  return recovered.repair === "none" || recovered.ok ? 0 : 1;
}

async function installService(file: string, { program }: CommandContext, printOnly: boolean): Promise<number> {
  const settings = await load(file);
  if (settings === undefined || !isAbsolute(file)) return 1;
  if (process.platform === "win32") {
    for (const args of windowsService(program, file)) {
      if (printOnly) say(["sc.exe", ...args].join(" "));
      else if ((await runProgram({ file: "sc.exe", args, timeoutMs: 30_000 }, systemClock)).code !== 0)
        throw new CannotStart(`sc.exe ${args[0]} failed; run it as administrator`);
    }
    return 0;
  }
  const unit = systemdUnit(settings, program, file);
  if (printOnly) {
    say(unit.text);
    return 0;
  }
  try {
    await writeFile(unit.path, unit.text, { mode: 0o644 });
  } catch (error) {
    throw new CannotStart(
      `${unit.path} cannot be written (${String((error as NodeJS.ErrnoException).code)}); use --print`,
    );
  }
  say(`wrote ${unit.path}; now run:\n${unit.next.map((line) => `  ${line}`).join("\n")}`);
  return 0;
}
