/**
 * Binding names of the protocol and of the repository (contract/updater-protocol "Constants", contract/git-source-of-truth).
 * They are wire format: changing one breaks hosts in the field. A table test holds each of them.
 */
export const BRAND = {
  apiVersion: "myriarch.dev/v1alpha1",
  updaterServiceName: "myriarch-updater",
  updateComponent: "dev.myriarch.update",
  stepPrefix: "step:",
  versionChild: "version",
  fromChild: "from",
  /** The only package name an updater accepts. */
  packageName: "",
  opampPath: "/v1/opamp",
  attributes: {
    collectorUid: "dev.myriarch.collector.instance_uid",
    supervisorService: "dev.myriarch.updater.supervisor_service",
    installMethod: "dev.myriarch.updater.install_method",
    serverEndpoint: "dev.myriarch.updater.server_endpoint",
    imageCollectorVersion: "dev.myriarch.updater.image_collector_version",
  },
  statusUpdating: "StatusUpdating",
  lastUpdateFailed: "last update failed: ",
  unsupportedPackage: "unsupported package",
  legacySignature: "legacy signature format not supported (needs online Rekor)",
} as const;

/** Capabilities of the updater: status, packages, package statuses, health, heartbeat (contract, "Identity"). */
export const UPDATER_CAPABILITIES = 0x2819;

/** Defaults that the contract states; configuration may change them, code may not. */
export const CONTRACT_DEFAULTS = {
  maxArchiveBytes: 1024 ** 3,
  idleTimeoutMs: 60_000,
  failedRetryBackoffMs: 600_000,
  keepVersions: 2,
  healthSuccesses: 3,
  healthIntervalMs: 5_000,
  healthTimeoutMs: 120_000,
  maxErrorChars: 1_000,
  maxRedirects: 5,
  downloadTokenTtlMs: 24 * 3_600_000,
  attemptStartToleranceMs: 120_000,
  minCopies: 3,
  pollIntervalMs: 60_000,
  maxFiles: 2_000,
  maxYamlBytes: 64 * 1024 ** 2,
  maxFileBytes: 4 * 1024 ** 2,
  /** The public Sigstore TUF repository. */
  tufMirrorUrl: "https://tuf-repo-cdn.sigstore.dev",
  oidcIssuer: "https://token.actions.githubusercontent.com",
  identityPattern:
    "^https://github\\.com/open-telemetry/opentelemetry-collector-releases/\\.github/workflows/base-release\\.yaml@refs/tags/v\\d+\\.\\d+\\.\\d+$",
} as const;

/** Steps of an attempt as the updater reports them, in their order (contract, "Update health component"). */
export const STEPS = ["downloading", "verifying", "installing", "restarting", "health_check", "rolling_back"] as const;
export type Step = (typeof STEPS)[number];

/** Classes of failure (decisions, "Waves and targets"). An updater's step error begins with its class and a colon. */
export const FAILURE_CLASSES = [
  "download",
  "verification",
  "policy_refused",
  "preflight",
  "disk_full",
  "install",
  "health",
  "rollback_failed",
  "timeout",
  "no_data",
  "executor",
  "withdrawn",
  "configuration",
  "incompatible",
  "regressed",
] as const;
export type FailureClass = (typeof FAILURE_CLASSES)[number];
export const isFailureClass = (text: string | null): text is FailureClass =>
  FAILURE_CLASSES.some((known) => known === text);
