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

export function createSystemdManager(options: SystemdOptions): ServiceManager {
  const { service, run, clock, log, stopTimeoutMs } = options;
  const list = options.list ?? listProcesses;
  const isCollector = isCollectorOf(options.installDir, options.binary);

  const systemctl = async (args: readonly string[], timeoutMs = QUERY_MS): Promise<ProgramResult> =>
    await run("systemctl", ["--no-ask-password", ...args], timeoutMs);
  async function must(args: readonly string[], timeoutMs?: number): Promise<void> {
    const { code, timedOut } = await systemctl(args, timeoutMs);
    if (code === 0) return;
    const how = timedOut ? "does not return" : `exits with ${code}`;
    throw new StepError("install", `systemctl ${args[0]} ${service} ${how}; see journalctl -u ${service}`);
  }
  async function show(...names: string[]): Promise<Map<string, string>> {
    const { output } = await systemctl(["show", service, ...names.flatMap((name) => ["-p", name])]);
    const shown = new Map<string, string>();
    for (const line of output.split("\n")) {
      const at = line.indexOf("=");
      const [name, value] = [line.slice(0, at), line.slice(at + 1)];
      const before = shown.get(name); // a property with several values comes on several lines
      shown.set(name, before === undefined ? value : `${before}\n${value}`);
    }
    return shown;
  }
  async function mainPid(): Promise<number | undefined> {
    const pid = Number((await show("MainPID")).get("MainPID"));
    return pid > 0 ? pid : undefined;
  }
  /** SIGINT to the supervisor alone; then waits until it has ended, as long as a stop may take. */
  async function interrupt(): Promise<void> {
    const pid = await mainPid();
    if (pid === undefined) return;
    const kill = async (whom: string) => await systemctl(["kill", `${whom}=main`, "--signal=SIGINT", service]);
    if ((await kill("--kill-whom")).code !== 0) await kill("--kill-who"); // its name before systemd 252
    const deadline = clock.monotonicMs() + stopTimeoutMs;
    while ((await mainPid()) === pid && clock.monotonicMs() < deadline) await clock.sleep(LOOK_EVERY_MS);
  }
  const endOrphans = async (): Promise<void> => {
    const find = async () => (await list()).filter(isCollector);
    await endLeftovers({ find, isSupervisor: () => false, clock, log, perform: options.perform });
  };
  let startedAt: bigint | undefined;

  return {
    checkExists: async () => {
      const state = (await show("LoadState")).get("LoadState");
      if (state !== "loaded") throw new StepError("install", `there is no service ${service} (${state || "unknown"})`);
    },
    isRunning: async () => (await show("ActiveState")).get("ActiveState") === "active",
    start: async () => {
      if ((await mainPid()) === undefined) await endOrphans(); // they would hold the ports
      startedAt = clock.nowNanos();
      await systemctl(["reset-failed", service]); // a start limit that was hit must not keep the old version down
      await must(["start", service], stopTimeoutMs + QUERY_MS);
    },
    stop: async () => {
      if ((await show("KillSignal")).get("KillSignal") !== SIGINT) await interrupt();
      await must(["stop", service], stopTimeoutMs + QUERY_MS);
      await endOrphans();
    },
    saidSinceStart: async () => {
      if (startedAt === undefined) return undefined;
      const since = `--since=@${startedAt / 1_000_000_000n}`;
      const args = ["--no-pager", "--output=cat", `--lines=${SAID_LINES}`, since, `--unit=${service}`];
      const { code, output } = await run("journalctl", args, QUERY_MS);
      return code === 0 ? output : undefined;
    },
    supervisorPid: mainPid,
    account: async () => await accountOf(await show("User", "Environment", "EnvironmentFiles")),
    close: async () => undefined, // the service is the system's and goes on
  };
}

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
