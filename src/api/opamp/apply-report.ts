/** What a message changes in our picture of an agent. Texts are bounded here: a hostile agent says what it likes. */
import { classifyAgent } from "../../domain/agents/classify.ts";
import { healthAfter, unhealthyComponents } from "../../domain/agents/health-since.ts";
import { pipelinesOf } from "../../domain/agents/judge-health.ts";
import { platformOf } from "../../domain/artifact/asset.ts";
import { BRAND, CONTRACT_DEFAULTS } from "../../domain/brand.ts";
import { readUpdateComponent } from "../../domain/update/health-report.ts";
import { normalizeVersion } from "../../domain/update/version.ts";
import { encodeHealth } from "../../protocol/codec.ts";
import { PACKAGE_STATUS, REMOTE_CONFIG_STATUS, textAttribute } from "../../protocol/messages.ts";
import type {
  AgentDescription,
  AgentToServer,
  AnyValue,
  ComponentHealth,
  PackageStatuses,
  RemoteConfigStatus,
} from "../../protocol/messages.ts";
import { readUid } from "../../protocol/uid.ts";
import type { AgentRecord } from "../../store/agents.ts";

const MAX_NAME_CHARS = 255;
const MAX_TEXT_CHARS = 2_000;
const MAX_ATTRIBUTES = 200;
const MAX_HASH_BYTES = 256;
const MAX_ATTRIBUTE_BYTES = 64 * 1024;
/** A report of 24 components has 1 KiB. A larger one is judged, and not kept. */
const MAX_HEALTH_BYTES = 256 * 1024;

/** A picture of an agent of which only its name and credential are known. */
export const blankRecord = (
  uid: string,
  credential: { name: string; labels: Record<string, string> },
  now: Date,
): AgentRecord => ({
  uid,
  kind: "unknown",
  kindReason: "it has not described itself yet",
  credential: credential.name,
  credentialLabels: credential.labels,
  hostName: "",
  serviceName: "",
  version: "",
  os: "",
  arch: "",
  attributes: {},
  capabilities: 0n,
  connected: true,
  lastSeenAt: now,
  sequenceNum: 0n,
  healthy: false,
  healthySince: null,
  startTimeNanos: 0n,
  unhealthyComponents: [],
  healthStatus: "",
  lastError: "",
  health: null,
  remoteConfigHash: null,
  remoteConfigStatus: 0,
  remoteConfigError: "",
  appliedConfigHash: null,
  failedConfigHash: null,
  failedConfigError: "",
  failedConfigAt: null,
  componentsHash: null,
  pipelines: null,
  collectorUid: null,
  updateAttempt: null,
  packageStatus: null,
});

export type Changes = {
  /** Something besides the time and the sequence number. */
  any: boolean;
  /** What linking and fleets look at: kind, host, attributes. */
  identity: boolean;
};

/** Writes what the message reports into `record`. */
export function applyReport(record: AgentRecord, message: AgentToServer, now: Date): Changes {
  const { agentDescription, health, remoteConfigStatus, packageStatuses, availableComponents } = message;
  const otherCapabilities = record.capabilities !== message.capabilities;
  record.lastSeenAt = now;
  record.sequenceNum = message.sequenceNum;
  record.capabilities = message.capabilities;
  if (agentDescription !== undefined) describe(record, agentDescription);
  if (agentDescription !== undefined || otherCapabilities) {
    const { kind, reason } = classifyAgent(record.serviceName, record.capabilities);
    Object.assign(record, { kind, kindReason: reason });
  }
  if (health !== undefined) applyHealth(record, health, now);
  if (remoteConfigStatus !== undefined) applyConfigStatus(record, remoteConfigStatus, now);
  const otherComponents = availableComponents !== undefined && applyComponents(record, availableComponents.hash);
  if (packageStatuses !== undefined) record.packageStatus = packageStatusOf(packageStatuses);
  const identity = agentDescription !== undefined || otherCapabilities;
  return {
    any:
      identity ||
      otherComponents ||
      [health, remoteConfigStatus, packageStatuses, message.effectiveConfig].some((x) => x !== undefined),
    identity,
  };
}

function describe(record: AgentRecord, { identifyingAttributes, nonIdentifyingAttributes }: AgentDescription): void {
  const all = new Map([...nonIdentifyingAttributes, ...identifyingAttributes]);
  const named = (key: string): string => (textAttribute(all, key) ?? "").slice(0, MAX_NAME_CHARS);
  const version = textAttribute(identifyingAttributes, "service.version") ?? named("service.version");
  const platform = platformOf(named("os.type"), named("host.arch"));
  record.serviceName = named("service.name");
  record.version = (normalizeVersion(version) ?? version.replace(/^v/, "")).slice(0, MAX_NAME_CHARS);
  record.hostName = named("host.name");
  record.os = platform?.os ?? named("os.type");
  record.arch = platform?.arch ?? named("host.arch");
  record.collectorUid = readUid(named(BRAND.attributes.collectorUid)) ?? null;
  record.attributes = boundedAttributes(all);
}

function boundedAttributes(all: Map<string, AnyValue>): Record<string, unknown> {
  const plain = plainAttributes(all);
  if (Buffer.byteLength(JSON.stringify(plain)) <= MAX_ATTRIBUTE_BYTES) return plain;
  const short = Array.from(all).filter(([, value]) => typeof value === "string" && value.length <= MAX_NAME_CHARS);
  return plainAttributes(new Map(short.slice(0, MAX_ATTRIBUTE_BYTES / (8 * MAX_NAME_CHARS))));
}

/** Attributes as JSON: bounded in number and length, every key an own one. */
function plainAttributes(all: Map<string, AnyValue>): Record<string, unknown> {
  const plain = Object.create(null) as Record<string, unknown>;
  for (const [key, value] of Array.from(all).slice(0, MAX_ATTRIBUTES))
    plain[key.slice(0, MAX_NAME_CHARS)] = jsonOf(value);
  return plain;
}

function jsonOf(value: AnyValue): unknown {
  if (typeof value === "string") return value.slice(0, MAX_TEXT_CHARS);
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (value instanceof Uint8Array) return Buffer.from(value.subarray(0, MAX_TEXT_CHARS)).toString("base64");
  if (Array.isArray(value)) return value.slice(0, MAX_ATTRIBUTES).map(jsonOf);
  return value instanceof Map ? plainAttributes(value) : value;
}

const bounded = (hash: Uint8Array): Buffer | null =>
  hash.length === 0 ? null : Buffer.from(hash.subarray(0, MAX_HASH_BYTES));

/** What failed is remembered also when the agent says in the same breath that it runs another one. */
function applyConfigStatus(record: AgentRecord, said: RemoteConfigStatus, now: Date): void {
  const hash = bounded(said.lastRemoteConfigHash);
  record.remoteConfigHash = hash;
  record.remoteConfigStatus = said.status;
  record.remoteConfigError = said.errorMessage.slice(0, MAX_TEXT_CHARS);
  if (hash === null) return;
  if (said.status === REMOTE_CONFIG_STATUS.failed) {
    const isNew = record.failedConfigHash?.equals(hash) !== true;
    record.failedConfigHash = hash;
    record.failedConfigError = record.remoteConfigError;
    if (isNew) record.failedConfigAt = now;
    return;
  }
  if (record.failedConfigHash?.equals(hash) === true) forgetFailure(record);
  if (said.status === REMOTE_CONFIG_STATUS.applied) record.appliedConfigHash = hash;
}

/** It is tried again, or worked in the end. */
export function forgetFailure(record: AgentRecord): void {
  record.failedConfigHash = null;
  record.failedConfigError = "";
  record.failedConfigAt = null;
}

/** True when its build is another one than before. */
function applyComponents(record: AgentRecord, said: Uint8Array): boolean {
  const hash = bounded(said);
  const isSame = hash === null ? record.componentsHash === null : record.componentsHash?.equals(hash) === true;
  record.componentsHash = hash;
  return !isSame;
}

function applyHealth(record: AgentRecord, health: ComponentHealth, now: Date): void {
  Object.assign(record, healthAfter(record, health, now));
  // The steps of an update are no parts of the updater: a failed one does not make the updater unwell.
  record.unhealthyComponents = unhealthyComponents(health)
    .filter((name) => name.split("/")[0] !== BRAND.updateComponent)
    .map((name) => name.slice(0, MAX_NAME_CHARS));
  record.pipelines =
    record.kind === "collector"
      ? pipelinesOf(health.componentHealthMap.keys()).map((name) => name.slice(0, MAX_NAME_CHARS))
      : null;
  record.healthStatus = health.status.slice(0, MAX_NAME_CHARS);
  record.lastError = health.lastError.slice(0, MAX_TEXT_CHARS);
  const raw = encodeHealth(health);
  record.health = raw.length > MAX_HEALTH_BYTES ? null : Buffer.from(raw);
  const update = health.componentHealthMap.get(BRAND.updateComponent);
  if (record.kind === "updater")
    record.updateAttempt = update === undefined ? null : (readUpdateComponent(update) ?? null);
}

const STATUS_NAMES: Readonly<Record<number, string>> = {
  [PACKAGE_STATUS.installed]: "installed",
  [PACKAGE_STATUS.installPending]: "install_pending",
  [PACKAGE_STATUS.installing]: "installing",
  [PACKAGE_STATUS.installFailed]: "install_failed",
  [PACKAGE_STATUS.downloading]: "downloading",
};

/** What pages and rollouts read of the one package (`agents.package_status`). */
export type PackageStatusView = {
  /** Hexadecimal. */
  allPackagesHash: string;
  status: string;
  version: string;
  offeredVersion: string;
  /** Only with `install_failed`: an older error sticks to later statuses of some clients. */
  error: string;
  percent: number | null;
};

function packageStatusOf(statuses: PackageStatuses): PackageStatusView | null {
  const one = statuses.packages.get(BRAND.packageName);
  if (one === undefined && statuses.serverProvidedAllPackagesHash.length === 0) return null;
  const failed = one?.status === PACKAGE_STATUS.installFailed;
  const versionOf = (text = ""): string => (normalizeVersion(text) ?? text).slice(0, MAX_NAME_CHARS);
  return {
    allPackagesHash: Buffer.from(statuses.serverProvidedAllPackagesHash.subarray(0, MAX_HASH_BYTES)).toString("hex"),
    status: STATUS_NAMES[one?.status ?? PACKAGE_STATUS.installed] ?? "unknown",
    version: versionOf(one?.agentHasVersion),
    offeredVersion: versionOf(one?.serverOfferedVersion),
    error: failed ? (one?.errorMessage || statuses.errorMessage).slice(0, CONTRACT_DEFAULTS.maxErrorChars) : "",
    percent: one?.downloadDetails === undefined ? null : one.downloadDetails.downloadPercent,
  };
}
