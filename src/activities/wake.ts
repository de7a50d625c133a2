/** Waiting for notifications inside an activity: heartbeats go on, a notification that came while it worked is not lost. */
import { Context } from "@temporalio/activity";
import type { Listener } from "../store/listen.ts";

/** A heartbeat at least this often, so that a lost worker is noticed and a cancellation arrives. */
const BEAT_MS = 4_000;
/** Work at most this often, however many notifications come. */
const LEAST_MS = 250;

export type Alarm = {
  /** Resolves at the next notification, at `atMs`, or at the next heartbeat; throws when the activity is cancelled. */
  wait(nowMs: number, atMs: number | null): Promise<void>;
  close(): void;
};

/** `fits` says which payloads of a channel matter; a reconnect always wakes. */
export function createAlarm(listener: Listener, channels: Record<string, (payload: string) => boolean>): Alarm {
  let rung = false;
  let ring = (): void => undefined;
  const offs = Object.entries(channels).map(([channel, fits]) =>
    listener.on(channel, (payload) => {
      if (payload !== undefined && !fits(payload)) return;
      rung = true;
      ring();
    }),
  );
  const sleep = (ms: number): Promise<void> => Context.current().sleep(ms);
  return {
    wait: async (nowMs, atMs) => {
      Context.current().heartbeat();
      await sleep(LEAST_MS);
      const untilMs = Math.min(BEAT_MS, Math.max(0, (atMs ?? Number.POSITIVE_INFINITY) - nowMs)) - LEAST_MS;
      if (!rung && untilMs > 0) {
        const rings = new Promise<void>((resolve) => {
          ring = resolve;
        });
        const timer = new AbortController();
        const { cancellationSignal } = Context.current();
        await Promise.race([rings, delay(untilMs, AbortSignal.any([timer.signal, cancellationSignal]))]);
        timer.abort();
        if (cancellationSignal.aborted) await Context.current().cancelled;
      }
      rung = false;
    },
    close: () => {
      for (const off of offs) off();
    },
  };
}

const delay = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
    signal.addEventListener("abort", done, { once: true });
  });
