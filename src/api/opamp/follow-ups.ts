/** What follows from reports and from what people ask, beside offers: components, heartbeat, commands, drift. */
import type { AgentToServer } from "../../protocol/messages.ts";
import type { Pool } from "../../store/database.ts";
import type { Listener } from "../../store/listen.ts";
import { createAskComponents } from "./ask-components.ts";
import { createDriftJudge } from "./judge-drift.ts";
import { createHeartbeatPush } from "./push-heartbeat.ts";
import type { Agent, Registry } from "./registry.ts";
import { createCommands } from "./run-commands.ts";
import type { Seal } from "./seal.ts";

export type FollowUps = {
  /** The agent's record says what the message reports. */
  reported: (agent: Agent, message: AgentToServer) => void;
  /** Their rows say what they reported. */
  written: (agents: readonly Agent[]) => void;
  sweep: () => void;
  /** Resolves when nothing of it is being done; nothing new begins. */
  stop: () => Promise<void>;
};
type Deps = {
  pool: Pool;
  listener: Listener;
  registry: Registry;
  seal: Seal;
  heartbeatIntervalMs: number;
  now: () => Date;
  onError: (error: unknown) => void;
};

export function createFollowUps(deps: Deps): FollowUps {
  const components = createAskComponents(deps);
  const commands = createCommands(deps);
  const pushHeartbeat = createHeartbeatPush(deps.heartbeatIntervalMs);
  const drift = createDriftJudge(deps);
  return {
    reported: components.reported,
    written(agents) {
      components.written(agents);
      commands.written(agents);
      pushHeartbeat(agents);
    },
    sweep: components.sweep,
    async stop() {
      await Promise.all([components.stop(), commands.stop(), drift.stop()]);
    },
  };
}
