/**
 * Whether the disk takes what an update writes, asked before it is written: the archive on the file system of the state
 * folder, the unpacked collector on that of the installation. They may be two, or one that must take both.
 */
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { StepError } from "../domain/update/step-error.ts";
import type { Files } from "./files.ts";

type Free = Pick<Files, "freeBytes">;

/** Throws (class `disk_full`) unless `bytes` are free below `folder`. */
export async function requireRoom(files: Free, folder: string, bytes: number, what: string): Promise<void> {
  const free = await files.freeBytes(folder);
  if (bytes > free)
    throw new StepError("disk_full", `${folder} has no room for ${what}: ${bytes} bytes are needed, ${free} are free`);
}

/**
 * Before an archive is fetched: `missingBytes` of its `archiveBytes` are still to come. How large it unpacks to stands in the
 * archive; it is taken to be no less than the archive itself.
 */
export async function requireRoomToFetch(
  size: { archiveBytes: number; missingBytes: number },
  folders: { spool: string; install: string },
  files: Free,
): Promise<void> {
  const { archiveBytes, missingBytes } = size;
  await requireRoom(files, folders.spool, missingBytes, "the archive");
  const [spool, install] = await Promise.all([device(folders.spool), device(folders.install)]);
  const bytes = spool === install ? archiveBytes + missingBytes : archiveBytes;
  await requireRoom(files, folders.install, bytes, "the unpacked collector");
}

/** Of the folder, or of the first above it that is there. */
async function device(folder: string): Promise<number> {
  const found = await stat(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" && dirname(folder) !== folder) return undefined;
    throw error;
  });
  return found?.dev ?? (await device(dirname(folder)));
}
