/**
 * Stand-in for the OpAMP supervisor, a program of its own: `node supervisor.ts --config FILE`.
 * SIGINT stops collector and connection cleanly. SIGTERM is not handled, as in the real one: it ends this process alone,
 * and the collector lives on as an orphan that holds its ports.
 */
import { parseArgs } from "node:util";
import { readSupervisorConfig } from "./supervisor-config.ts";
import { Supervisor } from "./supervisor-core.ts";

function line(level: string) {
  return (fields: object, message: string) => {
    console.log(JSON.stringify({ level, time: new Date().toISOString(), msg: message, ...fields }));
  };
}
const log = { info: line("info"), warn: line("warn") };

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { config: { type: "string" } } });
  if (values.config === undefined) throw new Error("give the configuration with --config");
  const started = Supervisor.start(await readSupervisorConfig(values.config), log);
  process.once("SIGINT", () => {
    started.then((supervisor) => supervisor.stop()).catch(fail);
  });
  await started;
}

function fail(error: unknown): never {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
}

main().catch(fail);
