/** The connection of one simulated agent: counted, and by its host's transport. */
import { createAgentClient, type AgentClientOptions, type CuttableClient } from "../protocol/agent-client.ts";
import type { SimContext } from "./context.ts";
import type { HostProfile } from "./plan.ts";
import { createPollingClient } from "./polling-client.ts";

type Agent = Pick<AgentClientOptions, "instanceUid" | "capabilities" | "state" | "onMessage">;

/** `transport`: of the agent; an updater speaks WebSocket only, as the real one does. */
export function createConnection(
  context: SimContext,
  host: HostProfile,
  transport: HostProfile["transport"],
  agent: Agent,
): CuttableClient {
  const { endpoint, tls, heartbeatMs, traffic, log } = context;
  const localAddress = context.localAddressOf(host.index);
  const options: AgentClientOptions = {
    ...agent,
    endpoint,
    headers: context.headersOf(host.group),
    tls,
    ...(localAddress !== undefined && { localAddress }),
    heartbeatIntervalMs: heartbeatMs,
    log,
    state: () => {
      traffic.sent += 1; // asked once for each message
      return agent.state();
    },
    onMessage: (message) => {
      traffic.received += 1;
      return agent.onMessage(message);
    },
  };
  return transport === "http" ? createPollingClient(options, context.http) : createAgentClient(options);
}

/**
 * Searching a free port is slow long before the last one is taken, and those of closed connections stay taken for a minute:
 * about 28,000 there are for one pair of addresses.
 */
const HOSTS_PER_ADDRESS = 250;

/**
 * Spreads hosts over addresses, given ones or, towards the loopback address of a Linux machine, those that it has anyway.
 * Otherwise undefined: the system chooses.
 */
export function localAddresses(
  endpoint: string,
  given: readonly string[],
  platform: NodeJS.Platform,
): (host: number) => string | undefined {
  if (given.length > 0) return (host) => given[host % given.length];
  if (platform !== "linux" || !new URL(endpoint).hostname.startsWith("127.")) return () => undefined;
  return (host) => `127.0.0.${1 + Math.floor(host / HOSTS_PER_ADDRESS)}`;
}
