/** What kind of agent somebody is (decisions, "Server"): updater by name first, then collector by capability, else unknown. */
import { BRAND } from "../brand.ts";

export type AgentKind = "collector" | "updater" | "unknown";
export type Classified = { kind: AgentKind; reason: string };

const ACCEPTS_REMOTE_CONFIG = 0x2n;

/** `serviceName` is the identifying attribute `service.name`, empty when absent. */
export function classifyAgent(serviceName: string, capabilities: bigint): Classified {
  if (serviceName === BRAND.updaterServiceName)
    return { kind: "updater", reason: `its service.name is ${BRAND.updaterServiceName}` };
  if ((capabilities & ACCEPTS_REMOTE_CONFIG) !== 0n)
    return { kind: "collector", reason: "it accepts remote configuration" };
  return { kind: "unknown", reason: "remote configuration is off: it does not report AcceptsRemoteConfig" };
}
