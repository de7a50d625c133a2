/** The constants, names, defaults and texts of the contract, each once. A change here is a change of the wire. */
import { expect, test } from "vitest";
import { BRAND, CONTRACT_DEFAULTS, STEPS, UPDATER_CAPABILITIES } from "./brand.ts";

test.each([
  ["apiVersion", BRAND.apiVersion, "myriarch.dev/v1alpha1"],
  ["service name of the updater", BRAND.updaterServiceName, "myriarch-updater"],
  ["component key", BRAND.updateComponent, "dev.myriarch.update"],
  ["step prefix", BRAND.stepPrefix, "step:"],
  ["version child", BRAND.versionChild, "version"],
  ["from child", BRAND.fromChild, "from"],
  ["package name", BRAND.packageName, ""],
  ["link attribute", BRAND.attributes.collectorUid, "dev.myriarch.collector.instance_uid"],
  ["supervisor service attribute", BRAND.attributes.supervisorService, "dev.myriarch.updater.supervisor_service"],
  ["install method attribute", BRAND.attributes.installMethod, "dev.myriarch.updater.install_method"],
  ["server endpoint attribute", BRAND.attributes.serverEndpoint, "dev.myriarch.updater.server_endpoint"],
  ["image attribute", BRAND.attributes.imageCollectorVersion, "dev.myriarch.updater.image_collector_version"],
  ["status during an attempt", BRAND.statusUpdating, "StatusUpdating"],
  ["text after a failure", BRAND.lastUpdateFailed, "last update failed: "],
  ["legacy signature text", BRAND.legacySignature, "legacy signature format not supported (needs online Rekor)"],
  ["unsupported package text", BRAND.unsupportedPackage, "unsupported package"],
  ["OIDC issuer", CONTRACT_DEFAULTS.oidcIssuer, "https://token.actions.githubusercontent.com"],
])("%s is the contract's", (_, ours, contract) => {
  expect(ours).toBe(contract);
});

test.each([
  ["archive limit 1 GiB", CONTRACT_DEFAULTS.maxArchiveBytes, 1_073_741_824],
  ["idle timeout 60 s", CONTRACT_DEFAULTS.idleTimeoutMs, 60_000],
  ["failed retry backoff 10 min", CONTRACT_DEFAULTS.failedRetryBackoffMs, 600_000],
  ["kept versions 2", CONTRACT_DEFAULTS.keepVersions, 2],
  ["health successes 3", CONTRACT_DEFAULTS.healthSuccesses, 3],
  ["health interval 5 s", CONTRACT_DEFAULTS.healthIntervalMs, 5_000],
  ["health timeout 120 s", CONTRACT_DEFAULTS.healthTimeoutMs, 120_000],
  ["error text 1000 characters", CONTRACT_DEFAULTS.maxErrorChars, 1_000],
  ["redirects 5", CONTRACT_DEFAULTS.maxRedirects, 5],
  ["download token 24 h", CONTRACT_DEFAULTS.downloadTokenTtlMs, 86_400_000],
  ["attempt tolerance 2 min", CONTRACT_DEFAULTS.attemptStartToleranceMs, 120_000],
  ["sufficient copies 3", CONTRACT_DEFAULTS.minCopies, 3],
  ["poll interval 60 s", CONTRACT_DEFAULTS.pollIntervalMs, 60_000],
  ["files 2000", CONTRACT_DEFAULTS.maxFiles, 2_000],
  ["YAML bytes 64 MiB", CONTRACT_DEFAULTS.maxYamlBytes, 67_108_864],
  ["file 4 MiB", CONTRACT_DEFAULTS.maxFileBytes, 4_194_304],
  ["updater capabilities", UPDATER_CAPABILITIES, 0x1 | 0x8 | 0x10 | 0x800 | 0x2000],
])("default: %s", (_, ours, contract) => {
  expect(ours).toBe(contract);
});

test("the steps of an attempt are the contract's, in its order", () => {
  expect(STEPS).toEqual(["downloading", "verifying", "installing", "restarting", "health_check", "rolling_back"]);
});

test("the default identity pattern accepts plain release tags of the upstream workflow only", () => {
  const at = (tag: string): string =>
    `https://github.com/open-telemetry/opentelemetry-collector-releases/.github/workflows/base-release.yaml@refs/tags/${tag}`;
  const pattern = new RegExp(CONTRACT_DEFAULTS.identityPattern);
  expect(pattern.test(at("v0.162.0"))).toBe(true);
  expect(pattern.test(at("v0.162.0-nightly.1"))).toBe(false);
  expect(pattern.test(`x${at("v0.162.0")}`)).toBe(false);
});
