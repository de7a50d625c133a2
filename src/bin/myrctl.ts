/** Composition root of myrctl: arguments, terminal, exit code. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { runMyrctl } from "../cli/program.ts";

const packageFile = fileURLToPath(new URL("../../package.json", import.meta.url));
const { version } = JSON.parse(readFileSync(packageFile, "utf8")) as { version: string };

process.exitCode = await runMyrctl(
  process.argv.slice(2),
  process.env,
  { out: (text) => console.log(text), err: (text) => console.error(text), isTerminal: process.stdout.isTTY },
  version,
);
