/** Runs a program to its end, bounded in time and output, in a group of its own so that nothing of it stays behind. */
import { spawn } from "node:child_process";
import type { Clock } from "./clock.ts";

export type ProgramRun = {
  file: string;
  args: readonly string[];
  timeoutMs: number;
  env?: Record<string, string> | undefined;
  uid?: number | undefined;
  gid?: number | undefined;
  /** What is kept of its output; default: both streams, 64 KiB. */
  keep?: { stream: "stdout" | "both"; maxBytes: number } | undefined;
};
export type ProgramResult = {
  /** Null when a signal ended it, or the time was over. */
  code: number | null;
  timedOut: boolean;
  /** The beginning of its output, as much as was to be kept. */
  output: string;
};
/** Starts one certain program; `what` names the call in errors. */
export type RunBinary = (what: string, run: Omit<ProgramRun, "file">) => Promise<ProgramResult>;

const KEEP = { stream: "both", maxBytes: 64 * 1024 } as const;
const BUSY_TRIES = 20;
const BUSY_WAIT_MS = 50;

/** Throws only when the program cannot be started at all. */
export async function runProgram(run: ProgramRun, clock: Clock): Promise<ProgramResult> {
  for (let tries = 1; ; tries++) {
    try {
      return await runOnce(run);
    } catch (error) {
      // a file just written may still be held open for writing by a child that another thread is starting
      if ((error as NodeJS.ErrnoException).code !== "ETXTBSY" || tries >= BUSY_TRIES) throw error;
      await clock.sleep(BUSY_WAIT_MS);
    }
  }
}

async function runOnce({ file, args, timeoutMs, env, uid, gid, keep = KEEP }: ProgramRun): Promise<ProgramResult> {
  return await new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
      ...(env === undefined ? {} : { env }),
      ...(uid === undefined ? {} : { uid }),
      ...(gid === undefined ? {} : { gid }),
    });
    const chunks: Buffer[] = [];
    let bytes = 0;
    let timedOut = false;
    const take = (chunk: Buffer) => {
      if (bytes < keep.maxBytes) chunks.push(chunk.subarray(0, keep.maxBytes - bytes));
      bytes += chunk.byteLength;
    };
    child.stdout.on("data", take);
    if (keep.stream === "both") child.stderr.on("data", take);
    else child.stderr.resume();
    const endGroup = () => {
      if (child.pid === undefined) return;
      try {
        process.kill(process.platform === "win32" ? child.pid : -child.pid, "SIGKILL");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    };
    const timer = setTimeout(() => {
      timedOut = true;
      endGroup();
    }, timeoutMs);
    child.once("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    // what it left running in its group would hold our pipes open
    child.once("exit", endGroup);
    child.once("close", (code) => {
      clearTimeout(timer);
      resolve({ code, timedOut, output: Buffer.concat(chunks).toString("utf8") });
    });
  });
}
