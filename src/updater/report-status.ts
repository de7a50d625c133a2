/** Health and package statuses of the updater as plain data for the wire. */
import { BRAND } from "../domain/brand.ts";
import { toComponentHealth, type UpdateAttempt } from "../domain/update/health-report.ts";
import { boundedText } from "../domain/update/step-error.ts";
import { withV } from "../domain/update/version.ts";
import { PACKAGE_STATUS, type ComponentHealth, type PackageStatuses } from "../protocol/messages.ts";
import type { PackageMemory } from "./state.ts";

export type HealthParts = {
  startNanos: bigint;
  statusNanos: bigint;
  updating: boolean;
  lastFailure: string;
  attempt: UpdateAttempt | undefined;
};

/** Unhealthy only when an update left the host without a healthy version. */
export function healthOf({ startNanos, statusNanos, updating, lastFailure, attempt }: HealthParts): ComponentHealth {
  const healthy = attempt?.healthy ?? true;
  return {
    healthy,
    startTimeUnixNano: startNanos,
    lastError: lastFailure === "" ? "" : boundedText(`${BRAND.lastUpdateFailed}${lastFailure}`),
    status: updating ? BRAND.statusUpdating : healthy ? "StatusOK" : "StatusPermanentError",
    statusTimeUnixNano: statusNanos,
    componentHealthMap: new Map(attempt === undefined ? [] : [[BRAND.updateComponent, toComponentHealth(attempt)]]),
  };
}

export type Progress = { percent: number; bytesPerSecond: number };

export function packageStatusesOf(
  memory: PackageMemory,
  activeVersion: string,
  progress: Progress | undefined,
): PackageStatuses {
  const { installed, answer } = memory;
  const hash = installed !== null && installed.version === activeVersion ? installed.packageHash : "";
  const packages = (answer?.packages ?? []).map((it) => {
    const own = it.name === BRAND.packageName;
    return {
      name: it.name,
      agentHasVersion: own ? withV(activeVersion) : "",
      agentHasHash: Buffer.from(own ? hash : "", "hex"),
      serverOfferedVersion: it.offeredVersion,
      serverOfferedHash: Buffer.from(it.offeredHash, "hex"),
      status: PACKAGE_STATUS[it.status],
      errorMessage: boundedText(it.error),
      ...(it.status === "downloading" && progress !== undefined
        ? { downloadDetails: { downloadPercent: progress.percent, downloadBytesPerSecond: progress.bytesPerSecond } }
        : {}),
    };
  });
  return {
    packages: new Map(packages.map((it) => [it.name, it])),
    serverProvidedAllPackagesHash: Buffer.from(answer?.allPackagesHash ?? "", "hex"),
    errorMessage: "",
  };
}
