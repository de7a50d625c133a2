/**
 * Runs the supervisor as a child of the host program (containers, tests, hosts without a service manager): clean stop by
 * SIGINT, restart with backoff when it ends by itself, output to a log file. The child has a session of its own, so that
 * Ctrl-C on a terminal reaches us alone and the order of stopping stays ours.
 */
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { open, rename, stat } from "node:fs/promises";
import { promisify } from "node:util";
import { StepError } from "../../domain/update/step-error.ts";
import type { Clock } from "../clock.ts";
import type { FollowOutput } from "../container/supervisor-output.ts";
import { performDirectly, type Perform } from "../effect.ts";
import { readEnvironmentFile } from "./environment.ts";
import { endLeftovers, isCollectorOf, isCommand, listProcesses, treeOf, type HostProcess } from "./processes.ts";
import type { Log, ServiceAccount, ServiceManager } from "./service.ts";

export type ProcessManagerOptions = {
  command: readonly string[];
  installDir: string;
  binary: string;
  /** Supervisor's output. A file, not a pipe: a pipe would end with us and the supervisor with it. */
  logFile: string;
  user?: string | undefined;
  environmentFile?: string | undefined;
  stopTimeoutMs: number;
  clock: Clock;
  log: Log;
  /** Starts and signals go through it; directly by default. */
  perform?: Perform;
  /** In a container: gets the supervisor with its output piped; otherwise the output goes to the log file alone. */
  follow?: FollowOutput | undefined;
};

export const MAX_LOG_BYTES = 16 * 1024 ** 2;
const MAX_SAID_BYTES = 64 * 1024;
const FIRST_RESTART_MS = 1_000;
const LONGEST_RESTART_MS = 60_000;
/** A supervisor that ran this long did start: the next restart is quick again. */
const SETTLED_MS = 60_000;

export function createProcessManager(options: ProcessManagerOptions): ServiceManager {
  return new ProcessManager(options);
}

class ProcessManager implements ServiceManager {
  private readonly options: ProcessManagerOptions;
  private readonly perform: Perform;
  private readonly isCollector: (it: HostProcess) => boolean;
  private readonly isSupervisor: (it: HostProcess) => boolean;
  private child: ChildProcess | undefined;
  private restart: AbortController | undefined;
  private backoffMs = FIRST_RESTART_MS;
  private turn: Promise<void> = Promise.resolve();
  /** Size of the log when a start was last asked for; undefined before that. */
  private logBytesAtStart: number | undefined;

  constructor(options: ProcessManagerOptions) {
    this.options = options;
    this.perform = options.perform ?? performDirectly;
    this.isCollector = isCollectorOf(options.installDir, options.binary);
    this.isSupervisor = isCommand(options.command);
  }

  async checkExists(): Promise<void> {
    const [program = ""] = this.options.command;
    if (!program.includes("/")) return; // found on PATH by whoever starts it; a wrong name fails at our own start
    const found = await stat(program).catch(() => undefined);
    if (found?.isFile() !== true) throw new StepError("install", "the supervisor's program does not exist");
  }

  async isRunning(): Promise<boolean> {
    return this.child !== undefined;
  }

  async hasFailed(): Promise<boolean> {
    return this.child === undefined && this.restart !== undefined;
  }

  async start(): Promise<void> {
    this.cancelRestart();
    await this.inTurn(async () => {
      if (this.child !== undefined) return;
      this.backoffMs = FIRST_RESTART_MS;
      this.logBytesAtStart = (await stat(this.options.logFile).catch(() => undefined))?.size ?? 0;
      try {
        await this.endOrphans([]);
        await this.spawn();
      } catch (error) {
        this.scheduleRestart(); // whoever asked hears of it; the host needs its supervisor in any case
        throw error;
      }
    });
  }

  async stop(): Promise<void> {
    this.cancelRestart();
    await this.inTurn(async () => {
      const { child } = this;
      const tree = child?.pid === undefined ? [] : treeOf(await listProcesses(), child.pid);
      if (child !== undefined) await this.endChild(child);
      await this.endOrphans(tree);
    });
  }

  async saidSinceStart(): Promise<string | undefined> {
    if (this.logBytesAtStart === undefined) return undefined;
    return await readEnd(this.options.logFile, this.logBytesAtStart);
  }

  async supervisorPid(): Promise<number | undefined> {
    return this.child?.pid;
  }

  async account(): Promise<ServiceAccount> {
    const ids = await this.ids();
    return { ...ids, environment: await this.environment() };
  }

  async close(): Promise<void> {
    await this.stop();
  }

  /** Starts and stops never overlap, a restart that is on its way included. */
  private async inTurn(work: () => Promise<void>): Promise<void> {
    const before = this.turn;
    const mine = before.then(work);
    this.turn = mine.catch(() => undefined); // whoever asked for it hears of the failure; the next one takes its turn
    await mine;
  }

  private async spawn(): Promise<void> {
    const [program = "", ...args] = this.options.command;
    const { follow } = this.options;
    const { uid, gid } = await this.ids();
    const log = await openLog(this.options.logFile);
    const startedAt = this.options.clock.monotonicMs();
    let child: ChildProcess;
    try {
      const env = await this.environment();
      child = await this.perform("spawn", "supervisor", async () => {
        const started = spawn(program, args, {
          env,
          stdio: follow === undefined ? ["ignore", log.fd, log.fd] : ["ignore", "pipe", "pipe"],
          detached: true,
          ...(uid === undefined || gid === undefined || uid === process.getuid?.() ? {} : { uid, gid }),
        });
        await once(started, "spawn");
        return started;
      });
    } catch (error) {
      throw new StepError("install", `the supervisor does not start (${codeOf(error)})`, error);
    } finally {
      await log.close();
    }
    this.child = child;
    follow?.(child);
    child.once("exit", (code, signal) => this.ended(child, { code, signal }, startedAt));
    this.options.log.info({ pid: child.pid }, "supervisor started");
  }

  private ended(child: ChildProcess, exit: { code: number | null; signal: string | null }, startedAt: number): void {
    if (this.child !== child) return;
    this.child = undefined;
    const { clock, log, logFile } = this.options;
    if (clock.monotonicMs() - startedAt > SETTLED_MS) this.backoffMs = FIRST_RESTART_MS;
    log.warn({ ...exit, waitMs: this.backoffMs, see: logFile }, "the supervisor ended by itself; starting it again");
    this.scheduleRestart();
  }

  private scheduleRestart(): void {
    const restart = new AbortController();
    this.restart = restart;
    const waitMs = this.backoffMs;
    this.backoffMs = Math.min(LONGEST_RESTART_MS, waitMs * 2);
    this.startAgain(waitMs, restart.signal).catch((error: unknown) => {
      if (restart.signal.aborted) return;
      this.options.log.error({ error: String(error) }, "the supervisor could not be started again");
      this.scheduleRestart();
    });
  }

  private async startAgain(waitMs: number, signal: AbortSignal): Promise<void> {
    await this.options.clock.sleep(waitMs, signal);
    await this.inTurn(async () => {
      if (signal.aborted) return;
      await this.endOrphans([]);
      await this.spawn();
    });
  }

  private cancelRestart(): void {
    this.restart?.abort(new Error("a start or stop was asked for"));
    this.restart = undefined;
  }

  /** SIGINT is the only signal on which the supervisor takes its collector along. */
  private async endChild(child: ChildProcess): Promise<void> {
    this.child = undefined; // its end is ours, not one to be mended
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    const cut = new AbortController();
    await this.perform("signal", "SIGINT supervisor", async () => child.kill("SIGINT"));
    const late = this.options.clock.sleep(this.options.stopTimeoutMs, cut.signal).then(
      async () => {
        this.options.log.warn({ pid: child.pid }, "the supervisor does not end on SIGINT; killing it");
        await this.perform("signal", "SIGKILL supervisor", async () => child.kill("SIGKILL"));
      },
      () => undefined, // it ended in time
    );
    await exited;
    cut.abort();
    await late;
  }

  private async endOrphans(tree: readonly HostProcess[]): Promise<void> {
    const { clock, log } = this.options;
    const isOfTree = (it: HostProcess) => tree.some(({ pid, started }) => it.pid === pid && it.started === started);
    await endLeftovers({
      find: async () =>
        (await listProcesses()).filter(
          (it) => it.pid !== process.pid && (this.isCollector(it) || this.isSupervisor(it) || isOfTree(it)),
        ),
      isSupervisor: this.isSupervisor,
      clock,
      log,
      perform: this.perform,
    });
  }

  private async environment(): Promise<Record<string, string>> {
    const file = this.options.environmentFile;
    const own = Object.entries(process.env).filter((pair): pair is [string, string] => pair[1] !== undefined);
    return { ...Object.fromEntries(own), ...(file === undefined ? {} : await readEnvironmentFile(file)) };
  }

  private async ids(): Promise<{ uid: number | undefined; gid: number | undefined }> {
    const { user } = this.options;
    if (user === undefined) return { uid: process.getuid?.(), gid: process.getgid?.() };
    return await lookUpAccount(user);
  }
}

/** Numeric ids of an account. Throws (class `install`) when there is none. */
export async function lookUpAccount(user: string): Promise<{ uid: number; gid: number }> {
  try {
    const [uid, gid] = await Promise.all(
      ["-u", "-g"].map(async (flag) => await promisify(execFile)("id", [flag, user])),
    );
    return { uid: Number(uid?.stdout.trim()), gid: Number(gid?.stdout.trim()) };
  } catch (error) {
    throw new StepError("install", `the account ${user} does not exist`, error);
  }
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "unknown reason";
}

/** What a log holds from `from` on, its end when that is long; all of it when the log was begun anew since. */
async function readEnd(path: string, from: number): Promise<string> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    const begin = Math.max(size < from ? 0 : from, size - MAX_SAID_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - begin), 0, size - begin, begin);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Appends; a log that has grown is moved aside once, so that it never fills the disk. */
async function openLog(path: string) {
  const found = await stat(path).catch(() => undefined);
  if (found !== undefined && found.size > MAX_LOG_BYTES) await rename(path, `${path}.1`);
  return await open(path, "a", 0o600);
}
