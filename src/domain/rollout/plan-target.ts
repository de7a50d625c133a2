/** One host of a plan: what it takes to bring it to a state, and why it may be left as it is. */
import { failure } from "../errors.ts";
import { compareVersions } from "../update/version.ts";

export type WantedState = {
  version: string | null;
  /** Hexadecimal; null: the fleet gives none, or it does not render. */
  config: string | null;
};
/** A way that was tried, as far as it tells whether trying again would come to another end. */
export type TriedChange = {
  toVersion: string | null;
  toConfig: string | null;
  fromVersion?: string | null;
  fromConfig?: string | null;
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
  refused?: TriedChange | null;
  /** What a person stopped its catch-up from, while the fleet's change was this one. */
  aborted?: TriedChange | null;
  /** The agent that its host came back as. */
  supersededBy?: string | null;
  /** Where another attempt of this host is open. */
  openIn: "none" | "catch_up" | "rollout";
  /** It is a target of the active rollout. */
  isTarget: boolean;
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
/** Why a host that is not as Git wants it is left as it is. */
export type LeaveCode =
  | "downgrade_not_allowed"
  | "render_failed"
  | "incompatible"
  | "superseded"
  | "tried_before"
  | "refused_before"
  | "catch_up_aborted"
  | "held";
export type LeftOut = { host: string; hostName: string; code: LeaveCode; message: string };

/** What it takes to bring a host to `want`; undefined when it is there. */
export function targetOf(host: PlanHost, want: WantedState): PlanTarget | undefined {
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

/** Without `allowDowngrade` a target goes down only to where its last success came from (gitops-schema, Fleet). */
export function isDowngradeAllowed(allowDowngrade: boolean, host: PlanHost, target: PlanTarget): boolean {
  if (allowDowngrade || target.toVersion === null || host.is.version === "") return true;
  return compareVersions(target.toVersion, host.is.version) >= 0 || target.toVersion === host.stepDown;
}

const isSameGoal = (tried: TriedChange, target: PlanTarget): boolean =>
  tried.toVersion === target.toVersion && tried.toConfig === target.toConfig;

/**
 * What keeps a host from being tried by itself again: another try would end as the last one did, and its end would be a
 * reason to plan again, for ever. A change, `retry` or the host itself lifts it.
 */
export function whyNotAgain(host: PlanHost, target: PlanTarget): Omit<LeftOut, "host" | "hostName"> | undefined {
  const { refused = null, aborted = null } = host;
  // It waits for another configuration or build; each try would only be cancelled again.
  if (host.isIncompatible === true && target.toVersion === null)
    return { code: "incompatible", message: "its build lacks components of the wanted configuration" };
  if (refused !== null && isSameGoal(refused, target))
    return { code: "refused_before", message: "its catch-up could not be offered, and nothing has changed since" };
  if (aborted === null || !isSameGoal(aborted, target)) return undefined;
  if (aborted.fromVersion !== target.fromVersion || aborted.fromConfig !== target.fromConfig) return undefined;
  return {
    code: "catch_up_aborted",
    message: "its catch-up was aborted: retry, a change or the host itself lifts that",
  };
}

export const leave = ({ uid, hostName }: PlanHost, code: LeaveCode, message: string): LeftOut => ({
  host: uid,
  hostName,
  code,
  message,
});
export const leaveAsDowngrade = (host: PlanHost, target: PlanTarget): LeftOut =>
  leave(
    host,
    "downgrade_not_allowed",
    failure("downgrade_not_allowed", { from: host.is.version, to: target.toVersion ?? "" }).message,
  );

/** In the frozen order; the name of each is computed once. */
export function inOrder<T extends { host: string }>(targets: readonly T[], order: (uid: string) => string): T[] {
  const keyed = targets.map((target) => ({ target, key: order(target.host) }));
  keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return keyed.map(({ target }) => target);
}
