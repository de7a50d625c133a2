/**
 * "Why is this host not updated?" in one sentence, with what happens next and what somebody can do. Total: the first cause
 * that holds is the answer, and the last one always holds.
 */
import type { HealthVerdict } from "../agents/judge-health.ts";
import type { ConfigState } from "../agents/config-state.ts";
import { BRING_BACK, isTargetCode, textOfCode } from "./explain-advice.ts";
import type { Explained } from "./explain-situation.ts";
import { instantText } from "./explain-time.ts";
import { isFinalPhase, isInFlight, type Phase } from "./phases.ts";

export const VERDICTS = [
  "in_sync",
  "in_progress",
  "waiting",
  "paused",
  "offline",
  "failed",
  "refused",
  "held",
  "left",
  "not_rendered",
  "drifted",
  "unhealthy",
  "unassigned",
  "unmanageable",
  "unplanned",
] as const;
export type HostVerdict = (typeof VERDICTS)[number];
export type HostExplained = { verdict: HostVerdict; says: string } & Omit<Explained, "what">;

/** Where the engine is with the host: its open target, else the one that ended last. */
export type HostTarget = {
  /** `edge/7`; `edge/0` is the catch-up. */
  rollout: string;
  phase: Phase;
  code: string | null;
  /** What the attempt brings it to; null: leaves it as it is. */
  goal: { version: string | null; config: string | null };
  isHeld: boolean;
  explained: Explained;
};
export type HostFacts = {
  uid: string;
  hostName: string;
  kind: "collector" | "updater" | "unknown";
  kindReason: string;
  connected: boolean;
  lastSeenMs: number;
  fleet: string | null;
  fleetReason: string;
  /** No planning has seen it yet. */
  isPlanned: boolean;
  version: string;
  wantedVersion: string | null;
  wantedConfig: string | null;
  configHash: string | null;
  config: ConfigState;
  renderError: string | null;
  left: { code: string; note: string } | null;
  drift: readonly string[] | null;
  health: HealthVerdict;
  link: "none" | "linked" | "mismatch";
  linkReason: string;
  target: HostTarget | null;
  held: { n: number; because: string } | null;
};

type Cause = HostExplained | undefined;

/** Every agent gets exactly one verdict. */
export function explainHost(it: HostFacts): HostExplained {
  return (
    ofKind(it) ??
    ofFleet(it) ??
    ofFlight(it) ??
    (isAsWanted(it) ? ofWanted(it) : undefined) ??
    ofRendering(it) ??
    ofWaiting(it) ??
    ofEnd(it) ??
    ofLeft(it) ??
    ofHold(it) ??
    ofUpdater(it) ??
    ofNothing(it)
  );
}

function ofKind({ kind, hostName, kindReason }: HostFacts): Cause {
  if (kind === "collector") return undefined;
  const says = `${hostName} is ${kind === "updater" ? "an updater" : "no collector"} and gets no configuration or version itself: ${kindReason}`;
  const todo =
    kind === "updater"
      ? "ask about the collector that it is linked to"
      : "let the agent accept remote configuration, if it is a collector";
  return { verdict: "unmanageable", says, next: null, waitsFor: kind === "updater" ? "nobody" : "person", todo };
}

function ofFleet({ hostName, fleet, fleetReason, isPlanned }: HostFacts): Cause {
  if (!isPlanned)
    return {
      verdict: "unplanned",
      says: `${hostName} is new: no planning has placed it yet`,
      next: { what: "the next planning places it", atMs: null },
      waitsFor: "server",
      todo: null,
    };
  if (fleet !== null) return undefined;
  return {
    verdict: "unassigned",
    says: `${hostName} belongs to no fleet and keeps what it has: ${fleetReason}`,
    next: null,
    waitsFor: "person",
    todo: "let a fleet's selector in Git match its labels, or give it labels by an inventory entry",
  };
}

const ofFlight = (it: HostFacts): Cause =>
  it.target !== null && isInFlight(it.target.phase) ? ofTarget(it, it.target, "in_progress") : undefined;

function ofTarget(it: HostFacts, { rollout, explained }: HostTarget, verdict: HostVerdict): HostExplained {
  const { what, next, waitsFor, todo } = explained;
  return { verdict, says: `${gapText(it)}: in ${rollout}, ${what}`, next, waitsFor, todo };
}

const SHORT = 12;
/** What is, against what should be. */
function gapText({ hostName, version, wantedVersion, wantedConfig, configHash }: HostFacts): string {
  const runs = `${hostName} runs ${version || "a version that it does not report"}`;
  if (wantedVersion !== null && wantedVersion !== version) return `${runs}, Git wants ${wantedVersion}`;
  if (wantedConfig !== null && wantedConfig !== configHash)
    return `${runs} with ${configHash === null ? "no configuration of ours" : `configuration ${configHash.slice(0, SHORT)}`}, Git wants ${wantedConfig.slice(0, SHORT)}`;
  return `${runs}, as Git wants`;
}

export const isAsWanted = (it: HostFacts): boolean =>
  (it.wantedVersion === null || it.version === it.wantedVersion) &&
  it.renderError === null &&
  (it.wantedConfig === null || (it.configHash === it.wantedConfig && it.config.state === "applied"));

/** It has what Git wants; what it does with that is another question. */
function ofWanted(it: HostFacts): HostExplained {
  const { uid, hostName, connected, lastSeenMs, health, drift } = it;
  const quiet = { next: null, waitsFor: "nobody", todo: null } as const;
  if (!connected)
    return {
      verdict: "offline",
      says: `${gapText(it)}, as last heard: it is offline since ${instantText(lastSeenMs)}`,
      next: { what: "it is compared again when it is back", atMs: null },
      waitsFor: "host",
      todo: BRING_BACK,
    };
  if (!health.ok)
    return {
      verdict: "unhealthy",
      says: `${gapText(it)}, and is not healthy: ${health.because}`,
      next: null,
      waitsFor: "person",
      todo: "read the collector's log on the host",
    };
  if (drift !== null && drift.length > 0)
    return {
      verdict: "drifted",
      says: `${hostName} was sent what Git wants and runs something else: ${namesText(drift)}`,
      next: null,
      waitsFor: "person",
      todo: `myrctl agents config ${uid} --diff shows both; myrctl agents resync ${uid} sends it again`,
    };
  return { verdict: "in_sync", says: gapText(it), ...quiet };
}

const MAX_NAMED = 5;
/** The first names, and how many more there are. */
export const namesText = (names: readonly string[]): string =>
  `${names.slice(0, MAX_NAMED).join(", ")}${names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : ""}`;

const ofRendering = (it: HostFacts): Cause =>
  it.renderError === null
    ? undefined
    : {
        verdict: "not_rendered",
        says: `${it.hostName} keeps what it has, its configuration does not render: ${it.renderError}`,
        next: { what: "it gets its configuration with the commit that mends it", atMs: null },
        waitsFor: "person",
        todo: textOfCode("render_failed", it.renderError).todo,
      };

function ofWaiting(it: HostFacts): Cause {
  const { target, connected } = it;
  if (target === null || isFinalPhase(target.phase)) return undefined;
  const away = target.explained.waitsFor === "host" && !connected;
  return ofTarget(it, target, target.isHeld ? "paused" : away ? "offline" : "waiting");
}

/** Only an end on the way to what Git wants now tells why it is not there. */
function ofEnd(it: HostFacts): Cause {
  const { target } = it;
  if (target === null || !isTowards(it, target.goal)) return undefined;
  if (target.phase === "failed" || target.phase === "rolled_back") return ofTarget(it, target, "failed");
  if (target.phase !== "cancelled" || (target.code !== null && ENDED_BY_OTHERS.includes(target.code))) return undefined;
  return ofTarget(it, target, "refused");
}
/** Ends of the rollout, not of this host: what the planner or the hold says of it counts more. */
const ENDED_BY_OTHERS = ["aborted", "superseded", "rolled_back", "moved", "deleted"];

const isTowards = ({ wantedVersion, wantedConfig }: HostFacts, goal: HostTarget["goal"]): boolean =>
  (goal.version === null || goal.version === wantedVersion) && (goal.config === null || goal.config === wantedConfig);

function ofLeft(it: HostFacts): Cause {
  if (it.left === null) return undefined;
  const { code, note } = it.left;
  const known = isTargetCode(code) ? textOfCode(code, note) : undefined;
  return {
    verdict: "left",
    says: `${gapText(it)}: it is left as it is: ${note || known?.says || code} (${code})`,
    next: known?.next ?? null,
    waitsFor: known?.waitsFor ?? "person",
    todo: known === undefined ? `docs/errors.md explains ${code}` : known.todo,
  };
}

const ofHold = (it: HostFacts): Cause =>
  it.held === null
    ? undefined
    : {
        verdict: "held",
        says: `${gapText(it)}: the change of fleet ${it.fleet ?? ""} is held, because ${it.held.because}`,
        next: null,
        waitsFor: "person",
        todo: `myrctl rollouts retry ${it.fleet ?? ""}/${it.held.n}, or commit another change`,
      };

/** A version needs an updater; a configuration does not. */
function ofUpdater(it: HostFacts): Cause {
  if (it.link === "linked" || it.wantedVersion === null || it.wantedVersion === it.version) return undefined;
  const { says, next, waitsFor, todo } = textOfCode(it.link === "none" ? "updater_missing" : "updater_mismatch", "");
  return {
    verdict: "unmanageable",
    says: `${gapText(it)}: its binary cannot be changed from here: ${it.linkReason || says}`,
    next,
    waitsFor,
    todo,
  };
}

function ofNothing(it: HostFacts): HostExplained {
  const { connected, lastSeenMs, config } = it;
  if (!connected)
    return {
      verdict: "offline",
      says: `${gapText(it)}: it is offline since ${instantText(lastSeenMs)}`,
      next: { what: "it is planned when it is back", atMs: null },
      waitsFor: "host",
      todo: BRING_BACK,
    };
  const trouble = config.state === "applied" || config.state === "none" ? "" : `; its configuration: ${config.text}`;
  return {
    verdict: "unplanned",
    says: `${gapText(it)}: nothing is on its way to it now${trouble}`,
    next: { what: "the next planning decides whether a rollout or catch-up brings it there", atMs: null },
    waitsFor: "server",
    todo: null,
  };
}
