/** Parts that several chapters of the tour share: what they ask, what they wait for. */
import { join } from "node:path";
import type { Client } from "@temporalio/client";
import { editYaml } from "../stage/repository.ts";
import type { Stage } from "../stage/stage.ts";
import type { Rollout, TourApi } from "./api.ts";
import { FactFailed, type Facts } from "./facts.ts";
import { hostComplaints } from "./host-facts.ts";

export const FLEET = "demo";
export const FLEET_FILE = "fleets/demo.yaml";
const VERSION_PATH = ["spec", "version", "target"];

export type Tour = { stage: Stage; api: TourApi; facts: Facts; temporal: Client };
type GitStatus = {
  state: string;
  appliedCommit: string | null;
  checkedAt: string | null;
  issues?: { code: string; file: string; line: number; message: string }[];
};

/** Sets the fleet's version; the first time the fleet's file is put into the repository. */
export const setVersion = (work: string, version: string): Promise<void> =>
  editYaml(join(work, FLEET_FILE), VERSION_PATH, version);

export const removeTypo = (work: string): Promise<void> =>
  editYaml(join(work, FLEET_FILE), ["spec", "blueprnt"], undefined);

export const gitStatus = (api: TourApi): Promise<GitStatus> => api.get<GitStatus>("/api/v1/gitops/status");

export const inFlight = (counts: Rollout["counts"]): number =>
  (["offered", "downloading", "verifying", "installing", "restarting", "health_check", "health_wait"] as const)
    .map((phase) => counts[phase] ?? 0)
    .reduce((sum, n) => sum + n, 0);

export const waitingWave = (rollout: Rollout): string => {
  const wave = rollout.waves.find(({ state }) => state === "waiting_approval");
  if (wave === undefined) throw new Error("no wave waits for approval");
  return wave.name;
};

export async function rolloutCount({ api }: Tour, want: number): Promise<string> {
  const changes = (await api.rollouts()).filter(({ kind }) => kind === "change");
  return changes.length === want ? "" : `there are ${changes.length} rollouts, expected ${want}`;
}

export async function describeRollout({ api }: Tour, n: number): Promise<string> {
  const { state, reason, counts, next } = await api.rollout(FLEET, n);
  const phases = Object.entries(counts).filter(([, count]) => count > 0);
  return `${FLEET} #${n} ${state}: ${reason}; ${phases.map(([phase, count]) => `${phase} ${count}`).join(", ")}; next: ${next?.what ?? "nothing"}`;
}

export async function waitForApproval(tour: Tour, n: number): Promise<void> {
  await tour.facts.until(
    `rollout #${n}: the canary succeeded, the second wave waits for an approval`,
    async () => (await tour.api.rollout(FLEET, n)).state === "waiting_approval",
    { seen: () => describeRollout(tour, n) },
  );
}

/** Waits for the end of a rollout; another end than the wanted one, or a pause, is told at once. */
export const finish = (tour: Tour, n: number, state: Rollout["state"]): Promise<unknown> =>
  tour.facts.until(
    `rollout #${n} ${state}`,
    async () => {
      const now = await tour.api.rollout(FLEET, n);
      if (now.state !== state && UNWANTED.includes(now.state)) throw new FactFailed(await describeRollout(tour, n));
      return now.state === state;
    },
    { withinMs: 240_000, seen: () => describeRollout(tour, n) },
  );
const UNWANTED: readonly Rollout["state"][] = ["paused", "failed", "aborted", "superseded", "rolled_back", "succeeded"];

export async function approveAndFinish(tour: Tour, n: number, state: Rollout["state"]): Promise<void> {
  await waitForApproval(tour, n);
  const rollout = await tour.api.rollout(FLEET, n);
  await tour.api.control(FLEET, n, "approve", { wave: waitingWave(rollout), reason: "the canary looks good" });
  await finish(tour, n, state);
}

/** The collectors' own reports, and the real hosts from outside. */
export async function everybodyRuns(tour: Tour, version: string): Promise<void> {
  const { facts, api, stage } = tour;
  const total = stage.simulated + stage.hosts.length;
  await facts.until(`all ${total} collectors report ${version} and are healthy`, async () => {
    const collectors = await api.collectors();
    return collectors.filter((it) => it.version === version && it.healthy && it.connected).length === total;
  });
  for (const host of stage.hosts)
    await facts.check(`${host.name}: current, marker, journal and --version say ${version}`, () =>
      hostComplaints(host, version),
    );
}

export async function historyIsClosed({ facts, temporal }: Tour, n: number): Promise<void> {
  const handle = temporal.workflow.getHandle(`rollout/${FLEET}/${n}`);
  let events = 0;
  await facts.check(`Temporal has the closed history of rollout/${FLEET}/${n}`, async () => {
    const description = await handle.describe();
    events = description.historyLength;
    return description.status.name === "COMPLETED" && events < 4_000
      ? ""
      : `${description.status.name}, ${events} events`;
  });
}

export async function pollsPlanNothing({ facts, api }: Tour, polls: number): Promise<void> {
  for (let i = 0; i < polls; i += 1) {
    const before = (await gitStatus(api)).checkedAt;
    await facts.until("another poll", async () => (await gitStatus(api)).checkedAt !== before, { quiet: true });
  }
}
