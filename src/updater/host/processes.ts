/**
 * Processes of this host, seen from outside. Stopping the supervisor is not enough: on SIGTERM, or when it was killed, its
 * collector lives on, holds the ports, and the next start fails. Leftovers are found by process tree and by the path they
 * run from, and ended by pid; a pid counts only together with its start time, since ids are used again.
 */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import platformPath from "node:path";
import { promisify } from "node:util";
import { StepError } from "../../domain/update/step-error.ts";
import { performDirectly, type Perform } from "../effect.ts";
import { systemClock, type Clock } from "../clock.ts";
import { runProgram } from "../run-program.ts";
import type { Log } from "./service.ts";
import type { RunCommand } from "./systemd.ts";
import { listWindowsProcesses } from "./windows-processes.ts";

export type HostProcess = { pid: number; parent: number; started: string; args: string[]; executable: string };

/** Every process of a large host, with its command line. */
const KEEP = { stream: "stdout", maxBytes: 8 * 1024 ** 2 } as const;

/** A program of the system that lists something. */
export const runPlainly: RunCommand = async (file, args, timeoutMs) =>
  await runProgram({ file, args, timeoutMs, keep: KEEP }, systemClock);

/** Every process that can be seen, except zombies: those are gone. */
export async function listProcesses(): Promise<HostProcess[]> {
  if (process.platform === "win32") return await listWindowsProcesses(runPlainly);
  if (process.platform !== "linux") return await listByPs();
  return readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? (inspect(Number(name)) ?? []) : []));
}

/**
 * Read at once and not by promises: the kernel answers from memory, and hundreds of reads that are on their way at the same
 * time, with 64 KiB each for a file whose size is not known, would be most of what this program ever needs.
 */
function inspect(pid: number): HostProcess | undefined {
  let stat: string;
  let command: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch (error) {
    if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(String((error as NodeJS.ErrnoException).code)))
      return undefined;
    throw error;
  }
  // the second field is the name in parentheses and may hold anything; then state, parent, …, field 22 the start time
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields[0] === "Z" || fields[0] === "X" || fields[19] === undefined) return undefined;
  const executable = executableOf(pid);
  return {
    pid,
    parent: Number(fields[1]),
    started: fields[19],
    args: command.split("\0").slice(0, -1),
    executable: executable.replace(/ \(deleted\)$/, ""),
  };
}

function executableOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    return ""; // of another account: not ours to see
  }
}

async function listByPs(): Promise<HostProcess[]> {
  const { stdout } = await promisify(execFile)("ps", ["-axww", "-o", "pid=,ppid=,lstart=,command="]);
  return stdout.split("\n").flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(\w+\s+\w+\s+\d+\s+[\d:]+\s+\d+)\s+(.*)$/.exec(line);
    if (match === null) return [];
    const args = (match[4] ?? "").split(" ");
    return [
      { pid: Number(match[1]), parent: Number(match[2]), started: match[3] ?? "", args, executable: args[0] ?? "" },
    ];
  });
}

/** Collectors that are scripts show as their interpreter. Whoever merely reads the file (`less`, `cp`) is none. */
const INTERPRETER = /^(?:node|sh|bash|dash|ash|busybox|python3?)$/;

/** Whether a process runs the collector of this installation: its program, or the script its interpreter runs. */
export function isCollectorOf(
  installDir: string,
  binary: string,
  path: Pick<typeof platformPath, "sep" | "basename"> = platformPath,
): (it: HostProcess) => boolean {
  const { sep } = path;
  // Windows keeps the case of a path and does not care for it
  const plain = (name: string) => (sep === "\\" ? name.toLowerCase() : name);
  const below = ["versions", "current", "bin"].map((name) => plain(`${installDir}${sep}${name}${sep}`));
  const isOurs = (file = "") =>
    plain(path.basename(file)) === plain(binary) && below.some((folder) => plain(file).startsWith(folder));
  return ({ args, executable }) =>
    isOurs(executable) || isOurs(args[0]) || (INTERPRETER.test(path.basename(args[0] ?? "")) && isOurs(args[1]));
}

/** Whether a process was started by this very command line, with or without an interpreter in front. */
export function isCommand(command: readonly string[]): (it: HostProcess) => boolean {
  return ({ args }) =>
    args.length >= command.length && command.every((word, at) => args[args.length - command.length + at] === word);
}

/** `root` and everything below it. */
export function treeOf(all: readonly HostProcess[], root: number): HostProcess[] {
  const found = all.filter(({ pid }) => pid === root);
  for (const one of found)
    found.push(...all.filter(({ parent, pid }) => parent === one.pid && !found.some((f) => f.pid === pid)));
  return found;
}

const ENDING = [
  { signal: "SIGINT", only: "supervisor", waitMs: 10_000 },
  { signal: "SIGTERM", only: "all", waitMs: 10_000 },
  { signal: "SIGKILL", only: "all", waitMs: 10_000 },
] as const;
const LOOK_EVERY_MS = 50;

export type Leftovers = {
  /** What is still there. */
  find: () => Promise<HostProcess[]>;
  /** Supervisors end cleanly on SIGINT only, and take their collector with them. */
  isSupervisor: (it: HostProcess) => boolean;
  clock: Clock;
  log: Log;
  /** Each signal goes through it; directly by default. */
  perform?: Perform | undefined;
};

/** Ends what `find` finds, gently first. Throws (class `install`) naming a process that does not end. */
export async function endLeftovers({
  find,
  isSupervisor,
  clock,
  log,
  perform = performDirectly,
}: Leftovers): Promise<void> {
  let left = await find();
  for (const { signal, only, waitMs } of ENDING) {
    if (left.length === 0) return;
    const meant = left.filter((it) => only === "all" || isSupervisor(it));
    for (const { pid, args } of meant) {
      log.warn({ pid, program: args[0], signal }, "ending a leftover process");
      await perform("signal", `${signal} leftover`, async () => signalPid(pid, signal));
    }
    const deadline = clock.monotonicMs() + (meant.length > 0 ? waitMs : 0);
    while (left.length > 0 && clock.monotonicMs() < deadline) {
      await clock.sleep(LOOK_EVERY_MS); // not our child: nobody tells us when it ends
      left = await find();
    }
  }
  if (left.length > 0)
    throw new StepError("install", `process ${left.map(({ pid }) => pid).join(", ")} of the supervisor does not end`);
}

/** A process that is gone already is what was wanted. */
function signalPid(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
