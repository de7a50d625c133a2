/** A folder that holds one release: which archives it has, and whether each is complete, before anything is sent. */
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { describeUpload, readName, type DescribedFile } from "../domain/artifact/upload.ts";
import { isFailure } from "../domain/errors.ts";
import { hashFile } from "../verify/hash-file.ts";
import { UsageError } from "./connection.ts";

export type ReleaseFolder = { distribution: string; version: string; files: DescribedFile[] };

const ARCHIVE = ".tar.gz";
const BESIDE = [".sha256", ".sigstore.json"] as const;

/**
 * Reads a folder, of one distribution only when one is named. Throws `UsageError` with everything that is missing or
 * does not fit together, by file name.
 */
export async function readReleaseFolder(folder: string, distribution?: string): Promise<ReleaseFolder> {
  const names = await readdir(folder).catch((error: Error) => {
    throw new UsageError(`the folder cannot be read: ${error.message}`);
  });
  const wrong: string[] = [];
  const release = oneRelease(folder, archivesOf(names, distribution), wrong);
  for (const archive of release.archives)
    for (const name of [archive, ...BESIDE.map((suffix) => archive + suffix)])
      if (!names.includes(name)) wrong.push(`${name} is missing`);
  if (wrong.length > 0) throw new UsageError(`${folder} is no complete release:\n  ${wrong.join("\n  ")}`);
  const read = await Promise.all(
    release.archives.map(async (fileName) => ({
      fileName,
      sizeBytes: (await stat(join(folder, fileName))).size,
      checksum: await readFile(join(folder, `${fileName}.sha256`), "utf8"),
      bundle: await readFile(join(folder, `${fileName}.sigstore.json`), "utf8"),
    })),
  );
  const files = inWords(() => describeUpload(release, read));
  for (const { fileName, sha256 } of files) {
    const got = await hashFile(join(folder, fileName));
    if (got !== sha256) wrong.push(`${fileName} is damaged: its SHA-256 is ${got}, its checksum file says ${sha256}`);
  }
  if (wrong.length > 0) throw new UsageError(wrong.join("\n"));
  return { distribution: release.distribution, version: release.version, files };
}

/** Archives by name, also those of which only a file beside them is there. */
function archivesOf(names: readonly string[], distribution: string | undefined): string[] {
  const archives = names.flatMap((name) => {
    const suffix = BESIDE.find((it) => name.endsWith(ARCHIVE + it));
    const archive = suffix === undefined ? name : name.slice(0, -suffix.length);
    return archive.endsWith(ARCHIVE) && (distribution === undefined || archive.startsWith(`${distribution}_`))
      ? [archive]
      : [];
  });
  return [...new Set(archives)].toSorted();
}

function oneRelease(folder: string, archives: readonly string[], wrong: string[]) {
  const releases = new Map<string, { distribution: string; version: string; archives: string[] }>();
  for (const name of archives) {
    try {
      const { distribution, version } = readName(name);
      const key = `${distribution} ${version}`;
      const known = releases.get(key) ?? { distribution, version, archives: [] };
      known.archives.push(name);
      releases.set(key, known);
    } catch (error) {
      if (!isFailure(error)) throw error;
      wrong.push(error.code === "unsupported_platform" ? `${name}: ${error.message}` : error.message);
    }
  }
  const [release, ...others] = releases.values();
  if (others.length > 0)
    throw new UsageError(
      `${folder} holds more than one release (${[...releases.keys()].join(", ")}): one folder is one version; with --distribution NAME only that distribution is taken`,
    );
  if (release === undefined && wrong.length === 0)
    throw new UsageError(`${folder} holds no archive named <distribution>_<version>_<os>_<arch>.tar.gz`);
  return release ?? { distribution: "", version: "", archives: [] };
}

function inWords<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw isFailure(error) ? new UsageError(error.message) : error;
  }
}
