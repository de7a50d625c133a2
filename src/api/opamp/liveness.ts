/**
 * Who is still there. Pings find sockets whose other end is gone although TCP believes otherwise; an agent that promised
 * heartbeats and is silent is cut; rows of agents that nobody heard become offline, whichever process held them.
 */
import { CHANNELS } from "../../domain/channels.ts";
import { AGENT_CAPABILITY, hasBit } from "../../protocol/messages.ts";
import { endedEnrollments, markSilent } from "../../store/agents.ts";
import { notify, type Pool } from "../../store/database.ts";
import { CLOSE, type Connection } from "./connection.ts";
import type { Fold } from "./fold.ts";

export type Liveness = {
  /** A sign of life that is no message. */
  alive(connection: Connection): void;
  stop(): Promise<void>;
};
type Deps = {
  pool: Pool;
  connections: ReadonlySet<Connection>;
  fold: Fold;
  now: () => Date;
  offlineAfterMs: number;
  /** Default 10 s: what a lost notification costs at most. */
  sweepMs: number | undefined;
  sweepOffers: () => Promise<void>;
  onError: (error: unknown) => void;
};

const SWEEP_MS = 10_000;
/** Each connection is pinged every third sweep, a third of them at a time. */
const PING_EVERY = 3;

export function createLiveness(deps: Deps): Liveness {
  const { pool, connections, fold, now, offlineAfterMs, onError } = deps;
  let round = 0;
  let running: Promise<void> = Promise.resolve();

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
  const cutEnded = async (): Promise<void> => {
    const ids = new Set(Array.from(connections, ({ credential }) => credential.tokenId));
    const ended = new Set(ids.size === 0 ? [] : await endedEnrollments(pool, Array.from(ids), now()));
    for (const connection of connections)
      if (ended.has(connection.credential.tokenId)) connection.close(CLOSE.policy, "the credential has ended");
  };
  const markOffline = async (): Promise<void> => {
    const silent = await markSilent(pool, new Date(now().getTime() - offlineAfterMs), now());
    if (silent.length > 0) await notify(pool, CHANNELS.agents);
  };
  const sweep = async (): Promise<void> => {
    cutSilent();
    const steps = await Promise.allSettled([cutEnded(), markOffline(), deps.sweepOffers()]);
    for (const step of steps) if (step.status === "rejected") onError(step.reason);
  };
  const timer = setInterval(() => {
    running = running.then(sweep);
  }, deps.sweepMs ?? SWEEP_MS);
  timer.unref();
  return {
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
      clearInterval(timer);
      await running;
    },
  };
}
