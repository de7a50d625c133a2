/** One folder holds everything an embedded installation keeps; one process at a time owns it. */
import { chmod, mkdir, realpath } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { tryLock } from "./lock-file.mjs";
import { openPortBook, type PortBook } from "./ports.ts";

export type DataFolder = { path: string; ports: PortBook; release(): void };

/** `MYRIARCH_DATA`, or `.myriarch` in the clone that this file belongs to. */
export const defaultDataDir = (env: NodeJS.ProcessEnv = process.env): string =>
  resolve(env["MYRIARCH_DATA"] || fileURLToPath(new URL("../../.myriarch", import.meta.url)));

/** Opens and locks the folder. Throws one line that names the owner while another process holds it. */
export async function openDataFolder(dataDir: string, log: (line: string) => void): Promise<DataFolder> {
  await mkdir(join(dataDir, "logs"), { recursive: true, mode: 0o700 });
  const path = await realpath(dataDir);
  // Root's database account passes through; what is secret in here has a mode of its own.
  await chmod(path, process.getuid?.() === 0 ? 0o711 : 0o700);
  const lock = tryLock(join(path, "lock"), `Myriarch's data folder ${path}`);
  if (!lock.held)
    throw new Error(
      `${path} is in use by process ${lock.owner.pid}: end it, or set MYRIARCH_DATA to another folder for a second one`,
    );
  try {
    return { path, ports: await openPortBook(join(path, "ports.json"), log), release: lock.release };
  } catch (error) {
    lock.release();
    throw error;
  }
}
