/** One host with the real supervisor, collector and updater, and what a test asks of it: rows on the server, processes, version. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync } from "node:fs";
import { copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { programPath } from "../../src/embedded/program.ts";
import {
  currentVersion,
  prepareRealHost,
  startRealHost,
  type RealHost,
  type RealHostOptions,
} from "../../src/embedded/stage/real-host.ts";
import { listProcesses, type HostProcess } from "../../src/updater/host/processes.ts";
import type { AgentRow, InteropServer } from "./interop-server.ts";
import { eventually } from "./opamp.ts";
import { realSoftware, type Peers } from "./peers.ts";

const WAIT_MS = 120_000;
const APPLIED = 1;
const ENDS = ["succeeded", "failed", "rolled_back"];

export type InteropHostOptions = {
  server: InteropServer;
  peers: Peers;
  name: string;
  collectorArgs?: readonly string[];
};

export class InteropHost {
  readonly name: string;
  readonly folder: string;
  private readonly options: InteropHostOptions;
  private readonly ports: { supervisorHealth: number; collectorHealth: number };
  private host: RealHost | undefined;
  private container: ChildProcess | undefined;

  private constructor(options: InteropHostOptions, ports: InteropHost["ports"]) {
    this.options = options;
    this.name = options.name;
    this.folder = join(options.server.dataDir, options.name);
    this.ports = ports;
  }

  /** A host in a folder of its own, not started. */
  static async prepare(options: InteropHostOptions): Promise<InteropHost> {
    const { server, name } = options;
    const ports = {
      supervisorHealth: await server.ports.take(`${name}-supervisor`),
      collectorHealth: await server.ports.take(`${name}-collector`),
    };
    const host = new InteropHost(options, ports);
    await mkdir(host.folder);
    return host;
  }

  /** Starts the updater, which starts the rest; `env` is added to its environment. */
  async start(env: Readonly<Record<string, string>> = {}): Promise<void> {
    this.host = await startRealHost(this.real(env));
  }

  /**
   * Starts the updater as the first process of a pid namespace, as in a container: the folder is the volume, empty the
   * first time, and the image holds the collector `image`. `flags` are for `unshare`.
   */
  async startContainer(image: string, flags: readonly string[]): Promise<void> {
    const { updaterFile, paths, env } = await prepareRealHost(this.real());
    const imageDir = join(this.folder, "image");
    if (!existsSync(imageDir)) await rm(paths.installDir, { recursive: true }); // what was put there by hand
    await mkdir(imageDir, { recursive: true });
    await rm(join(imageDir, "otelcol-contrib"), { force: true }); // a running copy must not be written over
    await copyFile(this.options.peers.collector(image), join(imageDir, "otelcol-contrib"));
    const config = parse(await readFile(updaterFile, "utf8")) as object;
    await writeFile(updaterFile, stringify({ ...config, container: { imageDir } }), { mode: 0o600 });
    const log = openSync(this.containerLog, "a");
    const command = [process.execPath, programPath("myriarch-updater"), "run", "--config", updaterFile];
    this.container = spawn("unshare", [...flags, ...command], {
      env: { ...process.env, ...env },
      stdio: ["ignore", log, log],
    });
    closeSync(log);
  }

  get containerLog(): string {
    return join(this.folder, "container.log");
  }

  /** As an engine stops a container; resolves with how it ended. */
  async stopContainer(): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    const { container } = this;
    if (container?.pid === undefined) throw new Error(`${this.name} has no container`);
    const first = (await listProcesses()).find(({ parent }) => parent === container.pid);
    if (first === undefined) throw new Error(`the container of ${this.name} has no first process`);
    const ended = once(container, "exit");
    process.kill(first.pid, "SIGTERM");
    await ended;
    this.container = undefined;
    return { code: container.exitCode, signal: container.signalCode };
  }

  private real(env: Readonly<Record<string, string>> = {}): RealHostOptions {
    const { server, peers, name, collectorArgs } = this.options;
    return {
      name,
      folder: this.folder,
      dataDir: server.dataDir,
      serverUrl: server.url,
      enrollmentTokenFile: server.enrollmentTokenFile,
      trustedRootFile: server.authority.trustedRootFile,
      ports: this.ports,
      attributes: {},
      software: realSoftware(peers, "websocket", collectorArgs),
      env,
    };
  }

  get updater(): RealHost["updater"] {
    if (this.host === undefined) throw new Error(`${this.name} was not started`);
    return this.host.updater;
  }
  get supervisorStorage(): string {
    return join(this.folder, "supervisor");
  }

  /** Everything of this host ends. */
  async end(): Promise<void> {
    await this.host?.updater.stop();
    this.container?.kill("SIGKILL"); // takes the namespace's first process along, and it the namespace
    for (const { pid } of await this.processes()) process.kill(pid, "SIGKILL");
  }

  async version(): Promise<string> {
    return await currentVersion({ installDir: join(this.folder, "install") });
  }

  async agent(kind: string, what: string, fits: (row: AgentRow) => boolean): Promise<AgentRow> {
    const { server } = this.options;
    let seen: AgentRow[] = [];
    const find = async () => {
      seen = await server.agents(this.name);
      return seen.find((row) => row.kind === kind && fits(row));
    };
    return await eventually(`${this.name}: ${what}`, find, WAIT_MS).catch((error: unknown) => {
      throw new Error(`${String(error)}; seen ${JSON.stringify(seen)}`);
    });
  }

  /** A healthy collector of this version that its own report names. */
  async runs(version: string): Promise<AgentRow> {
    const fits = (row: AgentRow) => row.connected && row.healthy && row.version === version;
    return await this.agent("collector", `a healthy collector ${version}`, fits);
  }
  async linked(): Promise<AgentRow> {
    return await this.agent("updater", "a linked updater", (row) => row.connected && row.link === "linked");
  }

  /** Offers a configuration; resolves once it is applied and the collector is healthy. */
  async configure(config: object): Promise<void> {
    const { server } = this.options;
    const { uid } = await this.agent("collector", "a collector", (row) => row.connected);
    const { hash, offer } = await server.offerConfig(uid, stringify(config));
    const applied = (row: AgentRow) => row.configHash === hash && row.configStatus === APPLIED && row.healthy;
    await this.agent("collector", "APPLIED and healthy", applied);
    await server.closeOffer(offer);
  }
  /** A small pipeline with the batch processor; `telemetry` of the collector itself. */
  config(telemetry?: object): object {
    return {
      extensions: { health_check: { endpoint: `127.0.0.1:${this.ports.collectorHealth}` } },
      receivers: { nop: {} },
      processors: { batch: {} },
      exporters: { debug: {} },
      service: {
        ...(telemetry === undefined ? {} : { telemetry }),
        extensions: ["health_check"],
        pipelines: { traces: { receivers: ["nop"], processors: ["batch"], exporters: ["debug"] } },
      },
    };
  }

  /** Offers a version, and closes the offer as the engine does once the attempt has ended. */
  async update(version: string, artifact: string): Promise<NonNullable<AgentRow["attempt"]>> {
    const { uid } = await this.linked();
    const offer = await this.options.server.offerPackage(uid, version, artifact);
    const attempt = await this.attempted(version);
    await this.options.server.closeOffer(offer);
    return attempt;
  }
  /** The attempt at this version, once it has ended. */
  async attempted(version: string): Promise<NonNullable<AgentRow["attempt"]>> {
    const ended = (row: AgentRow) => row.attempt?.version === version && ENDS.includes(row.attempt.status);
    const { attempt } = await this.agent("updater", `the end of the attempt at ${version}`, ended);
    if (attempt === null) throw new Error("no attempt");
    return attempt;
  }

  /** Supervisor and collector of this host, and nothing else of it. */
  async processes(): Promise<HostProcess[]> {
    const isUpdater = (args: readonly string[]) => args.includes(programPath("myriarch-updater"));
    return (await listProcesses()).filter(
      ({ args }) => !isUpdater(args) && args.some((word) => word.startsWith(`${this.folder}/`)),
    );
  }
  /** Waits until there is exactly one of each. */
  async pair(): Promise<{ supervisor: HostProcess; collector: HostProcess }> {
    const find = async () => {
      const all = await this.processes();
      const [supervisor, ...more] = all.filter(({ executable }) => executable === this.options.peers.supervisor);
      const [collector, ...others] = all.filter(({ executable }) => executable !== this.options.peers.supervisor);
      if (supervisor === undefined || collector === undefined || more.length + others.length > 0) return undefined;
      return { supervisor, collector };
    };
    return await eventually(`${this.name}: one supervisor and one collector`, find, WAIT_MS);
  }
}
