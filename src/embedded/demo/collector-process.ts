/**
 * The collector as the supervisor's child. Its output goes to a file (truncated at each start), never through a pipe: an
 * orphan must be able to live on, as the real one does.
 */
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { open } from "node:fs/promises";
import { promisify } from "node:util";

export type CollectorOptions = {
  executable: string;
  args: readonly string[];
  environment: NodeJS.ProcessEnv;
  logFile: string;
  /** Called when the collector ended although nobody stopped it. */
  onCrash: (exit: string) => void;
};

export type RunningCollector = { pid: number; startedAtMs: number };

const STOP_MS = 10_000;

/** Name and version that the executable says it has. Throws when it does not run, hangs, or says nothing usable. */
export async function describeCollector(
  executable: string,
  timeoutMs: number,
): Promise<{ name: string; version: string }> {
  const { stdout } = await promisify(execFile)(executable, ["--version"], { timeout: timeoutMs });
  const [, name, version] = /^(\S+) version v?(\S+)/.exec(stdout) ?? [];
  if (name === undefined || version === undefined) throw new Error("the collector does not tell its version");
  return { name, version };
}

export class CollectorProcess {
  private readonly options: CollectorOptions;
  private child: ChildProcess | undefined;
  private started = 0;

  constructor(options: CollectorOptions) {
    this.options = options;
  }

  get running(): RunningCollector | undefined {
    const pid = this.child?.pid;
    return pid === undefined ? undefined : { pid, startedAtMs: this.started };
  }

  /** Starts the collector on a configuration file. An end by itself is told through `onCrash`, a failed start too. */
  async start(configFile: string): Promise<void> {
    const { executable, args, environment, logFile, onCrash } = this.options;
    const log = await open(logFile, "w", 0o600);
    try {
      const child = spawn(executable, ["--config", configFile, ...args], {
        env: environment,
        stdio: ["ignore", log.fd, log.fd],
      });
      this.child = child;
      this.started = Date.now();
      const ended = (exit: string) => {
        if (this.child !== child) return;
        this.child = undefined;
        onCrash(exit);
      };
      child.once("error", (error) => ended(`start failure (${(error as NodeJS.ErrnoException).code ?? "unknown"})`));
      child.once("exit", (code, signal) => ended(signal === null ? `exit code ${code}` : `signal ${signal}`));
    } finally {
      await log.close();
    }
  }

  /** SIGINT, and SIGKILL after ten seconds. The process is gone when this resolves. */
  async stop(): Promise<void> {
    const { child } = this;
    this.child = undefined;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill("SIGINT");
    const cut = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    await gone;
    clearTimeout(cut);
  }
}
