/** AgentToServer between the wire and plain data. */
import type { opamp as pb } from "./generated/opamp.js";
import { malformed } from "./malformed.ts";
import type { AgentToServer, PackageStatus, PackageStatuses } from "./messages.ts";
import { uidFromBytes, uidToBytes } from "./uid.ts";
import {
  fromAttributes,
  fromComponents,
  fromConfigMap,
  fromHealth,
  toAttributes,
  toBigInt,
  toBytes,
  toComponents,
  toConfigMap,
  toHealth,
  toLong,
  toMap,
  toRecord,
} from "./wire.ts";

/** Throws Malformed when the UID is not 16 bytes or all zero, or something is nested too deeply. */
export function toAgentToServer(m: pb.AgentToServer.$Properties): AgentToServer {
  const instanceUid = uidFromBytes(m.instanceUid ?? new Uint8Array());
  if (instanceUid === undefined) throw malformed("instance_uid is not 16 bytes, or all of them are zero");
  return {
    instanceUid,
    sequenceNum: toBigInt(m.sequenceNum),
    capabilities: toBigInt(m.capabilities),
    flags: toBigInt(m.flags),
    ...reportsOf(m),
    ...(m.agentDisconnect == null ? {} : { agentDisconnect: true as const }),
    ...(m.customCapabilities == null ? {} : { customCapabilities: m.customCapabilities.capabilities ?? [] }),
    ...(m.customMessage == null
      ? {}
      : {
          customMessage: {
            capability: m.customMessage.capability ?? "",
            type: m.customMessage.type ?? "",
            data: toBytes(m.customMessage.data),
          },
        }),
  };
}

type Reports = Omit<AgentToServer, "instanceUid" | "sequenceNum" | "capabilities" | "flags">;

/** The sub-messages whose absence means "unchanged". */
function reportsOf(m: pb.AgentToServer.$Properties): Reports {
  const { agentDescription, health, effectiveConfig, remoteConfigStatus, packageStatuses } = m;
  const { availableComponents, connectionSettingsStatus } = m;
  const reports: Reports = {};
  if (agentDescription != null)
    reports.agentDescription = {
      identifyingAttributes: toAttributes(agentDescription.identifyingAttributes),
      nonIdentifyingAttributes: toAttributes(agentDescription.nonIdentifyingAttributes),
    };
  if (health != null) reports.health = toHealth(health);
  if (effectiveConfig != null) reports.effectiveConfig = { configMap: toConfigMap(effectiveConfig.configMap) };
  if (remoteConfigStatus != null)
    reports.remoteConfigStatus = {
      lastRemoteConfigHash: toBytes(remoteConfigStatus.lastRemoteConfigHash),
      status: remoteConfigStatus.status ?? 0,
      errorMessage: remoteConfigStatus.errorMessage ?? "",
    };
  if (packageStatuses != null) reports.packageStatuses = toPackageStatuses(packageStatuses);
  if (availableComponents != null)
    reports.availableComponents = {
      components: toMap(availableComponents.components, (details) => toComponents(details)),
      hash: toBytes(availableComponents.hash),
    };
  if (connectionSettingsStatus != null)
    reports.connectionSettingsStatus = {
      lastConnectionSettingsHash: toBytes(connectionSettingsStatus.lastConnectionSettingsHash),
      status: connectionSettingsStatus.status ?? 0,
      errorMessage: connectionSettingsStatus.errorMessage ?? "",
    };
  return reports;
}

const toPackageStatuses = (m: pb.PackageStatuses.$Properties): PackageStatuses => ({
  packages: toMap(m.packages, toPackageStatus),
  serverProvidedAllPackagesHash: toBytes(m.serverProvidedAllPackagesHash),
  errorMessage: m.errorMessage ?? "",
});

const toPackageStatus = (m: pb.PackageStatus.$Properties): PackageStatus => ({
  name: m.name ?? "",
  agentHasVersion: m.agentHasVersion ?? "",
  agentHasHash: toBytes(m.agentHasHash),
  serverOfferedVersion: m.serverOfferedVersion ?? "",
  serverOfferedHash: toBytes(m.serverOfferedHash),
  status: m.status ?? 0,
  errorMessage: m.errorMessage ?? "",
  ...(m.downloadDetails == null
    ? {}
    : {
        downloadDetails: {
          downloadPercent: m.downloadDetails.downloadPercent ?? 0,
          downloadBytesPerSecond: m.downloadDetails.downloadBytesPerSecond ?? 0,
        },
      }),
});

/** Enum numbers that this release does not know are sent as they are: hence the cast. */
export function fromAgentToServer(m: AgentToServer): pb.AgentToServer.$Properties {
  const { agentDescription, effectiveConfig, packageStatuses, availableComponents } = m;
  return {
    instanceUid: uidToBytes(m.instanceUid),
    sequenceNum: toLong(m.sequenceNum),
    capabilities: toLong(m.capabilities),
    flags: toLong(m.flags),
    agentDescription: agentDescription && {
      identifyingAttributes: fromAttributes(agentDescription.identifyingAttributes),
      nonIdentifyingAttributes: fromAttributes(agentDescription.nonIdentifyingAttributes),
    },
    health: m.health && fromHealth(m.health),
    effectiveConfig: effectiveConfig && { configMap: fromConfigMap(effectiveConfig.configMap) },
    remoteConfigStatus: m.remoteConfigStatus,
    packageStatuses: packageStatuses && {
      ...packageStatuses,
      packages: toRecord(packageStatuses.packages, (status) => status),
    },
    agentDisconnect: m.agentDisconnect && {},
    customCapabilities: m.customCapabilities && { capabilities: m.customCapabilities },
    customMessage: m.customMessage,
    availableComponents: availableComponents && {
      components: toRecord(availableComponents.components, fromComponents),
      hash: availableComponents.hash,
    },
    connectionSettingsStatus: m.connectionSettingsStatus,
  } as pb.AgentToServer.$Properties;
}
