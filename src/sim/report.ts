/** State of a simulated updater: what the real one reports (contract, "Identity", "Update health component"). */
import { BRAND } from "../domain/brand.ts";
import { serverEndpointAttribute } from "../domain/update/allowed-url.ts";
import { toComponentHealth } from "../domain/update/health-report.ts";
import { boundedText } from "../domain/update/step-error.ts";
import { withV } from "../domain/update/version.ts";
import type { AgentState } from "../protocol/agent-client.ts";
import { PACKAGE_STATUS, type ComponentHealth, type PackageStatuses } from "../protocol/messages.ts";
import type { HostMemory } from "./memory.ts";
import type { HostProfile } from "./plan.ts";

/** Parts are made when they are sent: most messages are heartbeats. */
export function updaterState(
  host: HostProfile,
  memory: HostMemory,
  endpoint: string,
  startNanos: bigint,
  updating: boolean,
): AgentState {
  const { attributes } = BRAND;
  return {
    get agentDescription() {
      return {
        identifyingAttributes: new Map([
          ["service.name", BRAND.updaterServiceName],
          ["service.version", "sim"],
          ["service.instance.id", memory.updaterUid],
        ]),
        nonIdentifyingAttributes: new Map([
          ["host.name", host.name],
          ["os.type", host.os],
          ["host.arch", host.arch],
          [attributes.collectorUid, memory.collectorUid],
          [attributes.supervisorService, "opampsupervisor.service"],
          [attributes.installMethod, "binary"],
          [attributes.serverEndpoint, serverEndpointAttribute(endpoint)],
        ]),
      };
    },
    get health() {
      return healthOf(memory, startNanos, updating);
    },
    get packageStatuses() {
      return packageStatusesOf(memory);
    },
  };
}

function healthOf({ attempt, lastFailure }: HostMemory, startNanos: bigint, updating: boolean): ComponentHealth {
  const healthy = attempt?.healthy ?? true;
  return {
    healthy,
    startTimeUnixNano: startNanos,
    lastError: lastFailure === "" ? "" : boundedText(`${BRAND.lastUpdateFailed}${lastFailure}`),
    status: updating ? BRAND.statusUpdating : healthy ? "StatusOK" : "StatusPermanentError",
    statusTimeUnixNano: BigInt(attempt?.statusNanos ?? startNanos),
    componentHealthMap: new Map(attempt === undefined ? [] : [[BRAND.updateComponent, toComponentHealth(attempt)]]),
  };
}

function packageStatusesOf({ answer, installed, version }: HostMemory): PackageStatuses {
  if (answer === undefined)
    return { packages: new Map(), serverProvidedAllPackagesHash: new Uint8Array(), errorMessage: "" };
  const one = {
    name: BRAND.packageName,
    agentHasVersion: withV(version),
    agentHasHash: Buffer.from(installed?.packageHash ?? "", "hex"),
    serverOfferedVersion: answer.offeredVersion,
    serverOfferedHash: Buffer.from(answer.packageHash, "hex"),
    status: PACKAGE_STATUS[answer.status],
    errorMessage: boundedText(answer.error),
  };
  return {
    packages: new Map([[BRAND.packageName, one]]),
    serverProvidedAllPackagesHash: Buffer.from(answer.allPackagesHash, "hex"),
    errorMessage: "",
  };
}
