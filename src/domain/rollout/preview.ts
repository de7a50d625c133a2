/**
 * The plan that would be made, as people read it before a merge (rollouts, "From commit to plan"): waves with counts, who
 * cannot be offered and why, times, approvals, who has no way back. Made by the planner itself, so it cannot say otherwise.
 */
import { takeUp, type Share } from "../gitops/share.ts";
import { compareVersions } from "../update/version.ts";
import { estimateWaves } from "./estimate.ts";
import { refuseOffer, type OfferHost, type Refusal } from "./judge-offer.ts";
import { planFleet, type FleetPlan, type LeftOut, type PlanInput, type PlanTarget } from "./plan.ts";
import { isHeldChange } from "./plan-stragglers.ts";
import type { Approval, FrozenPolicy } from "./policy.ts";
import { assignWaves, type Member, type WaveRule } from "./waves.ts";

export type PreviewHost = OfferHost & {
  connected: boolean;
  /** Of the wanted version for its platform; null: not fetched yet. */
  artifactState: string | null;
};
export type PreviewInput = {
  plan: PlanInput;
  policy: FrozenPolicy;
  distribution: string | null;
  version: string | null;
  /** What decides whether a host can be offered; undefined when its agent has just gone. */
  hostOf: (uid: string) => PreviewHost | undefined;
  /** Why the fleet's change is held. */
  held: { n: number; because: string } | null;
  nowMs: number;
};
export type PreviewWave = {
  k: number;
  name: string;
  approval: Approval;
  bakeMs: number;
  size: number;
  /** Of those: not connected now. */
  offline: number;
  startsMs: number | null;
  endsMs: number | null;
  hosts: string[];
};
export type Outcome = "rollout" | "supersedes" | "waits" | "held" | "nothing";
export type FleetPreview = {
  fleet: string;
  version: string | null;
  policy: string;
  outcome: Outcome;
  because: string;
  targets: PlanTarget[];
  up: number;
  down: number;
  configs: number;
  waves: PreviewWave[];
  maxConcurrent: number;
  startsMs: number | null;
  endsMs: number | null;
  withoutWayBack: PlanTarget[];
  refused: (Refusal & { host: string; hostName: string })[];
  leftOut: LeftOut[];
  joiners: number;
  catchUp: number;
  held: { n: number; because: string } | null;
};

export function previewFleet(input: PreviewInput): FleetPreview {
  const now = planFleet(input.plan);
  const { outcome, because, follows } = judgeOutcome(input.plan, now, input.held);
  const targets = follows.action.do === "create" ? follows.action.targets : [];
  const refused = targets.flatMap((target) => {
    const why = whyNotOffered(input, target);
    return why === undefined ? [] : [{ host: target.host, hostName: target.hostName, ...why }];
  });
  const cap = capOf(input.policy.maxConcurrent, input.plan.hosts.length, targets.length);
  const waves = wavesOf(input, targets, new Set(refused.map(({ host }) => host)), cap);
  const moves = targets.filter(({ toVersion }) => toVersion !== null);
  const down = moves.filter(isDown).length;
  return {
    fleet: input.plan.fleet,
    version: input.version,
    policy: input.policy.name,
    outcome,
    because,
    targets,
    up: moves.length - down,
    down,
    configs: targets.filter(({ toConfig }) => toConfig !== null).length,
    waves,
    maxConcurrent: cap,
    startsMs: waves.find(({ size }) => size > 0)?.startsMs ?? null,
    endsMs: waves.findLast(({ size }) => size > 0)?.endsMs ?? null,
    withoutWayBack: targets.filter(({ wayBack }) => wayBack !== "yes"),
    refused,
    leftOut: follows.leftOut,
    joiners: now.joiners.length,
    catchUp: follows.catchUp.length,
    held: outcome === "held" ? input.held : null,
  };
}

const isDown = ({ fromVersion, toVersion }: PlanTarget): boolean =>
  fromVersion !== null && toVersion !== null && compareVersions(toVersion, fromVersion) < 0;

/** As the engine counts it when it offers. */
const capOf = (share: Share, hosts: number, size: number): number =>
  "count" in share ? Math.max(1, share.count) : takeUp(share, Math.max(hosts, size, 1));

/** What happens now, and the plan that follows: a rollout that is under way ends first, and what it brought is not known yet. */
function judgeOutcome(
  plan: PlanInput,
  now: FleetPlan,
  held: PreviewInput["held"],
): { outcome: Outcome; because: string; follows: FleetPlan } {
  const { action } = now;
  if (action.do === "create")
    return { outcome: "rollout", because: "the commit changes what hosts should have", follows: now };
  const isNew = now.changeKey !== plan.state.plannedKey;
  if (plan.active !== null && isNew) {
    const after = planFleet({
      ...plan,
      active: null,
      hosts: plan.hosts.map((host) => ({ ...host, isTarget: false, openIn: "none" })),
    });
    const n = plan.active.n;
    return action.do === "supersede"
      ? { outcome: "supersedes", because: `rollout ${n} takes no new host, then this follows`, follows: after }
      : { outcome: "waits", because: `rollout ${n} ends first`, follows: after };
  }
  const because = action.do === "nothing" ? action.because : "";
  if (!isNew && isHeldChange(plan.newest, now.changeKey))
    return { outcome: "held", because: held?.because ?? because, follows: now };
  return { outcome: "nothing", because, follows: now };
}

function whyNotOffered({ hostOf, distribution }: PreviewInput, target: PlanTarget): Refusal | undefined {
  const host = hostOf(target.host);
  if (host === undefined) return undefined;
  const refusal = refuseOffer(host, { version: target.toVersion, config: target.toConfig }, distribution);
  if (refusal !== undefined || target.toVersion === null || host.artifactState !== "failed") return refusal;
  return {
    code: "artifact_incomplete",
    message: `the artifact of ${target.toVersion} for this platform cannot be had`,
  };
}

function wavesOf(
  { policy, hostOf, nowMs }: PreviewInput,
  targets: readonly PlanTarget[],
  out: ReadonlySet<string>,
  cap: number,
): PreviewWave[] {
  if (targets.length === 0) return [];
  const rules = policy.waves.map(({ upTo, selector }, k): WaveRule => ({
    k,
    upTo,
    selects: selector !== null,
    last: k === policy.waves.length - 1,
  }));
  const members = targets.map(({ host, matches }, ord): Member => ({
    host,
    ord,
    matches,
    joined: false,
    state: out.has(host) ? "out" : "free",
  }));
  const picked = assignWaves(rules, members);
  const sizes = policy.waves.map(({ bakeMs }, k) => ({ bakeMs, size: picked[k]?.length ?? 0 }));
  const times = estimateWaves(policy, sizes, cap, nowMs);
  return policy.waves.map(({ name, approval, bakeMs }, k) => {
    const hosts = picked[k] ?? [];
    const offline = hosts.filter((host) => hostOf(host)?.connected === false).length;
    const { startsMs = null, endsMs = null } = times[k] ?? {};
    return { k, name, approval, bakeMs, size: hosts.length, offline, startsMs, endsMs, hosts };
  });
}
