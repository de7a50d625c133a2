/**
 * The supervisor as a systemd service. Everything goes through `systemctl` and `journalctl`; `run` is the one outside thing,
 * so that tests assert command lines. The supervisor stops its collector on SIGINT only: a unit whose KillSignal is another
 * one gets SIGINT first, and its time, since the stop's own signal would end the supervisor in the middle of that.
 */
import { StepError } from "../../domain/update/step-error.ts";
import type { Clock } from "../clock.ts";
import type { Perform } from "../effect.ts";
import type { ProgramResult } from "../run-program.ts";
import { parseEnvironment, readEnvironmentFile } from "./environment.ts";
import { lookUpAccount } from "./process.ts";
import { endLeftovers, isCollectorOf, listProcesses } from "./processes.ts";
import type { Log, ServiceAccount, ServiceManager } from "./service.ts";

export type RunCommand = (file: string, args: readonly string[], timeoutMs: number) => Promise<ProgramResult>;
export type SystemdOptions = {
  service: string;
  installDir: string;
  binary: string;
  stopTimeoutMs: number;
  run: RunCommand;
  clock: Clock;
  log: Log;
  list?: typeof listProcesses;
  perform?: Perform;
};

const SIGINT = "2";
const QUERY_MS = 30_000;
const LOOK_EVERY_MS = 200;
const SAID_LINES = "500";

/** `systemctl` for one service. */
class Systemctl {
  private readonly options: SystemdOptions;
  constructor(options: SystemdOptions) {
    this.options = options;
  }

  async call(args: readonly string[], timeoutMs = QUERY_MS): Promise<ProgramResult> {
    return await this.options.run("systemctl", ["--no-ask-password", ...args], timeoutMs);
  }

  /** Throws (class `install`) unless the verb does what it says. */
  async must(verb: "start" | "stop"): Promise<void> {
    const { service, stopTimeoutMs } = this.options;
    const { code, timedOut } = await this.call([verb, service], stopTimeoutMs + QUERY_MS);
    if (code === 0) return;
    const how = timedOut ? "does not return" : `exits with ${code}`;
    throw new StepError("install", `systemctl ${verb} ${service} ${how}; see journalctl -u ${service}`);
  }

  /** Properties by name; one with several values has a line for each. */
  async show(...names: string[]): Promise<Map<string, string>> {
    const { output } = await this.call(["show", this.options.service, ...names.flatMap((name) => ["-p", name])]);
    const shown = new Map<string, string>();
    for (const line of output.split("\n")) {
      const at = line.indexOf("=");
      const [name, value] = [line.slice(0, at), line.slice(at + 1)];
      const before = shown.get(name);
      shown.set(name, before === undefined ? value : `${before}\n${value}`);
    }
    return shown;
  }

  async mainPid(): Promise<number | undefined> {
    const pid = Number((await this.show("MainPID")).get("MainPID"));
    return pid > 0 ? pid : undefined;
  }

  /** SIGINT to the supervisor alone; then waits until it has ended, as long as a stop may take. */
  async interrupt(): Promise<void> {
    const { service, clock, stopTimeoutMs } = this.options;
    const pid = await this.mainPid();
    if (pid === undefined) return;
    const kill = async (whom: string) => await this.call(["kill", `${whom}=main`, "--signal=SIGINT", service]);
    if ((await kill("--kill-whom")).code !== 0) await kill("--kill-who"); // its name before systemd 252
    const deadline = clock.monotonicMs() + stopTimeoutMs;
    while ((await this.mainPid()) === pid && clock.monotonicMs() < deadline) await clock.sleep(LOOK_EVERY_MS);
  }
}

export function createSystemdManager(options: SystemdOptions): ServiceManager {
  const { service, run, clock, log, perform } = options;
  const list = options.list ?? listProcesses;
  const isCollector = isCollectorOf(options.installDir, options.binary);
  const systemctl = new Systemctl(options);
  const endOrphans = async (): Promise<void> => {
    const find = async () => (await list()).filter(isCollector);
    await endLeftovers({ find, isSupervisor: () => false, clock, log, perform });
  };
  const unit = `--unit=${service}`;
  /** The system started it before us; by when would be a guess, by its invocation it is none. */
  const lastRun = async (): Promise<string[] | undefined> => {
    const id = (await systemctl.show("InvocationID")).get("InvocationID") ?? "";
    return /^[0-9a-f]{32}$/.test(id) ? [`_SYSTEMD_INVOCATION_ID=${id}`] : undefined;
  };
  let startedAt: bigint | undefined;

  return {
    checkExists: async () => {
      const state = (await systemctl.show("LoadState")).get("LoadState");
      if (state !== "loaded") throw new StepError("install", `there is no service ${service} (${state || "unknown"})`);
    },
    isRunning: async () => (await systemctl.show("ActiveState")).get("ActiveState") === "active",
    hasFailed: async () => {
      const shown = await systemctl.show("ActiveState", "SubState");
      // between two starts of its own it is "activating", too
      return shown.get("ActiveState") === "failed" || shown.get("SubState") === "auto-restart";
    },
    start: async () => {
      if ((await systemctl.mainPid()) === undefined) await endOrphans(); // they would hold the ports
      startedAt = clock.nowNanos();
      await systemctl.call(["reset-failed", service]); // a start limit that was hit must not keep the old version down
      await systemctl.must("start");
    },
    stop: async () => {
      if ((await systemctl.show("KillSignal")).get("KillSignal") !== SIGINT) await systemctl.interrupt();
      await systemctl.must("stop");
      await endOrphans();
    },
    saidSinceStart: async () => {
      const which = startedAt === undefined ? await lastRun() : [`--since=@${microseconds(startedAt)}`, unit];
      if (which === undefined) return undefined;
      const args = ["--no-pager", "--output=cat", `--lines=${SAID_LINES}`, ...which];
      const { code, output } = await run("journalctl", args, QUERY_MS);
      return code === 0 ? output : undefined;
    },
    supervisorPid: async () => await systemctl.mainPid(),
    account: async () => await accountOf(await systemctl.show("User", "Environment", "EnvironmentFiles")),
    close: async () => undefined, // the service is the system's and goes on
  };
}

/** As journalctl reads a moment; a whole second would have the words of the run before in it. */
const microseconds = (nanos: bigint): string =>
  `${nanos / 1_000_000_000n}.${String((nanos / 1_000n) % 1_000_000n).padStart(6, "0")}`;

async function accountOf(shown: Map<string, string>): Promise<ServiceAccount> {
  const user = shown.get("User") ?? "";
  const ids = user === "" ? { uid: 0, gid: 0 } : await lookUpAccount(user);
  return { ...ids, environment: await environmentOf(shown) };
}

/** As systemd composes it: inline first, then each file. Undefined when a file that must be there cannot be read. */
async function environmentOf(shown: Map<string, string>): Promise<Record<string, string> | undefined> {
  // systemctl quotes an assignment as a whole when it has white space
  const words = (shown.get("Environment") ?? "").match(/"(?:[^"\\]|\\.)*"|\S+/g) ?? [];
  const lines = words.map((word) => (word.startsWith('"') ? word.slice(1, -1).replaceAll(/\\(.)/g, "$1") : word));
  let environment = parseEnvironment(lines.join("\n"));
  for (const line of (shown.get("EnvironmentFiles") ?? "").split("\n")) {
    const [, file, optional] = /^(.+) \(ignore_errors=(yes|no)\)$/.exec(line) ?? [];
    if (file === undefined) continue;
    const read = await readEnvironmentFile(file).catch((error: NodeJS.ErrnoException) => {
      if (error.code === undefined) throw error;
      return undefined;
    });
    if (read === undefined && optional === "no") return undefined;
    environment = { ...environment, ...read };
  }
  return environment;
}
