/** An offer of packages as the rules of a host judge it; hashes in hexadecimal. Shared by the updater and the simulator. */
import type { OfferedSet } from "../domain/update/offer.ts";
import { PACKAGE_TYPE, type PackagesAvailable } from "./messages.ts";

const hexOf = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString("hex");

export const toSet = ({ packages, allPackagesHash }: PackagesAvailable): OfferedSet => ({
  allPackagesHash: hexOf(allPackagesHash),
  packages: Array.from(packages, ([name, { type, version, file, hash }]) => ({
    name,
    topLevel: type === PACKAGE_TYPE.topLevel,
    version,
    contentHash: hexOf(file?.contentHash),
    packageHash: hexOf(hash),
  })),
});
