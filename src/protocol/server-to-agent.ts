/** ServerToAgent between the wire and plain data. */
import type { opamp as pb } from "./generated/opamp.js";
import { malformed } from "./malformed.ts";
import type { OpampConnectionSettings, PackageAvailable, ServerErrorResponse, ServerToAgent } from "./messages.ts";
import { uidFromBytes, uidToBytes } from "./uid.ts";
import { fromConfigMap, toBigInt, toBytes, toConfigMap, toHeaders, toLong, toMap, toRecord } from "./wire.ts";

/** The instance UID may be empty: opamp-go's client does not check it, and an error answer to garbage has none. */
export function toServerToAgent(m: pb.ServerToAgent.$Properties): ServerToAgent {
  const { errorResponse, remoteConfig, connectionSettings, packagesAvailable, customMessage } = m;
  const result: ServerToAgent = {
    instanceUid: uidFromBytes(m.instanceUid ?? new Uint8Array()) ?? "",
    flags: toBigInt(m.flags),
    capabilities: toBigInt(m.capabilities),
  };
  if (errorResponse != null) result.errorResponse = toErrorResponse(errorResponse);
  if (remoteConfig != null)
    result.remoteConfig = { config: toConfigMap(remoteConfig.config), configHash: toBytes(remoteConfig.configHash) };
  if (connectionSettings != null) {
    const opampSettings = connectionSettings.opamp;
    result.connectionSettings = {
      hash: toBytes(connectionSettings.hash),
      ...(opampSettings == null ? {} : { opamp: toConnection(opampSettings) }),
    };
  }
  if (packagesAvailable != null)
    result.packagesAvailable = {
      packages: toMap(packagesAvailable.packages, toPackage),
      allPackagesHash: toBytes(packagesAvailable.allPackagesHash),
    };
  if (m.agentIdentification != null) {
    const newInstanceUid = uidFromBytes(m.agentIdentification.newInstanceUid ?? new Uint8Array());
    if (newInstanceUid === undefined) throw malformed("new_instance_uid is not 16 bytes, or all of them are zero");
    result.agentIdentification = { newInstanceUid };
  }
  if (m.command != null) result.command = { type: m.command.type ?? 0 };
  if (m.customCapabilities != null) result.customCapabilities = m.customCapabilities.capabilities ?? [];
  if (customMessage != null)
    result.customMessage = {
      capability: customMessage.capability ?? "",
      type: customMessage.type ?? "",
      data: toBytes(customMessage.data),
    };
  return result;
}

const toErrorResponse = (m: pb.ServerErrorResponse.$Properties): ServerErrorResponse => ({
  type: m.type ?? 0,
  errorMessage: m.errorMessage ?? "",
  ...(m.retryInfo == null ? {} : { retryAfterNanoseconds: toBigInt(m.retryInfo.retryAfterNanoseconds) }),
});

const toConnection = (m: pb.OpAMPConnectionSettings.$Properties): OpampConnectionSettings => ({
  destinationEndpoint: m.destinationEndpoint ?? "",
  heartbeatIntervalSeconds: toBigInt(m.heartbeatIntervalSeconds),
  ...(m.headers == null ? {} : { headers: toHeaders(m.headers) }),
});

const toPackage = (m: pb.PackageAvailable.$Properties): PackageAvailable => ({
  type: m.type ?? 0,
  version: m.version ?? "",
  hash: toBytes(m.hash),
  ...(m.file == null
    ? {}
    : {
        file: {
          downloadUrl: m.file.downloadUrl ?? "",
          contentHash: toBytes(m.file.contentHash),
          signature: toBytes(m.file.signature),
          headers: toHeaders(m.file.headers),
        },
      }),
});

/** Enum numbers that this release does not know are sent as they are: hence the cast. */
export function fromServerToAgent(m: ServerToAgent): pb.ServerToAgent.$Properties {
  const { errorResponse, remoteConfig, packagesAvailable, connectionSettings, agentIdentification } = m;
  return {
    instanceUid: m.instanceUid === "" ? new Uint8Array() : uidToBytes(m.instanceUid),
    flags: toLong(m.flags),
    capabilities: toLong(m.capabilities),
    errorResponse: errorResponse && fromErrorResponse(errorResponse),
    remoteConfig: remoteConfig && { config: fromConfigMap(remoteConfig.config), configHash: remoteConfig.configHash },
    connectionSettings: connectionSettings && {
      hash: connectionSettings.hash,
      opamp: connectionSettings.opamp && fromConnection(connectionSettings.opamp),
    },
    packagesAvailable: packagesAvailable && {
      packages: toRecord(packagesAvailable.packages, fromPackage),
      allPackagesHash: packagesAvailable.allPackagesHash,
    },
    agentIdentification: agentIdentification && { newInstanceUid: uidToBytes(agentIdentification.newInstanceUid) },
    command: m.command,
    customCapabilities: m.customCapabilities && { capabilities: m.customCapabilities },
    customMessage: m.customMessage,
  } as pb.ServerToAgent.$Properties;
}

const fromErrorResponse = (m: ServerErrorResponse) => ({
  type: m.type,
  errorMessage: m.errorMessage,
  ...(m.retryAfterNanoseconds === undefined
    ? {}
    : { retryInfo: { retryAfterNanoseconds: toLong(m.retryAfterNanoseconds) } }),
});

const fromConnection = (m: OpampConnectionSettings): pb.OpAMPConnectionSettings.$Properties => ({
  destinationEndpoint: m.destinationEndpoint,
  heartbeatIntervalSeconds: toLong(m.heartbeatIntervalSeconds),
  ...(m.headers === undefined ? {} : { headers: { headers: m.headers } }),
});

const fromPackage = (m: PackageAvailable) => ({
  type: m.type,
  version: m.version,
  hash: m.hash,
  ...(m.file === undefined
    ? {}
    : {
        file: {
          downloadUrl: m.file.downloadUrl,
          contentHash: m.file.contentHash,
          signature: m.file.signature,
          ...(m.file.headers.length === 0 ? {} : { headers: { headers: m.file.headers } }),
        },
      }),
});
