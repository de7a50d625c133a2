/**
 * Which releases exist: read from what a source says of itself, and compared with what fleets are at. Three kinds of
 * source are understood: the feed of a hosting service (Atom, or the JSON of its releases), and the listing of a mirror's
 * folder as nginx, Apache, Caddy and others write it (HTML or JSON). Nothing of it is believed but names of versions; what
 * is fetched later is verified (design/artifacts, "Fetch and verify"). Only finished versions count: no drafts, no
 * candidates.
 */
import { compareVersions, normalizeVersion } from "../update/version.ts";

/** A fleet that Git gives a collector version. */
export type FleetUse = { fleet: string; distribution: string; version: string };
/** Releases of one distribution that are worth a look, the newest first. */
export type Candidates = { distribution: string; versions: string[] };

/** Releases that an index may name; the newest are kept. */
export const MAX_RELEASES = 1_000;
/** Looked at per distribution: the newest release may not have its archives yet. */
const MAX_CANDIDATES = 5;

/** The versions that an index names, the newest first; undefined when the text is no index that is understood. */
export function readReleaseIndex(text: string): string[] | undefined {
  const start = text.replace(/^\uFEFF/, "").trimStart();
  const names = start.startsWith("[") ? jsonNames(start) : start.startsWith("<") ? markupNames(start) : undefined;
  return names && newestFirst(names);
}

/** Names like `v0.162.0` (or `v0.162.0/`, as folders are listed) as versions, each once. Others are passed over. */
export function newestFirst(names: readonly string[]): string[] {
  const versions = names.flatMap((name) => {
    const match = /^v(\d{1,6}\.\d{1,6}\.\d{1,6})\/?$/.exec(name);
    const version = match?.[1] === undefined ? undefined : normalizeVersion(match[1]);
    return version ?? [];
  });
  return Array.from(new Set(versions))
    .toSorted((a, b) => compareVersions(b, a))
    .slice(0, MAX_RELEASES);
}

/** `tag_name` of GitHub, GitLab and Gitea; `name` of folders as nginx and Caddy list them. */
function jsonNames(text: string): string[] | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined; // whoever asked says that it is no index
  }
  if (!Array.isArray(parsed)) return undefined;
  return parsed.flatMap((entry: unknown) => {
    if (typeof entry !== "object" || entry === null) return [];
    const it = entry as Record<string, unknown>;
    if (it["draft"] === true || it["prerelease"] === true || it["upcoming_release"] === true) return [];
    const name = it["tag_name"] ?? it["name"];
    return typeof name === "string" ? [name] : [];
  });
}

const ATOM = /<feed[\s>]/;
const LINK = /<(?:a|link)\s[^<>]{0,2000}?href\s*=\s*(?:"([^"]{1,500})"|'([^']{1,500})')/gi;
/** The page of a release: `…/releases/tag/v1.2.3` (GitHub, Gitea), `…/-/releases/v1.2.3` (GitLab). */
const RELEASE_PAGE = /\/releases\/(?:tag\/)?(v[^/?#]+)$/;
/** A folder beside the others: `v1.2.3/`, `./v1.2.3/`, `/mirror/v1.2.3/`. */
const FOLDER = /(?:^|\/)(v[^/?#]+)\/$/;

/** Atom has one link per release, a listing one per folder. */
function markupNames(text: string): string[] | undefined {
  const pattern = ATOM.test(text.slice(0, 4_096)) ? RELEASE_PAGE : FOLDER;
  const isIndex = pattern === RELEASE_PAGE || /<(?:!doctype html|html|pre|table|a)[\s>]/i.test(text);
  if (!isIndex) return undefined;
  return Array.from(text.matchAll(LINK)).flatMap(([, double, single]) => {
    const name = pattern.exec(decoded(double ?? single ?? ""))?.[1];
    return name ?? [];
  });
}

const decoded = (href: string): string => {
  try {
    return decodeURIComponent(href);
  } catch {
    return href; // not encoded as a URL is: its name is no version either
  }
};

/**
 * What may be news, for the distributions that fleets use: releases that are newer than what at least one of their fleets
 * is at, the newest first and at most five. `versions` in any order.
 */
export function candidatesOf(versions: readonly string[], uses: readonly FleetUse[]): Candidates[] {
  const distributions = Array.from(new Set(uses.map(({ distribution }) => distribution))).toSorted();
  return distributions.flatMap((distribution) => {
    const newer = versions.filter((version) => fleetsBehind({ distribution, version }, uses).length > 0);
    const newest = newer.toSorted((a, b) => compareVersions(b, a)).slice(0, MAX_CANDIDATES);
    return newest.length === 0 ? [] : [{ distribution, versions: newest }];
  });
}

/** The fleets of a distribution that are at an older version. */
export const fleetsBehind = (
  { distribution, version }: Omit<FleetUse, "fleet">,
  uses: readonly FleetUse[],
): FleetUse[] => uses.filter((use) => use.distribution === distribution && compareVersions(use.version, version) < 0);

/** How long until the source is asked again: after a failure sooner, when the usual time is long. 0: only when told. */
export const nextLookMs = (everyMs: number, failed: boolean): number =>
  failed ? Math.min(everyMs, RETRY_MS) : everyMs;
const RETRY_MS = 15 * 60_000;
