/**
 * Waiting for a row to change without polling: one connection LISTENs, waiters are woken by channel. A lost connection
 * is opened again; whoever waits is woken then too, because a notification may have been missed meanwhile.
 */
import { randomUUID } from "node:crypto";
import pg, { escapeIdentifier } from "pg";

export type Listener = {
  /** Names this process in rows. Others see by its connection whether it lives (`isListening`). */
  id: string;
  /** Calls `wake` for each notification on `channel`, and once after each reconnect (payload undefined). */
  on(channel: string, wake: (payload: string | undefined) => void): () => void;
  /** Resolves at the next notification on `channel` that `fits`, after `atMostMs`, or when `signal` aborts. */
  next(channel: string, atMostMs: number, fits?: (payload: string) => boolean, signal?: AbortSignal): Promise<void>;
  close(): Promise<void>;
};

type Options = { url: string; channels: readonly string[]; onError: (error: Error) => void };

const RECONNECT_MS = 500;
const NAME = "myriarch-listen";

/**
 * SQL: whether the process that the text `id` names listens now. PostgreSQL ends its connection in the moment in which the
 * process dies, so this tells a killed process from one whose rows are merely a little old.
 */
export const isListening = (id: string): string =>
  `exists (select from pg_stat_activity where datname = current_database() and application_name = '${NAME} ' || ${id})`;

/** Resolves once every channel is listened to. */
export const createListener = (options: Options): Promise<Listener> => listenAs(randomUUID(), options);

async function listenAs(id: string, { url, channels, onError }: Options): Promise<Listener> {
  const wakers = new Map<string, Set<(payload: string | undefined) => void>>();
  let client: pg.Client | undefined;
  let closed = false;

  const wakeAll = (): void => {
    for (const set of wakers.values()) for (const wake of Array.from(set)) wake(undefined);
  };
  const connect = async (): Promise<void> => {
    const next = new pg.Client({ connectionString: url, application_name: `${NAME} ${id}`, keepAlive: true });
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
    id,
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
