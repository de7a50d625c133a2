/**
 * Every default and every text that the updater protocol states, beside what this program makes of them: the defaults as
 * an empty configuration has them, the texts as they come out of the code that says them.
 */
import { describe, expect, it } from "vitest";
import { CONTRACT_DEFAULTS } from "../domain/brand.ts";
import { failure } from "../domain/errors.ts";
import { judgeRedirect } from "../domain/update/allowed-url.ts";
import {
  beginAttempt,
  stepDone,
  stepFailed,
  supervisorStopping,
  type RunningAttempt,
} from "../domain/update/attempt.ts";
import { judgeVersion } from "../domain/update/downgrade.ts";
import { beginReport, closeInterrupted, toComponentHealth } from "../domain/update/health-report.ts";
import { decideOffer } from "../domain/update/offer.ts";
import { boundedText } from "../domain/update/step-error.ts";
import { describeUpdater } from "./attributes.ts";
import { parseUpdaterConfig, type UpdaterSettings } from "./config.ts";
import { Layout } from "./layout.ts";
import { systemFiles } from "./files.ts";
import { healthOf } from "./report-status.ts";

function settingsOf(endpoint = "wss://fleet.example.com/v1/opamp"): UpdaterSettings {
  const read = parseUpdaterConfig(
    `server: { endpoint: "${endpoint}", tokenFile: /t }
stateDir: /s
installDir: /i
supervisor: { manager: systemd, service: opampsupervisor, storageDir: /p }
`,
    "updater.yaml",
  );
  if (!read.ok) throw new Error(JSON.stringify(read.issues));
  return read.settings;
}
const { update, supervisor } = settingsOf();

describe("defaults of the contract", () => {
  it.each<[words: string, ours: unknown, contract: unknown]>([
    ["Size is limited (default 1 GiB)", update.maxArchiveBytes, 2 ** 30],
    ["a stalled read fails after the idle timeout (default 60 seconds)", update.idleTimeout, 60_000],
    ["failedRetryBackoff (default 10 minutes)", update.failedRetryBackoff, 10 * 60_000],
    ["prune old versions beyond keepVersions (default 2)", update.keepVersions, 2],
    ["healthSuccesses consecutive successes (default 3)", update.healthSuccesses, 3],
    ["at healthInterval (default 5 seconds)", update.healthInterval, 5_000],
    ["within healthTimeout (default 120 seconds)", update.healthTimeout, 120_000],
    ["requireSignature is true (the default)", update.requireSignature, true],
    ["Unless update.allowDowngrade is set", update.allowDowngrade, false],
    ["with the issuer", update.certificateOidcIssuer, "https://token.actions.githubusercontent.com"],
    ["trustedRootFile or, when empty, the public Sigstore TUF repository", update.trustedRootFile, ""],
    ["The file is re-read about once a minute", supervisor.stateReadInterval, 60_000],
    ["If the list is empty", update.allowedUrlPrefixes, ["https://fleet.example.com/api/v1/artifacts/"]],
    ["(Linux and containers: activation symlink)", update.activation, "symlink"],
    ["at most 1000 characters", boundedText("x".repeat(2_000)).length, 1_000],
    ["limited to five hops", CONTRACT_DEFAULTS.maxRedirects, 5],
  ])("%s", (_, ours, contract) => {
    expect(ours).toEqual(contract);
  });
});

const versions = { version: "0.162.0", from: "0.161.0" };
/** After the stop, in its health check. */
const checking: RunningAttempt = {
  ...supervisorStopping({ ...beginAttempt(), step: "installing" }),
  step: "health_check",
};
function rolledBack(): string {
  const back = stepFailed(checking, "health: 503", versions);
  const end = back.kind === "running" ? stepDone(back, versions) : back;
  return end.kind === "ended" ? (end.cause ?? "") : "";
}
const refusal = (verdict: { allowed: boolean; because?: string }): string => verdict.because ?? "";
const health = (over: Partial<Parameters<typeof healthOf>[0]>) =>
  healthOf({ startNanos: 1n, statusNanos: 1n, updating: false, lastFailure: "", attempt: undefined, ...over });
const attributesAt = (endpoint: string) =>
  describeUpdater(settingsOf(endpoint), "1.0.0", "uid", undefined).nonIdentifyingAttributes;

describe("texts of the contract", () => {
  const foreign = { name: "otelcol", topLevel: true, version: "v1.0.0", contentHash: "c", packageHash: "p" };
  const idle = { running: undefined, installed: undefined, backoffOf: () => undefined };
  const offered = decideOffer({ allPackagesHash: "a", packages: [foreign] }, idle);
  const cutOff = closeInterrupted(beginReport(versions, 1n), "install: interrupted by a restart", 2n);
  it.each<[words: string, ours: unknown, contract: unknown]>([
    [
      "update to v… failed: …; rolled back to v…",
      rolledBack(),
      "update to v0.162.0 failed: health: 503; rolled back to v0.161.0",
    ],
    ["last update failed: …", health({ lastFailure: "health: 503" }).lastError, "last update failed: health: 503"],
    ["status StatusUpdating during an attempt", health({ updating: true }).status, "StatusUpdating"],
    [
      "legacy signature format not supported (needs online Rekor)",
      failure("signature_legacy", undefined).message,
      "legacy signature format not supported (needs online Rekor)",
    ],
    ["unsupported package", offered.do === "refuse" && offered.because, /^unsupported package/],
    ["closed as failed (interrupted)", `${cutOff.status} ${cutOff.error}`, /^failed .*interrupted/],
    [
      "offers below the floor",
      refusal(judgeVersion("v1.0.0", undefined, { allowDowngrade: true, minimumVersion: "1.0.1" })),
      /below minimumVersion v1\.0\.1/,
    ],
    [
      "older than the active version",
      refusal(judgeVersion("v1.0.0", { version: "1.0.1" }, { allowDowngrade: false })),
      /older than the active v1\.0\.1/,
    ],
    [
      "a redirect from https to http is refused",
      refusal(judgeRedirect("https://a/x", "http://a/x", 1, ["http://a"])),
      "a redirect from https to http",
    ],
    [
      "limited to five hops",
      refusal(judgeRedirect("https://a/x", "https://a/x", 6, ["https://a"])),
      "more than 5 redirects",
    ],
    [
      "server_endpoint: the port always explicit",
      attributesAt("ws://fleet.example.com:8080/v1/opamp").get("dev.myriarch.updater.server_endpoint"),
      "ws://fleet.example.com:8080",
    ],
    ["install_method binary", attributesAt("ws://a/b").get("dev.myriarch.updater.install_method"), "binary"],
    [
      "<installDir>/versions/<version>/<binary>",
      layout("symlink").versionBinary("0.162.0"),
      "/i/versions/0.162.0/otelcol",
    ],
    ["current/<binary>", layout("symlink").stable, "/i/current/otelcol"],
    ["bin/<binary>", layout("copy").stable, "/i/bin/otelcol"],
  ])("%s", (_, ours, contract) => {
    if (contract instanceof RegExp) expect(ours).toMatch(contract);
    else expect(ours).toEqual(contract);
  });

  it("the component has the children version (with v), from, and a step: for each", () => {
    const { componentHealthMap } = toComponentHealth(beginReport(versions, 1n));
    expect(Array.from(componentHealthMap, ([key, { status }]) => `${key}=${status}`)).toEqual([
      "version=v0.162.0",
      "from=v0.161.0",
      "step:downloading=running",
    ]);
  });
});

function layout(activation: "symlink" | "copy"): Layout {
  return new Layout({ installDir: "/i", binary: "otelcol", activation }, systemFiles);
}
