/**
 * The supervisor as a systemd service. Everything goes through `systemctl`; `run` is the one outside thing, so that tests
 * assert command lines. The supervisor stops its collector on SIGINT only: a unit whose KillSignal is another one gets
 * SIGINT first.
 */
import { StepError } from "../../domain/update/step-error.ts";
import type { Clock } from "../clock.ts";
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
};

const SIGINT = "2";
const QUERY_MS = 30_000;

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
    const lines = output.split("\n").map((line): [string, string] => {
      const at = line.indexOf("=");
      return [line.slice(0, at), line.slice(at + 1)];
    });
    return new Map(lines);
  }

  return {
    checkExists: async () => {
      const state = (await show("LoadState")).get("LoadState");
      if (state !== "loaded") throw new StepError("install", `there is no service ${service} (${state || "unknown"})`);
    },
    isRunning: async () => (await show("ActiveState")).get("ActiveState") === "active",
    start: async () => {
      await systemctl(["reset-failed", service]); // a start limit that was hit must not keep the old version down
      await must(["start", service], stopTimeoutMs + QUERY_MS);
    },
    stop: async () => {
      if ((await show("KillSignal")).get("KillSignal") !== SIGINT)
        await systemctl(["kill", "--kill-whom=main", "--signal=SIGINT", service]);
      await must(["stop", service], stopTimeoutMs + QUERY_MS);
      const find = async () => (await list()).filter(isCollector);
      await endLeftovers({ find, isSupervisor: () => false, clock, log });
    },
    account: async () => await accountOf(await show("User", "Environment", "EnvironmentFiles")),
    close: async () => undefined, // the service is the system's and goes on
  };
}

async function accountOf(shown: Map<string, string>): Promise<ServiceAccount> {
  const user = shown.get("User") ?? "";
  const ids = user === "" ? { uid: 0, gid: 0 } : await lookUpAccount(user);
  const inline = parseEnvironment((shown.get("Environment") ?? "").split(" ").join("\n"));
  const file = /^(\S+) \(ignore_errors=(yes|no)\)/.exec(shown.get("EnvironmentFiles") ?? "");
  const fromFile = file?.[1] === undefined ? {} : await readEnvironmentFile(file[1]).catch(() => undefined);
  return { ...ids, environment: fromFile === undefined ? undefined : { ...inline, ...fromFile } };
}
