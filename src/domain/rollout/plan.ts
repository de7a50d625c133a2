/**
 * The planner (rollouts, "From commit to plan"): what a fleet's agents should have, what they have and what was planned
 * already → what to do now. Pure; a plan also says why it does nothing.
 *
 * A change is what a commit made different for some agent. Each change is planned once: whatever becomes of its rollout,
 * syncs, sweeps, joiners and restarts never plan it again. What no commit caused is catch-up's.
 */
import type { Ending } from "./phases.ts";
import { planStragglers } from "./plan-stragglers.ts";
import {
  inOrder,
  isDowngradeAllowed,
  leave,
  leaveAsDowngrade,
  targetOf,
  type LeftOut,
  type PlanHost,
  type PlanTarget,
  type WantedState,
} from "./plan-target.ts";

export type { LeftOut, PlanHost, PlanTarget, WantedState } from "./plan-target.ts";
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
  /** The change during which a person aborted the catch-up. */
  catchUpAbortedKey?: string | null;
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
export type FleetPlan = {
  changeKey: string;
  /** The change counts as planned from now on, though no rollout was needed for it. */
  settles: boolean;
  action:
    | { do: "create"; targets: PlanTarget[]; leftOut: LeftOut[] }
    | { do: "supersede"; n: number }
    | { do: "nothing"; because: string };
  /** Targets that join the last wave of the active rollout. */
  joiners: PlanTarget[];
  catchUp: PlanTarget[];
  /** Every host that is not as Git wants it and that nothing moves by itself, with the reason. */
  leftOut: LeftOut[];
};

export function planFleet(input: PlanInput): FleetPlan {
  const changeKey = nameChange(input);
  const isNew = changeKey !== input.state.plannedKey;
  const change = targetsOf(input);
  const action = decideAction(input, changeKey, isNew, change.targets);
  const settles = isNew && action.do === "nothing" && input.active === null;
  const isWaiting = isNew && action.do !== "create" && !settles;
  if (isWaiting) return { changeKey, settles, action, joiners: [], catchUp: [], leftOut: change.leftOut };
  const planned = new Set(action.do === "create" ? action.targets.map((target) => target.host) : []);
  const named = new Set(change.leftOut.map(({ host }) => host));
  const rest = planStragglers(input, changeKey, planned, settles);
  return {
    changeKey,
    settles,
    action: action.do === "create" ? { ...action, leftOut: withoutPlace(change.leftOut, planned) } : action,
    joiners: rest.joiners,
    catchUp: rest.catchUp,
    leftOut: [...change.leftOut, ...rest.leftOut.filter(({ host }) => !named.has(host))],
  };
}

/** Of those left out: who belongs to the rollout's page, ended before it began. A host that gets the rest is a target. */
const withoutPlace = (leftOut: readonly LeftOut[], planned: ReadonlySet<string>): LeftOut[] =>
  leftOut.filter(({ host }) => !planned.has(host));

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
  return targets.length === 0
    ? { do: "nothing", because: "no agent would change" }
    : { do: "create", targets, leftOut: [] };
}

/** Every host that this change makes different, in the frozen order, and who is left out of it. */
function targetsOf(input: PlanInput): { targets: PlanTarget[]; leftOut: LeftOut[] } {
  const leftOut: LeftOut[] = [];
  const targets = input.hosts.flatMap((host): PlanTarget[] => {
    if ((host.supersededBy ?? null) !== null) return [];
    // The first configuration is catch-up's: a rollout changes what an agent has.
    const want = host.is.hasConfig ? host.want : { ...host.want, config: null };
    const target = targetOf(host, want);
    const isAllowed = target === undefined || isDowngradeAllowed(input.allowDowngrade, host, target);
    if (!isAllowed) leftOut.push(leaveAsDowngrade(host, target));
    else if (host.renderError !== null) leftOut.push(leave(host, "render_failed", host.renderError));
    return target === undefined || !isAllowed ? [] : [target];
  });
  return { targets: inOrder(targets, input.order), leftOut: inOrder(leftOut, input.order) };
}
