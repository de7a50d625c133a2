/** Why an agent is what it is, as sentences: kind, fleet, wanted and running version, offer, attempt, updater. */
import { configState, type ConfigState } from "../domain/agents/config-state.ts";
import { judgeHealth, type HealthVerdict } from "../domain/agents/judge-health.ts";
import { namesText } from "../domain/rollout/explain-host.ts";
import type { AgentDetailView, AgentView } from "../store/agent-list.ts";

export type Because = { what: string; why: string };

/** Where it is with its configuration, from its row. */
export const stateOf = (agent: AgentView, now: Date): ConfigState =>
  configState(
    {
      receivedHash: agent.configHash,
      status: agent.configStatus,
      error: agent.configError,
      sentHash: agent.sentHash,
      sentAtMs: agent.sentAt?.getTime() ?? null,
      sentBy: agent.sentBy,
      failedHash: agent.failedHash,
      failedError: agent.failedError,
      effectiveOf: agent.drift?.length === 0 ? agent.driftOf : null,
      missing: agent.missing,
    },
    now.getTime(),
  );

/** Its health as the engine judges it. */
export const healthOf = (agent: AgentView): HealthVerdict =>
  judgeHealth({
    healthy: agent.healthy,
    pipelines: agent.kind === "collector" ? agent.pipelines : null,
    expected: agent.expectedPipelines,
    version: agent.version,
    wantedVersion: null,
  });

/** Pure: everything it says comes from the row. */
export function explainAgent(agent: AgentDetailView, now: Date): Because[] {
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
  const config = stateOf(agent, now);
  if (config.state !== "none") lines.push({ what: `its configuration: ${config.state}`, why: config.text });
  if (agent.drift !== null && agent.drift.length > 0)
    lines.push({ what: "it runs something else than it was sent", why: `different: ${namesText(agent.drift)}` });
  const health = healthOf(agent);
  if (agent.healthy && !health.ok) lines.push({ what: "it says healthy and is not", why: health.because });
  if (agent.wantedVersion !== null) lines.push(versionLine(agent, agent.wantedVersion));
  else if (agent.leftCode !== null)
    lines.push({ what: "it is left as it is", why: `${agent.leftNote} (${agent.leftCode})` });
  if (agent.offer !== null) lines.push(offerLine(agent.offer));
  if (agent.phase !== null)
    lines.push({
      what: `its attempt is in phase ${agent.phase}`,
      why: agent.phaseSince === null ? "it has just begun" : `since ${agent.phaseSince.toISOString()}`,
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

/** What keeps it as it is, with the code; empty when nothing does. */
const leftText = ({ leftCode, leftNote }: AgentView): string =>
  leftCode === null ? "" : `it is left as it is: ${leftNote} (${leftCode})`;

const versionLine = (agent: AgentDetailView, wanted: string): Because =>
  agent.version === wanted
    ? { what: `it runs ${wanted}`, why: "Git wants it, and the collector itself reports it" }
    : {
        what: `it runs ${agent.version || "a version that it does not report"}, Git wants ${wanted}`,
        why:
          agent.offer !== null
            ? "an offer is open"
            : leftText(agent) || "nothing is offered now: its rollout or catch-up decides when",
      };

const offerLine = (offer: NonNullable<AgentDetailView["offer"]>): Because => ({
  what: `a ${offer.kind} offer${offer.version === null ? "" : ` of ${offer.version}`} is open`,
  why:
    offer.sentAt === null ? `opened ${offer.openedAt}, not sent yet` : `opened ${offer.openedAt}, sent ${offer.sentAt}`,
});

/** One sentence for a list: the most important thing that keeps this agent from being as wanted, or that all is well. */
export function whyNow(agent: AgentView, now: Date): string {
  if (!agent.connected) return `not heard since ${agent.lastSeenAt.toISOString()}; values are from then`;
  if (!agent.healthy) return agent.lastError || agent.healthStatus || "it reports itself unhealthy, without a cause";
  if (agent.link === "mismatch") return `updater refused: ${agent.linkReason}`;
  if (agent.renderError !== null) return `keeps its configuration: ${agent.renderError}`;
  if (agent.kind !== "collector") return agent.kindReason;
  const health = healthOf(agent);
  if (!health.ok) return health.because;
  const config = stateOf(agent, now);
  if (CONFIG_TROUBLE.includes(config.state)) return `configuration ${config.state}: ${config.text}`;
  if (agent.offer !== null) return offerLine(agent.offer).what;
  if (agent.wantedVersion !== null && agent.wantedVersion !== agent.version)
    return `Git wants ${agent.wantedVersion}; ${leftText(agent) || "nothing is offered now"}`;
  if (agent.drift !== null && agent.drift.length > 0)
    return `runs something else than it was sent: ${namesText(agent.drift)}`;
  return agent.fleet === null ? `unassigned: ${agent.fleetReason}` : "as wanted";
}
const CONFIG_TROUBLE: readonly ConfigState["state"][] = ["failed", "returned", "unanswered", "incompatible"];
