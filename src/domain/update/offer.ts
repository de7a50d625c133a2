/**
 * What a host does with an offered set of packages (contract, "Rules that follow from the OpAMP client library"; decisions,
 * "Withdrawal"). A set is always complete; one attempt at a time; a set equal to the installed one is only confirmed.
 */
import { BRAND } from "../brand.ts";

/** Hashes in hex; empty when the offer has none. */
export type OfferedPackage = {
  name: string;
  topLevel: boolean;
  version: string;
  contentHash: string;
  packageHash: string;
};
export type OfferedSet = { allPackagesHash: string; packages: readonly OfferedPackage[] };

export type PackageSituation = {
  /** The set of the attempt that runs, and whether the stop of the supervisor was asked for. */
  running: { set: OfferedSet; supervisorStopped: boolean } | undefined;
  /** The set that was installed last, if marker and binary on disk still agree with it. */
  installed: { allPackagesHash: string; packageHash: string } | undefined;
  /** Why this content failed lately, and until when it is not tried again. */
  backoffOf: (contentHash: string) => { cause: string; notBefore: string } | undefined;
};

export type OfferDecision =
  /** Same set again: only its token may be new. */
  | { do: "refresh_token" }
  /** Another set before the stop: end the attempt, then judge the set again. */
  | { do: "withdraw" }
  /** Another set after the stop: judge it when the attempt has ended. */
  | { do: "queue" }
  | { do: "forget" }
  | { do: "refuse"; because: string }
  | { do: "confirm" }
  | { do: "back_off"; cause: string; notBefore: string }
  | { do: "begin"; offered: OfferedPackage };

export function decideOffer(set: OfferedSet, situation: PackageSituation): OfferDecision {
  const { running, installed } = situation;
  if (running !== undefined) {
    if (isSameSet(set, running.set)) return { do: "refresh_token" };
    return { do: running.supervisorStopped ? "queue" : "withdraw" };
  }
  const [offered, ...others] = set.packages;
  if (offered === undefined) return { do: "forget" };
  const foreign = set.packages.find(({ name, topLevel }) => name !== BRAND.packageName || !topLevel);
  if (foreign !== undefined || others.length > 0)
    return { do: "refuse", because: `${BRAND.unsupportedPackage} ${shown(foreign ?? offered)}` };
  if (installed !== undefined && isInstalled(set, offered, installed)) return { do: "confirm" };
  const failed = offered.contentHash === "" ? undefined : situation.backoffOf(offered.contentHash);
  return failed === undefined ? { do: "begin", offered } : { do: "back_off", ...failed };
}

const shown = ({ name, topLevel }: OfferedPackage): string =>
  `${JSON.stringify(name.slice(0, 64))}${topLevel ? "" : " (not top-level)"}: only the top-level package "" is accepted`;

function isInstalled(
  set: OfferedSet,
  offered: OfferedPackage,
  installed: NonNullable<PackageSituation["installed"]>,
): boolean {
  const same = (a: string, b: string) => a !== "" && a === b;
  return same(offered.packageHash, installed.packageHash) || same(set.allPackagesHash, installed.allPackagesHash);
}

/** By the server's hash over the set; without one by what the packages are. Tokens and URLs do not count. */
function isSameSet(a: OfferedSet, b: OfferedSet): boolean {
  if (a.allPackagesHash !== "" || b.allPackagesHash !== "") return a.allPackagesHash === b.allPackagesHash;
  const key = ({ packages }: OfferedSet) =>
    packages.map((it) => JSON.stringify([it.name, it.topLevel, it.version, it.contentHash, it.packageHash])).toSorted();
  return key(a).join() === key(b).join();
}
