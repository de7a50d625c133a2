/**
 * The configuration of myriarchd: one strict YAML file, environment overrides (`MYRIARCH_<SECTION>_<KEY>`, and the usual
 * `DATABASE_URL`, `TEMPORAL_ADDRESS`, `TEMPORAL_NAMESPACE`), checked as a whole before anything starts.
 */
import { z } from "zod";
import { refusedPattern } from "../identity-pattern.ts";
import { judgeBranch, judgeGitPath, judgeGitUrl } from "../gitops/remote-names.ts";
import type { SecretRules } from "../gitops/check-secret-names.ts";
import { closest } from "./closest.ts";
import { judgeExecutorSecrets, secretRulesOf } from "./executor-secrets.ts";
import { describeSecret, type Secret } from "./secret.ts";
import { serverSchema, UPSTREAM_FEED, UPSTREAM_RELEASES, type Address, type ServerFile } from "./server-schema.ts";
import { overridablePaths, readStrictYaml, type ConfigIssue, type Locate, type Overrides } from "./strict-yaml.ts";

/** Complete and checked. Times in milliseconds, sizes in bytes; secrets are references, read by `readSecret`. */
export type ServerSettings = {
  mode: "production" | "development";
  server: {
    listen: Address;
    publicUrl: string;
    /** Paths of PEM files; absent: TLS ends in front of the server. */
    tls?: { certFile: string; keyFile: string; clientCaFile?: string };
    trustedProxies: string[];
  };
  secrets: { key: Secret; previousKey?: Secret };
  gitops: {
    url: string;
    branch: string;
    path: string;
    pollIntervalMs: number;
    timeoutMs: number;
    webhookSecret?: Secret;
    maxFiles: number;
    maxYamlBytes: number;
    validationTimeoutMs: number;
    /** Where the bare clone lies; absent: a folder beside `artifacts.stagingDir`. */
    cloneDir?: string;
    credentials?: { token?: Secret; sshKeyFile?: string; knownHostsFile?: string };
  };
  artifacts: {
    sourceBaseUrl: string;
    /** Feed or listing that is asked for new releases; absent: the source's own listing. */
    releasesFeedUrl?: string;
    /** 0: nobody looks for new releases. */
    discoverEveryMs: number;
    trustedRootFile: string;
    certificateIdentityRegexp: string;
    certificateOidcIssuer: string;
    /** 0: no age limit. */
    downloadTokenTtlMs: number;
    agentBaseUrls: string[];
    minCopies: number;
    /** How long a release stays after nothing needs it any more. */
    keepForMs: number;
    maxConcurrentDownloads: number;
    stagingDir: string;
    /** How long a worker that is told to end waits for the replication of what it has staged. */
    drainTimeoutMs: number;
  };
  agents: { heartbeatIntervalMs: number; offlineAfterMs: number; forgetAfterMs: number; acceptRate: number };
  /** Which secrets executors may use, and below which URLs. */
  executors: { secrets: SecretRules };
  auth: { apiTokens: boolean };
  depots: { controlToken: Secret; readToken: Secret };
  database: { url: Secret };
  temporal: {
    address: string;
    namespace: string;
    tls: boolean;
    apiKey?: Secret;
    retentionMs: number;
    /** Base of deep links into the Temporal UI, without a slash at the end. */
    uiUrl?: string;
  };
  telemetry: { metricsListen: Address; logLevel: ServerFile["telemetry"]["logLevel"] };
};

export type ServerConfigResult =
  | { ok: true; settings: ServerSettings; warnings: ConfigIssue[] }
  | { ok: false; issues: ConfigIssue[] };

type Env = Readonly<Record<string, string | undefined>>;
/** Variables that begin like an override and mean something else. */
const OTHER_VARIABLES = new Set(["MYRIARCH_TEMPORAL_BIN", "MYRIARCH_TEMPORAL_TEST_BIN", "MYRIARCH_SERVER"]);
const ALIASES = {
  DATABASE_URL: "database.url",
  TEMPORAL_ADDRESS: "temporal.address",
  TEMPORAL_NAMESPACE: "temporal.namespace",
} as const;

/** Parses and checks the whole file. `issues` holds errors and warnings; `file` only names it. */
export function parseServerConfig(text: string, file: string, env: Env): ServerConfigResult {
  const { overrides, issues: strange } = overridesFrom(env);
  const read = readStrictYaml(serverSchema, text, file, overrides);
  if (!read.ok) return { ok: false, issues: [...read.issues, ...strange] };
  const issues = [...strange, ...checkServer(read.value, read.locate, overrides)];
  if (issues.some(({ severity }) => severity === "error")) return { ok: false, issues };
  return { ok: true, settings: toSettings(read.value, overrides), warnings: issues };
}

function overridesFrom(env: Env): { overrides: Overrides; issues: ConfigIssue[] } {
  const paths = new Map(overridablePaths(serverSchema).map((path) => [variableOf(path), path]));
  const overrides = new Map<string, { name: string; value: string }>();
  const issues: ConfigIssue[] = [];
  for (const [name, value] of Object.entries(env)) {
    const path = paths.get(name) ?? ALIASES[name as keyof typeof ALIASES];
    // Shells and compose files say "not set" of the usual variables by an empty text.
    if (value === undefined || (value === "" && Object.hasOwn(ALIASES, name))) continue;
    if (path !== undefined) overrides.set(path, { name, value });
    else if (looksLikeOverride(name) && !OTHER_VARIABLES.has(name)) {
      const near = closest(name, Array.from(paths.keys()));
      const found = { severity: "warning", file: `environment ${name}`, line: 0, column: 0, path: "" } as const;
      issues.push({ ...found, message: "no key has this name", ...(near && { hint: `did you mean ${near}?` }) });
    }
  }
  return { overrides, issues };
}

const looksLikeOverride = (name: string): boolean =>
  Object.keys(serverSchema.shape).some((section) => name.startsWith(`${variableOf(section)}_`));

/** `server.publicUrl` → `MYRIARCH_SERVER_PUBLIC_URL`. */
export const variableOf = (path: string): string =>
  `MYRIARCH_${path
    .replaceAll(".", "_")
    .replaceAll(/([a-z])([A-Z])/g, "$1_$2")
    .toUpperCase()}`;

/** Durations that would make a loop spin or everything time out at once. */
const POSITIVE = [
  ["gitops", "pollInterval"],
  ["gitops", "timeout"],
  ["gitops", "validationTimeout"],
  ["agents", "heartbeatInterval"],
  ["agents", "forgetAfter"],
  ["temporal", "retention"],
] as const;

type Report = (path: string[], message: string, severity?: ConfigIssue["severity"]) => void;

function checkServer(it: ServerFile, locate: Locate, overrides: Overrides): ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  const report: Report = (path, message, severity = "error") =>
    issues.push({ severity, ...locate(path), path: path.join("."), message });
  checkUrls(it, report);
  checkGit(it, report);
  checkSecrets(it, report, overrides);
  for (const { path, message, severity } of judgeExecutorSecrets(it)) report(path, message, severity);
  const refused = refusedPattern(it.artifacts.certificateIdentityRegexp);
  if (refused !== undefined) report(["artifacts", "certificateIdentityRegexp"], refused);
  for (const [name, key] of POSITIVE)
    if ((it[name] as Record<string, unknown>)[key] === 0) report([name, key], "must be longer than 0");
  if (it.agents.offlineAfter <= it.agents.heartbeatInterval)
    report(["agents", "offlineAfter"], "must be longer than agents.heartbeatInterval");
  return issues;
}

function checkUrls(it: ServerFile, report: Report): void {
  const production = it.mode === "production";
  const publicUrl = readUrl(it.server.publicUrl, ["http:", "https:"]);
  if (publicUrl === undefined) report(["server", "publicUrl"], "must be an absolute http or https URL");
  else {
    if (extras(publicUrl))
      report(["server", "publicUrl"], "must have no path but /, no query, fragment or credentials");
    if (production && publicUrl.protocol === "http:")
      report(["server", "publicUrl"], "plain http needs mode: development; in production write https");
  }
  it.artifacts.agentBaseUrls.forEach((value, index) => {
    const at = ["artifacts", "agentBaseUrls"];
    const url = readUrl(value, ["http:", "https:"]);
    if (url === undefined) return report(at, `entry ${index + 1} must be an absolute http or https URL`);
    if (!production) return;
    if (extras(url)) report(at, `entry ${index + 1} must have no path but /, no query, fragment or credentials`);
    if (url.protocol === "https:") return;
    if (it.artifacts.allowInsecureAgentBaseUrls) report(at, `entry ${index + 1} is plain http`, "warning");
    else report(at, `entry ${index + 1} is plain http: this needs artifacts.allowInsecureAgentBaseUrls: true`);
  });
  const source = readUrl(it.artifacts.sourceBaseUrl, ["http:", "https:", "file:"]);
  if (source === undefined || source.username !== "" || source.search !== "" || source.hash !== "")
    report(["artifacts", "sourceBaseUrl"], "must be an http, https or file URL without query, fragment or credentials");
  const feed = it.artifacts.releasesFeedUrl;
  const feedUrl = feed === undefined ? undefined : readUrl(feed, ["http:", "https:"]);
  if (feed !== undefined && (feedUrl === undefined || feedUrl.username !== "" || feedUrl.search + feedUrl.hash !== ""))
    report(["artifacts", "releasesFeedUrl"], "must be an http or https URL without query, fragment or credentials");
  if (it.temporal.uiUrl !== undefined && readUrl(it.temporal.uiUrl, ["http:", "https:"]) === undefined)
    report(["temporal", "uiUrl"], "must be an absolute http or https URL");
}

function checkGit(it: ServerFile, report: Report): void {
  const { branch, path, url } = it.gitops;
  // The same judges as the reader of the repository: what is accepted here must not stop the worker at its start.
  for (const [key, problem] of [
    ["branch", judgeBranch(branch)],
    ["path", judgeGitPath(path.replace(/\/+$/, ""))],
    ["url", judgeGitUrl(url)],
  ] as const)
    if (problem !== undefined) report(["gitops", key], problem);
  const parsed = readUrl(url, ["http:", "git:"]);
  if (it.mode === "production" && (parsed?.protocol === "http:" || parsed?.protocol === "git:"))
    report(["gitops", "url"], "is not encrypted: this needs mode: development");
}

const SECRETS = [
  { path: ["gitops", "webhookSecret"], of: (it: ServerFile) => it.gitops, key: "webhookSecret", required: false },
  { path: ["gitops", "credentials"], of: (it: ServerFile) => it.gitops.credentials, key: "token", required: false },
  { path: ["depots", "controlTokenFile"], of: (it: ServerFile) => it.depots, key: "controlToken", required: true },
  { path: ["depots", "readTokenFile"], of: (it: ServerFile) => it.depots, key: "readToken", required: true },
  { path: ["temporal", "apiKeyFile"], of: (it: ServerFile) => it.temporal, key: "apiKey", required: false },
] as const;

function checkSecrets(it: ServerFile, report: Report, overrides: Overrides): void {
  for (const { path, of, key, required } of SECRETS) {
    const holder = (of(it) ?? {}) as Record<string, unknown>;
    const given = [key, `${key}File`, `${key}Env`].filter((name) => holder[name] !== undefined);
    if (given.length > 1) report([...path], `give only one of ${given.join(", ")}`);
    if (given.length === 0 && required) report([path[0]], `needs ${key}File or ${key}Env`);
  }
  if (it.gitops.webhookSecret !== undefined)
    report(["gitops", "webhookSecret"], "an inline secret can be read by whoever reads this file", "warning");
  const { url, urlFile } = it.database;
  const isOverridden = overrides.has("database.url");
  if (url === undefined && urlFile === undefined) report(["database"], "needs url, urlFile, or DATABASE_URL");
  // The environment wins over the file, also over the other spelling of the same key.
  if (url !== undefined && urlFile !== undefined && !isOverridden)
    report(["database", "url"], "give only one of url, urlFile");
  const parsed = url === undefined ? undefined : readUrl(url, ["postgres:", "postgresql:"]);
  if (url !== undefined && parsed === undefined) report(["database", "url"], "must be a postgres:// URL");
  if (parsed !== undefined && parsed.password !== "" && !isOverridden)
    report(["database", "url"], "holds a password that whoever reads this file can read: use urlFile", "warning");
}

const readUrl = (value: string, protocols: string[]): URL | undefined => {
  const url = URL.parse(value);
  return url !== null && protocols.includes(url.protocol) ? url : undefined;
};
const extras = (url: URL): boolean =>
  !["", "/"].includes(url.pathname) ||
  url.search !== "" ||
  url.hash !== "" ||
  url.username !== "" ||
  url.password !== "";

const secretOf = (holder: Record<string, unknown>, key: string): Secret | undefined => {
  const [value, path, name] = [holder[key], holder[`${key}File`], holder[`${key}Env`]];
  if (typeof path === "string") return { kind: "file", path };
  if (typeof name === "string") return { kind: "env", name };
  return typeof value === "string" ? { kind: "inline", value } : undefined;
};
const fileOf = (path: string | undefined): Secret | undefined =>
  path === undefined ? undefined : { kind: "file", path };
/** An optional property that is left out, not undefined. */
const some = <K extends string, V>(key: K, value: V | undefined): Partial<Record<K, V>> =>
  (value === undefined ? {} : { [key]: value }) as Partial<Record<K, V>>;

const tlsFiles = ({
  clientCaFile,
  ...files
}: NonNullable<ServerFile["server"]["tls"]>): NonNullable<ServerSettings["server"]["tls"]> => ({
  ...files,
  ...(clientCaFile !== undefined && { clientCaFile }),
});

function toSettings(it: ServerFile, overrides: Overrides): ServerSettings {
  const { gitops, artifacts, agents, depots, database, temporal } = it;
  const fromEnvironment = overrides.get("database.url");
  return {
    mode: it.mode,
    server: {
      listen: it.server.listen,
      publicUrl: it.server.publicUrl.replace(/\/+$/, ""),
      ...(it.server.tls !== undefined && { tls: tlsFiles(it.server.tls) }),
      trustedProxies: it.server.trustedProxies,
    },
    secrets: {
      key: { kind: "file", path: it.secrets.keyFile },
      ...some("previousKey", fileOf(it.secrets.previousKeyFile)),
    },
    gitops: gitSettings(gitops),
    artifacts: {
      sourceBaseUrl: artifacts.sourceBaseUrl.replace(/\/+$/, ""),
      ...some("releasesFeedUrl", feedOf(artifacts)),
      discoverEveryMs: artifacts.discoverEvery,
      trustedRootFile: artifacts.trustedRootFile,
      certificateIdentityRegexp: artifacts.certificateIdentityRegexp,
      certificateOidcIssuer: artifacts.certificateOidcIssuer,
      downloadTokenTtlMs: artifacts.downloadTokenTtl,
      agentBaseUrls: artifacts.agentBaseUrls.map((url) => url.replace(/\/+$/, "")),
      minCopies: artifacts.minCopies,
      keepForMs: artifacts.keepFor,
      maxConcurrentDownloads: artifacts.maxConcurrentDownloads,
      stagingDir: artifacts.stagingDir,
      drainTimeoutMs: artifacts.drainTimeout,
    },
    agents: {
      heartbeatIntervalMs: agents.heartbeatInterval,
      offlineAfterMs: agents.offlineAfter,
      forgetAfterMs: agents.forgetAfter,
      acceptRate: agents.acceptRate,
    },
    executors: { secrets: secretRulesOf(it) },
    auth: it.auth,
    depots: { controlToken: must(secretOf(depots, "controlToken")), readToken: must(secretOf(depots, "readToken")) },
    database: {
      url: fromEnvironment ? { kind: "env", name: fromEnvironment.name } : must(secretOf(database, "url")),
    },
    temporal: {
      address: temporal.address,
      namespace: temporal.namespace,
      tls: temporal.tls,
      retentionMs: temporal.retention,
      ...some("apiKey", secretOf(temporal, "apiKey")),
      ...some("uiUrl", temporal.uiUrl?.replace(/\/+$/, "")),
    },
    telemetry: it.telemetry,
  };
}

/** The upstream has a feed and no listing; what any other source has, its operator says. */
const feedOf = ({ releasesFeedUrl, sourceBaseUrl }: ServerFile["artifacts"]): string | undefined =>
  releasesFeedUrl ?? (sourceBaseUrl.replace(/\/+$/, "") === UPSTREAM_RELEASES ? UPSTREAM_FEED : undefined);

function gitSettings(gitops: ServerFile["gitops"]): ServerSettings["gitops"] {
  const { credentials } = gitops;
  return {
    url: gitops.url,
    branch: gitops.branch,
    path: gitops.path.replace(/\/+$/, ""),
    pollIntervalMs: gitops.pollInterval,
    timeoutMs: gitops.timeout,
    maxFiles: gitops.maxFiles,
    maxYamlBytes: gitops.maxYamlBytes,
    validationTimeoutMs: gitops.validationTimeout,
    ...some("cloneDir", gitops.cloneDir),
    ...some("webhookSecret", secretOf(gitops, "webhookSecret")),
    ...some(
      "credentials",
      credentials && {
        ...some("token", secretOf(credentials, "token")),
        ...some("sshKeyFile", credentials.sshKeyFile),
        ...some("knownHostsFile", credentials.knownHostsFile),
      },
    ),
  };
}

const must = (secret: Secret | undefined): Secret => {
  if (secret === undefined) throw new Error("a required secret passed the checks without a value");
  return secret;
};

/** The settings as `check-config` prints them: secrets say where they are, never what they are. */
export function describeConfig(settings: ServerSettings): Record<string, unknown> {
  const shown = (value: unknown): unknown => {
    const secret = secretSchema.safeParse(value);
    if (secret.success) return describeSecret(secret.data);
    if (Array.isArray(value)) return value.map(shown);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shown(inner)]));
  };
  return shown(settings) as Record<string, unknown>;
}

const secretSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("file"), path: z.string() }),
  z.strictObject({ kind: z.literal("env"), name: z.string() }),
  z.strictObject({ kind: z.literal("inline"), value: z.string() }),
]);
