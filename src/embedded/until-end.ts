/**
 * When a program on a terminal should end: Ctrl-C, TERM, HUP, or the launcher above it is gone (killed by -9, it passes
 * no signal on). npm, the shell and the terminal may deliver one keystroke several times.
 */
import { readFileSync } from "node:fs";

export type End = { reason: "interrupt" | "terminated" | "hangup" | "launcher gone" };

const SAME_KEYSTROKE_MS = 300;
const LOOK_FOR_LAUNCHER_MS = 200;
const REASONS = { SIGINT: "interrupt", SIGTERM: "terminated", SIGHUP: "hangup" } as const;

/**
 * Resolves once. A further signal later than the same keystroke calls `insist`: the person does not want to wait for the
 * order of stopping any longer (guards then end the children).
 */
export function untilEnd(insist: () => void, launcherPid = launcherFromEnvironment()): Promise<End> {
  return new Promise((resolve) => {
    let endedAt: number | undefined;
    const end = (reason: End["reason"]): void => {
      if (endedAt === undefined) {
        endedAt = performance.now();
        clearInterval(timer);
        resolve({ reason });
      } else if (performance.now() - endedAt > SAME_KEYSTROKE_MS && reason !== "launcher gone") {
        insist();
      }
    };
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
      if (signal !== "SIGHUP" || !hangupIsIgnored()) process.on(signal, () => end(REASONS[signal]));
    // No event tells of a parent's death; the parent id changes. The timer also keeps a program alive that only waits.
    const timer = setInterval(() => {
      if (launcherPid !== undefined && process.ppid !== launcherPid) end("launcher gone");
    }, LOOK_FOR_LAUNCHER_MS);
  });
}

function launcherFromEnvironment(): number | undefined {
  const pid = Number(process.env["MYRIARCH_LAUNCHER_PID"]);
  // A variable inherited from further up is not about our parent.
  return pid === process.ppid ? pid : undefined;
}

/** Under `nohup` the signal is ignored from the start, and installing a handler would undo that. */
function hangupIsIgnored(): boolean {
  if (process.platform !== "linux") return false;
  const mask = /^SigIgn:\s*([0-9a-f]+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "0";
  return (BigInt(`0x${mask}`) & 1n) === 1n;
}
