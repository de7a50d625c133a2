/**
 * The updater's own folders: made when missing, refused when another account could write into them, and locked, because
 * two updaters on one host would undo each other's work.
 */
import { mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { systemFiles, TEMPORARY, type Files } from "./files.ts";
import { listProcesses } from "./host/processes.ts";

/** Something a person must mend before the program can start. */
export class CannotStart extends Error {
  override readonly name = "CannotStart";
}

/** Makes a folder of ours, or checks one that exists. Throws `CannotStart` when others can write to it. */
export async function prepareFolder(path: string, mode: 0o700 | 0o755): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode });
  } catch (error) {
    throw new CannotStart(`the folder ${path} cannot be made (${String((error as NodeJS.ErrnoException).code)})`);
  }
  if (process.platform === "win32") return; // access lists are the installer's there
  const found = await stat(path);
  if (found.uid !== process.getuid?.()) throw new CannotStart(`the folder ${path} belongs to another account`);
  if ((found.mode & 0o022) !== 0)
    throw new CannotStart(`the folder ${path} is writable by others (chmod ${mode.toString(8)})`);
}

export type Lock = { release(): Promise<void> };
const LOCK = "lock";
const TRIES = 3;

/** Takes the one lock of a state folder. Throws `CannotStart` while another updater that lives holds it. */
export async function lockFolder(folder: string, files: Files = systemFiles): Promise<Lock> {
  const path = join(folder, LOCK);
  const own = (await listProcesses()).find(({ pid }) => pid === process.pid);
  const mine = JSON.stringify({ pid: process.pid, started: own?.started ?? "" });
  for (let tries = 0; tries < TRIES; tries++) {
    try {
      const file = await files.create(path, 0o600);
      try {
        await file.write(Buffer.from(mine));
      } finally {
        await file.close();
      }
      return { release: async () => await files.remove(path) };
    } catch (error) {
      const code = String((error as NodeJS.ErrnoException).code);
      if (code !== "EEXIST") throw new CannotStart(`the lock ${path} cannot be written (${code}); see to its disk`);
    }
    const held = await readFile(path, "utf8").catch(() => "");
    const owner = await aliveOwner(held);
    if (owner !== undefined) throw new CannotStart(`another updater (process ${owner}) uses ${folder}`);
    // moved first: of two that found the same dead owner only one takes its lock away
    const aside = `${path}${TEMPORARY}${process.pid}`; // what stays of it is swept by the next start
    await files.rename(path, aside).catch(() => undefined);
    await files.remove(aside).catch(() => undefined);
  }
  throw new CannotStart(`the lock ${path} cannot be taken`);
}

/** The process that holds the lock of a state folder, of those that live. Throws when the folder cannot be read. */
export async function lockOwner(folder: string): Promise<number | undefined> {
  try {
    return await aliveOwner(await readFile(join(folder, LOCK), "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

async function aliveOwner(held: string): Promise<number | undefined> {
  const match = /^\{"pid":(\d+),"started":"([^"]*)"\}$/.exec(held);
  if (match === null) return undefined; // its writer died while it wrote
  const pid = Number(match[1]);
  const owner = (await listProcesses()).find((it) => it.pid === pid);
  return owner !== undefined && owner.started === match[2] ? pid : undefined;
}

/** What is wrong with the file that holds the token; the texts name setting and path, never the content. */
export async function tokenFileWarnings(
  setting: string,
  path: string,
  ownUid: number | undefined = process.getuid?.(),
): Promise<string[]> {
  if (process.platform === "win32") return [];
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new CannotStart(`${setting}: ${path} cannot be read (${String(error.code)})`);
  });
  const others = found.uid !== 0 && found.uid !== ownUid;
  return [
    ...((found.mode & 0o022) === 0 ? [] : [`${setting}: ${path} is writable by group or others`]),
    ...((found.mode & 0o004) === 0 ? [] : [`${setting}: ${path} is readable by others`]),
    ...(others ? [`${setting}: ${path} belongs to an account other than root and our own`] : []),
  ];
}
