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
import { IMAGE_PRECEDENCES } from "../domain/update/image-seed.ts";
import { normalizeVersion } from "../domain/update/version.ts";

const duration = (otherwise: number) => durationMs.default(otherwise);
const DEFAULTS = CONTRACT_DEFAULTS;

const isAbsent = (value: unknown): boolean => value === undefined || value === null || value === "";
/** A text that must be there; whoever leaves it out is told what belongs there. */
const needed = (what: string) =>
  z.string({ error: ({ input }) => `${isAbsent(input) ? "is missing" : "must be a text"}: ${what}` }).min(1, {
    error: `is missing: ${what}`,
  });
const anyText = z.string({ error: "must be a text; what looks like a number or a list needs quotes" });
const text = anyText.min(1, { error: "must not be empty; leave the key out instead" });
const flag = z.boolean({ error: "must be true or false" });
const count = z.int({ error: "must be a whole number, at least 1" }).min(1, { error: "must be at least 1" });

const schema = z.strictObject({
  server: z.strictObject({
    endpoint: needed("where the server listens for agents, for example wss://fleet.example.com/v1/opamp"),
    token: text.optional(),
    tokenFile: text.optional(),
    tls: z
      .strictObject({
        caFile: text.optional(),
        certFile: text.optional(),
        keyFile: text.optional(),
      })
      .optional(),
  }),
  /** Overrides the host name that is reported: it must be the one that the supervisor reports. */
  hostName: text.optional(),
  stateDir: needed("the updater's own folder, for example /var/lib/myriarch-updater"),
  installDir: needed("the folder of collector versions, for example /opt/otelcol"),
  binary: anyText
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, "must be a plain file name, for example otelcol-contrib")
    .default("otelcol-contrib"),
  supervisor: z.strictObject({
    manager: z.enum(["systemd", "windows", "process"]),
    service: anyText
      .regex(/^[A-Za-z0-9][A-Za-z0-9@._-]*$/, "must be a plain service name, for example opampsupervisor")
      .optional(),
    command: z.array(text).min(1).optional(),
    storageDir: needed("the storage folder in the supervisor's own configuration (storage.directory)"),
    healthUrl: anyText.optional(),
    user: anyText.regex(/^[A-Za-z_][A-Za-z0-9_.-]*\$?$/, "must be an account name, for example otelcol").optional(),
    environmentFile: text.optional(),
    /** How often `persistent_state.yaml` is read again. */
    stateReadInterval: duration(60_000),
    /** Longest time for supervisor and collector to be gone after the stop was asked for. */
    stopTimeout: duration(60_000),
  }),
  collector: z.strictObject({ healthUrl: anyText.optional(), effectiveConfigFile: text.optional() }).prefault({}),
  update: z
    .strictObject({
      minimumVersion: anyText.optional(),
      allowDowngrade: flag.default(false),
      requireSignature: flag.default(true),
      certificateIdentityRegexp: anyText.default(DEFAULTS.identityPattern),
      certificateOidcIssuer: text.default(DEFAULTS.oidcIssuer),
      trustedRootFile: anyText.default(""),
      /** Asked for the trusted root when no file is named. Ours: the contract knows the public repository only. */
      tufMirrorUrl: anyText.default(DEFAULTS.tufMirrorUrl),
      /** The first `root.json` of another mirror. */
      tufRootFile: anyText.default(""),
      allowedUrlPrefixes: z.array(anyText).default([]),
      maxArchiveBytes: sizeBytes.default(DEFAULTS.maxArchiveBytes),
      idleTimeout: duration(DEFAULTS.idleTimeoutMs),
      failedRetryBackoff: duration(DEFAULTS.failedRetryBackoffMs),
      keepVersions: count.default(DEFAULTS.keepVersions),
      preflightValidate: flag.default(true),
      activation: z.enum(["symlink", "copy"]).default(process.platform === "win32" ? "copy" : "symlink"),
      healthSuccesses: count.default(DEFAULTS.healthSuccesses),
      healthInterval: duration(DEFAULTS.healthIntervalMs),
      healthTimeout: duration(DEFAULTS.healthTimeoutMs),
    })
    .prefault({}),
  /** Its presence, empty or not, is what container mode means. */
  container: z
    .strictObject({ imageDir: text.optional(), imagePrecedence: z.enum(IMAGE_PRECEDENCES).default("newer") })
    .optional(),
});
type ConfigFile = z.output<typeof schema>;

/** Complete and checked. Durations in milliseconds, sizes in bytes; versions without `v`. */
export type UpdaterSettings = Omit<ConfigFile, "update"> & {
  update: ConfigFile["update"] & { allowedUrlPrefixes: string[] };
};

export type UpdaterConfigResult =
  | { ok: true; settings: UpdaterSettings; warnings: ConfigIssue[]; locate: Locate }
  | { ok: false; issues: ConfigIssue[] };

/** Parses and checks the file; `file` only names it. Everything that is wrong is named at once. */
export function parseUpdaterConfig(text: string, file: string): UpdaterConfigResult {
  const read = readStrictYaml(schema, text, file);
  if (!read.ok) return { ok: false, issues: read.issues };
  const issues = check(read.value, read.locate);
  if (issues.some(({ severity }) => severity === "error")) return { ok: false, issues };
  return { ok: true, settings: complete(read.value), warnings: issues, locate: read.locate };
}

function complete(it: ConfigFile): UpdaterSettings {
  const { minimumVersion, allowedUrlPrefixes, ...update } = it.update;
  const floor = minimumVersion === undefined ? undefined : normalizeVersion(minimumVersion);
  return {
    ...it,
    update: {
      ...update,
      ...(floor === undefined ? {} : { minimumVersion: floor }),
      tufMirrorUrl: update.tufMirrorUrl.replace(/\/+$/, ""),
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
  checkContainer(it, report);
  return issues;
}

function checkServer({ server }: ConfigFile, report: Report): void {
  const url = URL.canParse(server.endpoint) ? new URL(server.endpoint) : undefined;
  if (url === undefined || !["ws:", "wss:"].includes(url.protocol))
    report(["server", "endpoint"], "must be a ws:// or wss:// URL, for example wss://fleet.example.com/v1/opamp");
  else if (url.username !== "" || url.password !== "")
    report(["server", "endpoint"], "must not carry credentials; use server.tokenFile");
  if (server.token !== undefined && server.tokenFile !== undefined)
    report(["server", "token"], "give server.token or server.tokenFile, not both; the file is the safer one");
  const { certFile, keyFile } = server.tls ?? {};
  if ((certFile === undefined) !== (keyFile === undefined))
    report(["server", "tls"], "certFile and keyFile belong together: give both, or neither");
  if (server.token === undefined && server.tokenFile === undefined && certFile === undefined)
    report(["server"], "a credential is needed: tokenFile, token, or tls.certFile with tls.keyFile");
}

function checkSupervisor({ supervisor, collector }: ConfigFile, report: Report): void {
  if (supervisor.manager === "process" && supervisor.command === undefined)
    report(
      ["supervisor", "command"],
      "is needed by manager process: program and arguments, for example [/usr/bin/opampsupervisor, --config, FILE]",
    );
  if (supervisor.manager !== "process" && supervisor.service === undefined)
    report(
      ["supervisor", "service"],
      `is needed by manager ${supervisor.manager}: the name of the supervisor's service, for example opampsupervisor`,
    );
  for (const [path, url] of [
    [["supervisor", "healthUrl"], supervisor.healthUrl],
    [["collector", "healthUrl"], collector.healthUrl],
  ] as const)
    if (url !== undefined && !(URL.canParse(url) && ["http:", "https:"].includes(new URL(url).protocol)))
      report([...path], "must be an http or https URL, for example http://127.0.0.1:13133/");
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
    if (update[key] === 0) report(["update", key], "must be more than 0; leave the key out to have its default");
  const leastS = (update.healthInterval * (update.healthSuccesses - 1)) / 1_000;
  if (update.healthTimeout < leastS * 1_000)
    report(
      ["update", "healthTimeout"],
      `is too short for healthSuccesses checks at healthInterval: write at least ${leastS}s, or lower one of them`,
    );
  if (!update.requireSignature)
    report(["update", "requireSignature"], "is off: archives without any signature are installed", "warning");
  checkTuf(update, report);
}

function checkTuf({ trustedRootFile, tufMirrorUrl, tufRootFile }: ConfigFile["update"], report: Report): void {
  const other = tufMirrorUrl !== DEFAULTS.tufMirrorUrl;
  const verdict = judgePrefix(tufMirrorUrl);
  if (!verdict.allowed) report(["update", "tufMirrorUrl"], verdict.because);
  if (other && tufRootFile === "")
    report(["update", "tufRootFile"], "must name the first root.json of the repository at update.tufMirrorUrl");
  if (trustedRootFile !== "" && (other || tufRootFile !== ""))
    report(
      ["update", other ? "tufMirrorUrl" : "tufRootFile"],
      "is not used, because update.trustedRootFile names the root; remove one of them",
      "warning",
    );
}

/** In a container nobody else runs the supervisor, and the image must not be what updates are written to. */
function checkContainer({ container, supervisor, update, installDir }: ConfigFile, report: Report): void {
  if (container === undefined) return;
  if (supervisor.manager !== "process")
    report(
      ["supervisor", "manager"],
      "must be process in a container (section container): no service manager runs there",
    );
  if (update.activation !== "symlink")
    report(["update", "activation"], "must be symlink in a container (section container); leave the key out");
  const { imageDir } = container;
  if (imageDir === undefined) return;
  if (!imageDir.startsWith("/")) report(["container", "imageDir"], "must be an absolute path, for example /opt/image");
  if (`${imageDir}/`.startsWith(`${installDir}/`) || `${installDir}/`.startsWith(`${imageDir}/`))
    report(
      ["container", "imageDir"],
      "must lie apart from installDir: the image's collector stays in the image, installDir is on the volume",
    );
}
