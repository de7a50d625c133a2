/** A bounded number at a time, a bounded number that waits a bounded time, and a clear no to everybody else. */
import { failure } from "../domain/errors.ts";

export type Slots = {
  /** Takes a place, at once or after its turn; call the result to leave. Fails with `depot_busy`. */
  enter(signal: AbortSignal): Promise<() => void>;
  isFull(): boolean;
  taken(): number;
  waiting(): number;
};
type Waiter = { admit: () => void };

export function createSlots({ size, queue, waitMs }: { size: number; queue: number; waitMs: number }): Slots {
  let taken = 0;
  const waiters: Waiter[] = [];
  const leave = (): void => {
    const next = waiters.shift();
    if (next === undefined) taken--;
    else next.admit(); // the place goes on to the next one
  };
  const once = (): (() => void) => {
    let left = false;
    return () => {
      if (left) return;
      left = true;
      leave();
    };
  };
  const wait = async (signal: AbortSignal): Promise<void> => {
    const turn = Promise.withResolvers<void>();
    const waiter: Waiter = { admit: () => turn.resolve() };
    const giveUp = (cause: unknown): void => {
      const at = waiters.indexOf(waiter);
      if (at < 0) return;
      waiters.splice(at, 1);
      turn.reject(cause);
    };
    const timer = setTimeout(() => giveUp(failure("depot_busy", undefined)), waitMs);
    const aborted = (): void => giveUp(signal.reason);
    signal.addEventListener("abort", aborted, { once: true });
    waiters.push(waiter);
    try {
      await turn.promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", aborted);
    }
  };
  return {
    taken: () => taken,
    waiting: () => waiters.length,
    isFull: () => taken >= size && waiters.length >= queue,
    enter: async (signal) => {
      signal.throwIfAborted();
      if (taken < size) taken++;
      else if (waiters.length < queue) await wait(signal);
      else throw failure("depot_busy", undefined);
      return once();
    },
  };
}
