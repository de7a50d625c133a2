/**
 * OpAMP messages as the rest of the program sees them: plain data. 64-bit numbers are bigint (nanoseconds do not fit a
 * double), everything keyed from outside is a Map (a key may be `__proto__`), an absent sub-message is an absent
 * property, and an instance UID is its UUID text in lower case.
 */

export type AnyValue = string | boolean | bigint | number | Uint8Array | AnyValue[] | Map<string, AnyValue> | null;
/** Integers are bigint, doubles are number; of two equal keys the last wins. */
export type Attributes = Map<string, AnyValue>;

export type AgentDescription = { identifyingAttributes: Attributes; nonIdentifyingAttributes: Attributes };

export type ComponentHealth = {
  healthy: boolean;
  startTimeUnixNano: bigint;
  lastError: string;
  status: string;
  statusTimeUnixNano: bigint;
  componentHealthMap: Map<string, ComponentHealth>;
  attributes?: Attributes;
};

type ConfigFile = { body: Uint8Array; contentType: string };
export type ConfigMap = Map<string, ConfigFile>;

export const REMOTE_CONFIG_STATUS = { unset: 0, applied: 1, applying: 2, failed: 3 } as const;
export type RemoteConfigStatus = { lastRemoteConfigHash: Uint8Array; status: number; errorMessage: string };

/** A status that is absent on the wire is `installed`. */
export const PACKAGE_STATUS = {
  installed: 0,
  installPending: 1,
  installing: 2,
  installFailed: 3,
  downloading: 4,
} as const;
export type PackageStatus = {
  name: string;
  agentHasVersion: string;
  agentHasHash: Uint8Array;
  serverOfferedVersion: string;
  serverOfferedHash: Uint8Array;
  /** PACKAGE_STATUS; another number is kept as it came. */
  status: number;
  errorMessage: string;
  downloadDetails?: { downloadPercent: number; downloadBytesPerSecond: number };
};
export type PackageStatuses = {
  packages: Map<string, PackageStatus>;
  serverProvidedAllPackagesHash: Uint8Array;
  errorMessage: string;
};

export type ComponentDetails = { metadata: Attributes; subComponentMap: Map<string, ComponentDetails> };
type AvailableComponents = { components: Map<string, ComponentDetails>; hash: Uint8Array };
type CustomMessage = { capability: string; type: string; data: Uint8Array };
type ConnectionSettingsStatus = { lastConnectionSettingsHash: Uint8Array; status: number; errorMessage: string };

/** An absent sub-message means "unchanged since the last report". */
export type AgentToServer = {
  instanceUid: string;
  sequenceNum: bigint;
  capabilities: bigint;
  flags: bigint;
  agentDescription?: AgentDescription;
  health?: ComponentHealth;
  effectiveConfig?: { configMap: ConfigMap };
  remoteConfigStatus?: RemoteConfigStatus;
  packageStatuses?: PackageStatuses;
  agentDisconnect?: true;
  customCapabilities?: string[];
  customMessage?: CustomMessage;
  availableComponents?: AvailableComponents;
  connectionSettingsStatus?: ConnectionSettingsStatus;
};

export const AGENT_CAPABILITY = {
  reportsStatus: 0x1n,
  acceptsRemoteConfig: 0x2n,
  reportsEffectiveConfig: 0x4n,
  acceptsPackages: 0x8n,
  reportsPackageStatuses: 0x10n,
  reportsOwnTraces: 0x20n,
  reportsOwnMetrics: 0x40n,
  reportsOwnLogs: 0x80n,
  acceptsOpampConnectionSettings: 0x100n,
  acceptsOtherConnectionSettings: 0x200n,
  acceptsRestartCommand: 0x400n,
  reportsHealth: 0x800n,
  reportsRemoteConfig: 0x1000n,
  reportsHeartbeat: 0x2000n,
  reportsAvailableComponents: 0x4000n,
  reportsConnectionSettingsStatus: 0x8000n,
} as const;
export const AGENT_FLAG = { requestInstanceUid: 0x1n } as const;

const SERVER_CAPABILITY = {
  acceptsStatus: 0x1n,
  offersRemoteConfig: 0x2n,
  acceptsEffectiveConfig: 0x4n,
  offersPackages: 0x8n,
  acceptsPackagesStatus: 0x10n,
} as const;
/** What this server always does, and nothing that it does not. */
export const SERVER_CAPABILITIES = Object.values(SERVER_CAPABILITY).reduce((all, bit) => all | bit, 0n);
/** Also told by a server that has connection settings to offer. */
export const OFFERS_CONNECTION_SETTINGS = 0x20n;
export const SERVER_FLAG = { reportFullState: 0x1n, reportAvailableComponents: 0x2n } as const;

export type Header = { key: string; value: string };
type DownloadableFile = {
  downloadUrl: string;
  /** SHA-256 of the file. */
  contentHash: Uint8Array;
  signature: Uint8Array;
  headers: Header[];
};
export const PACKAGE_TYPE = { topLevel: 0, addon: 1 } as const;
export type PackageAvailable = { type: number; version: string; file?: DownloadableFile; hash: Uint8Array };
export type PackagesAvailable = { packages: Map<string, PackageAvailable>; allPackagesHash: Uint8Array };

export const SERVER_ERROR = { unknown: 0, badRequest: 1, unavailable: 2 } as const;
export type ServerErrorResponse = { type: number; errorMessage: string; retryAfterNanoseconds?: bigint };
export type AgentRemoteConfig = { config: ConfigMap; configHash: Uint8Array };
export const COMMAND = { restart: 0 } as const;

/** Of connection settings only the part about the OpAMP connection itself is read; this server never offers any. */
export type OpampConnectionSettings = {
  destinationEndpoint: string;
  headers?: Header[];
  /** 0 switches heartbeats off. */
  heartbeatIntervalSeconds: bigint;
};

export type ServerToAgent = {
  instanceUid: string;
  errorResponse?: ServerErrorResponse;
  remoteConfig?: AgentRemoteConfig;
  connectionSettings?: { hash: Uint8Array; opamp?: OpampConnectionSettings };
  packagesAvailable?: PackagesAvailable;
  flags: bigint;
  capabilities: bigint;
  agentIdentification?: { newInstanceUid: string };
  command?: { type: number };
  customCapabilities?: string[];
  customMessage?: CustomMessage;
};

export const hasBit = (bits: bigint, bit: bigint): boolean => (bits & bit) !== 0n;

/** Text of an attribute; undefined when it is absent or no text. */
export const textAttribute = (attributes: Attributes, key: string): string | undefined => {
  const value = attributes.get(key);
  return typeof value === "string" ? value : undefined;
};
