/**
 * One reader of events per process for all streams: woken by PostgreSQL, it reads each new row once and hands it to every
 * subscriber. Between two rows nothing is read; only while an older transaction holds rows back is it looked again.
 */
import { CHANNELS } from "../domain/channels.ts";
import type { Pool } from "../store/database.ts";
import {
  comparePositions,
  eventsAfter,
  isKept,
  newestPosition,
  pruneEvents,
  type Position,
  type StoredEvent,
} from "../store/events.ts";
import type { Listener } from "../store/listen.ts";

/** `stored` can be resumed from; `hint` says that rows of a topic changed; `reset` that something was missed. */
export type HubEvent =
  | { kind: "stored"; event: StoredEvent }
  | { kind: "hint"; topic: string; at: Date }
  | { kind: "reset"; at: Date };

export type EventHub = {
  /** Delivers everything after `since` (nothing older without it) until the returned function is called. */
  subscribe(push: (event: HubEvent) => void, since?: Position): Promise<() => void>;
  close(): Promise<void>;
};

type HubDeps = { pool: Pool; listener: Listener; now: () => Date; onError: (error: Error) => void };

/** Hints of the same topic become one per second: ten thousand reports are one line on a page. */
const HINT_MS = 1_000;
const HELD_BACK_MS = 100;
const PRUNE_MS = 60_000;
const HINTS = { [CHANNELS.agents]: "agents", [CHANNELS.artifacts]: "artifacts" } as const;

/** Starts reading after the newest event there is. */
export async function createEventHub(deps: HubDeps): Promise<EventHub> {
  const subscribers = new Set<(event: HubEvent) => void>();
  const broadcast = (event: HubEvent): void => {
    for (const push of Array.from(subscribers)) push(event);
  };
  const reader = createReader(deps, await newestPosition(deps.pool), (event) => broadcast({ kind: "stored", event }));
  const stopHints = startHints(deps, broadcast);
  const stopReading = deps.listener.on(CHANNELS.events, reader.wake);
  const prune = setInterval(() => {
    pruneEvents(deps.pool, deps.now()).catch(deps.onError);
  }, PRUNE_MS);
  prune.unref();
  return {
    subscribe: async (push, since) => {
      if (since === undefined) {
        subscribers.add(push);
        return () => subscribers.delete(push);
      }
      return resume(deps, subscribers, push, since);
    },
    close: async () => {
      stopHints();
      stopReading();
      clearInterval(prune);
      await reader.close();
    },
  };
}

/** What was missed first, then what comes; rows that arrive meanwhile wait, and none is delivered twice. */
async function resume(
  deps: HubDeps,
  subscribers: Set<(event: HubEvent) => void>,
  push: (event: HubEvent) => void,
  since: Position,
): Promise<() => void> {
  let held: HubEvent[] | undefined = [];
  let last = since;
  const deliver = (event: HubEvent): void => {
    if (event.kind === "stored") {
      if (comparePositions(event.event.position, last) <= 0) return;
      last = event.event.position;
    }
    push(event);
  };
  const receive = (event: HubEvent): void => (held === undefined ? deliver(event) : void held.push(event));
  subscribers.add(receive);
  try {
    if (await isKept(deps.pool, since)) {
      for (let more = true; more;) {
        const batch = await eventsAfter(deps.pool, last);
        for (const event of batch.events) deliver({ kind: "stored", event });
        more = batch.more;
      }
    } else {
      last = { tx: 0n, id: 0n };
      push({ kind: "reset", at: deps.now() });
    }
  } catch (error) {
    subscribers.delete(receive);
    throw error;
  }
  const waiting = held;
  held = undefined;
  for (const event of waiting) deliver(event);
  return () => subscribers.delete(receive);
}

function createReader(deps: HubDeps, start: Position, deliver: (event: StoredEvent) => void) {
  let position = start;
  let asked = false;
  let closed = false;
  let running: Promise<void> | undefined;
  let again: NodeJS.Timeout | undefined;

  const read = async (): Promise<void> => {
    while (asked) {
      asked = false;
      if (closed) return;
      const batch = await eventsAfter(deps.pool, position);
      for (const event of batch.events) {
        position = event.position;
        deliver(event);
      }
      if (batch.more) asked = true;
      // the older transaction may end without an event of its own, so nobody would wake us
      else if (batch.waiting) lookAgain();
    }
  };
  const wake = (): void => {
    asked = true;
    running ??= read()
      .catch((error: Error) => {
        deps.onError(error);
        lookAgain();
      })
      .finally(() => {
        running = undefined;
        // asked after the loop had looked for the last time
        if (asked && !closed) wake();
      });
  };
  const lookAgain = (): void => {
    clearTimeout(again);
    if (!closed) again = setTimeout(wake, HELD_BACK_MS);
    again?.unref();
  };
  return {
    wake,
    close: async () => {
      closed = true;
      clearTimeout(again);
      await running;
    },
  };
}

function startHints(deps: HubDeps, broadcast: (event: HubEvent) => void): () => void {
  const timers = new Map<string, NodeJS.Timeout>();
  const offs = Object.entries(HINTS).map(([channel, topic]) =>
    deps.listener.on(channel, () => {
      if (timers.has(topic)) return;
      const timer = setTimeout(() => {
        timers.delete(topic);
        broadcast({ kind: "hint", topic, at: deps.now() });
      }, HINT_MS);
      timers.set(topic, timer.unref());
    }),
  );
  return () => {
    for (const off of offs) off();
    for (const timer of timers.values()) clearTimeout(timer);
  };
}
