/**
 * Plain `myriarchd`: one API and one worker process under one parent (architecture: a native fault in the worker must
 * not cut ten thousand agents off). A child that dies is started again with backoff; the parent ends when both ended.
 */
import { spawn, type ChildProcess } from "node:child_process";
import type { Logger } from "pino";

export const ROLES = ["api", "worker"] as const;
export type Role = (typeof ROLES)[number];

/** A child that exits with this code has a configuration that no restart mends. */
export const EXIT_CONFIG = 78;
const FIRST_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 15_000;
const STABLE_MS = 30_000;

type Options = { program: string; args: readonly string[]; log: Logger };

/** Resolves with the exit code once every role has ended after SIGTERM, SIGINT or a configuration error. */
export async function supervise({ program, args, log }: Options): Promise<number> {
  const children = new Map<Role, ChildProcess>();
  let stopping = false;
  let exitCode = 0;
  const stop = (): void => {
    stopping = true;
    for (const child of children.values()) child.kill("SIGTERM");
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, stop);
  process.on("disconnect", stop);

  const keep = async (role: Role): Promise<void> => {
    let backoffMs = FIRST_BACKOFF_MS;
    while (!stopping) {
      const startedAt = performance.now();
      const child = spawn(process.execPath, [program, ...args, "--roles", role], {
        stdio: ["ignore", "inherit", "inherit", "ipc"],
      });
      children.set(role, child);
      const { code, signal } = await ended(child);
      if (stopping) return;
      if (code === EXIT_CONFIG) {
        exitCode = EXIT_CONFIG;
        stop();
        return;
      }
      if (performance.now() - startedAt > STABLE_MS) backoffMs = FIRST_BACKOFF_MS;
      log.error({ role, code, signal, backoffMs }, "process ended; starting it again");
      await new Promise((resolve) => setTimeout(resolve, backoffMs));
      backoffMs = Math.min(backoffMs * 2, MAX_BACKOFF_MS);
    }
  };
  await Promise.all(ROLES.map(keep));
  return exitCode;
}

const ended = (child: ChildProcess): Promise<{ code: number | null; signal: string | null }> =>
  new Promise((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
    child.once("error", () => resolve({ code: null, signal: null }));
  });

/**
 * What each role does with its end: SIGTERM, SIGINT and the death of the parent all lead to `close`, once. A second
 * signal ends at once.
 */
export function endsGracefully(close: () => Promise<void>, log: Logger): void {
  let closing = false;
  const end = (cause: string): void => {
    if (closing) {
      if (cause === "SIGTERM" || cause === "SIGINT") process.exit(1);
      return;
    }
    closing = true;
    log.info({ cause }, "stopping");
    close().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, "stopping failed");
        process.exit(1);
      },
    );
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => end(signal));
  if (process.send !== undefined) process.on("disconnect", () => end("parent gone"));
}
