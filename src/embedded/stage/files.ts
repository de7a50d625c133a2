/** Small files of the stage: written whole, secrets readable by their owner only. */
import { randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { stringify } from "yaml";

/** Writes a file whole, so that a start that was killed leaves the old one or the new one. */
export async function writeFileWhole(path: string, text: string, mode = 0o644): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(`${path}.tmp`, text, { mode });
  await chmod(`${path}.tmp`, mode);
  await rename(`${path}.tmp`, path);
}

export const writeYaml = (path: string, value: unknown, mode = 0o600): Promise<void> =>
  writeFileWhole(path, stringify(value, { lineWidth: 0 }), mode);

/** The secret kept in `path`; made by `make` (default: 256 bits of chance) at the first time. */
export async function keptSecret(
  path: string,
  make: () => Promise<string> | string = () => randomBytes(32).toString("base64url"),
): Promise<string> {
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const secret = await make();
  await writeFileWhole(path, `${secret}\n`, 0o600);
  return secret;
}
