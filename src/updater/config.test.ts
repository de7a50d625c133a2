import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { CONTRACT_DEFAULTS } from "../domain/brand.ts";
import { formatIssue } from "../domain/config/strict-yaml.ts";
import { parseUpdaterConfig } from "./config.ts";

const minimal = {
  server: { endpoint: "wss://fleet.example.com/v1/opamp", tokenFile: "/etc/myriarch/token" },
  stateDir: "/var/lib/myriarch-updater",
  installDir: "/opt/otelcol",
  supervisor: { manager: "systemd", service: "opampsupervisor", storageDir: "/var/lib/otelcol/supervisor" },
  collector: { healthUrl: "http://127.0.0.1:13133/" },
  update: { trustedRootFile: "/etc/myriarch/trusted_root.json" },
};
type Tree = { [key: string]: unknown };
const merged = (base: Tree, over: Tree): Tree =>
  Object.entries(over).reduce<Tree>(
    (all, [key, value]) => ({
      ...all,
      [key]:
        typeof value === "object" && value !== null && !Array.isArray(value)
          ? merged((all[key] ?? {}) as Tree, value as Tree)
          : value,
    }),
    base,
  );
const read = (over: Tree) => parseUpdaterConfig(stringify(merged(minimal, over)), "updater.yaml");

describe("the updater's configuration", () => {
  it("is complete with the contract's defaults", () => {
    const result = read({});
    if (!result.ok) throw new Error(result.issues.map(formatIssue).join("\n"));
    expect(result.warnings).toEqual([]);
    expect(result.settings.binary).toBe("otelcol-contrib");
    expect(result.settings.update).toEqual({
      allowDowngrade: false,
      requireSignature: true,
      certificateIdentityRegexp: CONTRACT_DEFAULTS.identityPattern,
      certificateOidcIssuer: "https://token.actions.githubusercontent.com",
      trustedRootFile: "/etc/myriarch/trusted_root.json",
      allowedUrlPrefixes: ["https://fleet.example.com/api/v1/artifacts/"],
      maxArchiveBytes: 1024 ** 3,
      idleTimeout: 60_000,
      failedRetryBackoff: 600_000,
      keepVersions: 2,
      preflightValidate: true,
      activation: "symlink",
      healthSuccesses: 3,
      healthInterval: 5_000,
      healthTimeout: 120_000,
    });
    expect(result.settings.supervisor.stateReadInterval).toBe(60_000);
  });

  it.each<[string, Tree, RegExp]>([
    [
      "an unknown key, with a hint",
      { update: { alowDowngrade: true } },
      /updater\.yaml:\d+:\d+: error: update\.alowDowngrade: unknown key \(did you mean allowDowngrade\?\)/,
    ],
    [
      "an unanchored identity pattern",
      { update: { certificateIdentityRegexp: "https://github.com/.*" } },
      /certificateIdentityRegexp: .*anchor|certificateIdentityRegexp: .*\^/,
    ],
    [
      "an identity pattern anchored in one alternative only",
      { update: { certificateIdentityRegexp: "^a|b$" } },
      /certificateIdentityRegexp/,
    ],
    ["no credential", { server: { tokenFile: undefined } }, /server: .*credential/],
    ["two tokens", { server: { token: "x" } }, /server\.token: .*not both/],
    [
      "an endpoint that is no WebSocket",
      { server: { endpoint: "https://fleet.example.com" } },
      /server\.endpoint: must be a ws/,
    ],
    [
      "an endpoint with credentials",
      { server: { endpoint: "wss://u:p@fleet.example.com" } },
      /server\.endpoint: must not carry credentials/,
    ],
    ["a certificate without key", { server: { tls: { certFile: "/a" } } }, /server\.tls: .*belong together/],
    ["manager process without command", { supervisor: { manager: "process" } }, /supervisor\.command/],
    ["manager systemd without service", { supervisor: { service: undefined } }, /supervisor\.service/],
    ["a service name that is an option", { supervisor: { service: "--now" } }, /supervisor\.service/],
    ["a binary that is a path", { binary: "../otelcol" }, /binary: must be a plain file name/],
    ["a malformed floor", { update: { minimumVersion: "0.160" } }, /minimumVersion/],
    ["a prefix that climbs", { update: { allowedUrlPrefixes: ["https://a/x/../y"] } }, /allowedUrlPrefixes\.0/],
    ["a health timeout that no success fits in", { update: { healthTimeout: "5s" } }, /healthTimeout: is too short/],
    ["a duration without unit", { update: { idleTimeout: 60 } }, /idleTimeout: not a duration/],
    ["a health URL that is none", { collector: { healthUrl: "127.0.0.1:13133" } }, /collector\.healthUrl/],
  ])("%s is refused with file and line", (_, over, issue) => {
    const result = read(over);
    expect(result.ok).toBe(false);
    expect(result.ok ? "" : result.issues.map(formatIssue).join("\n")).toMatch(issue);
  });

  it("says what is risky: no collector health, no required signature, no root", () => {
    const result = read({
      collector: { healthUrl: undefined },
      update: { requireSignature: false, trustedRootFile: "" },
    });
    expect(result.ok && result.warnings.map(({ path }) => path)).toEqual([
      "collector.healthUrl",
      "update.requireSignature",
      "update.trustedRootFile",
    ]);
  });
});
