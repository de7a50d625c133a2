/** An offer of packages as the rules of a host read it. */
import { BRAND } from "../domain/brand.ts";
import { judgeUrl } from "../domain/update/allowed-url.ts";
import { judgeVersion } from "../domain/update/downgrade.ts";
import type { PackagesAvailable } from "../protocol/messages.ts";
import type { HostMemory } from "./memory.ts";

export const urlOf = (offer: PackagesAvailable): string =>
  offer.packages.get(BRAND.packageName)?.file?.downloadUrl ?? "";

export const headersOf = (offer: PackagesAvailable): Record<string, string> =>
  Object.fromEntries(
    (offer.packages.get(BRAND.packageName)?.file?.headers ?? []).map(({ key, value }) => [key, value]),
  );

/** Why the host's own policy refuses it before any download; undefined if it does not. */
export function refusalOf(
  offeredVersion: string,
  { version, previousVersion }: HostMemory,
  url: string,
  allowedUrlPrefixes: readonly string[],
): string | undefined {
  const active = { version, ...(previousVersion !== undefined && { previousVersion }) };
  const verdicts = [judgeVersion(offeredVersion, active, { allowDowngrade: false }), judgeUrl(url, allowedUrlPrefixes)];
  return verdicts.flatMap((verdict) => (verdict.allowed ? [] : [verdict.because]))[0];
}
