/** What an upload consists of: archives of one release, each with its checksum file and its bundle (design/artifacts). */
import { CONTRACT_DEFAULTS } from "../brand.ts";
import { failure } from "../errors.ts";
import { parseAssetName, parseChecksum, type ArtifactRef } from "./asset.ts";

/** As whoever uploads describes an archive: its name and size, and the texts of the two files beside it. */
export type UploadFile = { fileName: string; sizeBytes: number; checksum: string; bundle: string };
export type DescribedFile = UploadFile & { sha256: string; os: string; arch: string };

/** Longer than any list of platforms that a release has. */
export const MAX_UPLOAD_FILES = 64;

/**
 * The archives of a release with what their names and checksum files say, by name. Throws the first of: `invalid_request`
 * (no archive, a name that is none, another release, the same name twice), `unsupported_platform`, `artifact_too_large`,
 * `checksum_malformed`.
 */
export function describeUpload(
  { distribution, version }: Pick<ArtifactRef, "distribution" | "version">,
  files: readonly UploadFile[],
): DescribedFile[] {
  if (files.length === 0) throw wrong("an upload needs at least one archive");
  const names = new Set<string>();
  return files
    .map((file) => {
      const ref = readName(file.fileName);
      if (ref.distribution !== distribution || ref.version !== version)
        throw wrong(`${file.fileName} is no archive of ${distribution} ${version}`);
      if (names.size === names.add(file.fileName).size) throw wrong(`${file.fileName} is named twice`);
      if (file.sizeBytes > CONTRACT_DEFAULTS.maxArchiveBytes)
        throw failure("artifact_too_large", { maxBytes: CONTRACT_DEFAULTS.maxArchiveBytes });
      const sha256 = parseChecksum(file.checksum);
      if (sha256 === undefined) throw failure("checksum_malformed", { asset: file.fileName });
      return { ...file, sha256, os: ref.os, arch: ref.arch };
    })
    .toSorted((a, b) => (a.fileName < b.fileName ? -1 : 1));
}

/** What the name of an archive says; throws `unsupported_platform`, or `invalid_request` with the form that it must have. */
export function readName(fileName: string): ArtifactRef {
  const parsed = parseAssetName(fileName);
  if (parsed.ok) return parsed.ref;
  if (parsed.because === "platform") throw failure("unsupported_platform", { platform: parsed.platform });
  throw wrong(`${fileName} is not named <distribution>_<version>_<os>_<arch>.tar.gz`);
}

const wrong = (message: string) => failure("invalid_request", { message });

/** A disk that is filled to the last byte helps nobody. */
const RESERVE_BYTES = 64 * 1024 ** 2;

export type RoomQuestion = {
  /** Bytes that this host's staging lacks of the upload. */
  stagingBytes: number;
  stagingFreeBytes: number;
  /** Bytes that depots lack of it. */
  depotBytes: number;
  /** Depots that answer: the free bytes of the disks that say them. */
  depots: readonly { nodeId: string; freeBytes: readonly number[] }[];
  minCopies: number;
};

/**
 * Why an upload would not fit; undefined when it does. A depot has room when one of its disks has (it stores a copy on
 * each disk that takes it), and as many depots are asked for as copies are: `minCopies`, or all that answer.
 */
export function judgeRoom(it: RoomQuestion): string | undefined {
  if (it.stagingBytes > 0 && it.stagingBytes + RESERVE_BYTES > it.stagingFreeBytes)
    return `the staging folder of this host has ${mib(it.stagingFreeBytes)} free, the upload needs ${mib(it.stagingBytes)} and a reserve of ${mib(RESERVE_BYTES)}`;
  const known = it.depots.filter(({ freeBytes }) => freeBytes.length > 0);
  const full = known.filter(({ freeBytes }) => Math.max(...freeBytes) < it.depotBytes);
  const want = Math.min(it.minCopies, it.depots.length);
  if (it.depotBytes === 0 || it.depots.length - full.length >= want) return undefined;
  const names = full.map(({ nodeId, freeBytes }) => `${nodeId} (${mib(Math.max(...freeBytes))} free)`).join(", ");
  return `${want} depots need ${mib(it.depotBytes)} each, and these have not: ${names}`;
}

const mib = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
