/**
 * The supervisor's output in a container: to the container's log and to the log file. On a host it goes to the file alone,
 * because a pipe would end with the updater while the supervisor lives on; in a container nothing outlives the updater.
 */
import type { ChildProcess } from "node:child_process";
import { appendFileSync, renameSync, statSync } from "node:fs";
import type { Log } from "../host/service.ts";

/** Follows a supervisor whose output is piped, until it ends. */
export type FollowOutput = (child: ChildProcess) => void;

export type OutputSettings = {
  logFile: string;
  /** The file is moved aside once it has grown to this; the one moved before goes. */
  maxBytes: number;
  log: Log;
  /** The container's log. */
  stdout: (chunk: Buffer) => void;
  stderr: (chunk: Buffer) => void;
};

/** What cannot be written to the file (full disk) still reaches the container's log; the first failure is told. */
export function followOutput({ logFile, maxBytes, log, stdout, stderr }: OutputSettings): FollowOutput {
  let size: number | undefined;
  let failing = false;
  const keep = (chunk: Buffer): void => {
    try {
      size ??= statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
      if (size >= maxBytes) {
        renameSync(logFile, `${logFile}.1`);
        size = 0;
      }
      appendFileSync(logFile, chunk, { mode: 0o600 });
      size += chunk.byteLength;
      failing = false;
    } catch (error) {
      size = undefined; // looked up again: a rename or half of the chunk may have happened
      if (!failing) log.warn({ file: logFile, error: String(error) }, "the supervisor's log cannot be written");
      failing = true;
    }
  };
  return (child) => {
    const tee = (echo: (chunk: Buffer) => void) => (chunk: Buffer) => {
      echo(chunk);
      keep(chunk);
    };
    child.stdout?.on("data", tee(stdout));
    child.stderr?.on("data", tee(stderr));
  };
}
