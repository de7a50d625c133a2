/**
 * Waiting for a row to change without polling: one connection LISTENs, waiters are woken by channel. A lost connection
 * is opened again; whoever waits is woken then too, because a notification may have been missed meanwhile.
 */
import pg, { escapeIdentifier } from "pg";

export type Listener = {
  /** Calls `wake` for each notification on `channel`, and once after each reconnect (payload undefined). */
  on(channel: string, wake: (payload: string | undefined) => void): () => void;
  /** Resolves at the next notification on `channel` that `fits`, after `atMostMs`, or when `signal` aborts. */
  next(channel: string, atMostMs: number, fits?: (payload: string) => boolean, signal?: AbortSignal): Promise<void>;
  close(): Promise<void>;
};

type Options = { url: string; channels: readonly string[]; onError: (error: Error) => void };

const RECONNECT_MS = 500;

/** Resolves once every channel is listened to. */
export async function createListener({ url, channels, onError }: Options): Promise<Listener> {
  const wakers = new Map<string, Set<(payload: string | undefined) => void>>();
  let client: pg.Client | undefined;
  let closed = false;

  const wakeAll = (): void => {
    for (const set of wakers.values()) for (const wake of Array.from(set)) wake(undefined);
  };
  const connect = async (): Promise<void> => {
    const next = new pg.Client({ connectionString: url, application_name: "myriarch-listen", keepAlive: true });
    next.on("notification", ({ channel, payload }) => {
      for (const wake of Array.from(wakers.get(channel) ?? [])) wake(payload ?? "");
    });
    next.on("error", onError);
    next.on("end", () => {
      if (!closed) retry();
    });
    await next.connect();
    for (const channel of channels) await next.query(`listen ${escapeIdentifier(channel)}`);
    client = next;
  };
  const retry = (): void => {
    client = undefined;
    setTimeout(() => {
      if (closed) return;
      connect().then(wakeAll, (error: Error) => {
        onError(error);
        retry();
      });
    }, RECONNECT_MS).unref();
  };
  await connect();

  const on: Listener["on"] = (channel, wake) => {
    const set = wakers.get(channel) ?? new Set();
    wakers.set(channel, set.add(wake));
    return () => set.delete(wake);
  };
  return {
    on,
    next: (channel, atMostMs, fits = () => true, signal) =>
      new Promise((resolve) => {
        const done = (): void => {
          clearTimeout(timer);
          off();
          signal?.removeEventListener("abort", done);
          resolve();
        };
        const timer = setTimeout(done, atMostMs);
        const off = on(channel, (payload) => {
          if (payload === undefined || fits(payload)) done();
        });
        signal?.addEventListener("abort", done, { once: true });
        if (signal?.aborted === true) done();
      }),
    close: async () => {
      closed = true;
      await client?.end();
    },
  };
}
