import { describe, expect, it } from "vitest";
import { DEFAULT_MIRROR_URL } from "@sigstore/tuf";
import { stringify } from "yaml";
import { CONTRACT_DEFAULTS } from "../domain/brand.ts";
import { formatIssue } from "../domain/config/strict-yaml.ts";
import { parseUpdaterConfig, type UpdaterSettings } from "./config.ts";

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
      tufMirrorUrl: "https://tuf-repo-cdn.sigstore.dev",
      tufRootFile: "",
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
    [
      "a TUF repository without its first root",
      { update: { trustedRootFile: "", tufMirrorUrl: "https://tuf.example.com" } },
      /update\.tufRootFile: must name the first root\.json of the repository at update\.tufMirrorUrl/,
    ],
    ["a TUF repository that is no URL", { update: { tufMirrorUrl: "sigstore" } }, /tufMirrorUrl: must be an http/],
    ["a number that is none", { update: { keepVersions: "two" } }, /keepVersions: must be a whole number, at least 1/],
    ["no version to keep", { update: { keepVersions: 0 } }, /keepVersions: must be at least 1/],
    ["a switch that is a text", { update: { allowDowngrade: "yes" } }, /allowDowngrade: must be true or false/],
    ["no time to become healthy", { update: { healthTimeout: "0s" } }, /healthTimeout: must be more than 0; leave/],
    ["a health URL that is none", { collector: { healthUrl: "127.0.0.1:13133" } }, /collector\.healthUrl/],
  ])("%s is refused with file and line", (_, over, issue) => {
    const result = read(over);
    expect(result.ok).toBe(false);
    expect(result.ok ? "" : result.issues.map(formatIssue).join("\n")).toMatch(issue);
  });

  it("says what is risky: no collector health, no required signature", () => {
    const result = read({ collector: { healthUrl: undefined }, update: { requireSignature: false } });
    expect(result.ok && result.warnings.map(({ path }) => path)).toEqual([
      "collector.healthUrl",
      "update.requireSignature",
    ]);
  });

  it("without a root file takes the root from the public repository, without a word", () => {
    const result = read({ update: { trustedRootFile: undefined } });
    expect(result).toMatchObject({
      ok: true,
      warnings: [],
      settings: { update: { trustedRootFile: "", tufMirrorUrl: DEFAULT_MIRROR_URL } },
    });
  });

  it("takes another TUF repository with its first root, and says when it is not used", () => {
    const mirror = { tufMirrorUrl: "https://tuf.example.com/", tufRootFile: "/etc/myriarch/root.json" };
    expect(read({ update: { ...mirror, trustedRootFile: "" } })).toMatchObject({
      ok: true,
      warnings: [],
      settings: { update: { tufMirrorUrl: "https://tuf.example.com" } },
    });
    const unused = read({ update: mirror });
    expect(unused.ok && unused.warnings.map(formatIssue)).toEqual([
      expect.stringMatching(
        /^updater\.yaml:\d+:\d+: warning: update\.tufMirrorUrl: is not used, .*remove one of them$/,
      ),
    ]);
  });
});

/**
 * One wrong setting in each section, as a new user makes them: the error names file, line, key, and what to write instead.
 * A section without a row does not compile.
 */
const WRONG: Record<keyof UpdaterSettings, [wrong: string, message: string]> = {
  server: [
    "  endpoint: https://fleet.example.com",
    "server.endpoint: must be a ws:// or wss:// URL, for example wss://fleet.example.com/v1/opamp",
  ],
  hostName: ["hostName: 7", "hostName: must be a text; what looks like a number or a list needs quotes"],
  stateDir: ["stateDir:", "stateDir: is missing: the updater's own folder, for example /var/lib/myriarch-updater"],
  installDir: ['installDir: ""', "installDir: is missing: the folder of collector versions, for example /opt/otelcol"],
  binary: ["binary: /usr/bin/otelcol", "binary: must be a plain file name, for example otelcol-contrib"],
  supervisor: [
    "  manager: systemctl",
    'supervisor.manager: Invalid option: expected one of "systemd"|"windows"|"process"',
  ],
  collector: [
    "  healthUrl: 127.0.0.1:13133",
    "collector.healthUrl: must be an http or https URL, for example http://127.0.0.1:13133/",
  ],
  update: ["  idleTimeout: 60", "update.idleTimeout: not a duration: write for example 90s, 5m, 1h30m or 30d"],
  container: ["  imageDir: image", "container.imageDir: must be an absolute path, for example /opt/image"],
};
const WHOLE: Record<keyof UpdaterSettings, string> = {
  server: "server:\n  tokenFile: /etc/myriarch/token\n  endpoint: wss://fleet.example.com/v1/opamp",
  hostName: "hostName: web-01",
  stateDir: "stateDir: /var/lib/myriarch-updater",
  installDir: "installDir: /opt/otelcol",
  binary: "binary: otelcol",
  supervisor: "supervisor:\n  command: [s]\n  storageDir: /var/lib/otelcol/supervisor\n  manager: process",
  collector: "collector:\n  healthUrl: http://127.0.0.1:13133/",
  update: "update:\n  idleTimeout: 30s",
  container: "container:\n  imageDir: /opt/image",
};

describe("one wrong setting in the section", () => {
  const sections = Object.keys(WHOLE) as (keyof UpdaterSettings)[];
  it.each(sections)("%s is named with file, line, key and remedy", (section) => {
    const [wrong, message] = WRONG[section];
    const lines = sections.flatMap((one) => {
      const own = WHOLE[one].split("\n");
      return one === section ? [...own.slice(0, -1), wrong] : own;
    });
    const whole = parseUpdaterConfig(sections.map((one) => WHOLE[one]).join("\n"), "updater.yaml");
    expect(whole).toMatchObject({ ok: true, warnings: [] });
    const result = parseUpdaterConfig(lines.join("\n"), "updater.yaml");
    const told = result.ok ? [] : result.issues.map(formatIssue);
    expect(told).toEqual([expect.stringContaining(message)]);
    expect(told[0]).toMatch(new RegExp(`^updater\\.yaml:${lines.indexOf(wrong) + 1}:\\d+: error: `));
  });

  it.each<[string, string]>([
    ["server.endpoint", "where the server listens for agents, for example wss://"],
    ["stateDir", "the updater's own folder, for example /"],
    ["installDir", "the folder of collector versions, for example /"],
    ["supervisor.storageDir", "the storage folder in the supervisor's own configuration"],
  ])("%s that is missing is told with what belongs there", (path, what) => {
    const result = parseUpdaterConfig("server: {}\nsupervisor: {}\n", "updater.yaml");
    const told = result.ok ? [] : result.issues.map(formatIssue);
    expect(told).toContainEqual(expect.stringContaining(`error: ${path}: is missing: ${what}`));
  });
});

describe("a container section", () => {
  const inContainer = (over: Tree) =>
    read({
      supervisor: { manager: "process", command: ["/opampsupervisor"] },
      container: { imageDir: "/usr/share/myriarch/image" },
      ...over,
    });
  const told = (over: Tree) => {
    const result = inContainer(over);
    return result.ok ? [] : result.issues.map(formatIssue);
  };

  it("lets a newer image replace what is active; without imageDir the image brings no collector", () => {
    expect(inContainer({})).toMatchObject({ ok: true, settings: { container: { imagePrecedence: "newer" } } });
    expect(inContainer({ container: {} })).toMatchObject({ ok: true });
    const onHost = read({});
    expect(onHost.ok && onHost.settings.container).toBeUndefined();
  });

  it.each<[string, Tree, RegExp]>([
    [
      "a service manager",
      { supervisor: { manager: "systemd" } },
      /:\d+:\d+: error: supervisor\.manager: must be process in a container/,
    ],
    ["copies", { update: { activation: "copy" } }, /error: update\.activation: must be symlink in a container/],
    [
      "an image on the volume",
      { container: { imageDir: "/opt/otelcol/image" } },
      /error: container\.imageDir: must lie apart/,
    ],
    ["a volume in the image", { container: { imageDir: "/opt" } }, /error: container\.imageDir: must lie apart/],
    [
      "another precedence",
      { container: { imagePrecedence: "newest" } },
      /error: container\.imagePrecedence: .*"newer"/,
    ],
  ])("refuses %s", (_, over, message) => {
    expect(told(over)).toEqual([expect.stringMatching(message)]);
  });
});
