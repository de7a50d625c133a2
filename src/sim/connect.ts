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
  const options: AgentClientOptions = {
    ...agent,
    endpoint,
    headers: context.headersOf(host.group),
    tls,
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
