/**
 * Release discovery: which releases of the distributions that fleets use are newer than what fleets are at. What is found
 * becomes a notice, once; nothing is fetched or installed by it (contract, "Git sets the frame"). A release counts when
 * its checksum file and its bundle exist for the platform of most hosts: the source may list it hours before that.
 */
import type { Logger } from "pino";
import { assetUrls, isArtifactRef, platformOf, type ArtifactRef } from "../domain/artifact/asset.ts";
import { candidatesOf, nextLookMs, type Candidates } from "../domain/artifact/discovery.ts";
import { isFailure } from "../domain/errors.ts";
import type { ReleaseSubject } from "../domain/notices.ts";
import { transaction, type Pool } from "../store/database.ts";
import {
  commonestPlatform,
  discoveryAnswered,
  discoveryFailed,
  openReleaseNotice,
  readDiscovery,
  readFleetUses,
  revokedReleases,
} from "../store/notices.ts";
import { withActivityFailures } from "./artifact-failure.ts";
import type { ArtifactSource } from "./artifact-source.ts";
import type { ReleaseIndex } from "./release-index.ts";

export type DiscoveryDeps = {
  pool: Pool;
  now: () => Date;
  log: Pick<Logger, "info" | "warn" | "error">;
  index: ReleaseIndex;
  source: Pick<ArtifactSource, "readSmall">;
  settings: {
    sourceBaseUrl: string;
    /** Asked instead of the source itself. */
    releasesFeedUrl?: string;
    /** 0: never. */
    discoverEveryMs: number;
  };
};
/** What one look found; `againMs`: when to look again, 0 for not by itself. */
export type Discovered = { againMs: number } & (
  | { state: "off" | "unused" }
  | { state: "looked"; releases: number; told: ReleaseSubject[] }
  | { state: "failed"; code: string; message: string }
);
export type DiscoveryActivities = ReturnType<typeof createDiscoveryActivities>;

const MAX_SMALL_BYTES = 1024 ** 2;
/** Of all questions about files of candidates together. */
const MAX_LOOK_MS = 60_000;

/** What the workflow `release-discovery` does outside of it. */
export function createDiscoveryActivities(deps: DiscoveryDeps) {
  return withActivityFailures({ discoverReleases: () => discoverReleases(deps) }, deps.log);
}

async function discoverReleases(deps: DiscoveryDeps): Promise<Discovered> {
  const { pool, log, now, settings } = deps;
  const everyMs = settings.discoverEveryMs;
  if (everyMs === 0) return { state: "off", againMs: 0 };
  if ((await readFleetUses(pool)).length === 0) return { state: "unused", againMs: nextLookMs(everyMs, true) };
  const address = settings.releasesFeedUrl ?? listingOf(settings.sourceBaseUrl);
  try {
    const versions = await readIndex(deps, address);
    const told = await tellNews(deps, versions);
    return { state: "looked", releases: versions.length, told, againMs: everyMs };
  } catch (error) {
    if (!isFailure(error)) throw error;
    const { code, message } = error;
    log.warn({ code, source: address }, `releases could not be looked for: ${message}`);
    await discoveryFailed(pool, address, { code, message }, now());
    return { state: "failed", code, message, againMs: nextLookMs(everyMs, true) };
  }
}

/** A folder's listing has a slash at its end: without it servers redirect, or list nothing. */
const listingOf = (base: string): string => `${base.replace(/\/+$/, "")}/`;

async function readIndex({ pool, index, now }: DiscoveryDeps, address: string): Promise<string[]> {
  const known = await readDiscovery(pool, address);
  const answer = await index.read(address, known);
  const kept = answer === "unchanged" && known !== undefined ? known : answer;
  if (kept === "unchanged") throw new Error("a source says unchanged to a first question");
  const { etag, lastModified, versions } = kept;
  await discoveryAnswered(pool, { source: address, etag, lastModified, versions }, now());
  return versions;
}

/** Opens what is new. The newest release that is whole is told, of each distribution at most one. */
async function tellNews(deps: DiscoveryDeps, versions: readonly string[]): Promise<ReleaseSubject[]> {
  const { pool, now, log } = deps;
  const revoked = await revokedReleases(pool);
  const signal = AbortSignal.timeout(MAX_LOOK_MS);
  const told: ReleaseSubject[] = [];
  for (const candidates of candidatesOf(versions, await readFleetUses(pool))) {
    const isGood = (version: string): boolean =>
      !revoked.some((it) => it.distribution === candidates.distribution && it.version === version);
    const version = await newestWhole(deps, { ...candidates, versions: candidates.versions.filter(isGood) }, signal);
    if (version === undefined) continue;
    const release = { distribution: candidates.distribution, version };
    if (!(await transaction(pool, (tx) => openReleaseNotice(tx, release, now())))) continue;
    log.info(release, "a newer release is out");
    told.push(release);
  }
  return told;
}

async function newestWhole(
  { pool, source, settings }: DiscoveryDeps,
  { distribution, versions }: Candidates,
  signal: AbortSignal,
): Promise<string | undefined> {
  const reported = await commonestPlatform(pool, distribution);
  const platform = (reported && platformOf(reported.os, reported.arch)) ?? COMMONEST;
  for (const version of versions) {
    const ref: ArtifactRef = { distribution, version, ...platform };
    if (!isArtifactRef(ref)) return undefined;
    const { checksum, bundle } = assetUrls(settings.sourceBaseUrl, ref);
    const exists = async (url: string): Promise<boolean> =>
      (await source.readSmall(url, MAX_SMALL_BYTES, signal)) !== undefined;
    if ((await exists(checksum)) && (await exists(bundle))) return version;
  }
  return undefined;
}

/** Of the upstream releases; asked about while no host says what it is. */
const COMMONEST = { os: "linux", arch: "amd64" };
