/**
 * Takes the collector out of a verified archive (decisions, "Archive"). Only the binary in the archive's root is written;
 * an archive that tries anything else with links, devices, climbing or absolute paths, or two such binaries, is refused
 * whole. Sizes are bounded while unpacking: a small archive can hold a very large file.
 */
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { createGunzip } from "node:zlib";
import { extract, type Header } from "tar-stream";
import { StepError } from "../domain/update/step-error.ts";
import type { Files } from "./files.ts";
import { requireRoom } from "./room.ts";

export type Unpack = {
  archive: string;
  /** Name of the binary in the archive's root. */
  binary: string;
  /** Existing folder that the binary is written to. */
  folder: string;
  /** Bound of everything in the archive together, unpacked. */
  maxBytes: number;
  /** How many times the binary will lie on the disk before the update is over; default: once. */
  copies?: number;
};

/** Leaves the executable at `folder/binary`. Throws (class `verification` or `disk_full`); the folder is then unusable. */
export async function unpack({ archive, binary, folder, maxBytes, copies = 1 }: Unpack, files: Files): Promise<void> {
  const source = createReadStream(archive);
  const gunzip = createGunzip();
  const entries = extract();
  // destroying with the error makes the loop below throw it
  source.on("error", (error) => entries.destroy(error));
  gunzip.on("error", (error) => entries.destroy(refuse(`it is no gzip stream (${error.message})`)));
  let total = 0;
  gunzip.on("data", (chunk: Buffer) => {
    total += chunk.byteLength;
    if (total > maxBytes) entries.destroy(refuse(`it unpacks to more than ${maxBytes} bytes`));
  });
  source.pipe(gunzip).pipe(entries);
  let found = false;
  try {
    for await (const entry of entries) {
      judgeEntry(entry.header);
      if (rootName(entry.header) !== binary) {
        entry.resume();
        continue;
      }
      if (found) throw refuse(`it holds ${binary} twice`);
      found = true;
      await requireRoom(files, folder, (entry.header.size ?? 0) * copies, "the unpacked collector");
      await write(entry, join(folder, binary), files);
    }
  } catch (error) {
    throw error instanceof StepError || isSystemError(error) ? error : refuse("it is no valid tar archive", error);
  } finally {
    source.destroy();
    gunzip.destroy();
    entries.destroy();
  }
  if (!found) throw refuse(`it does not hold ${binary} in its root`);
}

const refuse = (because: string, cause?: unknown) =>
  new StepError("verification", `the archive is refused: ${because}`, cause);

const isSystemError = (error: unknown): boolean => typeof (error as NodeJS.ErrnoException).syscall === "string";

/** Throws unless the entry is a folder or regular file below the archive's root. */
function judgeEntry({ name, type }: Header): void {
  const shown = JSON.stringify(name.slice(0, 100));
  if (type !== "file" && type !== "contiguous-file" && type !== "directory")
    throw refuse(`${shown} is a ${type ?? "thing of unknown kind"}`);
  const elements = name.split(/[/\\]/);
  if (/^([/\\]|[A-Za-z]:)/.test(name)) throw refuse(`${shown} is an absolute path`);
  if (elements.includes("..")) throw refuse(`${shown} climbs`);
  if (name.includes("\0")) throw refuse(`${shown} is no path`);
}

/** Name of a file in the root; undefined for everything else. `./name` is the root. */
function rootName({ name, type }: Header): string | undefined {
  if (type === "directory") return undefined;
  const elements = name.split("/").filter((element) => element !== "" && element !== ".");
  return elements.length === 1 ? elements[0] : undefined;
}

async function write(entry: AsyncIterable<unknown>, path: string, files: Files): Promise<void> {
  const file = await files.create(path, 0o755);
  try {
    for await (const chunk of entry) await file.write(chunk as Buffer);
    await file.sync();
  } finally {
    await file.close();
  }
}
