/**
 * Looks for new releases now and then (`artifacts.discoverEvery`), or when it is poked. One workflow for the whole
 * installation. A source that does not answer is asked again sooner, and says so; nothing waits for it.
 */
import { condition, continueAsNew, proxyActivities, setCurrentDetails, setHandler } from "@temporalio/workflow";
import type { Discovered, DiscoveryActivities } from "../activities/release-discovery.ts";
import { poke, QUEUES } from "./messages.ts";

export type ReleaseDiscoveryInput = {
  /** Set by continue-as-new: a poke that came while the last run ended. */
  poked?: boolean;
  /** After how many looks the history begins anew. */
  looksPerRun?: number;
};

/** About ten events per look. */
const LOOKS_PER_RUN = 100;

const { discoverReleases } = proxyActivities<DiscoveryActivities>({
  taskQueue: QUEUES.io,
  startToCloseTimeout: "5m",
  // what concerns the source is an answer, not a failure; what is retried is our database
  retry: { maximumInterval: "60s" },
});

export async function releaseDiscovery(input: ReleaseDiscoveryInput): Promise<void> {
  let isPoked = input.poked ?? false;
  setHandler(poke, () => void (isPoked = true));
  for (let looks = 0; looks < (input.looksPerRun ?? LOOKS_PER_RUN); looks += 1) {
    isPoked = false;
    const found = await discoverReleases.executeWithOptions({ summary: "ask the source for its releases" }, []);
    setCurrentDetails(detailsOf(found));
    if (found.againMs === 0) await condition(() => isPoked);
    else await condition(() => isPoked, found.againMs);
  }
  await continueAsNew<typeof releaseDiscovery>({ ...input, poked: isPoked });
}

function detailsOf(found: Discovered): string {
  switch (found.state) {
    case "off":
      return "Switched off: `artifacts.discoverEvery` is 0.";
    case "unused":
      return "No fleet has a collector version.";
    case "looked": {
      const news = found.told.map(({ distribution, version }) => `${distribution} ${version}`).join(", ");
      return `${found.releases} releases listed. New: ${news === "" ? "nothing" : news}.`;
    }
    case "failed":
      return `The source could not be read (\`${found.code}\`): ${found.message}`;
    default:
      return found satisfies never;
  }
}
