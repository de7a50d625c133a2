/** Why an agent is what it is, as sentences: kind, fleet, wanted and running version, offer, attempt, updater. */
import type { AgentDetailView, AgentView } from "../store/agent-list.ts";

export type Because = { what: string; why: string };

/** Pure: everything it says comes from the row. */
export function explainAgent(agent: AgentDetailView): Because[] {
  const lines: Because[] = [{ what: `it is ${article(agent.kind)}`, why: agent.kindReason }];
  if (agent.kind !== "collector") {
    if (agent.kind === "updater") lines.push({ what: `its link: ${agent.link}`, why: agent.linkReason });
    return lines;
  }
  lines.push({
    what: agent.fleet === null ? "it belongs to no fleet and keeps what it has" : `it belongs to fleet ${agent.fleet}`,
    why: agent.fleetReason,
  });
  if (agent.renderError !== null) lines.push({ what: "it keeps its configuration", why: agent.renderError });
  if (agent.wantedVersion !== null) lines.push(versionLine(agent, agent.wantedVersion));
  if (agent.offer !== null) lines.push(offerLine(agent.offer));
  if (agent.phase !== null)
    lines.push({
      what: `its attempt is in phase ${agent.phase}`,
      why: `since ${agent.phaseSince?.toISOString() ?? "unknown"}`,
    });
  lines.push({ what: `its updater: ${agent.link}`, why: agent.linkReason });
  if (!agent.connected)
    lines.push({
      what: "it is not connected; values are from then",
      why: `last heard ${agent.lastSeenAt.toISOString()}`,
    });
  return lines;
}

const article = (kind: AgentDetailView["kind"]): string =>
  kind === "collector" ? "a collector" : `an ${kind}${kind === "unknown" ? " agent" : ""}`;

const versionLine = (agent: AgentDetailView, wanted: string): Because =>
  agent.version === wanted
    ? { what: `it runs ${wanted}`, why: "Git wants it, and the collector itself reports it" }
    : {
        what: `it runs ${agent.version === "" ? "an unknown version" : agent.version}, Git wants ${wanted}`,
        why: agent.offer === null ? "nothing is offered now: its rollout or catch-up decides when" : "an offer is open",
      };

const offerLine = (offer: NonNullable<AgentDetailView["offer"]>): Because => ({
  what: `a ${offer.kind} offer${offer.version === null ? "" : ` of ${offer.version}`} is open`,
  why:
    offer.sentAt === null ? `opened ${offer.openedAt}, not sent yet` : `opened ${offer.openedAt}, sent ${offer.sentAt}`,
});

/** One sentence for a list: the most important thing that keeps this agent from being as wanted, or that all is well. */
export function whyNow(agent: AgentView): string {
  if (!agent.connected) return `not heard since ${agent.lastSeenAt.toISOString()}; values are from then`;
  if (!agent.healthy) return agent.lastError || agent.healthStatus || "it reports itself unhealthy, without a cause";
  if (agent.link === "mismatch") return `updater refused: ${agent.linkReason}`;
  if (agent.renderError !== null) return `keeps its configuration: ${agent.renderError}`;
  if (agent.kind !== "collector") return agent.kindReason;
  if (agent.configStatus === CONFIG_FAILED) return `configuration failed: ${agent.configError}`;
  if (agent.offer !== null) return offerLine(agent.offer).what;
  if (agent.wantedVersion !== null && agent.wantedVersion !== agent.version)
    return `Git wants ${agent.wantedVersion}; nothing is offered now`;
  return agent.fleet === null ? `unassigned: ${agent.fleetReason}` : "as wanted";
}
/** RemoteConfigStatuses_FAILED of OpAMP. */
const CONFIG_FAILED = 3;
