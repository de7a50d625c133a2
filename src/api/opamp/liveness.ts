/**
 * Who is still there, and may be. Pings find sockets whose other end is gone although TCP believes otherwise; an agent that
 * promised heartbeats and is silent is cut; rows of agents that nobody heard become offline, whichever process held them;
 * whose credential ends loses its connection; whoever is away for very long is forgotten.
 */
import { CHANNELS } from "../../domain/channels.ts";
import { AGENT_CAPABILITY, hasBit } from "../../protocol/messages.ts";
import { markSilent } from "../../store/agents.ts";
import { notify, type Pool } from "../../store/database.ts";
import { CLOSE, MAX_MESSAGE_BYTES, type Connection } from "./connection.ts";
import type { Credentials } from "./credentials.ts";
import type { Fold } from "./fold.ts";
import { WebSocketConnection } from "./websocket-connection.ts";

export type Liveness = {
  /** A sign of life that is no message. */
  alive(connection: Connection): void;
  /** Ends connections whose credential has ended; also done every two seconds. */
  cutEnded(): Promise<void>;
  stop(): Promise<void>;
};
type Deps = {
  pool: Pool;
  connections: ReadonlySet<Connection>;
  credentials: Pick<Credentials, "ended">;
  fold: Fold;
  now: () => Date;
  offlineAfterMs: number;
  /** Default 10 s: what a lost notification costs at most. */
  sweepMs: number | undefined;
  /** What all connections together may hold of messages that are not whole yet; default: sixteen of the largest. */
  maxPartialBytes: number | undefined;
  /** How long a message may take to become whole; default one minute: one of the largest size then needs 2 Mbit/s. */
  maxPartialMs: number | undefined;
  /** This connection was cut because its message took too long to become whole, or because it held most of all. */
  onPartialCut: (connection: Connection, isLate: boolean) => void;
  sweepOffers: () => Promise<void>;
  forgetAway: () => Promise<void>;
  onError: (error: unknown) => void;
};

const SWEEP_MS = 10_000;
/** A credential that ended by a clock, or whose notification was lost, costs at most this long. */
const CREDENTIALS_MS = 2_000;
/** Each connection is pinged every third sweep, a third of them at a time. */
const PING_EVERY = 3;
const MAX_PARTIAL_MS = 60_000;
const MAX_PARTIAL_BYTES = 16 * MAX_MESSAGE_BYTES;

export function createLiveness(deps: Deps): Liveness {
  const { connections, fold, now, offlineAfterMs, onError } = deps;
  let round = 0;

  const cutSilent = (): void => {
    const nowMs = performance.now();
    let i = 0;
    for (const connection of connections) {
      const record = connection.agent?.record;
      // Who promises no heartbeats may be silent as long as it answers pings; a stranger must speak soon.
      const promised = record === undefined || hasBit(record.capabilities, AGENT_CAPABILITY.reportsHeartbeat);
      const lastMs = promised ? connection.messageAtMs : connection.aliveAtMs;
      if (nowMs - lastMs > offlineAfterMs) connection.cut();
      else if (i++ % PING_EVERY === round % PING_EVERY) connection.ping();
    }
    round++;
  };
  const markOffline = async (): Promise<void> => {
    const silent = await markSilent(deps.pool, new Date(now().getTime() - offlineAfterMs), now());
    if (silent.length > 0) await notify(deps.pool, CHANNELS.agents);
  };
  const cutEnded = (): Promise<void> => endConnections(deps);
  const sweep = async (): Promise<void> => {
    cutSilent();
    const steps = await Promise.allSettled([markOffline(), deps.sweepOffers(), deps.forgetAway()]);
    for (const step of steps) if (step.status === "rejected") onError(step.reason);
  };
  const sweeps = every(deps.sweepMs ?? SWEEP_MS, sweep, onError);
  const checks = every(
    Math.min(CREDENTIALS_MS, deps.sweepMs ?? SWEEP_MS),
    async () => {
      cutPartial(deps);
      await cutEnded();
    },
    onError,
  );
  return {
    cutEnded,
    alive(connection) {
      connection.aliveAtMs = performance.now();
      const { agent } = connection;
      const record = agent?.record;
      if (record === undefined || agent === undefined) return;
      if (hasBit(record.capabilities, AGENT_CAPABILITY.reportsHeartbeat)) return;
      record.lastSeenAt = now();
      fold.heard(agent);
    },
    async stop() {
      await Promise.all([sweeps.stop(), checks.stop()]);
    },
  };
}

/** Does something again and again, never twice at once. */
function every(
  ms: number,
  work: () => Promise<void>,
  onError: (error: unknown) => void,
): { stop: () => Promise<void> } {
  let running: Promise<void> = Promise.resolve();
  let isRunning = false;
  const timer = setInterval(() => {
    if (isRunning) return;
    isRunning = true;
    running = work()
      .catch(onError)
      .finally(() => (isRunning = false));
  }, ms);
  timer.unref();
  return {
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}

async function endConnections({ connections, credentials, now }: Deps): Promise<void> {
  if (connections.size === 0) return;
  const ended = await credentials.ended(new Set(Array.from(connections, ({ credential }) => credential)));
  const nowMs = now().getTime();
  for (const connection of connections) {
    const { name, endsAtMs } = connection.credential;
    if (ended.has(name) || (endsAtMs !== undefined && endsAtMs <= nowMs))
      connection.close(CLOSE.policy, "the credential has ended");
  }
}

/**
 * Who takes too long for a message ends; and over the bound of all, those that hold most end first: nobody who sends whole
 * messages is one of them.
 */
function cutPartial({ connections, onPartialCut, ...deps }: Deps): void {
  const { maxPartialBytes: maxBytes = MAX_PARTIAL_BYTES, maxPartialMs: maxMs = MAX_PARTIAL_MS } = deps;
  const nowMs = performance.now();
  const partial: { connection: Connection; bytes: number; isLate: boolean }[] = [];
  let sum = 0;
  for (const connection of connections) {
    const held = connection instanceof WebSocketConnection ? connection.partial() : undefined;
    if (held === undefined) continue;
    partial.push({ connection, bytes: held.bytes, isLate: nowMs - held.sinceMs > maxMs });
    sum += held.bytes;
  }
  for (const { connection, bytes, isLate } of partial.toSorted((a, b) => b.bytes - a.bytes)) {
    if (sum <= maxBytes && !isLate) continue;
    onPartialCut(connection, isLate);
    connection.cut();
    sum -= bytes;
  }
}
