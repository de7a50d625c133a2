/**
 * Configuration of the host program: one strict YAML file, checked as a whole before anything starts. What the server may
 * make this host do is decided here: allowed URLs, version floor, downgrade rule, signer identity.
 */
import { z } from "zod";
import { CONTRACT_DEFAULTS } from "../domain/brand.ts";
import { durationMs, sizeBytes } from "../domain/config/units.ts";
import { readStrictYaml, type ConfigIssue, type Locate } from "../domain/config/strict-yaml.ts";
import { refusedPattern } from "../domain/identity-pattern.ts";
import { defaultPrefixes, judgePrefix } from "../domain/update/allowed-url.ts";
import { normalizeVersion } from "../domain/update/version.ts";

const duration = (otherwise: number) => durationMs.default(otherwise);
const DEFAULTS = CONTRACT_DEFAULTS;

const schema = z.strictObject({
  server: z.strictObject({
    endpoint: z.string(),
    token: z.string().min(1).optional(),
    tokenFile: z.string().min(1).optional(),
    tls: z
      .strictObject({
        caFile: z.string().min(1).optional(),
        certFile: z.string().min(1).optional(),
        keyFile: z.string().min(1).optional(),
      })
      .optional(),
  }),
  /** Overrides the host name that is reported: it must be the one that the supervisor reports. */
  hostName: z.string().min(1).optional(),
  stateDir: z.string().min(1),
  installDir: z.string().min(1),
  binary: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, "must be a plain file name")
    .default("otelcol-contrib"),
  supervisor: z.strictObject({
    manager: z.enum(["systemd", "windows", "process"]),
    service: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9@._-]*$/, "must be a plain service name")
      .optional(),
    command: z.array(z.string().min(1)).min(1).optional(),
    storageDir: z.string().min(1),
    healthUrl: z.string().optional(),
    user: z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_.-]*\$?$/, "must be an account name")
      .optional(),
    environmentFile: z.string().min(1).optional(),
    /** How often `persistent_state.yaml` is read again. */
    stateReadInterval: duration(60_000),
    /** Longest time for supervisor and collector to be gone after the stop was asked for. */
    stopTimeout: duration(60_000),
  }),
  collector: z
    .strictObject({ healthUrl: z.string().optional(), effectiveConfigFile: z.string().min(1).optional() })
    .prefault({}),
  update: z
    .strictObject({
      minimumVersion: z.string().optional(),
      allowDowngrade: z.boolean().default(false),
      requireSignature: z.boolean().default(true),
      certificateIdentityRegexp: z.string().default(DEFAULTS.identityPattern),
      certificateOidcIssuer: z.string().min(1).default(DEFAULTS.oidcIssuer),
      trustedRootFile: z.string().default(""),
      allowedUrlPrefixes: z.array(z.string()).default([]),
      maxArchiveBytes: sizeBytes.default(DEFAULTS.maxArchiveBytes),
      idleTimeout: duration(DEFAULTS.idleTimeoutMs),
      failedRetryBackoff: duration(DEFAULTS.failedRetryBackoffMs),
      keepVersions: z.int().min(1).default(DEFAULTS.keepVersions),
      preflightValidate: z.boolean().default(true),
      activation: z.enum(["symlink", "copy"]).default(process.platform === "win32" ? "copy" : "symlink"),
      healthSuccesses: z.int().min(1).default(DEFAULTS.healthSuccesses),
      healthInterval: duration(DEFAULTS.healthIntervalMs),
      healthTimeout: duration(DEFAULTS.healthTimeoutMs),
    })
    .prefault({}),
});
type ConfigFile = z.output<typeof schema>;

/** Complete and checked. Durations in milliseconds, sizes in bytes; versions without `v`. */
export type UpdaterSettings = Omit<ConfigFile, "update"> & {
  update: ConfigFile["update"] & { allowedUrlPrefixes: string[] };
};

export type UpdaterConfigResult =
  | { ok: true; settings: UpdaterSettings; warnings: ConfigIssue[] }
  | { ok: false; issues: ConfigIssue[] };

/** Parses and checks the file; `file` only names it. Everything that is wrong is named at once. */
export function parseUpdaterConfig(text: string, file: string): UpdaterConfigResult {
  const read = readStrictYaml(schema, text, file);
  if (!read.ok) return { ok: false, issues: read.issues };
  const issues = check(read.value, read.locate);
  if (issues.some(({ severity }) => severity === "error")) return { ok: false, issues };
  return { ok: true, settings: complete(read.value), warnings: issues };
}

function complete(it: ConfigFile): UpdaterSettings {
  const { minimumVersion, allowedUrlPrefixes, ...update } = it.update;
  const floor = minimumVersion === undefined ? undefined : normalizeVersion(minimumVersion);
  return {
    ...it,
    update: {
      ...update,
      ...(floor === undefined ? {} : { minimumVersion: floor }),
      allowedUrlPrefixes: allowedUrlPrefixes.length > 0 ? allowedUrlPrefixes : defaultPrefixes(it.server.endpoint),
    },
  };
}

type Report = (path: string[], message: string, severity?: ConfigIssue["severity"]) => void;

function check(it: ConfigFile, locate: Locate): ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  const report: Report = (path, message, severity = "error") =>
    issues.push({ severity, ...locate(path), path: path.join("."), message });
  checkServer(it, report);
  checkSupervisor(it, report);
  checkUpdate(it, report);
  return issues;
}

function checkServer({ server }: ConfigFile, report: Report): void {
  const url = URL.canParse(server.endpoint) ? new URL(server.endpoint) : undefined;
  if (url === undefined || !["ws:", "wss:"].includes(url.protocol))
    report(["server", "endpoint"], "must be a ws:// or wss:// URL");
  else if (url.username !== "" || url.password !== "")
    report(["server", "endpoint"], "must not carry credentials; use server.tokenFile");
  if (server.token !== undefined && server.tokenFile !== undefined)
    report(["server", "token"], "give server.token or server.tokenFile, not both");
  const { certFile, keyFile } = server.tls ?? {};
  if ((certFile === undefined) !== (keyFile === undefined))
    report(["server", "tls"], "certFile and keyFile belong together");
  if (server.token === undefined && server.tokenFile === undefined && certFile === undefined)
    report(["server"], "a credential is needed: tokenFile, token, or tls.certFile with tls.keyFile");
}

function checkSupervisor({ supervisor, collector }: ConfigFile, report: Report): void {
  if (supervisor.manager === "process" && supervisor.command === undefined)
    report(["supervisor", "command"], "manager process needs the command that starts the supervisor");
  if (supervisor.manager !== "process" && supervisor.service === undefined)
    report(["supervisor", "service"], `manager ${supervisor.manager} needs the name of the service`);
  for (const [path, url] of [
    [["supervisor", "healthUrl"], supervisor.healthUrl],
    [["collector", "healthUrl"], collector.healthUrl],
  ] as const)
    if (url !== undefined && !(URL.canParse(url) && ["http:", "https:"].includes(new URL(url).protocol)))
      report([...path], "must be an http or https URL");
  if (collector.healthUrl === undefined)
    report(
      ["collector", "healthUrl"],
      "without it a running supervisor counts as healthy, whether its collector runs or not",
      "warning",
    );
}

function checkUpdate({ update }: ConfigFile, report: Report): void {
  if (update.minimumVersion !== undefined && normalizeVersion(update.minimumVersion) === undefined)
    report(["update", "minimumVersion"], 'must be a version like "0.160.0"');
  const refused = refusedPattern(update.certificateIdentityRegexp);
  if (refused !== undefined) report(["update", "certificateIdentityRegexp"], refused);
  update.allowedUrlPrefixes.forEach((prefix, index) => {
    const verdict = judgePrefix(prefix);
    if (!verdict.allowed) report(["update", "allowedUrlPrefixes", String(index)], verdict.because);
  });
  for (const key of [
    "healthInterval",
    "healthTimeout",
    "idleTimeout",
    "failedRetryBackoff",
    "maxArchiveBytes",
  ] as const)
    if (update[key] === 0) report(["update", key], "must be more than 0");
  if (update.healthTimeout < update.healthInterval * (update.healthSuccesses - 1))
    report(["update", "healthTimeout"], "is too short for healthSuccesses checks at healthInterval");
  if (!update.requireSignature)
    report(["update", "requireSignature"], "is off: archives without any signature are installed", "warning");
  if (update.trustedRootFile === "")
    report(["update", "trustedRootFile"], "is empty: signed archives are refused until it names a root", "warning");
}
