/** An offered set as it is judged, and the answer to it as it is remembered. */
import type { UpdateAttempt } from "../domain/update/health-report.ts";
import type { OfferedSet } from "../domain/update/offer.ts";
import { boundedText } from "../domain/update/step-error.ts";
import type { PackagesAvailable } from "../protocol/messages.ts";
import type { DownloadHeaders } from "./download.ts";
import type { PackageAnswer, PackageMemory } from "./state.ts";

export const headersOf = (offer: PackagesAvailable): DownloadHeaders =>
  Array.from(offer.packages.values()).flatMap(({ file }) => file?.headers ?? []);

const MAX_ANSWERED = 16;

export function answerOf(
  set: OfferedSet,
  status: PackageAnswer["status"],
  error: string,
): NonNullable<PackageMemory["answer"]> {
  const packages = set.packages.slice(0, MAX_ANSWERED).map(({ name, version, packageHash }) => ({
    name: name.slice(0, 256),
    offeredVersion: version.slice(0, 64),
    offeredHash: packageHash,
    status,
    error: boundedText(error),
  }));
  return { allPackagesHash: set.allPackagesHash, packages };
}

/** A status that was in progress when the program ended has failed: the server must not see it stuck. */
export function closeStale(memory: PackageMemory, report: UpdateAttempt | undefined): PackageMemory {
  const error = report?.error || "interrupted by a restart of the updater";
  let stale = false;
  const packages = memory.answer?.packages.map((it): PackageAnswer => {
    if (it.status === "installed" || it.status === "installFailed") return it;
    stale = true;
    return { ...it, status: "installFailed", error };
  });
  if (memory.answer === null || packages === undefined || !stale) return memory;
  return { ...memory, answer: { ...memory.answer, packages }, lastFailure: error };
}
