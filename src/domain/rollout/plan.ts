/**
 * The planner (rollouts, "From commit to plan"): what a fleet's agents should have, what they have and what was planned
 * already → what to do now. Pure; a plan also says why it does nothing.
 *
 * A change is what a commit made different for some agent. Each change is planned once: whatever becomes of its rollout,
 * syncs, sweeps, joiners and restarts never plan it again. What no commit caused is catch-up's.
 */
import { compareVersions } from "../update/version.ts";
import type { Ending } from "./phases.ts";

export type WantedState = {
  version: string | null;
  /** Hexadecimal; null: the fleet gives none, or it does not render. */
  config: string | null;
};
export type PlanHost = {
  uid: string;
  hostName: string;
  /** What Git says now. */
  want: WantedState;
  /** Set when the configuration does not render for this agent: it keeps what it has, others go on. */
  renderError: string | null;
  /** Its collector lacks components of the wanted configuration; a newer version may bring them. */
  isIncompatible?: boolean;
  /** What the commit that was compared last wanted; null for an agent that no plan has seen. */
  before: WantedState | null;
  /** Reported by the collector. `config` is the hash of ours that is applied, `started` that one of ours was sent. */
  is: { version: string; config: string | null; hasConfig: boolean };
  /** Waves whose selector matches. */
  matches: number[];
  unhealthy: string[];
  /** `from` of its last attempt that succeeded: the one step down that is allowed without allowDowngrade. */
  stepDown: string | null;
  /** Code of what speaks against a signed way back from the wanted version, or `yes`. */
  wayBack: string;
  /** Its last attempt towards exactly this state failed: only `retry` or a change tries again. */
  hasFailed: boolean;
  /** What its catch-up was refused a short while ago, and would be refused again. */
  refused?: { toVersion: string | null; toConfig: string | null } | null;
  /** Where another attempt of this host is open. */
  openIn: "none" | "catch_up" | "rollout";
  /** It is a target of the active rollout. */
  isTarget: boolean;
};
export type ActiveRollout = {
  n: number;
  wantedKey: string;
  ending: Ending | null;
  onNewChange: "supersede" | "queue";
};
export type FleetState = {
  changeKey: string | null;
  plannedKey: string | null;
  seenCommit: string | null;
};
export type PlanInput = {
  fleet: string;
  commit: string;
  allowDowngrade: boolean;
  hosts: readonly PlanHost[];
  state: FleetState;
  active: ActiveRollout | null;
  /** State of the newest rollout of kind `change`, and the change that it was for. */
  newest: { wantedKey: string; state: string } | null;
  /** What the commit of the last success wants of a host; null without one. */
  proven: ((uid: string) => WantedState | null) | null;
  /** Stable order that spreads a wave over the fleet. */
  order: (uid: string) => string;
  /** Name of a change. */
  keyOf: (text: string) => string;
};
export type PlanTarget = {
  host: string;
  hostName: string;
  fromVersion: string | null;
  toVersion: string | null;
  fromConfig: string | null;
  toConfig: string | null;
  wayBack: string;
  unhealthyBefore: string[];
  matches: number[];
};
export type LeftOut = {
  host: string;
  hostName: string;
  code: "downgrade_not_allowed" | "render_failed";
  message: string;
};
export type FleetPlan = {
  changeKey: string;
  /** The change counts as planned from now on, though no rollout was needed for it. */
  settles: boolean;
  action: { do: "create"; targets: PlanTarget[] } | { do: "supersede"; n: number } | { do: "nothing"; because: string };
  /** Targets that join the last wave of the active rollout. */
  joiners: PlanTarget[];
  catchUp: PlanTarget[];
  leftOut: LeftOut[];
};

export function planFleet(input: PlanInput): FleetPlan {
  const changeKey = nameChange(input);
  const isNew = changeKey !== input.state.plannedKey;
  const leftOut: LeftOut[] = [];
  const changed = targetsOf(input, leftOut);
  const action = decideAction(input, changeKey, isNew, changed);
  const settles = isNew && action.do === "nothing" && input.active === null;
  const isWaiting = isNew && action.do !== "create" && !settles;
  const planned = new Set(action.do === "create" ? action.targets.map((target) => target.host) : []);
  const rest = isWaiting ? { joiners: [], catchUp: [] } : planStragglers(input, changeKey, planned, settles);
  return { changeKey, settles, action, leftOut, ...rest };
}

/** The change of the last plan, or a new one when this commit makes something different for an agent that it knew. */
function nameChange({ fleet, commit, hosts, state, keyOf }: PlanInput): string {
  const isSeen = state.seenCommit !== null;
  const differs = ({ before, want }: PlanHost): boolean =>
    before !== null && (before.version !== want.version || before.config !== want.config);
  if (state.changeKey !== null && (state.seenCommit === commit || !isSeen || !hosts.some(differs)))
    return state.changeKey;
  const wanted = hosts
    .map(({ uid, want }) => `${uid} ${want.version ?? "-"} ${want.config ?? "-"}`)
    .toSorted()
    .join("\n");
  return keyOf(`${fleet}\n${commit}\n${wanted}`);
}

function decideAction(
  { active, newest }: PlanInput,
  changeKey: string,
  isNew: boolean,
  targets: PlanTarget[],
): FleetPlan["action"] {
  if (!isNew)
    return {
      do: "nothing",
      because: newest?.wantedKey === changeKey ? `planned: ${newest.state}` : "nothing to change",
    };
  if (active !== null) {
    if (active.ending !== null || active.onNewChange === "queue")
      return { do: "nothing", because: `rollout ${active.n} ends first` };
    return { do: "supersede", n: active.n };
  }
  return targets.length === 0 ? { do: "nothing", because: "no agent would change" } : { do: "create", targets };
}

/** Every host that this change makes different, in the frozen order. */
function targetsOf(input: PlanInput, leftOut: LeftOut[]): PlanTarget[] {
  return input.hosts
    .flatMap((host) => {
      // The first configuration is catch-up's: a rollout changes what an agent has.
      const want = host.is.hasConfig ? host.want : { ...host.want, config: null };
      if (host.renderError !== null)
        leftOut.push({ host: host.uid, hostName: host.hostName, code: "render_failed", message: host.renderError });
      const target = targetOf(host, want);
      if (target === undefined) return [];
      if (!isDowngradeAllowed(input, host, target)) {
        const message = `from ${host.is.version} to ${target.toVersion ?? ""}`;
        leftOut.push({ host: host.uid, hostName: host.hostName, code: "downgrade_not_allowed", message });
        return [];
      }
      return [target];
    })
    .toSorted(byOrder(input.order));
}

const byOrder =
  (order: (uid: string) => string) =>
  (a: { host: string }, b: { host: string }): number =>
    order(a.host) < order(b.host) ? -1 : 1;

/** What it takes to bring a host to `want`; undefined when it is there. */
function targetOf(host: PlanHost, want: WantedState): PlanTarget | undefined {
  const toVersion = want.version !== null && want.version !== host.is.version ? want.version : null;
  const toConfig = want.config !== null && want.config !== host.is.config ? want.config : null;
  if (toVersion === null && toConfig === null) return undefined;
  const hasNoConfigBack = toConfig !== null && host.is.config === null;
  return {
    host: host.uid,
    hostName: host.hostName,
    fromVersion: host.is.version === "" ? null : host.is.version,
    toVersion,
    fromConfig: host.is.config,
    toConfig,
    wayBack: toVersion !== null && host.wayBack !== "yes" ? host.wayBack : hasNoConfigBack ? "no_way_back" : "yes",
    unhealthyBefore: host.unhealthy,
    matches: host.matches,
  };
}

function isDowngradeAllowed({ allowDowngrade }: PlanInput, host: PlanHost, target: PlanTarget): boolean {
  if (allowDowngrade || target.toVersion === null || host.is.version === "") return true;
  return compareVersions(target.toVersion, host.is.version) >= 0 || target.toVersion === host.stepDown;
}

/**
 * What no commit caused: joins the last wave of the rollout that is under way, or catches up with the proven state;
 * never goes towards a held one. First configurations do not wait for waves.
 */
function planStragglers(
  input: PlanInput,
  changeKey: string,
  planned: ReadonlySet<string>,
  settles: boolean,
): Pick<FleetPlan, "joiners" | "catchUp"> {
  const goals = catchUpGoals(input, changeKey, settles);
  const { active, order } = input;
  const isUnderWay = active !== null && active.ending === null && active.wantedKey === changeKey;
  const joiners: PlanTarget[] = [];
  const catchUp: PlanTarget[] = [];
  for (const host of input.hosts) {
    if (host.hasFailed) continue;
    if (goals.isFirstRevision && !host.is.hasConfig && host.want.config !== null) {
      const first = targetOf(host, { version: null, config: host.want.config });
      if (host.isIncompatible === true) continue;
      if (host.openIn !== "catch_up" && first !== undefined && !isRefused(host, first)) catchUp.push(first);
      continue;
    }
    if (host.isTarget || host.openIn !== "none" || planned.has(host.uid)) continue;
    const goal = isUnderWay ? host.want : goals.of(host);
    const target = goal === null ? undefined : targetOf(host, goal);
    // It waits for another configuration or build; each try would only be cancelled again.
    if (host.isIncompatible === true && target?.toVersion === null) continue;
    if (target === undefined || !isDowngradeAllowed(input, host, target)) continue;
    if (isUnderWay) joiners.push(target);
    else if (!isRefused(host, target)) catchUp.push(target);
  }
  return { joiners: joiners.toSorted(byOrder(order)), catchUp: catchUp.toSorted(byOrder(order)) };
}

/** Another try would be cancelled at once, and its end would be a reason to plan again: for ever. */
const isRefused = ({ refused = null }: PlanHost, target: PlanTarget): boolean =>
  refused !== null && refused.toVersion === target.toVersion && refused.toConfig === target.toConfig;

const HELD_STATES = ["aborted", "failed", "rolled_back"];

/** Is this change held: its rollout ended without success, and nobody has changed their mind since? */
export const isHeldChange = (newest: PlanInput["newest"], changeKey: string | null): boolean =>
  newest !== null && newest.wantedKey === changeKey && HELD_STATES.includes(newest.state);

/** Towards what a host catches up; null leaves it as it is. */
function catchUpGoals({ newest, proven, active, state }: PlanInput, changeKey: string, settles: boolean) {
  const isOwn = newest?.wantedKey === changeKey;
  const isProven =
    newest === null ||
    settles ||
    (isOwn ? newest.state === "succeeded" : active === null && state.plannedKey === changeKey);
  return {
    isFirstRevision: proven === null && !isHeldChange(newest, changeKey),
    of: (host: PlanHost): WantedState | null => (isProven ? host.want : (proven?.(host.uid) ?? null)),
  };
}
