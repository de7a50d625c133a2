/** Records the histories of a tour, so that tests can replay them against later code. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "@temporalio/client";
import { historyToJSON } from "@temporalio/common/lib/proto-utils.js";

/** One history of each workflow type and end: enough to show that a change of code still fits what ran before. */
const WANTED = [
  ["rollout-approved", "rollout/demo/1"],
  ["rollout-through-kills", "rollout/demo/2"],
  ["rollout-aborted", "rollout/demo/3"],
  ["rollout-rolled-back", "rollout/demo/4"],
  ["wave-canary", "rollout/demo/1/wave/0"],
  ["wave-through-kills", "rollout/demo/2/wave/1"],
  ["wave-threshold", "rollout/demo/3/wave/0"],
  ["wave-back", "rollout/demo/4/wave/back"],
  ["catch-up", "catch-up/demo"],
  ["git-sync", "git-sync"],
  ["reconcile", "reconcile"],
  ["artifact-fetch", "artifact-fetch/otelcol-contrib/0.161.0/linux_amd64"],
  ["artifact-replication", "artifact-replication"],
] as const;

/** Writes `<folder>/<name>.json`, in the form that the SDK replays. */
export async function recordHistories(client: Client, folder: string): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  const written: string[] = [];
  for (const [name, workflowId] of WANTED) {
    const history = await client.workflow.getHandle(workflowId).fetchHistory();
    await writeFile(join(folder, `${name}.json`), `${historyToJSON(history)}\n`);
    written.push(name);
  }
  return written;
}
