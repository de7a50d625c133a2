/**
 * Which versions a host accepts, decided on the host before any byte is fetched (contract, "Anti-downgrade policy").
 */
import { compareVersions, normalizeVersion } from "./version.ts";

export type DowngradePolicy = { minimumVersion?: string | undefined; allowDowngrade: boolean };
/** What is active now; `previousVersion` is what its install marker recorded, if it has one. */
export type ActiveVersion = { version: string; previousVersion?: string };
export type Verdict = { allowed: true } | { allowed: false; because: string };

/**
 * Judges an offered version text. The floor binds every offer; below the active version only the one-step return to the
 * marker's previous version is allowed, unless the host's configuration allows downgrades.
 */
export function judgeVersion(offered: string, active: ActiveVersion | undefined, policy: DowngradePolicy): Verdict {
  const version = normalizeVersion(offered);
  if (version === undefined) return refuse(`the offered version ${quoted(offered)} is malformed`);
  if (policy.minimumVersion !== undefined && compareVersions(version, policy.minimumVersion) < 0)
    return refuse(`v${version} is below minimumVersion v${policy.minimumVersion}`);
  if (active === undefined || policy.allowDowngrade) return { allowed: true };
  const current = normalizeVersion(active.version);
  if (current === undefined)
    return refuse(`the active version ${quoted(active.version)} is malformed, so a downgrade cannot be told`);
  if (compareVersions(version, current) >= 0) return { allowed: true };
  if (active.previousVersion !== undefined && normalizeVersion(active.previousVersion) === version)
    return { allowed: true };
  return refuse(
    `v${version} is older than the active v${current} and not the version before it (allowDowngrade is off)`,
  );
}

const refuse = (because: string): Verdict => ({ allowed: false, because });
/** Texts of the server are shown bounded. */
const quoted = (text: string): string => JSON.stringify(text.slice(0, 64));
