/** Starts a server again when it ended and nobody asked it to, a little later each time. */
import { setTimeout as delay } from "node:timers/promises";
import type { Child } from "./child.ts";

export type Server = { child: Child; stop(): Promise<void> };
export type Running<T> = { current(): T; stop(): Promise<void> };

const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 15_000;
/** A server that ran this long had started well: the next wait is short again. */
const STEADY_MS = 60_000;

/** Resolves when the first start succeeded. From then on until `stop`, every end is followed by another start. */
export async function keepRunning<T extends Server>(
  name: string,
  start: () => Promise<T>,
  log: (line: string) => void,
): Promise<Running<T>> {
  const stopping = new AbortController();
  let current = await start();

  const again = async (waitMs: number): Promise<number> => {
    log(`${name} ended by itself; starting it again`);
    for (let wait = waitMs; ; wait = Math.min(wait * 2, MAX_WAIT_MS)) {
      await delay(wait, undefined, { signal: stopping.signal });
      try {
        current = await start();
        return Math.min(wait * 2, MAX_WAIT_MS);
      } catch (error) {
        log(`${name} does not start (${(error as Error).message}); trying again`);
      }
    }
  };
  const watch = async (): Promise<void> => {
    let waitMs = FIRST_WAIT_MS;
    while (!stopping.signal.aborted) {
      const since = performance.now();
      await current.child.exited;
      if (stopping.signal.aborted) return;
      waitMs = await again(performance.now() - since > STEADY_MS ? FIRST_WAIT_MS : waitMs);
    }
  };
  const watching = watch().catch((error: Error) => {
    if (error.name !== "AbortError") throw error;
  });
  return {
    current: () => current,
    stop: async () => {
      stopping.abort();
      await current.stop();
      await watching;
      // A start that was under way while we stopped: `current` is the newer one now.
      await current.stop();
    },
  };
}
