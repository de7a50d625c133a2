/** Composition root of the host program: signals, arguments, exit code. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { runCommand } from "../updater/commands.ts";

const packageFile = fileURLToPath(new URL("../../package.json", import.meta.url));
const { version } = JSON.parse(readFileSync(packageFile, "utf8")) as { version: string };

const ending = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.on(signal, () => ending.abort(new Error(`received ${signal}`)));

process.exitCode = await runCommand({
  argv: process.argv.slice(2),
  version,
  program: [process.execPath, fileURLToPath(import.meta.url)],
  env: process.env,
  signal: ending.signal,
});
