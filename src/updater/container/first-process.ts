/**
 * Process 1 of a container has a duty that Node cannot do: to wait for processes that lost their parent. What ends unwaited
 * stays as a zombie and holds a process id until the container ends. So where the updater finds itself to be process 1 it
 * starts over below a shell of some lines, which takes its place (exec) and does wait for everybody (ADR 0010).
 */
import { accessSync, constants } from "node:fs";

const SHELL = "/bin/sh";

/**
 * Runs "$@" as a child, hands SIGTERM and SIGINT on, ends with its exit code; `wait` of any shell collects strangers as
 * well. A trap interrupts `wait`, so it is asked again until the child is gone. SIGHUP is nobody's wish to stop.
 */
export const FIRST_PROCESS_SCRIPT = `
child=; early=
trap 'early=TERM; [ -z "$child" ] || kill -TERM "$child"' TERM
trap 'early=INT; [ -z "$child" ] || kill -INT "$child"' INT
trap '' HUP
"$@" &
child=$!
[ -z "$early" ] || kill "-$early" "$child"
wait "$child"; code=$?
while kill -0 "$child" 2>/dev/null; do wait "$child"; code=$?; done
wait "$child" 2>/dev/null; late=$?
[ "$late" -eq 127 ] || code=$late
exit "$code"
`;

export type FirstProcess = {
  pid: number;
  platform: NodeJS.Platform;
  canRun: (file: string) => boolean;
  execute: (file: string, args: readonly string[]) => void;
};

const thisProcess: FirstProcess = {
  pid: process.pid,
  platform: process.platform,
  canRun: (file) => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  },
  execute: (file, args) => {
    process.execve?.(file, args, process.env);
  },
};

/**
 * Does not return where this is process 1 of Linux and there is a shell: `command` then runs again, as its child. Answers
 * "no_shell" when there is none: everything works, but zombies stay.
 */
export function handOverFirstProcess(
  command: readonly string[],
  it: FirstProcess = thisProcess,
): "not_first" | "no_shell" {
  if (it.pid !== 1 || it.platform !== "linux") return "not_first";
  if (!it.canRun(SHELL)) return "no_shell";
  it.execute(SHELL, ["sh", "-c", FIRST_PROCESS_SCRIPT, "myriarch-updater", ...command]);
  return "no_shell"; // reached only where this Node cannot exec
}
