/**
 * Child processes that outlive nobody. Each runs in a group of its own, so that Ctrl-C on the terminal reaches us alone
 * and we stop the children in order; and each has a guard, a small shell whose standard input is a pipe from us: when we
 * are gone, even by kill -9, the pipe ends and the guard ends the child. What escapes both (the guard killed as well) is
 * found by its command line at the next start.
 */
import { spawn, type ChildProcess, type StdioOptions } from "node:child_process";
import { closeSync, openSync, readFileSync, renameSync, statSync } from "node:fs";
import { once } from "node:events";
import { signalProcess } from "./processes.ts";

export type StopStep = { signal: NodeJS.Signals; waitMs: number };
export type Exit = { code: number | null; signal: NodeJS.Signals | null };

export type ChildOptions = {
  name: string;
  command: string;
  args: readonly string[];
  /** The whole environment; nothing is inherited. */
  env: NodeJS.ProcessEnv;
  cwd: string;
  /** Standard output and error are appended here by file descriptor: a pipe would end with us. */
  logFile: string;
  user?: { uid: number; gid: number } | undefined;
  /** In order; the last must be one that cannot be refused. */
  stopSteps: readonly StopStep[];
  /** "stdin": no guard; standard input is a pipe from us, and the program ends by itself when it closes. */
  endsBy?: "guard" | "stdin";
};

export type Child = {
  name: string;
  pid: number;
  logFile: string;
  /** Where this start's lines begin in the log file, in bytes. */
  logStart: number;
  exited: Promise<Exit>;
  /** What `exited` resolved with, once it did. */
  exit(): Exit | undefined;
  /** Resolves when the process has ended; the same promise for every caller. */
  stop(): Promise<Exit>;
  signal(signal: NodeJS.Signals): void;
};

const MAX_LOG_BYTES = 20 * 1024 ** 2;

/** Starts the child and its guard. Afterwards the process exists (it need not be ready). Throws when it cannot start. */
export async function startChild(options: ChildOptions): Promise<Child> {
  const { name, logFile } = options;
  const { log, logStart } = openLog(logFile);
  let child: ChildProcess;
  try {
    const stdio: StdioOptions = [options.endsBy === "stdin" ? "pipe" : "ignore", log, log];
    child = spawn(options.command, options.args, {
      cwd: options.cwd,
      env: options.env,
      detached: true,
      stdio,
      ...options.user,
    });
    await once(child, "spawn");
  } catch (error) {
    throw new Error(`${name}: cannot start ${options.command}`, { cause: error });
  } finally {
    closeSync(log);
  }
  const pid = child.pid;
  if (pid === undefined) throw new Error(`${name}: started without a process id`);
  const unguard = options.endsBy === "stdin" ? undefined : guardProcess(pid, options.stopSteps[0]?.signal ?? "SIGTERM");

  let ended: Exit | undefined;
  const exited = new Promise<Exit>((resolve) => {
    child.once("exit", (code, signal) => {
      ended = { code, signal };
      unguard?.();
      resolve(ended);
    });
  });
  // Our end of the child's standard input breaks when the child goes first; its exit says so.
  child.stdin?.on("error", () => undefined);
  let stopping: Promise<Exit> | undefined;
  return {
    name,
    pid,
    logFile,
    logStart,
    exited,
    exit: () => ended,
    stop: () => (stopping ??= stopChild(pid, exited, () => ended !== undefined, options.stopSteps)),
    signal: (signal) => {
      if (ended === undefined) signalProcess(pid, signal);
    },
  };
}

/** The last lines that this start of the child wrote, for the message of whoever waited for it. */
export function logTail(child: Pick<Child, "logFile" | "logStart">, lines = 30): string {
  const written = readFileSync(child.logFile).subarray(child.logStart).toString("utf8");
  return written.trimEnd().split("\n").slice(-lines).join("\n");
}

async function stopChild(
  pid: number,
  exited: Promise<Exit>,
  ended: () => boolean,
  steps: readonly StopStep[],
): Promise<Exit> {
  for (const { signal, waitMs } of steps) {
    if (ended()) break;
    signalProcess(pid, signal);
    await within(exited, waitMs);
  }
  return exited;
}

/** Resolves with the promise, or undefined after `ms`; leaves no timer behind. */
export async function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * `cat` returns when the pipe from us ends. The script is an argument, not a file: the child's user may not read our
 * folders. INT by name, because servers set their own handler for it while shells start background commands ignoring it.
 */
const GUARD = `cat >/dev/null
kill -"$2" "$1" 2>/dev/null || exit 0
i=0
while [ $i -lt 15 ]; do kill -0 "$1" 2>/dev/null || exit 0; sleep 1; i=$((i+1)); done
kill -KILL "$1" 2>/dev/null`;

/** Has the process ended once we are gone. Call the result when it has ended by itself. */
export function guardProcess(pid: number, signal: NodeJS.Signals): () => void {
  const guard = spawn("/bin/sh", ["-c", GUARD, "myriarch-guard", String(pid), signal.replace("SIG", "")], {
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  guard.on("error", () => undefined); // no shell: the next start finds what is left
  guard.stdin?.on("error", () => undefined); // likewise when somebody killed the guard
  guard.unref();
  (guard.stdin as unknown as { unref?: () => void } | null)?.unref?.();
  // Killed, not closed: a guard whose pipe closes signals an id that may belong to somebody else by now.
  return () => void guard.kill("SIGKILL");
}

function openLog(logFile: string): { log: number; logStart: number } {
  const size = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
  if (size > MAX_LOG_BYTES) renameSync(logFile, `${logFile}.1`);
  return { log: openSync(logFile, "a", 0o600), logStart: size > MAX_LOG_BYTES ? 0 : size };
}
