/**
 * From what runs on a host back to where it comes from: binary → artifact → signature → release → version source → rollout
 * and attempt → commit → file, line, object; and the same for its configuration. What is not known is said, never guessed.
 */
import type { GitTrail, ObjectName } from "./explain-trail.ts";
import { instantText } from "./explain-time.ts";
import { isFinalState, type Direction, type Phase, type RolloutState } from "./phases.ts";

export const WALK_STEPS = [
  "running",
  "artifact",
  "signature",
  "release",
  "version_source",
  "rollout",
  "approval",
  "commit",
  "object",
  "rendered_from",
  "label",
] as const;
export type WalkStep = (typeof WALK_STEPS)[number];
export type WalkLine = { step: WalkStep; says: string };

/** One attempt of the host in any rollout, newest first in lists. */
export type HostAttempt = {
  fleet: string;
  n: number;
  kind: "change" | "catch_up";
  commit: string;
  /** Of its rollout. */
  state: RolloutState;
  attempt: number;
  direction: Direction;
  wave: number | null;
  phase: Phase;
  fromVersion: string | null;
  toVersion: string | null;
  fromConfig: string | null;
  toConfig: string | null;
  sinceMs: number;
  offeredMs: number | null;
  finishedMs: number | null;
};
export type WalkArtifact = {
  fileName: string;
  sha256: string | null;
  sourceUrl: string;
  state: "fetching" | "verified" | "failed" | "removed";
  revokedReason: string | null;
  verification: { identity: string; issuer: string; logIndex: string; signedAt: readonly string[] } | null;
};
export type Brought = HostAttempt & {
  trail: GitTrail | null;
  approvals: readonly { principal: string; at: string; reason: string }[];
};
export type WalkFacts = {
  hostName: string;
  version: string;
  distribution: string;
  /** `linux/amd64`. */
  platform: string;
  configHash: string | null;
  artifact: WalkArtifact | null;
  broughtVersion: Brought | null;
  broughtConfig: Brought | null;
};

/**
 * The attempt that says where the host is: in flight, else waiting in a rollout that goes on, else what came last (an end, or
 * a wave that left it behind).
 */
export function currentAttempt(attempts: readonly HostAttempt[]): HostAttempt | undefined {
  const open = attempts.filter(({ finishedMs }) => finishedMs === null);
  const live = open.find(({ phase }) => phase !== "pending") ?? open.find(({ state }) => !isFinalState(state));
  return live ?? attempts.toSorted((a, b) => b.sinceMs - a.sinceMs)[0];
}

/** The attempt that last brought the host to this version forward; undefined: none that is kept here. */
export const whatBroughtVersion = (attempts: readonly HostAttempt[], version: string): HostAttempt | undefined =>
  attempts.find((it) => hasReached(it) && it.toVersion === version);
export const whatBroughtConfig = (attempts: readonly HostAttempt[], config: string | null): HostAttempt | undefined =>
  config === null ? undefined : attempts.find((it) => hasReached(it) && it.toConfig === config);

/** Also one that failed in its health wait: the host keeps what it brought. */
const REACHED: readonly Phase[] = ["health_wait", "succeeded", "failed"];
const hasReached = ({ direction, phase, offeredMs }: HostAttempt): boolean =>
  direction === "forward" && offeredMs !== null && REACHED.includes(phase);

const line = (step: WalkStep, says: string): WalkLine => ({ step, says });

export function walkVersion(it: WalkFacts): WalkLine[] {
  const { hostName, version, distribution, platform, artifact, broughtVersion } = it;
  if (version === "") return [line("running", `${hostName} reports no version`)];
  const running = line(
    "running",
    `${hostName} runs ${distribution} ${version} on ${platform}, as its collector reports`,
  );
  return [
    running,
    ...artifactLines(it, artifact),
    ...originLines(it, broughtVersion),
    ...versionObject(broughtVersion),
  ];
}

function artifactLines({ distribution, version, platform }: WalkFacts, artifact: WalkArtifact | null): WalkLine[] {
  if (artifact === null)
    return [
      line(
        "artifact",
        `the server has no record of an archive of ${distribution} ${version} for ${platform}: it came from elsewhere, and there is no signed way back to it`,
      ),
    ];
  const { fileName, sha256, state, verification, sourceUrl, revokedReason } = artifact;
  const digest = sha256 === null ? "its digest is not known yet" : `SHA-256 ${sha256}`;
  const signature =
    verification === null
      ? "no signature of it has been verified here"
      : `signed by ${verification.identity} (issuer ${verification.issuer}), log index ${verification.logIndex}, at ${verification.signedAt.join(", ") || "a moment that the record does not give"}`;
  const revoked = revokedReason === null ? "" : `; revoked: ${revokedReason || "without a reason"}`;
  return [
    line("artifact", `${fileName}, ${digest}, ${STATES[state]}`),
    line("signature", signature),
    line("release", `${distribution} ${version}, from ${sourceUrl}${revoked}`),
  ];
}
const STATES: Record<WalkArtifact["state"], string> = {
  verified: "verified",
  fetching: "not verified yet",
  failed: "could not be had",
  removed: "verified once; the depots keep it no longer",
};

/** Rollout, attempt and approvals, then the commit. */
function originLines({ hostName }: WalkFacts, brought: Brought | null): WalkLine[] {
  if (brought === null)
    return [line("rollout", `no rollout that is kept here brought it: ${hostName} had it before, or got it by hand`)];
  const { fleet, n, kind, attempt, wave, phase, finishedMs, trail, commit, approvals } = brought;
  const name = kind === "catch_up" ? `catch-up of ${fleet}` : `rollout ${fleet}/${n}`;
  const where = kind === "catch_up" || wave === null ? "" : `, wave ${wave + 1}`;
  const ended = finishedMs === null ? `${phase} now` : `${phase} at ${instantText(finishedMs)}`;
  const by = trail === null ? "; the revision is not kept any more" : ` "${trail.subject}" by ${trail.author}`;
  return [
    line("rollout", `${name}${where}, attempt ${attempt}: ${ended}`),
    ...approvals.map(({ principal, at, reason }) =>
      line("approval", `${principal} at ${at}${reason === "" ? "" : `: ${reason}`}`),
    ),
    line("commit", `${commit}${by}`),
  ];
}

const objectText = ({ kind, name, at }: ObjectName): string => `${kind} ${name} at ${at}`;

function versionObject(brought: Brought | null): WalkLine[] {
  const trail = brought?.trail ?? null;
  if (trail === null) return [];
  const source = trail.version === null ? "the fleet object gives no version in that commit" : `Git: ${trail.version}`;
  return [line("version_source", source), line("object", objectText(trail.fleet))];
}

export function walkConfig(it: WalkFacts): WalkLine[] {
  const { hostName, configHash, broughtConfig } = it;
  if (configHash === null) return [line("running", `${hostName} has no configuration of ours`)];
  const running = line("running", `${hostName} has configuration ${configHash}`);
  const trail = broughtConfig?.trail ?? null;
  if (trail === null) return [running, ...originLines(it, broughtConfig)];
  const objects = [...trail.blueprints, trail.fleet, ...(trail.inventory === null ? [] : [trail.inventory])];
  const labels =
    trail.labels.length === 0 ? ["the fleet's selector is empty: it matches every collector"] : trail.labels;
  return [
    running,
    ...originLines(it, broughtConfig),
    ...objects.map((object) => line("rendered_from", objectText(object))),
    ...labels.map((label) => line("label", label)),
  ];
}
