/** Environment files as systemd reads them, as far as hosts use them: NAME=VALUE lines, comments, plain quotes. */
import { readFile } from "node:fs/promises";

/** Throws when the file cannot be read. Values never go to a log. */
export async function readEnvironmentFile(path: string): Promise<Record<string, string>> {
  return parseEnvironment(await readFile(path, "utf8"));
}

export function parseEnvironment(text: string): Record<string, string> {
  const pairs = text.split(/\r?\n/).flatMap((line): [string, string][] => {
    const match = /^\s*([A-Za-z_][A-Za-z0-9_]*)=(.*)$/.exec(line);
    if (match === null) return [];
    const value = (match[2] ?? "").trim();
    const quoted = /^(["'])(.*)\1$/.exec(value);
    return [[match[1] ?? "", quoted?.[2] ?? value]];
  });
  return Object.fromEntries(pairs);
}
