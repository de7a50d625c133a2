/** Whether a target can be offered what it should get, or the code that says why not (errors: "offers"). */
import { platformOf } from "../artifact/asset.ts";
import type { ErrorCode } from "../errors.ts";
import { failure } from "../errors.ts";
import { compareVersions } from "../update/version.ts";
import type { Goal } from "./attempt-facts.ts";

/** AgentCapabilities of OpAMP. */
const ACCEPTS_REMOTE_CONFIG = 0x2n;
const ACCEPTS_PACKAGES = 0x8n;

export type OfferHost = {
  hostName: string;
  serviceName: string;
  os: string;
  arch: string;
  capabilities: bigint;
  /** What it reports now. */
  version?: string;
  /** Components of the configuration to offer that its collector does not have. */
  missing?: readonly string[] | null;
  updater: { capabilities: bigint; link: "none" | "linked" | "mismatch"; linkReason: string } | null;
};
export type Refusal = { code: ErrorCode; message: string };

/** Undefined: it can be offered. `distribution` is the fleet's. */
export function refuseOffer(host: OfferHost, goal: Goal, distribution: string | null): Refusal | undefined {
  if (goal.config !== null && (host.capabilities & ACCEPTS_REMOTE_CONFIG) === 0n)
    return refusal("capability_off", { capability: "AcceptsRemoteConfig" });
  const { missing = null, hostName } = host;
  if (missing !== null && missing.length > 0 && !isPackageFirst(host, goal))
    return refusal("incompatible", { host: hostName, missing: missing.slice(0, MAX_NAMED).join(", ") });
  return goal.version === null ? undefined : refusePackage(host, distribution);
}

const MAX_NAMED = 10;

/** The newer version comes before the configuration, and may bring what is missing. */
const isPackageFirst = ({ version = "" }: OfferHost, goal: Goal): boolean =>
  goal.version !== null && goal.version !== version && (version === "" || compareVersions(goal.version, version) > 0);

function refusePackage(
  { hostName, updater, serviceName, os, arch }: OfferHost,
  distribution: string | null,
): Refusal | undefined {
  if (updater === null || updater.link === "none") return refusal("updater_missing", { host: hostName });
  if (updater.link === "mismatch") return refusal("updater_mismatch", { host: hostName, because: updater.linkReason });
  if (distribution !== null && serviceName !== distribution)
    return refusal("wrong_distribution", { want: distribution, have: serviceName });
  if ((updater.capabilities & ACCEPTS_PACKAGES) === 0n)
    return refusal("capability_off", { capability: "AcceptsPackages" });
  if (platformOf(os, arch) === undefined) return refusal("unsupported_platform", { platform: `${os}_${arch}` });
  return undefined;
}

const refusal: <C extends ErrorCode>(...args: Parameters<typeof failure<C>>) => Refusal = (code, detail) => ({
  code,
  message: failure(code, detail).message,
});
