import { hostname, release, type as systemName } from "node:os";
import type { AgentDescription } from "../../protocol/messages.ts";
import { runningPlatform } from "./binary.ts";
import type { SupervisorConfig } from "./supervisor-config.ts";

/** How the supervisor describes its agent: what the collector said, the host, and what the configuration overrides. */
export function describeAgent(
  instanceId: string,
  collector: { name: string; version: string },
  configured: SupervisorConfig["agent"]["description"],
): AgentDescription {
  const [system = "", machine = ""] = runningPlatform().split("_");
  return {
    identifyingAttributes: new Map([
      ["service.instance.id", instanceId],
      ["service.name", collector.name],
      ["service.version", collector.version],
      ...Object.entries(configured.identifying_attributes),
    ]),
    nonIdentifyingAttributes: new Map([
      ["host.arch", machine],
      ["host.name", hostname()],
      ["os.description", `${systemName()} ${release()}`],
      ["os.type", system],
      ...Object.entries(configured.non_identifying_attributes),
    ]),
  };
}
