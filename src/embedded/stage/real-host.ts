/**
 * A real host of the quickstart: a folder in which a real `myriarch-updater` manages a supervisor and a collector binary.
 * It begins with 0.160.0 put there by hand: no marker, and no artifact of it on the server. The interop tests put the
 * upstream supervisor and a collector written in Go in the place of stand-in and demo collector.
 */
import { mkdir, readFile, readlink, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseDocument } from "yaml";
import {
  enrolmentSnippet,
  TOKEN_VARIABLE,
  withToken,
  type SnippetTransport,
} from "../../domain/agents/enrolment-snippet.ts";
import { writeDemoBinary } from "../demo/binary.ts";
import { programPath, startProgram, type Program } from "../program.ts";

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
  /** Added to the updater's environment. */
  env?: Readonly<Record<string, string>>;
};

export type HostSoftware = {
  /** Starts the supervisor; `--config FILE` is added. */
  supervisor: readonly string[];
  /** Of the supervisor; default: websocket. */
  transport?: SnippetTransport;
  /** Default: as the snippet says. */
  applyTimeout?: string;
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
  applyTimeout: "2s",
  // several on one machine, and whoever else is on port 8888 of it; an updater asks for that port where nobody says this
  collectorArgs: ["--set=service.telemetry.metrics.level=none"],
  version: FIRST_VERSION,
  writeCollector: (file) => writeDemoBinary(file, FIRST_VERSION),
};

/** Prepares the folder the first time, then starts the updater, which starts the supervisor. */
export async function startRealHost(options: RealHostOptions): Promise<RealHost> {
  const { folder, name, ports } = options;
  const { updaterFile, paths, env } = await prepareRealHost(options);
  const updater = await startProgram({
    name: `host-${name}`,
    script: programPath("myriarch-updater"),
    args: ["run", "--config", updaterFile],
    dataDir: options.dataDir,
    env,
  });
  const collectorHealthUrl = `http://127.0.0.1:${ports.collectorHealth}/`;
  return { name, folder, installDir: paths.installDir, stateDir: paths.stateDir, collectorHealthUrl, updater };
}

/** Everything on the disk that a host has before its updater starts, and what is added to the updater's environment. */
export async function prepareRealHost(options: RealHostOptions) {
  const { folder, software = DEMO } = options;
  const paths: Paths = {
    installDir: join(folder, "install"),
    stateDir: join(folder, "updater"),
    storageDir: join(folder, "supervisor"),
  };
  await installByHand(paths.installDir, software);
  for (const dir of [paths.stateDir, paths.storageDir]) await mkdir(dir, { recursive: true, mode: 0o700 });
  const token = (await readFile(options.enrollmentTokenFile, "utf8")).trim();
  const updaterFile = await writeSnippet({ ...options, software }, paths, token);
  // What the drop-in of the service does where systemd starts the supervisor.
  return { updaterFile, paths, env: { ...options.env, [TOKEN_VARIABLE]: token } };
}

type Complete = RealHostOptions & { software: HostSoftware };
type Paths = { installDir: string; stateDir: string; storageDir: string };

async function installByHand(installDir: string, { version, writeCollector }: HostSoftware): Promise<void> {
  const current = join(installDir, "current");
  if (await exists(current)) return;
  await writeCollector(join(installDir, "versions", version, BINARY));
  await symlink(join("versions", version), current);
}

/**
 * Writes the files that the server gives to whoever enrols a host, with the paths, ports and names of this one in them, and
 * the supervisor as the updater's child instead of a service. Resolves with the updater's file.
 */
async function writeSnippet(options: Complete, paths: Paths, token: string): Promise<string> {
  const { serverUrl: publicUrl, software, folder } = options;
  const snippet = enrolmentSnippet({ publicUrl, transport: software.transport ?? "websocket" });
  const { files } = withToken(snippet, token);
  const changes = placesOf(options, paths);
  for (const { name, content, mode } of files) {
    const change = changes[name];
    if (change === undefined) continue;
    const document = parseDocument(content);
    for (const [path, value] of change) document.setIn(path, value);
    await writeFile(fileOf(folder, name), document.toString({ lineWidth: 0 }), { mode: Number.parseInt(mode, 8) });
  }
  return fileOf(folder, "updater");
}

const fileOf = (folder: string, name: string): string => join(folder, `${name}.yaml`);

type Change = readonly (readonly [path: readonly string[], value: unknown])[];

/** Everything in which this host differs from one with systemd and a machine of its own. */
function placesOf(options: Complete, { installDir, stateDir, storageDir }: Paths): Readonly<Record<string, Change>> {
  const { folder, name, ports, attributes, software } = options;
  const supervisorHealth = `127.0.0.1:${ports.supervisorHealth}`;
  const collectorHealth = `127.0.0.1:${ports.collectorHealth}`;
  const command = [...software.supervisor, "--config", fileOf(folder, "supervisor")];
  return {
    supervisor: [
      [["storage", "directory"], storageDir],
      [["agent", "executable"], join(installDir, "current", BINARY)],
      [
        ["agent", "config_files"],
        [fileOf(folder, "base"), "$REMOTE_CONFIG"],
      ],
      [["agent", "args"], software.collectorArgs ?? []],
      [["agent", "description"], { non_identifying_attributes: { "host.name": name, ...attributes } }],
      [["healthcheck", "endpoint"], supervisorHealth],
      ...(software.applyTimeout === undefined
        ? []
        : [[["agent", "config_apply_timeout"], software.applyTimeout] as const]),
    ],
    base: [[["extensions", "health_check", "endpoint"], collectorHealth]],
    updater: [
      [["server", "tokenFile"], options.enrollmentTokenFile],
      [["hostName"], name],
      [["stateDir"], stateDir],
      [["installDir"], installDir],
      [
        ["supervisor"],
        {
          manager: "process",
          command,
          storageDir,
          healthUrl: `http://${supervisorHealth}/health`,
          stateReadInterval: "2s",
        },
      ],
      [["collector", "healthUrl"], `http://${collectorHealth}/`],
      [["collector", "effectiveConfigFile"], join(storageDir, "effective.yaml")],
      [["update", "trustedRootFile"], options.trustedRootFile],
      // Short values, so that the demo can be watched; the defaults of the code are the contract's.
      [["update", "healthInterval"], "1s"],
      [["update", "healthTimeout"], "15s"],
      [["update", "failedRetryBackoff"], "30s"],
    ],
  };
}

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
