/** One JSON file of the state folder: written durably, read with suspicion. */
import { join } from "node:path";
import type { z } from "zod";
import { TEMPORARY, type Files } from "./files.ts";
import type { Log } from "./host/service.ts";

export type StateFolder = { folder: string; files: Files; log: Log };
export type StateRead<T> = { state: "ok"; value: T } | { state: "absent" } | { state: "broken" };

const BROKEN = ".broken";

/**
 * A file that is empty, cut, full of zero bytes or of another shape is moved aside (the newest one is kept) and told. On a
 * disk that refuses even that it stays, and is found again by the next start.
 */
export async function readState<S extends z.ZodType>(
  { folder, files, log }: StateFolder,
  name: string,
  schema: S,
): Promise<StateRead<z.output<S>>> {
  const path = join(folder, name);
  const text = await files.read(path);
  if (text === undefined) return { state: "absent" };
  const value = parse(text, schema);
  if (value !== undefined) return { state: "ok", value };
  log.warn({ file: path, movedTo: `${path}${BROKEN}` }, "a state file is unreadable and was moved aside");
  try {
    await files.rename(path, `${path}${BROKEN}`);
  } catch (error) {
    log.error({ file: path, error: String(error) }, "it could not be moved aside");
  }
  return { state: "broken" };
}

function parse<S extends z.ZodType>(text: string, schema: S): z.output<S> | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // no JSON: the caller moves it aside
  }
}

export async function writeState({ folder, files }: StateFolder, name: string, value: unknown): Promise<void> {
  await files.writeDurably(join(folder, name), `${JSON.stringify(value)}\n`);
}

/** Removes what killed writers left. What cannot be removed is told, and does no harm. */
export async function sweepState({ folder, files, log }: StateFolder): Promise<void> {
  for (const name of (await files.list(folder)).filter((it) => it.includes(TEMPORARY))) {
    try {
      await files.remove(join(folder, name));
    } catch (error) {
      log.warn({ file: join(folder, name), error: String(error) }, "a leftover could not be removed");
    }
  }
}
