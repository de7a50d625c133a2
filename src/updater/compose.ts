/**
 * Builds the host program's parts from its settings. What only an attempt needs (HTTP client, verifier) is loaded by the
 * first one: the program waits most of its life, on hosts whose memory is not ours.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { failure } from "../domain/errors.ts";
import { createAgentClient, type AgentClientOptions } from "../protocol/agent-client.ts";
import { createJournal } from "./attempt-journal.ts";
import { systemClock } from "./clock.ts";
import type { UpdaterSettings } from "./config.ts";
import type { Downloader } from "./download.ts";
import type { Perform } from "./effect.ts";
import type { HostPorts } from "./fault-points.ts";
import type { Files } from "./files.ts";
import { findHolders } from "./host/ports.ts";
import { followOutput, type FollowOutput } from "./container/supervisor-output.ts";
import { createProcessManager, MAX_LOG_BYTES } from "./host/process.ts";
import { isCollectorOf } from "./host/processes.ts";
import { CannotStart } from "./host-folder.ts";
import type { Log, ServiceManager } from "./host/service.ts";
import { createSystemdManager, type RunCommand } from "./host/systemd.ts";
import { createWindowsManager, patientFiles } from "./host/windows.ts";
import type { HostDeps, VerifySignature } from "./install.ts";
import { Layout } from "./layout.ts";
import { portProblemOf } from "./port-problem.ts";
import { runProgram } from "./run-program.ts";
import { createStartMending, type StartMending } from "./start-mending.ts";
import type { StateFolder } from "./state-file.ts";
import type { RootKeeper } from "../verify/tuf-root.ts";

export type Composition = {
  host: HostDeps;
  folder: StateFolder;
  /** Also in the health check of `host`. */
  mending: StartMending;
  /** Where no root file is named: the root by TUF, to be kept fresh while the program runs. */
  rootKeeper: RootKeeper | undefined;
};

/** Everything real. */
export function compose(settings: UpdaterSettings, log: Log, ports: HostPorts): Composition {
  const files = settings.supervisor.manager === "windows" ? patientFiles(ports.files, systemClock) : ports.files;
  const folder: StateFolder = { folder: settings.stateDir, files, log };
  const service = ports.service(createService(settings, log, ports.perform));
  const rootKeeper = keeperOf(settings, log);
  const mending = mendingOf(settings, { service, files, log });
  const { update, supervisor, collector } = settings;
  const effectiveConfig = collector.effectiveConfigFile ?? join(supervisor.storageDir, "effective.yaml");
  const host: HostDeps = {
    files,
    clock: systemClock,
    log,
    layout: new Layout(
      { installDir: settings.installDir, binary: settings.binary, activation: update.activation },
      files,
    ),
    service,
    journal: createJournal(folder),
    download: downloader(settings, files, log),
    verifySignature: signatureRule(settings.update, rootKeeper),
    health: {
      settings: {
        supervisorUrl: supervisor.healthUrl,
        collectorUrl: collector.healthUrl,
        successes: update.healthSuccesses,
        intervalMs: update.healthInterval,
        timeoutMs: update.healthTimeout,
      },
      deps: {
        clock: systemClock,
        isServiceRunning: async () => await service.isRunning(),
        mending,
      },
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
      lastRemoteConfig: savedConfigOf(settings),
      effectiveConfig,
      portProblem: portProblemOf({ effectiveConfig, service, isOurs: collectorsOf(settings) }),
    },
    spoolDir: join(settings.stateDir, "spool"),
  };
  return { host, folder, mending, rootKeeper };
}

const savedConfigOf = ({ supervisor }: UpdaterSettings): string =>
  join(supervisor.storageDir, "last_recv_remote_config.dat");

const collectorsOf = ({ installDir, binary }: UpdaterSettings) => isCollectorOf(installDir, binary);

function mendingOf(settings: UpdaterSettings, deps: Pick<HostDeps, "service" | "files" | "log">): StartMending {
  return createStartMending({
    ...deps,
    clock: systemClock,
    savedConfig: savedConfigOf(settings),
    agentLog: join(settings.supervisor.storageDir, "agent.log"),
    isCollector: collectorsOf(settings),
    holders: findHolders,
  });
}

/** Certificates are read now: a file that is missing is told at the start. */
function downloader(settings: UpdaterSettings, files: Files, log: Log): Downloader {
  const deps = { files, clock: systemClock, log, tls: readTls(settings) };
  return async (download) => {
    const { createDownloader } = await import("./download.ts");
    return await createDownloader(deps)(download);
  };
}

const containerLog = (logFile: string, log: Log): FollowOutput =>
  followOutput({
    logFile,
    maxBytes: MAX_LOG_BYTES,
    log,
    stdout: (chunk) => void process.stdout.write(chunk),
    stderr: (chunk) => void process.stderr.write(chunk),
  });

function createService(settings: UpdaterSettings, log: Log, perform: Perform): ServiceManager {
  const { supervisor, installDir, binary, stateDir } = settings;
  const { service = "", command = [], user, environmentFile, stopTimeout: stopTimeoutMs } = supervisor;
  const clock = systemClock;
  const run: RunCommand = async (file, args, timeoutMs) => await runProgram({ file, args, timeoutMs }, clock);
  if (supervisor.manager === "systemd")
    return createSystemdManager({ service, installDir, binary, stopTimeoutMs, run, clock, log, perform });
  if (supervisor.manager === "windows") return createWindowsManager({ service, installDir, stopTimeoutMs, run, clock });
  const logFile = join(stateDir, "supervisor.log");
  const options = { command, installDir, binary, logFile, user, environmentFile, stopTimeoutMs, clock, log, perform };
  return createProcessManager({ ...options, follow: settings.container && containerLog(logFile, log) });
}

type SignatureSettings = Pick<
  UpdaterSettings["update"],
  "trustedRootFile" | "requireSignature" | "certificateIdentityRegexp" | "certificateOidcIssuer"
>;

/** The root by TUF; its library is loaded when it is asked for the first time. Undefined where a root file is named. */
function keeperOf({ update, stateDir }: UpdaterSettings, log: Log): RootKeeper | undefined {
  if (update.trustedRootFile !== "") return undefined;
  const source = {
    mirrorUrl: update.tufMirrorUrl,
    rootFile: update.tufRootFile === "" ? undefined : update.tufRootFile,
    cacheFolder: join(stateDir, "tuf"),
  };
  let opened: Promise<RootKeeper> | undefined;
  const open = async (): Promise<RootKeeper> => {
    opened ??= import("../verify/tuf-root.ts").then(({ createRootKeeper }) =>
      createRootKeeper(source, { clock: systemClock, log }),
    );
    return await opened;
  };
  return {
    trust: async () => await (await open()).trust(),
    keepFresh: async (signal) => await (await open()).keepFresh(signal),
  };
}

/**
 * A root file is read at each verification: a missing or broken one fails the attempt, and a mended one counts at once.
 * Where none is named, `byTuf` gives the root.
 */
export function signatureRule(update: SignatureSettings, byTuf?: Pick<RootKeeper, "trust">): VerifySignature {
  const { trustedRootFile, requireSignature: required } = update;
  const identity = { pattern: update.certificateIdentityRegexp };
  return async (raw, sha256Hex, version) => {
    const { readSignature, verifyArtifactSignature } = await import("../verify/signature.ts");
    const { loadTrustedRoot } = await import("../verify/policy.ts");
    const signature = readSignature(raw);
    if (signature.kind === "legacy") throw failure("signature_legacy", undefined);
    if (signature.kind === "none") {
      if (required) throw failure("signature_missing", undefined);
      return;
    }
    const trust = trustedRootFile === "" ? await byTuf?.trust() : await loadTrustedRoot(trustedRootFile);
    if (trust === undefined) throw failure("trusted_root_unreadable", { message: "update.trustedRootFile is not set" });
    const policy = { trust, identity, issuer: update.certificateOidcIssuer };
    verifyArtifactSignature({ signature, sha256Hex, required, version, policy });
  };
}

function readTls({ server }: UpdaterSettings) {
  const read = (name: "caFile" | "certFile" | "keyFile"): Buffer | undefined => {
    const path = server.tls?.[name];
    try {
      return path === undefined ? undefined : readFileSync(path);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new CannotStart(`server.tls.${name}: ${path} cannot be read (${String(code)})`);
    }
  };
  return { ca: read("caFile"), cert: read("certFile"), key: read("keyFile") };
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
