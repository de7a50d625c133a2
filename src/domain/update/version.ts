/**
 * Versions as the protocol writes them: strict semver, in packages with a leading `v`, in collectors' reports without.
 * Everything else is malformed and refused: `0.162`, `v0.0162.0`, ` v0.162.0` name no release (decisions, "Host").
 */
import semver from "semver";

/** The version without its `v`; undefined when the text is not exactly `vX.Y.Z` or `X.Y.Z` (with pre-release or build). */
export function normalizeVersion(text: string): string | undefined {
  const bare = text.startsWith("v") ? text.slice(1) : text;
  const parsed = semver.parse(bare);
  // semver is lenient about white space and drops build metadata from `version`; only the very same text counts
  if (parsed === null || `${parsed.version}${parsed.build.length > 0 ? `+${parsed.build.join(".")}` : ""}` !== bare)
    return undefined;
  return bare;
}

/** As packages and people write it; an absent version stays empty. */
export const withV = (version: string): string => (version === "" ? "" : `v${version}`);

/** Negative when `a` is older. Both must be normalised. A release is newer than its candidate; 0.15.2 is newer than 0.9.0. */
export const compareVersions = (a: string, b: string): number => semver.compare(a, b);
