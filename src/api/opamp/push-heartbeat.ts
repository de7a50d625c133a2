/**
 * `agents.heartbeatInterval` for agents that send heartbeats. Pushed as a connection offer with nothing in it but the
 * interval, and only when it is not the default. Of all connection offers this one is safe for upstream supervisors: their
 * client takes the interval first, then the supervisor finds the empty endpoint invalid and returns before it touches the
 * connection or the health (read in its source; design/opamp, 2.5 and 3.7). No other connection setting is ever offered.
 */
import { createHash } from "node:crypto";
import { AGENT_CAPABILITY, hasBit, OFFERS_CONNECTION_SETTINGS, SERVER_CAPABILITIES } from "../../protocol/messages.ts";
import type { ServerToAgent } from "../../protocol/messages.ts";
import type { Connection } from "./connection.ts";
import type { Agent } from "./registry.ts";

const DEFAULT_MS = 30_000;

const secondsOf = (intervalMs: number): number => Math.max(1, Math.round(intervalMs / 1_000));
const isPushed = (intervalMs: number): boolean => secondsOf(intervalMs) * 1_000 !== DEFAULT_MS;

/** What the server says of itself: that it offers connection settings only where an interval is pushed. */
export const serverCapabilities = (intervalMs: number): bigint =>
  isPushed(intervalMs) ? SERVER_CAPABILITIES | OFFERS_CONNECTION_SETTINGS : SERVER_CAPABILITIES;

/** Tells each connection once. `intervalMs`: whole seconds count, one at least. */
export function createHeartbeatPush(intervalMs: number): (agents: readonly Agent[]) => void {
  const told = new WeakSet<Connection>();
  const seconds = secondsOf(intervalMs);
  if (!isPushed(intervalMs)) return () => undefined;
  return (agents) => {
    for (const { uid, record, connection } of agents) {
      if (connection === undefined || record === undefined || told.has(connection)) continue;
      if (!hasBit(record.capabilities, AGENT_CAPABILITY.reportsHeartbeat)) continue;
      told.add(connection);
      connection.send(heartbeatMessage(uid, seconds));
    }
  };
}

const heartbeatMessage = (instanceUid: string, seconds: number): ServerToAgent => ({
  instanceUid,
  flags: 0n,
  capabilities: 0n,
  connectionSettings: {
    hash: createHash("sha256").update(`heartbeat ${seconds}`).digest(),
    opamp: { destinationEndpoint: "", heartbeatIntervalSeconds: BigInt(seconds) },
  },
});
