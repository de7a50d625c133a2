/**
 * A container without an engine: the updater as process 1 of a pid namespace of its own, a folder as its volume, another
 * as the image. Everything else is that of `ProcessHost`.
 */
import { execFileSync, spawn, spawnSync, type ChildProcess } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { demoBinary, runningPlatform } from "../../src/embedded/demo/binary.ts";
import type { SigningAuthority } from "../../src/signing/authority.ts";
import { BINARY, type ArchiveServer } from "./updater-host.ts";
import { ProcessHost } from "./updater-process.ts";

const UPDATER = join(import.meta.dirname, "../../src/bin/myriarch-updater.ts");
const DEADLINE_MS = 120_000;
const UNSHARE = ["--pid", "--fork", "--kill-child", "--mount-proc"];
const AS_USER = ["--user", "--map-root-user"];

/** What `unshare` needs to be given here; undefined where pid namespaces are not permitted. */
export const namespaceFlags: readonly string[] | undefined = [UNSHARE, [...AS_USER, ...UNSHARE]].find(
  (flags) => process.platform === "linux" && spawnSync("unshare", [...flags, "true"]).status === 0,
);

export type ContainerSettings = { imagePrecedence?: "newer" | "never" | "always" };
export type StartOptions = {
  env?: Record<string, string>;
  /** Programs that run the updater, by their arguments. */
  before?: readonly string[];
};
type Ended = { code: number | null; signal: NodeJS.Signals | null };
type OsProcess = { pid: number; parent: number; state: string; uid: number };

export class ContainerHost {
  readonly host: ProcessHost;
  readonly imageDir: string;
  private child: ChildProcess | undefined;
  private readonly heard = new EventEmitter().setMaxListeners(0);
  stdout = "";
  stderr = "";

  private constructor(host: ProcessHost) {
    this.host = host;
    this.imageDir = join(host.root, "image");
  }

  /** An empty volume, and an image whose collector is `version`. */
  static async create(archives: ArchiveServer, authority: SigningAuthority, version: string): Promise<ContainerHost> {
    const container = new ContainerHost(await ProcessHost.create(archives, authority));
    rmSync(container.host.installDir, { recursive: true });
    mkdirSync(container.imageDir);
    await container.image(version);
    container.configure({});
    return container;
  }

  /** Another image; `healthyAnswers` as in `DemoVersion`. */
  async image(version: string, healthyAnswers?: number): Promise<void> {
    const demo = { version, ...(healthyAnswers === undefined ? {} : { healthyAnswers }) };
    const path = join(this.imageDir, BINARY);
    rmSync(path, { force: true }); // a running copy must not be written over
    writeFileSync(path, await demoBinary(demo, runningPlatform()), { mode: 0o755 });
  }

  configure(container: ContainerSettings): void {
    const config = parse(readFileSync(this.host.config, "utf8")) as object;
    const whole = { ...config, container: { imageDir: this.imageDir, ...container } };
    writeFileSync(this.host.config, stringify(whole), { mode: 0o600 });
  }

  /** Makes an account the owner of the volume and of what is mounted into the container. */
  giveTo(uid: number): void {
    execFileSync("chown", ["-R", `${uid}:${uid}`, this.host.root]);
  }

  /** Starts the container and answers once the updater is ready. */
  async start(options: StartOptions = {}): Promise<void> {
    this.launch(options);
    await this.says('{"ready":true}');
  }

  launch({ env = {}, before = [] }: StartOptions = {}): void {
    const command = [...before, process.execPath, UPDATER, "run", "--config", this.host.config];
    const child = spawn("unshare", [...(namespaceFlags ?? []), ...command], {
      env: { ...process.env, NODE_ENV: "test", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.stdout = "";
    this.stderr = "";
    this.child = child;
    child.stdout.on("data", (part: Buffer) => {
      this.stdout += part.toString();
      this.heard.emit("more");
    });
    child.stderr.on("data", (part: Buffer) => {
      this.stderr += part.toString();
      this.heard.emit("more");
    });
    child.once("close", () => this.heard.emit("more"));
  }

  /** Waits until the container's log has a text. Throws when the container ends before. */
  async says(text: string): Promise<void> {
    const signal = AbortSignal.timeout(DEADLINE_MS);
    while (!this.stdout.includes(text) && !this.stderr.includes(text)) {
      if (!this.lives) throw new Error(`the container ended without "${text}": ${this.stderr.slice(-4_000)}`);
      await once(this.heard, "more", { signal });
    }
  }

  private get lives(): boolean {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  /** The namespace's process 1, as seen from outside. */
  get firstProcess(): number {
    const pid = this.child?.pid;
    const children = pid === undefined ? "" : readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    if (children.trim() === "") throw new Error("the container does not run");
    return Number(children.trim());
  }

  /** The updater below it: its first child. */
  get updater(): number {
    const first = this.firstProcess;
    const children = this.processes().filter(({ parent }) => parent === first);
    return Math.min(...children.map(({ pid }) => pid));
  }

  signal(signal: NodeJS.Signals): void {
    process.kill(this.firstProcess, signal);
  }

  /** Waits for the end of the whole namespace. */
  async ended(): Promise<Ended> {
    const { child } = this;
    if (child === undefined) throw new Error("not started");
    if (this.lives) await once(child, "exit", { signal: AbortSignal.timeout(DEADLINE_MS) });
    return { code: child.exitCode, signal: child.signalCode };
  }

  /** As an engine stops a container. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<Ended> {
    this.signal(signal);
    return await this.ended();
  }

  /** Runs a shell script in the namespace, as `exec` of an engine does. */
  exec(script: string): void {
    const user = namespaceFlags?.includes("--user") === true ? ["--user", "--preserve-credentials"] : [];
    execFileSync("nsenter", ["--target", String(this.firstProcess), "--pid", ...user, "sh", "-c", script]);
  }

  /** Every process of the namespace. */
  processes(): OsProcess[] {
    const all = readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? (inspect(Number(name)) ?? []) : []));
    const found = all.filter(({ pid }) => pid === this.firstProcess);
    for (const one of found) found.push(...all.filter(({ parent }) => parent === one.pid));
    return found;
  }

  get zombies(): number {
    return this.processes().filter(({ state }) => state === "Z").length;
  }

  get memory(): { collectors: { version: string; history: string }[] } {
    const path = join(this.host.stateDir, "image-seed.json");
    return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as ContainerHost["memory"]) : { collectors: [] };
  }

  async destroy(): Promise<void> {
    if (this.lives) {
      this.child?.kill("SIGKILL"); // takes process 1 along, and it the namespace
      await this.ended();
    }
    await this.host.destroy();
  }
}

function inspect(pid: number): OsProcess | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state = "", parent = ""] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { pid, parent: Number(parent), state, uid: statSync(`/proc/${pid}`).uid };
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes(String((error as NodeJS.ErrnoException).code))) return undefined;
    throw error;
  }
}
