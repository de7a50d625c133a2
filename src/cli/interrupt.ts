/** Ctrl-C and the like end a command in order: git's processes end, temporary folders go. */

export const INTERRUPTED = 130;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Runs `work`; its signal aborts at the first Ctrl-C, TERM or HUP. A second one ends the process at once. */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController();
  const stop = (): void => {
    release();
    abort.abort(new Error("interrupted"));
  };
  const release = (): void => {
    for (const signal of SIGNALS) process.off(signal, stop);
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  try {
    return await work(abort.signal);
  } finally {
    release();
  }
}
