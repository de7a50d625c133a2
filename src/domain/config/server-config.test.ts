import { describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { readSecret } from "./secret.ts";
import { describeConfig, parseServerConfig, variableOf } from "./server-config.ts";
import { formatIssue } from "./strict-yaml.ts";

const GOOD = `server:
  publicUrl: https://fleet.example.com
secrets: { keyFile: /etc/myriarch/key }
gitops:
  url: https://git.example.com/fleets.git
artifacts:
  trustedRootFile: /etc/myriarch/root.json
  stagingDir: /var/lib/myriarch/staging
depots: { controlTokenFile: /etc/myriarch/control, readTokenFile: /etc/myriarch/read }
database: { urlFile: /etc/myriarch/database }
`;
/** The good file with some keys changed; undefined removes one. */
function withKeys(changes: Record<string, unknown>): string {
  const data = parse(GOOD) as Record<string, Record<string, unknown>>;
  for (const [path, value] of Object.entries(changes)) {
    const [section = "", ...keys] = path.split(".");
    if (keys.length === 0) (data as Record<string, unknown>)[section] = value;
    else {
      data[section] ??= {};
      data[section][keys.join(".")] = value;
    }
  }
  return stringify(data);
}
const read = (text: string, env: Record<string, string> = {}) => parseServerConfig(text, "myriarchd.yaml", env);
const issuesOf = (text: string, env: Record<string, string> = {}) => {
  const result = read(text, env);
  return (result.ok ? result.warnings : result.issues).map(formatIssue);
};
const settingsOf = (text: string, env: Record<string, string> = {}) => {
  const result = read(text, env);
  if (!result.ok) throw new Error(result.issues.map(formatIssue).join("\n"));
  return result.settings;
};

describe("the server's configuration", () => {
  it("has the documented defaults", () => {
    const settings = settingsOf(GOOD);
    expect(issuesOf(GOOD)).toEqual([]);
    expect(settings).toMatchObject({
      mode: "production",
      gitops: {
        branch: "main",
        path: "",
        pollIntervalMs: 60_000,
        timeoutMs: 60_000,
        maxFiles: 2_000,
        maxYamlBytes: 64 * 1024 ** 2,
        validationTimeoutMs: 180_000,
      },
      artifacts: {
        downloadTokenTtlMs: 24 * 3_600_000,
        agentBaseUrls: [],
        minCopies: 3,
        keepForMs: 30 * 86_400_000,
        sourceBaseUrl: "https://github.com/open-telemetry/opentelemetry-collector-releases/releases/download",
        certificateOidcIssuer: "https://token.actions.githubusercontent.com",
      },
      agents: { heartbeatIntervalMs: 30_000, offlineAfterMs: 70_000, forgetAfterMs: 30 * 86_400_000 },
      auth: { apiTokens: true },
      temporal: { namespace: "default", retentionMs: 90 * 86_400_000 },
    });
    expect(settings.gitops.webhookSecret).toBeUndefined();
  });

  it.each([
    ["server.lissten", "x", /server\.lissten: unknown key \(did you mean listen\?\)/],
    ["srever", {}, /srever: unknown key \(did you mean server\?\)/],
    ["server.listen", "8080", /server\.listen: not an address to listen on/],
    ["server.listen", "127.0.0.1:99999", /server\.listen: not an address/],
    ["server.trustedProxies", ["10.0.0.0/33"], /server\.trustedProxies\.0: not an address or network/],
    ["server.trustedProxies", ["proxy.example.com"], /server\.trustedProxies\.0: not an address or network/],
    ["server.trustedProxies", ["*"], /server\.trustedProxies\.0: not an address or network/],
    [
      "server.publicUrl",
      undefined,
      /server\.publicUrl: a value is required|server: a value is required|expected object/,
    ],
    ["server.publicUrl", "fleet.example.com", /must be an absolute http or https URL/],
    ["server.publicUrl", "https://fleet.example.com/base", /no path but \//],
    ["server.publicUrl", "http://fleet.example.com", /plain http needs mode: development/],
    ["mode", "prod", /mode: Invalid option/],
    ["gitops.pollInterval", "soon", /not a duration/],
    ["gitops.pollInterval", "0s", /must be longer than 0/],
    ["gitops.maxYamlBytes", "lots", /not a size/],
    ["gitops.maxFiles", 0, /maxFiles: Too small/],
    ["gitops.branch", "--upload-pack=touch /tmp/x", /gitops\.branch: must not begin with -/],
    ["gitops.branch", "a..b", /gitops\.branch: must not contain \.\./],
    ["gitops.branch", "a b", /gitops\.branch: must not contain spaces/],
    ["gitops.branch", "x.lock", /gitops\.branch: no part may/],
    ["gitops.path", "../other", /gitops\.path: must not contain empty parts/],
    ["gitops.path", "/abs", /gitops\.path: must be relative/],
    ["gitops.url", "--upload-pack=x", /gitops\.url: must not begin with -/],
    ["gitops.url", "ext::sh -c x", /gitops\.url: must not name a remote helper/],
    ["gitops.url", "https://kim:hunter2@git.example.com/x", /must not contain a password/],
    ["gitops.url", "http://git.example.com/x", /not encrypted/],
    ["artifacts.certificateIdentityRegexp", "https://x", /anchored|identity/i],
    ["artifacts.certificateIdentityRegexp", "^a|b$", /anchored|identity/i],
    ["artifacts.sourceBaseUrl", "ftp://x", /must be an http, https or file URL/],
    ["artifacts.minCopies", "three", /minCopies/],
    ["artifacts.agentBaseUrls", ["http://fleet.internal"], /allowInsecureAgentBaseUrls/],
    ["artifacts.agentBaseUrls", ["https://fleet.internal/x"], /no path but/],
    ["artifacts.agentBaseUrls", ["https://u:p@fleet.internal"], /credentials/],
    ["artifacts.agentBaseUrls", ["https://fleet.internal?x=1"], /query/],
    ["artifacts.agentBaseUrls", ["fleet.internal"], /absolute/],
    ["agents.offlineAfter", "20s", /longer than agents\.heartbeatInterval/],
    ["depots.controlTokenEnv", "X", /give only one of/],
    ["depots", {}, /needs controlTokenFile or controlTokenEnv/],
    ["database", {}, /needs url, urlFile, or DATABASE_URL/],
    ["database", { url: "mysql://x" }, /must be a postgres/],
    ["auth.oidc", {}, /auth\.oidc: unknown key/],
  ])("refuses %s: %j", (key, value, says) => {
    const result = read(withKeys({ [key]: value }));
    const issues = result.ok ? [] : result.issues.map(formatIssue);
    expect(result.ok).toBe(false);
    expect(issues.join("\n")).toMatch(says);
  });

  it.each([
    ["gitops.branch", "lb-auto-voc"],
    ["gitops.branch", "release/1.2"],
    ["gitops.url", "git@git.example.com:fleets.git"],
    ["gitops.url", "ssh://git@git.example.com/fleets.git"],
    ["gitops.url", "/srv/git/fleets.git"],
    ["artifacts.sourceBaseUrl", "file:///srv/mirror"],
    ["artifacts.agentBaseUrls", ["https://[fd00::1]:8443", "https://fleet.internal/"]],
    ["artifacts.downloadTokenTtl", "0"],
    ["server.listen", "[::1]:8080"],
    ["server.listen", ":8080"],
    ["server.trustedProxies", ["127.0.0.1", "10.0.0.0/8", "fd00::/8", "::1", "loopback", "uniquelocal"]],
  ])("accepts %s: %j", (key, value) => {
    expect(issuesOf(withKeys({ [key]: value }))).toEqual([]);
  });

  it("names every issue at once, each with file, line and column", () => {
    const text = "mode: prod\nserver:\n  publicUrl: 5\n  lissten: x\ngitops: { url: /x, pollInterval: soon }\n";
    expect(issuesOf(text)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^myriarchd\.yaml:1:7: error: mode: /),
        expect.stringMatching(/^myriarchd\.yaml:3:14: error: server\.publicUrl: /),
        expect.stringMatching(/^myriarchd\.yaml:4:3: error: server\.lissten: unknown key \(did you mean listen\?\)$/),
        expect.stringMatching(/^myriarchd\.yaml:5:34: error: gitops\.pollInterval: not a duration/),
        expect.stringMatching(/artifacts: a value is required/),
      ]),
    );
  });
  it.each([
    ["a: 1\na: 2\n", /:2:1: error: .*unique/],
    ["- list\n", /must be one mapping/],
    ["server: [\n", /error/],
    ["x".repeat(5 * 1024 ** 2), /larger than/],
    ["gitops: { __proto__: { a: 1 } }\n", /gitops\.__proto__: unknown key/],
    ["a: &a { b: 1 }\nserver: { <<: *a }\n", /<<: unknown key/],
  ])("refuses a file that is no plain mapping: %.20s", (text, says) => {
    expect(issuesOf(text).join("\n")).toMatch(says);
  });

  it("development allows plain http and any base URL, and nothing else", () => {
    const text = withKeys({
      mode: "development",
      "server.publicUrl": "http://127.0.0.1:8080",
      "gitops.url": "http://127.0.0.1/x.git",
      "artifacts.agentBaseUrls": ["http://fleet.internal/x"],
    });
    expect(issuesOf(text)).toEqual([]);
    expect(issuesOf(withKeys({ mode: "development", "gitops.branch": "-x" }))).not.toEqual([]);
  });
  it("plain http for agents in production needs the switch and is warned of", () => {
    const text = withKeys({
      "artifacts.agentBaseUrls": ["http://fleet.internal"],
      "artifacts.allowInsecureAgentBaseUrls": true,
    });
    expect(issuesOf(text)).toEqual([
      expect.stringContaining("warning: artifacts.agentBaseUrls: entry 1 is plain http"),
    ]);
    expect(settingsOf(text).artifacts.agentBaseUrls).toEqual(["http://fleet.internal"]);
  });
});

describe("the environment", () => {
  it("overrides keys by their names, and by the usual names of database and Temporal", () => {
    const settings = settingsOf(withKeys({ database: undefined }), {
      MYRIARCH_SERVER_PUBLIC_URL: "https://other.example.com",
      MYRIARCH_ARTIFACTS_MIN_COPIES: "2",
      MYRIARCH_ARTIFACTS_AGENT_BASE_URLS: "https://a.example, https://b.example",
      MYRIARCH_GITOPS_POLL_INTERVAL: "5s",
      DATABASE_URL: "postgres://u:planted@db/x",
      TEMPORAL_ADDRESS: "temporal:7233",
      TEMPORAL_NAMESPACE: "prod",
    });
    expect(settings).toMatchObject({
      server: { publicUrl: "https://other.example.com" },
      artifacts: { minCopies: 2, agentBaseUrls: ["https://a.example", "https://b.example"] },
      gitops: { pollIntervalMs: 5_000 },
      database: { url: { kind: "env", name: "DATABASE_URL" } },
      temporal: { address: "temporal:7233", namespace: "prod" },
    });
  });
  it("wins over the other spelling of the same key in the file", () => {
    const settings = settingsOf(withKeys({ database: { urlFile: "/etc/myriarch/database" } }), {
      DATABASE_URL: "postgres://u:planted@db/x",
    });
    expect(settings.database.url).toEqual({ kind: "env", name: "DATABASE_URL" });
  });
  it("is named as the place of its own mistakes", () => {
    expect(issuesOf(GOOD, { MYRIARCH_ARTIFACTS_MIN_COPIES: "many" })).toEqual([
      expect.stringMatching(/^environment MYRIARCH_ARTIFACTS_MIN_COPIES: error: artifacts\.minCopies: /),
    ]);
  });
  it("is warned of when a name fits no key, and not when it means something else", () => {
    expect(issuesOf(GOOD, { MYRIARCH_SERVER_PUBLIK_URL: "x" })).toEqual([
      expect.stringContaining("no key has this name (did you mean MYRIARCH_SERVER_PUBLIC_URL?)"),
    ]);
    expect(issuesOf(GOOD, { MYRIARCH_TEMPORAL_BIN: "/usr/bin/temporal", MYRIARCH_DATA: "/x" })).toEqual([]);
  });
  it("has one variable per key", () => {
    expect(variableOf("artifacts.allowInsecureAgentBaseUrls")).toBe(
      "MYRIARCH_ARTIFACTS_ALLOW_INSECURE_AGENT_BASE_URLS",
    );
  });
});

describe("secrets", () => {
  const text = withKeys({
    "gitops.webhookSecret": "planted-webhook-secret",
    database: { url: "postgres://u:planted-password@db/x" },
  });
  it("stand in the file only with a warning", () => {
    expect(issuesOf(text)).toEqual([
      expect.stringContaining("warning: gitops.webhookSecret"),
      expect.stringContaining("warning: database.url"),
    ]);
  });
  it("are never printed by check-config, nor named in an issue", () => {
    const printed = JSON.stringify(describeConfig(settingsOf(text))) + issuesOf(text).join();
    expect(printed).toContain("inline (redacted)");
    expect(printed).not.toContain("planted");
    const wrong = issuesOf(text.replace("postgres:", "mysql:").replace("fleets.git", "fleets.git?token=planted-token"));
    expect(wrong.join()).not.toContain("planted");
  });
  it.each([
    [{ kind: "inline", value: " s3cret \n" }, "s3cret"],
    [{ kind: "env", name: "TOKEN" }, "from-env"],
    [{ kind: "file", path: "/token" }, "from-file"],
  ] as const)("are read from %j", async (secret, value) => {
    const readFile = async () => "from-file\n";
    expect(await readSecret(secret, { env: { TOKEN: "from-env" }, readFile })).toBe(value);
  });
  it.each([
    [{ kind: "env", name: "NONE" }, /NONE is not set/],
    [{ kind: "file", path: "/none" }, /\/none cannot be read/],
    [{ kind: "file", path: "/empty" }, /\/empty is empty/],
  ] as const)("that cannot be read say where they should be: %j", async (secret, says) => {
    const readFile = async (path: string) => {
      if (path === "/empty") return "\n";
      throw new Error("ENOENT");
    };
    await expect(readSecret(secret, { env: {}, readFile })).rejects.toThrow(says);
  });

  describe("executors.secrets", () => {
    const entry = { env: "AWX_TOKEN", urlPrefixes: ["https://awx.example.com/api/"] };
    const secrets = (...entries: object[]): string => withKeys({ executors: { secrets: entries } });

    it("becomes rules, each for one secret", () => {
      const file = { file: "/etc/hook", urlPrefixes: ["https://a.example.com", "https://b.example.com/x"] };
      expect(settingsOf(secrets(entry, file)).executors.secrets).toEqual([
        { kind: "env", name: "AWX_TOKEN", urlPrefixes: entry.urlPrefixes },
        { kind: "file", name: "/etc/hook", urlPrefixes: file.urlPrefixes },
      ]);
      expect(JSON.stringify(describeConfig(settingsOf(secrets(entry))))).toContain("https://awx.example.com/api/");
    });

    it.each<[string, object, string]>([
      ["both env and file", { ...entry, file: "/x" }, "exactly one of env, file"],
      ["neither", { urlPrefixes: entry.urlPrefixes }, "exactly one of env, file"],
      ["no prefix", { env: "A", urlPrefixes: [] }, "urlPrefixes"],
      ["a prefix that is no URL", { env: "A", urlPrefixes: ["awx.example.com"] }, "http or https URL"],
      ["a prefix with a query", { env: "A", urlPrefixes: ["https://a/?x"] }, "query or fragment"],
      ["a prefix with credentials", { env: "A", urlPrefixes: ["https://u:p@a/"] }, "credentials"],
      ["a prefix that climbs", { env: "A", urlPrefixes: ["https://a/x/../y"] }, "path"],
      ["plain http", { env: "A", urlPrefixes: ["http://a/"] }, "warning: executors.secrets.0.urlPrefixes.0"],
    ])("%s is named with its place", (_, wrong, message) => {
      const [issue = ""] = issuesOf(secrets(wrong));
      expect(issue).toContain(message);
      expect(issue).toMatch(/^myriarchd\.yaml:\d+:\d+: /);
    });

    it("comes from the environment as JSON", () => {
      const name = variableOf("executors.secrets");
      expect(settingsOf(GOOD, { [name]: JSON.stringify([entry]) }).executors.secrets).toHaveLength(1);
      expect(issuesOf(GOOD, { [name]: "AWX_TOKEN" })[0]).toContain(name);
    });
  });
});
