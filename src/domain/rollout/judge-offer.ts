/** Whether a target can be offered what it should get, or the code that says why not (errors: "offers"). */
import { platformOf } from "../artifact/asset.ts";
import type { ErrorCode } from "../errors.ts";
import type { Goal } from "./attempt-facts.ts";
import { failure } from "../errors.ts";

/** AgentCapabilities of OpAMP. */
const ACCEPTS_REMOTE_CONFIG = 0x2n;
const ACCEPTS_PACKAGES = 0x8n;

export type OfferHost = {
  hostName: string;
  serviceName: string;
  os: string;
  arch: string;
  capabilities: bigint;
  updater: { capabilities: bigint; link: "none" | "linked" | "mismatch"; linkReason: string } | null;
};
export type Refusal = { code: ErrorCode; message: string };

/** Undefined: it can be offered. `distribution` is the fleet's. */
export function refuseOffer(host: OfferHost, goal: Goal, distribution: string | null): Refusal | undefined {
  if (goal.config !== null && (host.capabilities & ACCEPTS_REMOTE_CONFIG) === 0n)
    return refusal("capability_off", { capability: "AcceptsRemoteConfig" });
  return goal.version === null ? undefined : refusePackage(host, distribution);
}

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
