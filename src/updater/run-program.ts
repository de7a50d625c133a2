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
};
export type ProgramResult = {
  /** Null when a signal ended it, or the time was over. */
  code: number | null;
  timedOut: boolean;
  /** Standard output and error, at most 64 KiB. */
  output: string;
};

const MAX_OUTPUT_BYTES = 64 * 1024;
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

async function runOnce({ file, args, timeoutMs, env, uid, gid }: ProgramRun): Promise<ProgramResult> {
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
    const keep = (chunk: Buffer) => {
      if (bytes < MAX_OUTPUT_BYTES) chunks.push(chunk.subarray(0, MAX_OUTPUT_BYTES - bytes));
      bytes += chunk.byteLength;
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
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
