/** myriarchd: the server. Plain it supervises one API and one worker process; `--roles` runs one of them. */
import { Command } from "commander";
import { fileURLToPath } from "node:url";
import { createLogger } from "../api/logger.ts";
import { runCheckConfig } from "../cli/check-config.ts";
import { isFailure } from "../domain/errors.ts";
import { runApi } from "./roles/api.ts";
import { loadSettings } from "./roles/load.ts";
import { EXIT_CONFIG, supervise } from "./roles/supervise.ts";
import { runWorker } from "./roles/worker.ts";

const command = new Command("myriarchd")
  .description(
    "The server of Myriarch: REST API, web page, webhook, OpAMP endpoint, artifact downloads, and the Temporal workers.\n" +
      "Without --roles it supervises one API and one worker process.",
  )
  .requiredOption("--config <file>", "YAML file; see docs/configuration.md")
  .option("--roles <role>", "run only this one: api or worker")
  .action(async (options: { config: string; roles?: string }) => run(options));
command
  .command("check-config")
  .description("check the configuration file and print it, secrets left out; exit 0 valid, 1 invalid")
  .action(async () => {
    process.exitCode = await runCheckConfig(command.opts<{ config: string }>().config);
  });

async function run(options: { config: string; roles?: string }): Promise<void> {
  const settings = await loadSettings(options.config);
  const log = createLogger({
    name: `myriarchd${options.roles ? `-${options.roles}` : ""}`,
    level: settings.telemetry.logLevel,
  });
  if (options.roles === undefined) {
    const program = fileURLToPath(import.meta.url);
    process.exitCode = await supervise({
      program,
      args: ["--config", options.config],
      log,
      drainTimeoutMs: settings.artifacts.drainTimeoutMs,
    });
    return;
  }
  if (options.roles === "api") return runApi(settings, log);
  if (options.roles === "worker") return runWorker(settings, log);
  throw new Error(`--roles takes api or worker, not ${options.roles}`);
}

try {
  await command.parseAsync();
} catch (error) {
  console.error(`myriarchd: ${error instanceof Error ? error.message : String(error)}`);
  // What was opened so far would keep a process alive that does nothing; whoever supervises it starts it again.
  process.exit(isFailure(error) && error.code === "config_invalid" ? EXIT_CONFIG : 1);
}
