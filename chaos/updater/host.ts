/** One host in a folder, with a real updater process; and what it looks like from outside. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import type { FaultPoint } from "../../src/updater/fault-points.ts";
import { listProcesses, type HostProcess } from "../../src/updater/host/processes.ts";
import { sha256, type Archive } from "../../test/support/updater-host.ts";
import { BINARY, BY_HAND, collectorScript, SUPERVISOR_SCRIPT } from "./programs.ts";
import { Session, type World } from "./world.ts";

const DEADLINE_MS = 120_000;
export type Activation = "symlink" | "copy";
/** `healthTimeoutMs` is also the interval: a first answer other than 200 is the last one. */
export type HostSettings = { activation: Activation; healthTimeoutMs: number };
export type Ending = { code: number | null; signal: NodeJS.Signals | null };

export class ChaosHost {
  readonly root: string;
  readonly installDir: string;
  readonly stateDir: string;
  readonly session = new Session();
  /** Everything that its updaters wrote. */
  log = "";
  private readonly world: World;
  private readonly name: string;
  private readonly settings: HostSettings;
  private child: ChildProcess | undefined;
  private ended: Promise<Ending> | undefined;

  constructor(world: World, name: string, settings: HostSettings, from?: ChaosHost) {
    this.world = world;
    this.name = name;
    this.settings = settings;
    this.root = world.hostFolder(name);
    this.installDir = join(this.root, "install");
    this.stateDir = join(this.root, "state");
    world.sessions.set(name, this.session);
    mkdirSync(this.root);
    if (from === undefined) this.installByHand();
    else
      for (const folder of ["install", "state"])
        cpSync(join(from.root, folder), join(this.root, folder), { recursive: true, verbatimSymlinks: true });
    this.configure();
  }

  private installByHand(): void {
    mkdirSync(this.stateDir, { mode: 0o700 });
    for (const version of Object.values(BY_HAND)) {
      mkdirSync(join(this.installDir, "versions", version), { recursive: true });
      writeFileSync(join(this.installDir, "versions", version, BINARY), collectorScript(version), { mode: 0o755 });
    }
    if (this.settings.activation === "symlink")
      return symlinkSync(`versions/${BY_HAND.old}`, join(this.installDir, "current"));
    mkdirSync(join(this.installDir, "bin"));
    writeFileSync(this.stable, collectorScript(BY_HAND.old), { mode: 0o755 });
  }

  private configure(): void {
    const { activation, healthTimeoutMs } = this.settings;
    for (const folder of [this.stateDir, this.installDir]) chmodSync(folder, 0o755);
    spawnSync("mkfifo", [join(this.root, "never")]);
    writeFileSync(join(this.root, "base.yaml"), "{}\n");
    writeFileSync(join(this.root, "supervisor.sh"), SUPERVISOR_SCRIPT);
    writeFileSync(join(this.root, "token"), "enrollment-token\n", { mode: 0o600 });
    const config = {
      server: {
        endpoint: `ws://127.0.0.1:${this.world.port}/v1/opamp/${this.name}`,
        tokenFile: join(this.root, "token"),
      },
      hostName: this.name,
      stateDir: this.stateDir,
      installDir: this.installDir,
      supervisor: {
        manager: "process",
        command: ["/bin/sh", join(this.root, "supervisor.sh"), this.stable, join(this.root, "base.yaml")],
        storageDir: join(this.root, "supervisor"),
      },
      collector: { healthUrl: `http://127.0.0.1:${this.world.port}/health/${this.name}` },
      update: {
        activation,
        trustedRootFile: this.world.authority.trustedRootFile,
        allowedUrlPrefixes: [this.world.archives.prefix],
        healthSuccesses: 1,
        healthInterval: `${healthTimeoutMs}ms`,
        healthTimeout: `${healthTimeoutMs}ms`,
        failedRetryBackoff: "1ms",
      },
    };
    writeFileSync(join(this.root, "updater.yaml"), stringify(config), { mode: 0o600 });
  }

  /** Starts the updater, with a fault if one is given (`record`, `kill:7`, …); answers at once. */
  start(fault?: string, command: "run" | "recover" = "run"): void {
    this.session.forget();
    const env = {
      PATH: process.env["PATH"],
      NODE_COMPILE_CACHE: join(this.world.folder, "compiled"),
      NODE_ENV: "test",
      ...(fault === undefined ? {} : { MYRIARCH_FAULT: fault, MYRIARCH_FAULT_FILE: join(this.root, "points") }),
    };
    const child = spawn(process.execPath, [this.world.program, command, "--config", join(this.root, "updater.yaml")], {
      env,
      stdio: ["ignore", "ignore", "pipe"],
    });
    child.stderr.on("data", (part: Buffer) => (this.log += part.toString()));
    this.child = child;
    this.ended = once(child, "exit").then(([code, signal]): Ending => {
      this.session.changed.emit("change");
      return { code: code as number | null, signal: signal as NodeJS.Signals | null };
    });
  }

  /** Runs the command that repairs, to its end. */
  async recover(fault?: string): Promise<Ending> {
    this.start(fault, "recover");
    await this.until("recover ends", () => false);
    return await this.end();
  }

  get alive(): boolean {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Waits until something holds of what was told, or the updater has ended: then the answer is false. */
  async until(what: string, holds: () => boolean): Promise<boolean> {
    const signal = AbortSignal.timeout(DEADLINE_MS);
    while (this.alive && !holds())
      await once(this.session.changed, "change", { signal }).catch(() => {
        throw new Error(`never: ${what}; it is ${JSON.stringify(this.session.told?.attempt)}`);
      });
    return this.alive;
  }

  offer(archive: Archive): void {
    this.session.send(this.world.offerOf(archive));
  }

  async end(signal: NodeJS.Signals = "SIGTERM"): Promise<Ending> {
    if (this.alive) this.child?.kill(signal);
    return (await this.ended) ?? { code: null, signal: null };
  }

  /** The points of the last start with a fault. */
  get points(): FaultPoint[] {
    const file = join(this.root, "points");
    if (!existsSync(file)) return [];
    return readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as FaultPoint);
  }

  private get stable(): string {
    return join(this.installDir, this.settings.activation === "symlink" ? "current" : "bin", BINARY);
  }
  /** Version whose bytes the supervisor would start now, by the bytes alone; undefined when they are none of ours. */
  active(versions: readonly string[]): string | undefined {
    const bytes = existsSync(this.stable) ? sha256(readFileSync(this.stable)) : "";
    return versions.find((version) => sha256(collectorScript(version)) === bytes);
  }
  get runs(): string | undefined {
    return this.world.runs(this.name);
  }
  get journalExists(): boolean {
    return existsSync(join(this.stateDir, "journal.json"));
  }

  /** Whatever an attempt may not leave behind. */
  get leftovers(): string[] {
    const all = [this.installDir, this.stateDir].flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
    );
    const halves = readdirSync(join(this.installDir, "versions"))
      .map((version) => join(this.installDir, "versions", version))
      .filter((folder) => !existsSync(join(folder, BINARY)));
    const link = join(this.installDir, "current");
    const dangling =
      this.settings.activation === "symlink" && !existsSync(link) ? [`current -> ${readlinkSync(link)}`] : [];
    return [
      ...all.filter((path) => /\.tmp-|\.staging-|\.replaced-|\/spool\/|\.broken$/.test(path)),
      ...halves,
      ...dangling,
    ];
  }

  async processes(): Promise<{ supervisors: HostProcess[]; collectors: HostProcess[] }> {
    const all = (await listProcesses()).filter(({ args }) => args.some((it) => it.startsWith(`${this.root}/`)));
    return {
      supervisors: all.filter(({ args }) => args[1] === join(this.root, "supervisor.sh")),
      collectors: all.filter(({ args }) => args[1] === this.stable),
    };
  }

  /** Ends what is left and removes the folder. */
  async destroy(): Promise<void> {
    await this.end("SIGKILL");
    const { supervisors, collectors } = await this.processes();
    for (const { pid } of [...supervisors, ...collectors]) process.kill(pid, "SIGKILL");
    this.world.sessions.delete(this.name);
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5 });
  }
}
