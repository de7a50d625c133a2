/** The artifacts of a rollout: one `artifact-fetch` workflow for each platform, then the gate of `artifactReadiness`. */
import { platformOf, platformText, type Platform } from "../domain/artifact/asset.ts";
import { isFinalState } from "../domain/rollout/phases.ts";
import { artifactReadiness } from "../store/artifacts.ts";
import { hasFailedSince, missingArtifacts, rolloutPlatforms } from "../store/rollout-artifacts.ts";
import { readRollout } from "../store/rollouts.ts";
import type { RolloutDeps } from "./rollout-deps.ts";
import { isFetchRunning, startFetch } from "./start-workflows.ts";

/** `over`: the rollout is ending, nothing is needed any more. */
export type Prepared = { state: "ready" | "waiting" | "over" } | { state: "failed"; because: string };

/** One look. Starts fetches that are missing; a failure is final only when no fetch works on it any more. */
export async function prepareArtifacts(deps: RolloutDeps, fleet: string, n: number): Promise<Prepared> {
  const row = await readRollout(deps.pool, fleet, n);
  if (row === undefined || isFinalState(row.state) || row.ending !== null) return { state: "over" };
  if (row.version === null || row.distribution === null || row.preparedAt !== null) return { state: "ready" };
  const { distribution, version } = row;
  const platforms = await rolloutPlatforms(deps.pool, fleet, n, distribution);
  const known = platforms.flatMap(({ os, arch }): Platform[] => {
    const platform = platformOf(os, arch);
    return platform === undefined ? [] : [platform];
  });
  if (known.length === 0) return { state: "ready" };
  const minCopies = deps.minCopies === undefined ? {} : { minCopies: deps.minCopies };
  const readiness = await artifactReadiness(deps.pool, { distribution, version, platforms: known, ...minCopies });
  if (readiness.ready) return { state: "ready" };
  const absent = readiness.artifacts.filter((one) => one.state !== "verified");
  let running = 0;
  for (const { platform } of absent) {
    if (await isFetchRunning(deps.client, { distribution, version, ...platform })) running += 1;
    else if (readiness.failed === undefined) await startFetch(deps.client, { distribution, version, ...platform });
  }
  if (readiness.failed === undefined || running > 0) return { state: "waiting" };
  const names = absent.map((one) => platformText(one.platform)).join(", ");
  const because = `the artifact of ${version} (${names}) cannot be had: ${readiness.failed.message}`;
  const since = row.failuresFrom !== null && row.failuresFrom > row.createdAt ? row.failuresFrom : row.createdAt;
  // A failure from before this rollout, or this run of it, is tried once more; its own failure is final.
  if (
    readiness.failed.code === "artifact_revoked" ||
    (await hasFailedSince(deps.pool, { distribution, version }, since))
  )
    return { state: "failed", because };
  for (const { platform } of absent) await startFetch(deps.client, { distribution, version, ...platform });
  return { state: "waiting" };
}

/** Starts fetches for hosts that joined later, or catch up, on a platform or version that nobody asked for yet. */
export async function fetchForWaiting(deps: RolloutDeps): Promise<number> {
  const missing = await missingArtifacts(deps.pool);
  for (const ref of missing) await startFetch(deps.client, ref);
  return missing.length;
}
