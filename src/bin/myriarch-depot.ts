/** myriarch-depot: one artifact store node; content-addressed files on one or more disks. */
import { readFile } from "node:fs/promises";
import { Command, Option } from "commander";
import { pino } from "pino";
import { parseDepotConfig, type DepotSettings } from "../depot/config.ts";
import { askStatus, runDepot } from "../depot/run.ts";
import { describeNode } from "../domain/depot/node-status.ts";
import { isFailure } from "../domain/errors.ts";

const EXIT_CONFIG = 78;

const log = pino({ name: "myriarch-depot" }, pino.destination(2));

async function main(): Promise<void> {
  const program = new Command("myriarch-depot")
    .description(
      "One artifact store node of Myriarch: keeps the artifacts that its configuration names on one or more disks,\n" +
        "takes them from the server or copies them from other nodes, and serves them by their SHA-256.",
    )
    .enablePositionalOptions();
  const config = () => new Option("--config <file>", "YAML file: nodeId, zone, disks, control, read, …");
  program.addOption(config()).action(() => withConfig(program, run));
  const status = program.command("status").description("ask the node that runs with this file how it stands");
  status
    .addOption(config())
    .option("--json", "as JSON")
    .action(() => withConfig(status, showStatus));
  await program.parseAsync();
}

/** Exit code 78: the file is wrong, and starting again does not help. */
async function withConfig(command: Command, work: (settings: DepotSettings, command: Command) => Promise<void>) {
  const { config: file } = command.optsWithGlobals<{ config?: string }>();
  if (file === undefined) command.error("error: required option '--config <file>' not specified");
  try {
    await work(parseDepotConfig(await readFile(file, "utf8"), file), command);
  } catch (error) {
    const bad = isFailure(error) && error.code === "config_invalid";
    console.error(`myriarch-depot: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = bad ? EXIT_CONFIG : 1;
  }
}

async function run(settings: DepotSettings): Promise<void> {
  const child = log.child({ node: settings.nodeId });
  const depot = await runDepot(settings, (message, fields) => child.info(fields, message));
  console.log(JSON.stringify({ ready: true, url: depot.controlUrl, control: depot.controlUrl, read: depot.readUrl }));
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve());
  });
  await depot.close();
}

async function showStatus(settings: DepotSettings, command: Command): Promise<void> {
  const status = await askStatus(settings);
  console.log(command.opts<{ json?: boolean }>().json ? JSON.stringify(status) : describeNode(settings.nodeId, status));
}

await main();
