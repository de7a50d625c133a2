/**
 * What no commit caused (rollouts, "Catch-up"): hosts that join the last wave of the rollout that is under way, hosts that
 * catch up with the proven state, and why others are left as they are. Never towards a held change.
 */
import { HELD_STATES } from "./phases.ts";
import type { PlanInput } from "./plan.ts";
import {
  inOrder,
  isDowngradeAllowed,
  leave,
  leaveAsDowngrade,
  targetOf,
  whyNotAgain,
  type LeftOut,
  type PlanHost,
  type PlanTarget,
  type WantedState,
} from "./plan-target.ts";

export type Stragglers = { joiners: PlanTarget[]; catchUp: PlanTarget[]; leftOut: LeftOut[] };
type Goals = {
  isFirstRevision: boolean;
  isUnderWay: boolean;
  /** What a person aborted was this change. */
  isAborted: boolean;
  of: (host: PlanHost) => WantedState | null;
};

/** `planned`: hosts that a rollout made now takes. First configurations do not wait for waves. */
export function planStragglers(
  input: PlanInput,
  changeKey: string,
  planned: ReadonlySet<string>,
  settles: boolean,
): Stragglers {
  const goals = catchUpGoals(input, changeKey, settles);
  const found: Stragglers = { joiners: [], catchUp: [], leftOut: [] };
  for (const host of input.hosts) placeHost(input, goals, host, planned, found);
  return {
    joiners: inOrder(found.joiners, input.order),
    catchUp: inOrder(found.catchUp, input.order),
    leftOut: found.leftOut,
  };
}

function placeHost(
  { allowDowngrade }: PlanInput,
  goals: Goals,
  host: PlanHost,
  planned: ReadonlySet<string>,
  found: Stragglers,
): void {
  const { supersededBy = null } = host;
  if (supersededBy !== null) {
    if (targetOf(host, host.want) !== undefined)
      found.leftOut.push(leave(host, "superseded", `its host came back as ${supersededBy}`));
    return;
  }
  if (host.hasFailed) {
    if (host.openIn === "none" && targetOf(host, host.want) !== undefined)
      found.leftOut.push(
        leave(host, "tried_before", "its last attempt towards this failed: retry or a change tries again"),
      );
    return;
  }
  const isFirst = goals.isFirstRevision && !host.is.hasConfig && host.want.config !== null;
  const isBusy = isFirst
    ? host.openIn === "catch_up"
    : host.isTarget || host.openIn !== "none" || planned.has(host.uid);
  if (isBusy) return;
  const goal = isFirst ? { version: null, config: host.want.config } : goals.isUnderWay ? host.want : goals.of(host);
  const target = goal === null ? undefined : targetOf(host, goal);
  if (target === undefined) {
    // Not as Git wants it, and nothing proven to bring it to.
    if (targetOf(host, host.want) !== undefined) found.leftOut.push(leave(host, "held", "the change is held"));
    return;
  }
  const why = whyNotAgain(goals.isAborted ? host : { ...host, aborted: null }, target);
  if (why !== undefined) found.leftOut.push(leave(host, why.code, why.message));
  else if (!isDowngradeAllowed(allowDowngrade, host, target)) found.leftOut.push(leaveAsDowngrade(host, target));
  else if (goals.isUnderWay && !isFirst) found.joiners.push(target);
  else found.catchUp.push(target);
}

/** Is this change held: its rollout ended without success, and nobody has changed their mind since? */
export const isHeldChange = (newest: PlanInput["newest"], changeKey: string | null): boolean =>
  newest !== null && newest.wantedKey === changeKey && (HELD_STATES as readonly string[]).includes(newest.state);

/** Towards what a host catches up; null leaves it as it is. */
function catchUpGoals({ newest, proven, active, state }: PlanInput, changeKey: string, settles: boolean): Goals {
  const isOwn = newest?.wantedKey === changeKey;
  const isProven =
    newest === null ||
    settles ||
    (isOwn ? newest.state === "succeeded" : active === null && state.plannedKey === changeKey);
  return {
    isFirstRevision: proven === null && !isHeldChange(newest, changeKey),
    isAborted: (state.catchUpAbortedKey ?? null) === changeKey,
    isUnderWay: active !== null && active.ending === null && active.wantedKey === changeKey,
    of: (host: PlanHost): WantedState | null => (isProven ? host.want : (proven?.(host.uid) ?? null)),
  };
}
