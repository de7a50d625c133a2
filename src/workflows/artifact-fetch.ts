/**
 * One artifact: fetched from the source, verified, made wanted by the depots. Id
 * `artifact-fetch/<distribution>/<version>/<platform>`; started again after a failure it tries again. A source that does
 * not answer is tried for as long as it takes; what no retry mends ends the fetch with its cause.
 */
import { ActivityFailure, ApplicationFailure, proxyActivities, setCurrentDetails } from "@temporalio/workflow";
import type { ArtifactActivities } from "../activities/artifacts.ts";
import type { ArtifactRef } from "../domain/artifact/asset.ts";
import { QUEUES } from "./messages.ts";

const { openArtifact, verifyArtifact, admitArtifact, giveUpArtifact } = proxyActivities<ArtifactActivities>({
  startToCloseTimeout: "30 s",
  retry: { maximumInterval: "60 s" },
});
const { downloadArtifact } = proxyActivities<ArtifactActivities>({
  taskQueue: QUEUES.io,
  startToCloseTimeout: "60 min",
  heartbeatTimeout: "90 s", // longer than the silence of a source that is waited for
  retry: { initialInterval: "2 s", backoffCoefficient: 2, maximumInterval: "60 s" },
});

export type FetchResult =
  | { state: "verified" | "already"; artifact: string }
  | { state: "failed"; artifact: string; code: string };

export async function artifactFetch(ref: ArtifactRef): Promise<FetchResult> {
  const { id, done } = await openArtifact(ref);
  if (done) return { state: "already", artifact: id };
  try {
    const { sha256, sizeBytes } = await downloadArtifact(id);
    const proved = await verifyArtifact(id);
    await admitArtifact(id, proved);
    setCurrentDetails(`verified: sha256 \`${sha256}\`, ${sizeBytes} bytes, signed by ${proved.identity}`);
    return { state: "verified", artifact: id };
  } catch (error) {
    const cause = causeOf(error);
    if (cause === undefined) throw error;
    await giveUpArtifact(id, cause);
    setCurrentDetails(`given up: ${cause.message} (\`${cause.code}\`)`);
    return { state: "failed", artifact: id, code: cause.code };
  }
}

/** The catalogue's code of what an activity failed with; undefined when the workflow itself is being ended. */
function causeOf(error: unknown): { code: string; message: string } | undefined {
  if (!(error instanceof ActivityFailure) || !(error.cause instanceof ApplicationFailure)) return undefined;
  return { code: error.cause.type ?? "internal", message: error.cause.message };
}
