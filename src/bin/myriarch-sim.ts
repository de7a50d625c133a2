/** myriarch-sim: simulated hosts over real OpAMP connections. */
import { pino } from "pino";
import { createSimCommand } from "../sim/command.ts";
import { checkScenario, runSession, type Terminal } from "../sim/session.ts";

const terminal: Terminal = {
  out: (line) => console.log(line),
  err: (text) => process.stderr.write(text),
  isTty: process.stderr.isTTY,
};
const ending = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => ending.abort());

try {
  await createSimCommand({
    run: (flags, given) => {
      const log = pino({ name: "myriarch-sim", level: flags.logLevel }, pino.destination(2));
      return runSession(flags, given, log, terminal, ending);
    },
    check: async (file) => {
      process.exitCode = await checkScenario(file, terminal);
    },
  }).parseAsync();
} catch (error) {
  console.error(`myriarch-sim: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
