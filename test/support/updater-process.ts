/**
 * A real host in a folder: the updater as a process, the stand-in supervisor and demo collector under it, an OpAMP server
 * that records what arrives, and archives over HTTP.
 */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { EventEmitter, once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  watch,
  writeFileSync,
} from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { setTimeout } from "node:timers/promises";
import { join } from "node:path";
import { WebSocketServer, type WebSocket } from "ws";
import { stringify } from "yaml";
import { BRAND } from "../../src/domain/brand.ts";
import { readUpdateComponent, type UpdateAttempt } from "../../src/domain/update/health-report.ts";
import { demoBinary, runningPlatform, writeDemoBinary } from "../../src/embedded/demo/binary.ts";
import { decodeAgentToServer, encodeServerToAgent } from "../../src/protocol/codec.ts";
import {
  textAttribute,
  type AgentToServer,
  type PackageStatus,
  type ServerToAgent,
} from "../../src/protocol/messages.ts";
import type { SigningAuthority } from "../../src/signing/authority.ts";
import { listProcesses, type HostProcess } from "../../src/updater/host/processes.ts";
import { BINARY, makeArchive, packageOffer, type Archive, type ArchiveServer } from "./updater-host.ts";

const UPDATER = join(import.meta.dirname, "../../src/bin/myriarch-updater.ts");
const SUPERVISOR = join(import.meta.dirname, "../../src/embedded/demo/supervisor.ts");
const DEADLINE_MS = 60_000;

/** A demo release with its real binary. */
export async function demoArchive(
  authority: SigningAuthority,
  version: string,
  healthyAnswers?: number,
): Promise<Archive> {
  const demo = { version, ...(healthyAnswers === undefined ? {} : { healthyAnswers }) };
  return await makeArchive(authority, version, [
    { name: BINARY, content: await demoBinary(demo, runningPlatform()), mode: 0o755 },
  ]);
}

/** Answers every message; the state of each agent is what it told so far. */
export class RecordingOpamp {
  readonly messages: AgentToServer[] = [];
  readonly port: number;
  private readonly changed = new EventEmitter().setMaxListeners(0);
  private readonly listener: WebSocketServer;
  private readonly sockets = new Map<string, WebSocket>();

  private constructor(listener: WebSocketServer) {
    this.listener = listener;
    this.port = (listener.address() as AddressInfo).port;
    listener.on("connection", (socket) => {
      socket.on("message", (data) => {
        const message = decodeAgentToServer(data as Buffer);
        this.messages.push(message);
        this.sockets.set(message.instanceUid, socket);
        this.send(message.instanceUid, {});
        this.changed.emit("change");
      });
    });
  }
  static async start(): Promise<RecordingOpamp> {
    const listener = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    await once(listener, "listening");
    return new RecordingOpamp(listener);
  }
  send(instanceUid: string, message: Partial<ServerToAgent>): void {
    this.sockets
      .get(instanceUid)
      ?.send(encodeServerToAgent({ instanceUid, flags: 0n, capabilities: 0x1fn, ...message }));
  }
  async until(what: string, holds: () => boolean): Promise<void> {
    const signal = AbortSignal.timeout(DEADLINE_MS);
    while (!holds())
      await once(this.changed, "change", { signal }).catch((error: unknown) => {
        throw new Error(`never: ${what}`, { cause: error });
      });
  }
  /** What agents of a service name told, the latest of each part. */
  stateOf(isUpdater: boolean): Partial<AgentToServer> {
    const named = this.messages.filter(
      ({ agentDescription: it }) =>
        it !== undefined &&
        (textAttribute(it.identifyingAttributes, "service.name") === BRAND.updaterServiceName) === isUpdater,
    );
    const uid = named.at(-1)?.instanceUid;
    return this.messages
      .filter(({ instanceUid }) => instanceUid === uid)
      .reduce((all, one) => ({ ...all, ...one }), {});
  }
  async close(): Promise<void> {
    for (const client of this.listener.clients) client.terminate();
    this.listener.close();
    await once(this.listener, "close");
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}

export class ProcessHost {
  readonly root = mkdtempSync(join(tmpdir(), "updater-e2e-"));
  readonly installDir = join(this.root, "install");
  readonly stateDir = join(this.root, "state");
  readonly config = join(this.root, "updater.yaml");
  readonly opamp: RecordingOpamp;
  /** How the updater is started. */
  command: readonly string[] = [process.execPath, UPDATER, "run", "--config", this.config];
  env: NodeJS.ProcessEnv = process.env;
  private readonly archives: ArchiveServer;
  private child: ChildProcess | undefined;
  private said = "";

  private constructor(opamp: RecordingOpamp, archives: ArchiveServer) {
    this.opamp = opamp;
    this.archives = archives;
  }

  /** 0.160.0 put there by hand; nothing runs yet. */
  static async create(archives: ArchiveServer, authority: SigningAuthority): Promise<ProcessHost> {
    const host = new ProcessHost(await RecordingOpamp.start(), archives);
    const [collectorPort, healthPort] = [await freePort(), await freePort()];
    mkdirSync(host.stateDir, { mode: 0o700 });
    await writeDemoBinary(join(host.installDir, "versions/0.160.0", BINARY), "0.160.0");
    symlinkSync("versions/0.160.0", join(host.installDir, "current"));
    const pipelines = { traces: { receivers: ["nop"], exporters: ["debug"] } };
    host.write("base.yaml", {
      receivers: { nop: null },
      exporters: { debug: null },
      extensions: { health_check: { endpoint: `127.0.0.1:${collectorPort}` } },
      service: { extensions: ["health_check"], pipelines },
    });
    const endpoint = `ws://127.0.0.1:${host.opamp.port}/v1/opamp`;
    const on = { accepts_remote_config: true, reports_remote_config: true, accepts_restart_command: true };
    host.write("supervisor.yaml", {
      server: { endpoint, headers: { Authorization: "Bearer t" } },
      capabilities: on,
      storage: { directory: join(host.root, "supervisor") },
      agent: {
        executable: join(host.installDir, "current", BINARY),
        args: ["--set=service.telemetry.metrics.level=none"], // whoever is on port 8888 of this machine may stay
        config_files: [join(host.root, "base.yaml")],
        config_apply_timeout: "1s",
        bootstrap_timeout: "15s",
      },
      healthcheck: { endpoint: `127.0.0.1:${healthPort}` },
    });
    writeFileSync(join(host.root, "token"), "enrollment-token\n", { mode: 0o600 });
    host.write("updater.yaml", {
      server: { endpoint, tokenFile: join(host.root, "token") },
      hostName: "real-1",
      stateDir: host.stateDir,
      installDir: host.installDir,
      supervisor: {
        manager: "process",
        command: [process.execPath, SUPERVISOR, "--config", join(host.root, "supervisor.yaml")],
        storageDir: join(host.root, "supervisor"),
        healthUrl: `http://127.0.0.1:${healthPort}/health`,
        stateReadInterval: "1s",
      },
      collector: { healthUrl: `http://127.0.0.1:${collectorPort}/` },
      update: {
        trustedRootFile: authority.trustedRootFile,
        allowedUrlPrefixes: [archives.prefix],
        healthInterval: "300ms",
        healthTimeout: "10s",
        failedRetryBackoff: "1s",
      },
    });
    return host;
  }

  private write(name: string, content: object): void {
    writeFileSync(join(this.root, name), stringify(content), { mode: 0o600 });
  }

  /** Starts the updater; resolves when it says that it is ready. It is killed at the named point (`fault-points.ts`). */
  async start(killedAt?: string): Promise<void> {
    const fault = killedAt === undefined ? {} : { MYRIARCH_FAULT: `kill:${killedAt}` };
    const env = { ...this.env, NODE_ENV: "test", ...fault };
    const [program = "", ...args] = this.command;
    const child = spawn(program, args, {
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.child = child;
    const ready = new Promise<void>((resolve, reject) => {
      child.stdout.on("data", (part: Buffer) => {
        this.said += part.toString();
        if (part.toString().includes('{"ready":true}')) resolve();
      });
      child.stderr.on("data", (part: Buffer) => (this.said += part.toString()));
      child.once("exit", (code, signal) =>
        reject(new Error(`the updater ended (${signal ?? code}): ${this.said.slice(-3_000)}`)),
      );
    });
    await ready;
  }

  /** Another updater with the same configuration; rejects with what it said when it ends. */
  async startSecond(): Promise<void> {
    const child = spawn(process.execPath, [UPDATER, "run", "--config", this.config], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    child.stderr.on("data", (part: Buffer) => (said += part.toString()));
    const [code] = (await once(child, "close", { signal: AbortSignal.timeout(DEADLINE_MS) })) as [number | null];
    if (code !== 0) throw new Error(said);
  }

  /** Runs the command `recover` to its end; it is killed at the named point. */
  async recover(killedAt?: string): Promise<{ code: number | null; signal: NodeJS.Signals | null; said: string }> {
    const fault = killedAt === undefined ? {} : { MYRIARCH_FAULT: `kill:${killedAt}` };
    const [program = "", ...args] = this.command.map((word) => (word === "run" ? "recover" : word));
    const env = { ...this.env, NODE_ENV: "test", ...fault };
    const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    child.stdout.on("data", (part: Buffer) => (said += part.toString()));
    child.stderr.on("data", (part: Buffer) => (this.said += part.toString()));
    await once(child, "close", { signal: AbortSignal.timeout(DEADLINE_MS) });
    return { code: child.exitCode, signal: child.signalCode, said: said.trim() };
  }

  offer(archive: Archive): void {
    const { instanceUid = "" } = this.opamp.stateOf(true);
    this.opamp.send(instanceUid, packageOffer(archive, this.archives.base));
  }

  get attempt(): UpdateAttempt | undefined {
    const component = this.opamp.stateOf(true).health?.componentHealthMap.get(BRAND.updateComponent);
    return component && readUpdateComponent(component);
  }
  get status(): PackageStatus | undefined {
    return this.opamp.stateOf(true).packageStatuses?.packages.get("");
  }
  /** As the collector's own supervisor reports it. */
  get reportedVersion(): string | undefined {
    const { agentDescription } = this.opamp.stateOf(false);
    return agentDescription && textAttribute(agentDescription.identifyingAttributes, "service.version");
  }
  async attemptEnds(status: string, version: string): Promise<void> {
    const is = () => this.attempt?.version === version && this.attempt.status === status;
    await this.opamp.until(`${version} ${status}`, is).catch((error: unknown) => {
      throw new Error(`${String(error)}; it is ${JSON.stringify(this.attempt)}; ${this.said.slice(-4_000)}`);
    });
  }

  get active(): string {
    return readlinkSync(join(this.installDir, "current")).replace("versions/", "");
  }
  get binaryVersion(): string {
    return execFileSync(join(this.installDir, "current", BINARY), ["--version"], { encoding: "utf8" }).trim();
  }
  get journalExists(): boolean {
    return existsSync(join(this.stateDir, "journal.json"));
  }
  marker(version: string): Record<string, string> {
    return JSON.parse(readFileSync(join(this.installDir, "versions", version, "install.json"), "utf8")) as Record<
      string,
      string
    >;
  }
  get log(): string {
    return this.said;
  }

  /** Processes of this host other than the updater. */
  async processes(): Promise<{ supervisors: HostProcess[]; collectors: HostProcess[] }> {
    const all = (await listProcesses()).filter(({ args }) => args.some((it) => it.startsWith(this.root)));
    return {
      supervisors: all.filter(({ args }) => args.includes(SUPERVISOR)),
      collectors: all.filter(({ args }) => args.some((it) => it.endsWith(`/${BINARY}`)) && args.includes("--config")),
    };
  }

  async untilProcesses(wanted: { supervisors: number; collectors: number }): Promise<void> {
    const deadline = performance.now() + DEADLINE_MS;
    for (;;) {
      const { supervisors, collectors } = await this.processes();
      if (supervisors.length === wanted.supervisors && collectors.length === wanted.collectors) return;
      if (performance.now() > deadline)
        throw new Error(
          `${supervisors.length} supervisors, ${collectors.length} collectors; ${this.said.slice(-3_000)}`,
        );
      await setTimeout(100);
    }
  }

  /** Names in a folder that match, once there is one. */
  async untilFile(folder: string, name: RegExp): Promise<string[]> {
    const found = () => readdirSync(folder).filter((it) => name.test(it));
    if (found().length > 0) return found();
    const watcher = watch(folder);
    try {
      const signal = AbortSignal.timeout(DEADLINE_MS);
      while (found().length === 0) await once(watcher, "change", { signal });
      return found();
    } catch (error) {
      throw new Error(`never: ${String(name)}; ${this.said.slice(-3_000)}`, { cause: error });
    } finally {
      watcher.close();
    }
  }

  async died(): Promise<NodeJS.Signals | null> {
    const { child } = this;
    if (child === undefined) throw new Error("not started");
    if (child.exitCode === null && child.signalCode === null)
      await once(child, "exit", { signal: AbortSignal.timeout(DEADLINE_MS) });
    return child.signalCode;
  }
  async signal(signal: NodeJS.Signals): Promise<number | null> {
    this.child?.kill(signal);
    await this.died();
    return this.child?.exitCode ?? null;
  }

  /** Stops the updater, ends what it left, and removes the folder. */
  async destroy(): Promise<void> {
    if (this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null)
      await this.signal("SIGTERM");
    const { supervisors, collectors } = await this.processes();
    for (const { pid } of [...supervisors, ...collectors]) process.kill(pid, "SIGKILL");
    await this.opamp.close();
    rmSync(this.root, { recursive: true, force: true });
  }
}
