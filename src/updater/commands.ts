/** The commands of myriarch-updater. Exit codes: 0 done, 1 refused or failed, 2 used wrongly or not able to run. */
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { Command, CommanderError } from "commander";
import { pino } from "pino";
import { formatIssue, type Locate } from "../domain/config/strict-yaml.ts";
import { systemClock } from "./clock.ts";
import { parseUpdaterConfig, type UpdaterSettings } from "./config.ts";
import { handOverFirstProcess } from "./container/first-process.ts";
import { CannotStart } from "./host-folder.ts";
import { installService } from "./install-service.ts";
import { ROOT_FILE_SETTING, rootFileWarnings } from "./root-file.ts";
import { recoverOnce, run, type RunOptions } from "./run.ts";
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
  /** Licence texts of what the executable holds; undefined when it runs from its source. */
  licences?: (() => string) | undefined;
};

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const complain = (line: string): void => void process.stderr.write(`${line}\n`);

const DEFAULT_CONFIG =
  process.platform === "win32" ? "C:\\ProgramData\\myriarch\\updater.yaml" : "/etc/myriarch/updater.yaml";

const HELP = `
Exit codes:
  0  done; the host is as it should be
  1  refused or failed: the configuration is wrong, a repair failed, a signature is refused, status could not read a part
  2  used wrongly or not able to run; one line says what to mend

\`run\` says {"ready":true} on standard output when it has repaired the host and connects, and logs to standard error.`;

type Options = { config: string; json?: boolean; dryRun?: boolean; root: string };
type Action = (file: string, options: Options) => Promise<number>;

/** Runs one command; the result is the exit code. */
export async function runCommand(context: CommandContext): Promise<number> {
  // its arguments are read by the code that defines them
  if (context.argv[0] === "verify-bundle") {
    const { runVerifyBundle } = await import("../verify/verify-bundle.ts");
    return await runVerifyBundle(context.argv.slice(1));
  }
  if (context.argv[0] === "--licences") return showLicences(context);
  let code = 0;
  const program = createProgram(context, (ended) => void (code = ended));
  try {
    await program.parseAsync(context.argv, { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (!(error instanceof CannotStart)) throw error;
    complain(`cannot ${context.argv[0] === "run" ? "start" : "do this"}: ${error.message}`);
    return 2;
  }
}

function createProgram(context: CommandContext, ended: (code: number) => void): Command {
  const program = new Command("myriarch-updater")
    .description("Installs collector versions on this host: downloads, verifies, swaps, checks health, rolls back.")
    .version(context.version)
    .option("--licences", "print the licence texts of what this executable holds")
    .showHelpAfterError("(myriarch-updater --help lists commands and exit codes)")
    .addHelpText("after", HELP)
    .exitOverride();
  const command = (name: string, description: string, action: Action): Command =>
    program
      .command(name)
      .description(description)
      .option("--config <file>", "configuration file (YAML)", DEFAULT_CONFIG)
      .action(async (options: Options) => ended(await action(resolve(options.config), options)));
  command("run", "connect to the server and carry out its offers", async (file) => await runForever(file, context));
  command("check-config", "check the configuration file", checkConfig);
  command("status", "show what is active, on disk and going on, and the last attempt", showStatus).option(
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
    "write the systemd unit or make the Windows task",
    async (file, options) => await install(file, options, context),
  )
    .option("--dry-run", "only show what would be written")
    .option("--root <folder>", "write below this folder instead of /, for an image that is made elsewhere", "");
  program
    .command("verify-bundle")
    .description("judge a Sigstore bundle by the rules that updates are judged by (its own --help)");
  return program;
}

function showLicences({ licences }: CommandContext): number {
  if (licences === undefined) {
    complain("only the executable carries the licence texts; here they lie in node_modules");
    return 2;
  }
  say(licences());
  return 0;
}

/** Settings and warnings; every issue is printed. Undefined when the file cannot be used. */
async function load(file: string, lookAtFiles = false): Promise<UpdaterSettings | undefined> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    throw new CannotStart(
      `${file} cannot be read (${String((error as NodeJS.ErrnoException).code)}); name the configuration with --config`,
    );
  }
  const read = parseUpdaterConfig(text, file);
  for (const issue of read.ok ? read.warnings : read.issues) complain(formatIssue(issue));
  if (!read.ok) return undefined;
  if (lookAtFiles) await complainOfRoot(read.settings, read.locate(ROOT_FILE_SETTING));
  return read.settings;
}

/** The root may be old, or absent on the machine where the file is checked: a warning, as at the start. */
async function complainOfRoot(settings: UpdaterSettings, at: ReturnType<Locate>): Promise<void> {
  for (const message of await rootFileWarnings(settings))
    complain(formatIssue({ severity: "warning", ...at, path: "", message }));
}

async function checkConfig(file: string): Promise<number> {
  const settings = await load(file, true);
  if (settings === undefined) return 1;
  say(`${file}: ok`);
  return 0;
}

async function showStatus(file: string, { json }: Options): Promise<number> {
  const settings = await load(file);
  if (settings === undefined) return 1;
  const status = await readStatus(settings, systemClock);
  say(json === true ? JSON.stringify(status, null, 2) : describeStatus(status));
  return status.unreadable.length === 0 ? 0 : 1;
}

function runOptions(settings: UpdaterSettings, configFile: string, { version, env }: CommandContext): RunOptions {
  // standard output says only that we are ready
  const log = pino({ base: null, timestamp: pino.stdTimeFunctions.isoTime }, pino.destination({ dest: 2, sync: true }));
  return { settings, configFile, version, log, env };
}

async function runForever(file: string, context: CommandContext): Promise<number> {
  const [program = "", ...script] = context.program;
  // options of Node go before a script; the one-file executable has its own inside
  const options = script.length > 0 ? process.execArgv : [];
  if (handOverFirstProcess([program, ...options, ...script, ...context.argv]) === "no_shell")
    complain("warning: there is no /bin/sh here, so ended processes that lost their parent stay as zombies");
  const settings = await load(file);
  if (settings === undefined) return 1;
  // in a container nobody hangs up: whoever sends it means a service that reloads
  if (settings.container !== undefined) process.on("SIGHUP", () => undefined);
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

async function install(file: string, { dryRun = false, root }: Options, { program }: CommandContext): Promise<number> {
  const settings = await load(file);
  if (settings === undefined) return 1;
  await installService({ settings, configFile: file, program, dryRun, root: root === "" ? "" : resolve(root), say });
  return 0;
}
