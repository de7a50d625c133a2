/** `myriarchd check-config`: says whether the configuration file holds, and prints it without its secrets. */
import { readFile } from "node:fs/promises";
import { stringify } from "yaml";
import { describeConfig, parseServerConfig } from "../domain/config/server-config.ts";
import { formatIssue } from "../domain/config/strict-yaml.ts";
import type { Output } from "./print.ts";

const CONSOLE: Output = { out: (text) => console.log(text), err: (text) => console.error(text) };

/** Exit code 0: valid (warnings on stderr), 1: not valid, every issue on stderr, 2: the file cannot be read. */
export async function runCheckConfig(
  file: string,
  env: NodeJS.ProcessEnv = process.env,
  io = CONSOLE,
): Promise<number> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    io.err(`${file}: ${error instanceof Error ? error.message : String(error)}`);
    return 2;
  }
  const result = parseServerConfig(text, file, env);
  for (const issue of result.ok ? result.warnings : result.issues) io.err(formatIssue(issue));
  if (!result.ok) return 1;
  io.out(stringify(describeConfig(result.settings)).trimEnd());
  return 0;
}
