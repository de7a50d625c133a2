/**
 * Plain `myriarchd`: one API and one worker process under one parent (architecture: a native fault in the worker must
 * not cut ten thousand agents off). A child that dies is started again with backoff; the parent ends when both ended.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";

export const ROLES = ["api", "worker"] as const;
export type Role = (typeof ROLES)[number];

/** A child that exits with this code has a configuration that no restart mends. */
export const EXIT_CONFIG = 78;
const FIRST_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 15_000;
const STABLE_MS = 30_000;
/** Longer than what a role takes by itself: agents say goodbye, activities are handed on. */
const STOP_MS = 30_000;

type Options = {
  program: string;
  args: readonly string[];
  log: Logger;
  /** How long the worker may wait for the replication of what it has staged, before it ends. */
  drainTimeoutMs: number;
};

/**
 * Resolves with the exit code once every role has ended after SIGTERM, SIGINT or a configuration error. The worker ends
 * first: while it waits for replication the API shows that it does, and serves what is staged. A second signal ends all.
 */
export async function supervise({ program, args, log, drainTimeoutMs }: Options): Promise<number> {
  const children = new Map<Role, ChildProcess>();
  const roles = new Map<Role, Promise<void>>();
  const stopping = new AbortController();
  let exitCode = 0;
  const stopRole = async (role: Role, withinMs: number): Promise<void> => {
    children.get(role)?.kill("SIGTERM");
    const killing = setTimeout(() => children.get(role)?.kill("SIGKILL"), withinMs);
    await roles.get(role);
    clearTimeout(killing);
  };
  const stop = (): void => {
    if (stopping.signal.aborted) {
      for (const child of children.values()) child.kill("SIGKILL");
      return;
    }
    stopping.abort();
    void stopRole("worker", drainTimeoutMs + STOP_MS).then(() => stopRole("api", STOP_MS));
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, stop);
  process.on("disconnect", () => stopping.signal.aborted || stop());

  const keep = async (role: Role): Promise<void> => {
    let backoffMs = FIRST_BACKOFF_MS;
    while (!stopping.signal.aborted) {
      const startedAt = performance.now();
      const child = spawn(process.execPath, [program, ...args, "--roles", role], {
        stdio: ["ignore", "inherit", "inherit", "ipc"],
        // Ctrl-C on a terminal reaches the whole group: it would be a second signal beside ours
        detached: true,
      });
      children.set(role, child);
      const { code, signal } = await ended(child);
      if (stopping.signal.aborted) return;
      if (code === EXIT_CONFIG) {
        exitCode = EXIT_CONFIG;
        stop();
        return;
      }
      if (performance.now() - startedAt > STABLE_MS) backoffMs = FIRST_BACKOFF_MS;
      log.error({ role, code, signal, backoffMs }, "process ended; starting it again");
      await delay(backoffMs, undefined, { signal: stopping.signal }).catch((error: Error) => {
        if (error.name !== "AbortError") throw error;
      });
      backoffMs = Math.min(backoffMs * 2, MAX_BACKOFF_MS);
    }
  };
  for (const role of ROLES) roles.set(role, keep(role));
  await Promise.all(roles.values());
  return exitCode;
}

const ended = (child: ChildProcess): Promise<{ code: number | null; signal: string | null }> =>
  new Promise((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
    child.once("error", () => resolve({ code: null, signal: null }));
  });

/** Why a role ends: it was told to, or its parent died and nobody waits for it. */
export type EndCause = "SIGTERM" | "SIGINT" | "parent gone";
export type Ending = {
  /** What to close at the end; the newest first. */
  onEnd: (close: (cause: EndCause) => unknown) => void;
  /** Aborted when the end begins: whoever waits for something outside stops waiting. */
  signal: AbortSignal;
};

/**
 * How a role ends: SIGTERM, SIGINT and the death of the parent all close what was opened so far, once. Call it before
 * anything is awaited: a parent that dies while we start must not leave us behind. A second signal ends at once.
 */
export function endsGracefully(log: Logger): Ending {
  const ending = new AbortController();
  const closers: ((cause: EndCause) => unknown)[] = [];
  const closeAll = async (cause: EndCause): Promise<void> => {
    for (const close of closers.toReversed()) await close(cause);
  };
  const end = (cause: EndCause): void => {
    if (ending.signal.aborted) {
      if (cause !== "parent gone") process.exit(1);
      return;
    }
    log.info({ cause }, "stopping");
    ending.abort();
    closeAll(cause).then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, "stopping failed");
        process.exit(1);
      },
    );
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => end(signal));
  if (process.send !== undefined) process.on("disconnect", () => end("parent gone"));
  return { onEnd: (close) => void closers.push(close), signal: ending.signal };
}
