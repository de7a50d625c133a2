/** What kind of agent somebody is (decisions, "Server"): updater by name first, then collector by capability, else unknown. */
import { BRAND } from "../brand.ts";

export type AgentKind = "collector" | "updater" | "unknown";
export type Classified = { kind: AgentKind; reason: string };

const ACCEPTS_REMOTE_CONFIG = 0x2n;
const ACCEPTS_PACKAGES = 0x8n;
const REPORTS_REMOTE_CONFIG = 0x1000n;

/** `serviceName` is the identifying attribute `service.name`, empty when absent. The reason also names what it lacks. */
export function classifyAgent(serviceName: string, capabilities: bigint): Classified {
  const has = (bit: bigint): boolean => (capabilities & bit) !== 0n;
  if (serviceName === BRAND.updaterServiceName) {
    const lacks = has(ACCEPTS_PACKAGES) ? "" : "; it does not accept packages, so it gets no updates";
    return { kind: "updater", reason: `its service.name is ${BRAND.updaterServiceName}${lacks}` };
  }
  if (has(ACCEPTS_REMOTE_CONFIG)) {
    const lacks = has(REPORTS_REMOTE_CONFIG)
      ? ""
      : "; but it does not report what became of it: set capabilities.reports_remote_config in its supervisor";
    return { kind: "collector", reason: `it accepts remote configuration${lacks}` };
  }
  return {
    kind: "unknown",
    reason:
      "remote configuration is off: it does not report AcceptsRemoteConfig. That is a supervisor's default; set capabilities.accepts_remote_config",
  };
}
