/**
 * Loaded before a program of ours that `program.ts` starts (`node --import`): its standard input is a pipe from the
 * parent, and when that closes, because the parent is gone, the program is told to end as by `kill -TERM`, and is ended
 * if it does not. Only the program itself watches: its threads and its own children inherit the option, not the parent.
 */
import { isMainThread } from "node:worker_threads";

const PARENT = "MYRIARCH_PARENT_PID";
const GRACE_MS = 15_000;

if (isMainThread && process.env[PARENT] === String(process.ppid)) {
  const end = (): void => {
    process.kill(process.pid, "SIGTERM");
    setTimeout(() => process.exit(1), GRACE_MS).unref();
  };
  process.stdin.once("close", end).resume();
  // Watching must not keep a program alive that has nothing else to do.
  (process.stdin as unknown as { unref?: () => void }).unref?.();
}
