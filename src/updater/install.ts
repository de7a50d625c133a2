/**
 * One attempt, in the order of the updater protocol ("Host-side install behaviour"). Each step hands on a receipt that only
 * it can issue, so that nothing unverified can reach `swap`, the only step that touches the running system.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { judgeUrl } from "../domain/update/allowed-url.ts";
import { judgeVersion, type DowngradePolicy } from "../domain/update/downgrade.ts";
import { StepError } from "../domain/update/step-error.ts";
import { normalizeVersion } from "../domain/update/version.ts";
import type { AttemptJournal } from "./attempt-journal.ts";
import type { AttemptTracker } from "./attempt-tracker.ts";
import type { Clock } from "./clock.ts";
import type { DownloadHeaders, Downloader } from "./download.ts";
import type { Files } from "./files.ts";
import type { HealthDeps, HealthSettings } from "./health.ts";
import type { Log, ServiceManager } from "./host/service.ts";
import { STAGING_PREFIX, writeMarker, type Active, type InstallMarker, type Layout } from "./layout.ts";
import { preflight, type Preflight } from "./preflight.ts";
import { requireRoomToFetch } from "./room.ts";
import { swap } from "./swap.ts";
import { unpack } from "./unpack.ts";

declare const proof: unique symbol;
type Proven<T, By extends string> = T & { readonly [proof]: By };

export type Offer = {
  /** As offered, with its `v`. */
  versionText: string;
  url: string;
  /** Asked before each request: a fresh token counts for a download in progress. */
  headers: () => DownloadHeaders;
  /** Hex; empty when the offer has none. */
  contentHash: string;
  signature: Uint8Array;
};
type Allowed = { version: string; offer: Offer; active: Active | undefined };
type AllowedOffer = Proven<Allowed, "policy">;
type SpooledArchive = { path: string; sha256: string };
type VerifiedArchive = Proven<SpooledArchive, "digest and signature">;
export type StagedBinary = Proven<
  { folder: string; version: string; archiveSha256: string; binarySha256: string; source: InstallMarker["source"] },
  "preflight"
>;

/** Judges digest and signature; throws whatever its rules say. Never answers for an archive that it did not verify. */
export type VerifySignature = (signature: Uint8Array, sha256Hex: string, version: string) => Promise<void>;

export type HostDeps = {
  files: Files;
  clock: Clock;
  log: Log;
  layout: Layout;
  service: ServiceManager;
  journal: AttemptJournal;
  download: Downloader;
  verifySignature: VerifySignature;
  health: { settings: HealthSettings; deps: HealthDeps };
  policy: DowngradePolicy & { allowedUrlPrefixes: readonly string[] };
  limits: { maxArchiveBytes: number; idleTimeoutMs: number; keepVersions: number };
  preflight: Omit<Preflight, "binaryPath" | "version"> & { timeoutMs?: number };
  spoolDir: string;
  onProgress?: (bytes: number, ofBytes: number | undefined) => void;
};

/** The whole of it, one step a line. Returns when the offered version is active and healthy; throws at the step that failed. */
export async function install(offer: Offer, tracker: AttemptTracker, host: HostDeps): Promise<void> {
  const allowed = await checkPolicy(offer, host); // before any byte is fetched
  if (await holdsArchive(allowed, host)) return await tracker.succeedEarly();
  const archive = await spool(allowed, tracker, host); // hashed, not yet trusted
  await tracker.stepDone();
  const verified = await verify(archive, allowed, host); // digest, then signature for exactly this version
  const binary = await stage(verified, allowed, host); // unpacked beside the running one; the preflight ran it
  if (await holdsBinary(binary, host)) return await tracker.succeedEarly();
  await tracker.stepDone();
  await swap(binary, tracker, host); // from here on: forward, or back to the version before
}

async function checkPolicy(offer: Offer, host: HostDeps): Promise<AllowedOffer> {
  const active = await host.layout.active();
  const previousVersion = active?.marker?.previousVersion;
  const now = active && { version: active.version, ...(previousVersion && { previousVersion }) };
  const verdict = judgeVersion(offer.versionText, now, host.policy);
  if (!verdict.allowed) throw new StepError("policy_refused", verdict.because);
  const url = judgeUrl(offer.url, host.policy.allowedUrlPrefixes);
  if (!url.allowed) throw new StepError("policy_refused", url.because);
  await host.service.checkExists();
  if (!/^[0-9a-f]{64}$/.test(offer.contentHash))
    throw new StepError("verification", "the offer carries no SHA-256 of the archive");
  return { version: normalizeVersion(offer.versionText), offer, active } as AllowedOffer;
}

/** Whether the active version came from this very archive and its bytes are still those that were verified. */
async function holdsArchive({ active, offer, version }: AllowedOffer, host: HostDeps): Promise<boolean> {
  const marker = active?.marker;
  if (active === undefined || marker === undefined || active.version !== version) return false;
  await requireSettled(version, host);
  return marker.archiveSha256 === offer.contentHash && marker.binarySha256 === active.binarySha256;
}

/** A version that an earlier update could not take back is active, but that is no success. */
async function requireSettled(version: string, { journal }: HostDeps): Promise<void> {
  if ((await journal.read()).state !== "none")
    throw new StepError(
      "install",
      `v${version} is active, but its own update failed and could not be taken back; restart the updater to repair the host`,
    );
}

async function spool({ offer }: AllowedOffer, tracker: AttemptTracker, host: HostDeps): Promise<SpooledArchive> {
  return await host.download({
    url: offer.url,
    headers: offer.headers,
    allowedUrlPrefixes: host.policy.allowedUrlPrefixes,
    spoolFile: join(host.spoolDir, `archive-${randomBytes(6).toString("hex")}`),
    maxBytes: host.limits.maxArchiveBytes,
    idleTimeoutMs: host.limits.idleTimeoutMs,
    signal: tracker.signal,
    requireRoom: async (size) =>
      await requireRoomToFetch(size, { spool: host.spoolDir, install: host.layout.settings.installDir }, host.files),
    ...(host.onProgress === undefined ? {} : { onProgress: host.onProgress }),
  });
}

async function verify(
  archive: SpooledArchive,
  { offer, version }: AllowedOffer,
  host: HostDeps,
): Promise<VerifiedArchive> {
  if (archive.sha256 !== offer.contentHash)
    throw new StepError("verification", `the archive is ${archive.sha256}, the offer says ${offer.contentHash}`);
  await host.verifySignature(offer.signature, archive.sha256, version);
  return archive as VerifiedArchive;
}

/** Small archives can unpack to large files; a collector is some four times its archive. */
const UNPACKED_FACTOR = 8;
/** Of the binary on the disk at once: with copies, the version's own, the one that runs, and the one before beside it. */
const COPIES = { symlink: 1, copy: 3 } as const;

async function stage(archive: VerifiedArchive, { version }: AllowedOffer, host: HostDeps): Promise<StagedBinary> {
  const { files, layout, limits } = host;
  const { binary, activation } = layout.settings;
  const folder = join(layout.versions, `${STAGING_PREFIX}${randomBytes(6).toString("hex")}`);
  await files.makeFolder(folder);
  const maxBytes = limits.maxArchiveBytes * UNPACKED_FACTOR;
  await unpack({ archive: archive.path, binary, folder, maxBytes, copies: COPIES[activation] }, files);
  const { timeoutMs, ...checks } = host.preflight;
  await preflight({ binaryPath: join(folder, binary), version, ...checks }, host.clock, host.log, timeoutMs);
  const binarySha256 = await files.hash(join(folder, binary));
  if (binarySha256 === undefined) throw new StepError("preflight", "the binary removed itself while it was tried");
  return { folder, version, archiveSha256: archive.sha256, binarySha256, source: "package" } as StagedBinary;
}

/**
 * Whether this version is active with these bytes. Throws when it is active with other bytes: a running version is never
 * overwritten. A version put there by hand gets the marker that says what was proven now.
 */
async function holdsBinary(staged: StagedBinary, host: HostDeps): Promise<boolean> {
  const { layout, files, clock } = host;
  const active = await layout.active();
  if (active === undefined || active.version !== staged.version) return false;
  await requireSettled(staged.version, host);
  if (active.binarySha256 !== staged.binarySha256)
    throw new StepError(
      "install",
      `v${staged.version} is active with other bytes and is never overwritten while it runs`,
    );
  await writeMarker(files, layout.versionFolder(active.version), {
    version: active.version,
    archiveSha256: staged.archiveSha256,
    binarySha256: staged.binarySha256,
    previousVersion: active.marker?.previousVersion ?? "",
    installedAt: new Date(Number(clock.nowNanos() / 1_000_000n)).toISOString(),
    source: "package",
  });
  return true;
}
