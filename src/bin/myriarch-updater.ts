/**
 * Composition root of the host program: signals, arguments, exit code. It runs from its source, and as the one file that
 * `npm run build:updater` makes; that one carries version and licences as assets.
 */
import { readFileSync } from "node:fs";
import { getAsset, isSea } from "node:sea";
import { fileURLToPath } from "node:url";
import { runCommand, type CommandContext } from "../updater/commands.ts";

type Program = Pick<CommandContext, "version" | "program" | "licences">;

function ownSource(): Program {
  const packageFile = fileURLToPath(new URL("../../package.json", import.meta.url));
  const { version } = JSON.parse(readFileSync(packageFile, "utf8")) as { version: string };
  return { version, program: [process.execPath, fileURLToPath(import.meta.url)], licences: undefined };
}

const executable = (): Program => ({
  version: getAsset("version", "utf8"),
  program: [process.execPath],
  licences: () => getAsset("licences", "utf8"),
});

const ending = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.on(signal, () => ending.abort(new Error(`received ${signal}`)));

// no `await` at the top: the executable's script is of the older module format, which has none
void runCommand({
  ...(isSea() ? executable() : ownSource()),
  argv: process.argv.slice(2),
  env: process.env,
  signal: ending.signal,
}).then((code) => {
  process.exitCode = code;
});
