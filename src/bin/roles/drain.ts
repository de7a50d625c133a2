/**
 * A worker that is told to end while its staging has what depots lack (contract, artifact-replication, "Loss of all sleds
 * with the only copy"): it takes nothing new and stays until that is replicated, in bounded time. Replication itself goes
 * on meanwhile, in this process if it is the only one.
 */
import type { Logger } from "pino";
import { CHANNELS } from "../../domain/channels.ts";
import { unreplicated } from "../../store/staging.ts";
import { noteDraining } from "../../store/workers.ts";
import { createReplicationPoke } from "../../api/gitops-poke.ts";
import type { Shared } from "./load.ts";

type Draining = Pick<Shared, "pool" | "listener" | "client"> & {
  holder: string;
  settings: { minCopies: number; drainTimeoutMs: number; stagingDir: string };
  log: Pick<Logger, "info" | "warn">;
};

/** Depots announce what they took; this only catches what was missed. */
const LOOK_MS = 5_000;

/** Resolves when nothing is lacked any more, or after `drainTimeoutMs`; the log says which. Rejects never. */
export async function drainStaging({ pool, listener, client, holder, settings, log }: Draining): Promise<void> {
  const { minCopies, drainTimeoutMs, stagingDir } = settings;
  const since = Date.now();
  const until = since + drainTimeoutMs;
  let said: number | undefined;
  for (;;) {
    const woken = listener.next(CHANNELS.artifacts, LOOK_MS);
    const left = await unreplicated(pool, holder, minCopies).catch((err: unknown) => {
      log.warn({ err }, "the database does not answer; waiting to see whether staging is replicated");
      return said ?? 1;
    });
    if (left === 0) {
      if (said !== undefined)
        log.info({ waitedMs: Date.now() - since }, "everything staged here is replicated; ending");
      return;
    }
    if (Date.now() >= until) {
      log.warn(
        { archives: left, stagingDir },
        "ending with archives that are staged only here: keep the folder and start the worker again",
      );
      return;
    }
    if (said === undefined) {
      await noteDraining(pool, listener.id, new Date(since), new Date(until)).catch((err: unknown) =>
        log.warn({ err }, "nobody else sees that this worker waits"),
      );
      await createReplicationPoke(client)(`${holder} ends`).catch((err: unknown) =>
        log.warn({ err }, "Temporal does not answer; replication goes on when it does"),
      );
    }
    if (said !== left)
      log.info(
        { archives: left, until: new Date(until).toISOString() },
        "taking nothing new; waiting until what is staged here is replicated; a second signal ends at once",
      );
    said = left;
    await woken;
  }
}
