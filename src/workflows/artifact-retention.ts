/**
 * Removes releases that nothing needs any more, some time after the last need (`artifacts.keepFor`). One workflow for the
 * whole installation; it looks every hour, when it is poked, and soon again when there is more to do.
 */
import { condition, continueAsNew, proxyActivities, setCurrentDetails, setHandler } from "@temporalio/workflow";
import type { RetentionActivities } from "../activities/retention.ts";
import { poke } from "./messages.ts";

export type ArtifactRetentionInput = { poked?: boolean; runsPerHistory?: number };

const EVERY_MS = 60 * 60_000;
const SOON_MS = 5 * 60_000;
/** About ten events each. */
const RUNS_PER_HISTORY = 200;

const { applyRetention } = proxyActivities<RetentionActivities>({
  startToCloseTimeout: "5m",
  retry: { maximumInterval: "5m" },
});

export async function artifactRetention(input: ArtifactRetentionInput): Promise<void> {
  let isPoked = input.poked ?? false;
  setHandler(poke, () => void (isPoked = true));
  for (let runs = 0; runs < (input.runsPerHistory ?? RUNS_PER_HISTORY); runs += 1) {
    isPoked = false;
    const { deleted, kept, more } = await applyRetention.executeWithOptions({ summary: "remove what is unneeded" }, []);
    setCurrentDetails(`${kept} releases kept. Removed last: ${deleted.length === 0 ? "none" : deleted.join(", ")}.`);
    await condition(() => isPoked, more ? SOON_MS : EVERY_MS);
  }
  await continueAsNew<typeof artifactRetention>({ ...input, poked: isPoked });
}
