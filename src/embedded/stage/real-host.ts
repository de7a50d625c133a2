/**
 * A real host of the quickstart: a folder in which a real `myriarch-updater` manages a supervisor and a collector binary.
 * It begins with 0.160.0 put there by hand: no marker, and no artifact of it on the server. The interop tests put the
 * upstream supervisor and a collector written in Go in the place of stand-in and demo collector.
 */
import { mkdir, readFile, readlink, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeDemoBinary } from "../demo/binary.ts";
import { programPath, startProgram, type Program } from "../program.ts";
import { writeYaml } from "./files.ts";

export type RealHostOptions = {
  name: string;
  /** Folder of the host. */
  folder: string;
  dataDir: string;
  serverUrl: string;
  enrollmentTokenFile: string;
  trustedRootFile: string;
  ports: { supervisorHealth: number; collectorHealth: number };
  attributes: Readonly<Record<string, string>>;
  /** Default: the stand-in supervisor and the demo collector. */
  software?: HostSoftware;
};

export type HostSoftware = {
  /** Starts the supervisor; `--config FILE` is added. */
  supervisor: readonly string[];
  /** Capabilities of the supervisor beyond those that every host of ours switches on. */
  capabilities?: Readonly<Record<string, boolean>>;
  /** Arguments of every collector that the supervisor starts. */
  collectorArgs?: readonly string[];
  /** The version that somebody put there by hand, and how its program gets there; folders are made by it. */
  version: string;
  writeCollector: (file: string) => Promise<void>;
};

export type RealHost = {
  name: string;
  folder: string;
  installDir: string;
  stateDir: string;
  collectorHealthUrl: string;
  updater: Program;
};

export const FIRST_VERSION = "0.160.0";
const BINARY = "otelcol-contrib";
const SUPERVISOR = fileURLToPath(new URL("../demo/supervisor.ts", import.meta.url));
const DEMO: HostSoftware = {
  supervisor: [process.execPath, SUPERVISOR],
  version: FIRST_VERSION,
  writeCollector: (file) => writeDemoBinary(file, FIRST_VERSION),
};

/** Prepares the folder the first time, then starts the updater, which starts the supervisor. */
export async function startRealHost(options: RealHostOptions): Promise<RealHost> {
  const { folder, name, ports, software = DEMO } = options;
  const paths = {
    installDir: join(folder, "install"),
    stateDir: join(folder, "updater"),
    storageDir: join(folder, "supervisor"),
  };
  await installByHand(paths.installDir, software);
  for (const dir of [paths.stateDir, paths.storageDir]) await mkdir(dir, { recursive: true, mode: 0o700 });
  const token = (await readFile(options.enrollmentTokenFile, "utf8")).trim();
  // Until the first remote configuration arrives the collector needs a health endpoint all the same.
  const baseFile = join(folder, "base.yaml");
  await writeYaml(baseFile, baseConfig(ports.collectorHealth));
  const supervisorFile = join(folder, "supervisor.yaml");
  await writeYaml(supervisorFile, supervisorConfig({ ...options, software }, paths, token, baseFile));
  const updaterFile = join(folder, "updater.yaml");
  await writeYaml(updaterFile, updaterConfig({ ...options, software }, paths, supervisorFile));
  const updater = await startProgram({
    name: `host-${name}`,
    script: programPath("myriarch-updater"),
    args: ["run", "--config", updaterFile],
    dataDir: options.dataDir,
  });
  const collectorHealthUrl = `http://127.0.0.1:${ports.collectorHealth}/`;
  return { name, folder, installDir: paths.installDir, stateDir: paths.stateDir, collectorHealthUrl, updater };
}

type Complete = RealHostOptions & { software: HostSoftware };
type Paths = { installDir: string; stateDir: string; storageDir: string };

async function installByHand(installDir: string, { version, writeCollector }: HostSoftware): Promise<void> {
  const current = join(installDir, "current");
  if (await exists(current)) return;
  await writeCollector(join(installDir, "versions", version, BINARY));
  await symlink(join("versions", version), current);
}

const baseConfig = (healthPort: number) => ({
  extensions: { health_check: { endpoint: `127.0.0.1:${healthPort}` } },
  receivers: { nop: {} },
  exporters: { nop: {} },
  service: {
    extensions: ["health_check"],
    pipelines: { metrics: { receivers: ["nop"], exporters: ["nop"] } },
  },
});

const supervisorConfig = (
  { name, serverUrl, ports, attributes, software }: Complete,
  paths: Paths,
  token: string,
  baseFile: string,
) => ({
  server: { endpoint: opampOf(serverUrl), headers: { Authorization: `Bearer ${token}` } },
  capabilities: {
    accepts_remote_config: true,
    reports_remote_config: true,
    accepts_restart_command: true,
    reports_effective_config: true,
    reports_health: true,
    reports_heartbeat: true,
    ...software.capabilities,
  },
  storage: { directory: paths.storageDir },
  agent: {
    executable: join(paths.installDir, "current", BINARY),
    config_files: [baseFile, "$REMOTE_CONFIG"],
    args: software.collectorArgs ?? [],
    config_apply_timeout: "2s",
    bootstrap_timeout: "20s",
    description: { non_identifying_attributes: { "host.name": name, ...attributes } },
  },
  healthcheck: { endpoint: `127.0.0.1:${ports.supervisorHealth}` },
});

const updaterConfig = (options: Complete, paths: Paths, supervisorFile: string) => ({
  server: { endpoint: opampOf(options.serverUrl), tokenFile: options.enrollmentTokenFile },
  hostName: options.name,
  stateDir: paths.stateDir,
  installDir: paths.installDir,
  binary: BINARY,
  supervisor: {
    manager: "process",
    command: [...options.software.supervisor, "--config", supervisorFile],
    storageDir: paths.storageDir,
    healthUrl: `http://127.0.0.1:${options.ports.supervisorHealth}/health`,
    stateReadInterval: "2s",
  },
  collector: {
    healthUrl: `http://127.0.0.1:${options.ports.collectorHealth}/`,
    effectiveConfigFile: join(paths.storageDir, "effective.yaml"),
  },
  update: {
    trustedRootFile: options.trustedRootFile,
    // Short values, so that the demo can be watched; the defaults of the code are the contract's.
    healthInterval: "1s",
    healthTimeout: "15s",
    failedRetryBackoff: "30s",
  },
});

export const opampOf = (serverUrl: string): string => `${serverUrl.replace(/^http/, "ws")}/v1/opamp`;

// ---------------------------------------------------------------- looked at from outside

/** Which version directory `current` names. */
export const currentVersion = async (host: Pick<RealHost, "installDir">): Promise<string> =>
  (await readlink(join(host.installDir, "current"))).split("/").at(-1) ?? "";

export const binaryPath = (host: Pick<RealHost, "installDir">): string => join(host.installDir, "current", BINARY);

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );
