/**
 * What other processes are, seen from outside: is one alive, when did it start, which command line has it. A process id
 * alone proves nothing (ids are used again, and signal 0 succeeds on zombies), so identity is id plus start time.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

export type ProcessInfo = { pid: number; /** Changes when the id is used again. */ started: string; args: string[] };

const LINUX = process.platform === "linux";

/** The process, or undefined when it is gone, a zombie, or hidden. Arguments are as it was started, not its title. */
export function inspectProcess(pid: number): ProcessInfo | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  return LINUX ? inspectLinux(pid) : listByPs(["-p", String(pid)])[0];
}

/** Every visible process whose command line satisfies `fits`. */
export function findProcesses(fits: (args: string[]) => boolean): ProcessInfo[] {
  const all = LINUX
    ? readdirSync("/proc")
        .filter((name) => /^\d+$/.test(name))
        .flatMap((name) => inspectLinux(Number(name)) ?? [])
    : listByPs(["-ax"]);
  return all.filter(({ args }) => fits(args));
}

/** Resolves true once the process is gone, false when it still lives after `atMostMs`. Not our child: no exit event. */
async function waitGone({ pid, started }: ProcessInfo, atMostMs: number): Promise<boolean> {
  const deadline = performance.now() + atMostMs;
  while (inspectProcess(pid)?.started === started) {
    if (performance.now() > deadline) return false;
    await delay(20);
  }
  return true;
}

/** Sends a signal to the process or, negative, the group; a target that is gone already is what was wanted. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Ends a process that is not our child: each signal gets its time, the last one must work. */
export async function endProcess(
  target: ProcessInfo,
  steps: readonly { signal: NodeJS.Signals; waitMs: number }[],
): Promise<void> {
  for (const { signal, waitMs } of steps) {
    if (inspectProcess(target.pid)?.started !== target.started) return;
    signalProcess(target.pid, signal);
    if (await waitGone(target, waitMs)) return;
  }
  throw new Error(`process ${target.pid} (${target.args[0] ?? "?"}) does not end`);
}

function inspectLinux(pid: number): ProcessInfo | undefined {
  let stat: string;
  let cmdline: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    cmdline = readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch (error) {
    if (["ENOENT", "ESRCH", "EACCES"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
  // The second field is the name in parentheses and may hold anything; field 3 is the state, field 22 the start time.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const started = fields[19];
  if (fields[0] === "Z" || fields[0] === "X" || started === undefined) return undefined;
  return { pid, started, args: cmdline.split("\0").slice(0, -1) };
}

function listByPs(selection: string[]): ProcessInfo[] {
  let text: string;
  try {
    text = execFileSync("ps", [...selection, "-o", "pid=,state=,lstart=,command="], {
      encoding: "utf8",
      env: { ...process.env, LC_ALL: "C" },
    });
  } catch (error) {
    if ((error as { status?: number }).status === 1) return []; // nothing selected
    throw error;
  }
  return text.split("\n").flatMap((line) => {
    const match = /^\s*(\d+)\s+(\S+)\s+(\w+ \w+\s+\d+ [\d:]+ \d+)\s+(.*)$/.exec(line);
    const [, pid, state, started, command] = match ?? [];
    if (pid === undefined || started === undefined || command === undefined || state?.startsWith("Z") === true)
      return [];
    return [{ pid: Number(pid), started, args: command.split(" ") }];
  });
}
