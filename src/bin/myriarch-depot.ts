/** myriarch-depot: one artifact store node; content-addressed files on one or more disks. */
import { readFile } from "node:fs/promises";
import { Command } from "commander";
import { pino } from "pino";
import { parseDepotConfig } from "../depot/config.ts";
import { runDepot } from "../depot/run.ts";
import { isFailure } from "../domain/errors.ts";

const EXIT_CONFIG = 78;

async function main(): Promise<void> {
  const command = new Command("myriarch-depot")
    .description(
      "One artifact store node of Myriarch: keeps the artifacts that its configuration names on one or more disks,\n" +
        "takes them from the server or copies them from other nodes, and serves them by their SHA-256.",
    )
    .requiredOption("--config <file>", "YAML file: nodeId, zone, disks, control, read, …")
    .parse();
  const { config } = command.opts<{ config: string }>();
  const log = pino({ name: "myriarch-depot" }, pino.destination(2));
  try {
    const settings = parseDepotConfig(await readFile(config, "utf8"), config);
    const child = log.child({ node: settings.nodeId });
    const depot = await runDepot(settings, (message, fields) => child.info(fields, message));
    console.log(JSON.stringify({ ready: true, url: depot.controlUrl, control: depot.controlUrl, read: depot.readUrl }));
    await new Promise<void>((resolve) => {
      for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve());
    });
    await depot.close();
  } catch (error) {
    const bad = isFailure(error) && error.code === "config_invalid";
    console.error(`myriarch-depot: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = bad ? EXIT_CONFIG : 1;
  }
}

await main();
