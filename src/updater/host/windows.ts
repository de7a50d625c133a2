/**
 * The supervisor as a Windows service, through `sc.exe` and PowerShell. A running executable is locked there, so the stop
 * waits until the processes that run from the installation are gone. `run` is the one outside thing.
 */
import { StepError } from "../../domain/update/step-error.ts";
import type { Clock } from "../clock.ts";
import type { Files } from "../files.ts";
import type { ProgramResult } from "../run-program.ts";
import type { ServiceManager } from "./service.ts";
import type { RunCommand } from "./systemd.ts";

export type WindowsOptions = {
  service: string;
  installDir: string;
  stopTimeoutMs: number;
  run: RunCommand;
  clock: Clock;
};

const QUERY_MS = 30_000;
const LOOK_EVERY_MS = 200;
/** `sc.exe` answers this when the service runs already, or is stopped already. */
const ALREADY_RUNNING = 1056;
const NOT_ACTIVE = 1062;
/** `WIN32_EXIT_CODE` of a service that was stopped, or that nobody has started since the system did. */
const NOBODYS_FAULT = ["0", "1077"];

export function createWindowsManager({
  service,
  installDir,
  stopTimeoutMs,
  run,
  clock,
}: WindowsOptions): ServiceManager {
  const sc = async (verb: string) => await run("sc.exe", [verb, service], QUERY_MS);
  const query = async () => readQuery(await sc("query"));
  const state = async (): Promise<string> => (await query()).state;
  async function until(what: string, reached: () => Promise<boolean>): Promise<void> {
    const deadline = clock.monotonicMs() + stopTimeoutMs;
    while (!(await reached())) {
      if (clock.monotonicMs() > deadline)
        throw new StepError("install", `the service ${service} is not ${what} in time; see the event log`);
      await clock.sleep(LOOK_EVERY_MS); // the service control manager offers no wait
    }
  }
  /** Ids of processes whose program lies below the installation. */
  async function leftovers(): Promise<string[]> {
    const folder = installDir.replaceAll("'", "''");
    // not -like: a bracket in the path would be a pattern
    const isBelow = `$_.Path -and $_.Path.StartsWith('${folder}\\', 'OrdinalIgnoreCase')`;
    const script = `Get-Process | Where-Object { ${isBelow} } | ForEach-Object { $_.Id }`;
    const args = ["-NoProfile", "-NonInteractive", "-Command", script];
    const { code, output } = await run("powershell.exe", args, QUERY_MS);
    if (code !== 0)
      throw new StepError("install", `the processes of ${service} cannot be listed (PowerShell: ${code})`);
    // whole lines only: a number in a warning is no process to end
    return output.split(/\r?\n/).filter((line) => /^\d+$/.test(line) && line !== String(process.pid));
  }

  return {
    checkExists: async () => {
      if ((await state()) === "ABSENT") throw new StepError("install", `there is no service ${service}`);
    },
    isRunning: async () => (await state()) === "RUNNING",
    hasFailed: async () => {
      const { state: now, exitCode } = await query();
      return now === "STOPPED" && exitCode !== undefined && !NOBODYS_FAULT.includes(exitCode);
    },
    start: async () => {
      const { code } = await sc("start");
      if (code !== 0 && code !== ALREADY_RUNNING)
        throw new StepError("install", `sc.exe start ${service} exits with ${code}; see the event log`);
      await until("running", async () => (await state()) === "RUNNING");
    },
    stop: async () => {
      const { code } = await sc("stop");
      if (code !== 0 && code !== NOT_ACTIVE)
        throw new StepError("install", `sc.exe stop ${service} exits with ${code}; see the event log`);
      await until("stopped", async () => (await state()) === "STOPPED");
      for (const pid of await leftovers()) await run("taskkill.exe", ["/F", "/T", "/PID", pid], QUERY_MS);
      await until("gone", async () => (await leftovers()).length === 0);
    },
    saidSinceStart: async () => undefined, // its log goes to the event log, which has no words to search for
    supervisorPid: async () => undefined,
    account: async () => ({ uid: undefined, gid: undefined, environment: undefined }),
    close: async () => undefined,
  };
}

/** What `sc.exe query` says. */
function readQuery({ code, output }: ProgramResult): { state: string; exitCode: string | undefined } {
  if (code !== 0) return { state: "ABSENT", exitCode: undefined };
  const state = /STATE\s*:\s*\d+\s+(\w+)/.exec(output)?.[1] ?? "UNKNOWN";
  return { state, exitCode: /WIN32_EXIT_CODE\s*:\s*(\d+)/.exec(output)?.[1] };
}

const LOCKED = new Set(["EBUSY", "EPERM", "EACCES"]);
const LOCKED_TRIES = 50;
const LOCKED_WAIT_MS = 200;

/**
 * Files of a system where an executable stays locked for a moment after its process has gone, or while a scanner reads it:
 * whatever replaces, moves or removes one is tried again for ten seconds before its error counts.
 */
export function patientFiles(files: Files, clock: Clock): Files {
  async function patiently<T>(work: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await work();
      } catch (error) {
        if (!LOCKED.has(String((error as NodeJS.ErrnoException).code)) || tries >= LOCKED_TRIES) throw error;
        await clock.sleep(LOCKED_WAIT_MS);
      }
    }
  }
  return {
    ...files,
    rename: async (from, to) => await patiently(async () => await files.rename(from, to)),
    copyDurably: async (from, to, mode) => await patiently(async () => await files.copyDurably(from, to, mode)),
    remove: async (path) => await patiently(async () => await files.remove(path)),
  };
}
