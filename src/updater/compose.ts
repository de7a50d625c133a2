/** Builds the host program's parts from its settings. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { failure } from "../domain/errors.ts";
import { createAgentClient, type AgentClientOptions } from "../protocol/agent-client.ts";
import { loadTrustedRoot } from "../verify/policy.ts";
import { readSignature, verifyArtifactSignature } from "../verify/signature.ts";
import { createJournal } from "./attempt-journal.ts";
import { systemClock } from "./clock.ts";
import type { UpdaterSettings } from "./config.ts";
import type { Reached } from "./crash-points.ts";
import { createDownloader } from "./download.ts";
import { systemFiles } from "./files.ts";
import { createProcessManager } from "./host/process.ts";
import type { Log, ServiceManager } from "./host/service.ts";
import { createSystemdManager, type RunCommand } from "./host/systemd.ts";
import { createWindowsManager } from "./host/windows.ts";
import type { HostDeps, VerifySignature } from "./install.ts";
import { Layout } from "./layout.ts";
import { runProgram } from "./run-program.ts";
import type { StateFolder } from "./state-file.ts";

export type Composition = { host: HostDeps; folder: StateFolder };

/** Everything real. `reached` is for tests; in production it does nothing. */
export function compose(settings: UpdaterSettings, log: Log, reached: Reached): Composition {
  const folder: StateFolder = { folder: settings.stateDir, files: systemFiles, log };
  const service = createService(settings, log);
  const { update, supervisor, collector } = settings;
  const effectiveConfig = collector.effectiveConfigFile ?? join(supervisor.storageDir, "effective.yaml");
  const host: HostDeps = {
    files: systemFiles,
    clock: systemClock,
    log,
    layout: new Layout(
      { installDir: settings.installDir, binary: settings.binary, activation: update.activation },
      systemFiles,
    ),
    service,
    journal: createJournal(folder),
    download: createDownloader({ files: systemFiles, clock: systemClock, log, tls: readTls(settings) }),
    verifySignature: signatureRule(settings.update),
    health: {
      settings: {
        supervisorUrl: supervisor.healthUrl,
        collectorUrl: collector.healthUrl,
        successes: update.healthSuccesses,
        intervalMs: update.healthInterval,
        timeoutMs: update.healthTimeout,
      },
      deps: { clock: systemClock, isServiceRunning: async () => await service.isRunning() },
    },
    policy: update,
    limits: {
      maxArchiveBytes: update.maxArchiveBytes,
      idleTimeoutMs: update.idleTimeout,
      keepVersions: update.keepVersions,
    },
    preflight: {
      validate: update.preflightValidate
        ? { effectiveConfig, account: async () => await service.account() }
        : undefined,
      lastRemoteConfig: join(supervisor.storageDir, "last_recv_remote_config.dat"),
    },
    spoolDir: join(settings.stateDir, "spool"),
    reached,
  };
  return { host, folder };
}

function createService(settings: UpdaterSettings, log: Log): ServiceManager {
  const { supervisor, installDir, binary, stateDir } = settings;
  const { service = "", command = [], user, environmentFile, stopTimeout: stopTimeoutMs } = supervisor;
  const clock = systemClock;
  const run: RunCommand = async (file, args, timeoutMs) => await runProgram({ file, args, timeoutMs }, clock);
  if (supervisor.manager === "systemd")
    return createSystemdManager({ service, installDir, binary, stopTimeoutMs, run, clock, log });
  if (supervisor.manager === "windows") return createWindowsManager({ service, installDir, stopTimeoutMs, run, clock });
  const logFile = join(stateDir, "supervisor.log");
  const options = { command, installDir, binary, logFile, user, environmentFile, stopTimeoutMs, clock, log };
  return createProcessManager(options);
}

type SignatureSettings = Pick<
  UpdaterSettings["update"],
  "trustedRootFile" | "requireSignature" | "certificateIdentityRegexp" | "certificateOidcIssuer"
>;

/** The root is read at each verification: a missing or broken one fails the attempt, and a mended one counts at once. */
export function signatureRule(update: SignatureSettings): VerifySignature {
  const { trustedRootFile, requireSignature: required } = update;
  const identity = { pattern: update.certificateIdentityRegexp };
  return async (raw, sha256Hex, version) => {
    const signature = readSignature(raw);
    if (signature.kind === "legacy") throw failure("signature_legacy", undefined);
    if (signature.kind === "none") {
      if (required) throw failure("signature_missing", undefined);
      return;
    }
    if (trustedRootFile === "")
      throw failure("trusted_root_unreadable", { message: "update.trustedRootFile is not set" });
    const policy = { trust: await loadTrustedRoot(trustedRootFile), identity, issuer: update.certificateOidcIssuer };
    verifyArtifactSignature({ signature, sha256Hex, required, version, policy });
  };
}

function readTls({ server }: UpdaterSettings) {
  const read = (path: string | undefined): Buffer | undefined => (path === undefined ? undefined : readFileSync(path));
  return { ca: read(server.tls?.caFile), cert: read(server.tls?.certFile), key: read(server.tls?.keyFile) };
}

/** Connects with the token as it is in its file at that moment; while the file cannot be read, the last one counts. */
export function connectorOf(settings: UpdaterSettings, log: Log) {
  const { endpoint, token, tokenFile } = settings.server;
  let last = token ?? "";
  const headers = (): Record<string, string> => {
    try {
      if (tokenFile !== undefined) last = readFileSync(tokenFile, "utf8").trim();
    } catch (error) {
      log.warn({ code: (error as NodeJS.ErrnoException).code }, "server.tokenFile cannot be read");
    }
    return last === "" ? {} : { authorization: `Bearer ${last}` };
  };
  const tls = Object.fromEntries(Object.entries(readTls(settings)).filter(([, value]) => value !== undefined));
  return (options: Omit<AgentClientOptions, "endpoint" | "headers" | "tls" | "log">) =>
    createAgentClient({ ...options, endpoint, headers, tls, log });
}
