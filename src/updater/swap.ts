/**
 * The swap and the way back. The supervisor is stopped only for the swap; from then on nothing is cancelled until the host
 * is consistent again, and the journal covers hard kills.
 */
import type { AttemptTracker } from "./attempt-tracker.ts";
import type { JournalEntry } from "./attempt-journal.ts";
import { waitHealthy } from "./health.ts";
import type { HostDeps, StagedBinary } from "./install.ts";
import { writeMarker } from "./layout.ts";

/** Marker, move, journal, stop, activate, start, health. Throws at the step that failed; the caller decides the way back. */
export async function swap(binary: StagedBinary, tracker: AttemptTracker, host: HostDeps): Promise<void> {
  const { layout, journal, service, reached } = host;
  const previous = await layout.active();
  const installedAt = new Date(Number(host.clock.nowNanos() / 1_000_000n)).toISOString();
  const { version, archiveSha256, binarySha256 } = binary;
  await writeMarker(host.files, binary.folder, {
    version,
    archiveSha256,
    binarySha256,
    previousVersion: previous?.version ?? "",
    installedAt,
    source: "package",
  });
  reached("marker_written");
  await layout.place(binary.folder, version);
  reached("placed");
  await journal.write({
    phase: "swapping",
    version,
    archiveSha256,
    binarySha256,
    previous: previous === undefined ? null : { version: previous.version, binarySha256: previous.binarySha256 },
    cause: "",
  });
  reached("journal_written");
  tracker.stopping();
  await service.stop();
  reached("stopped");
  await layout.activate(version);
  reached("activated");
  await tracker.stepDone();
  await service.start();
  reached("started");
  await tracker.stepDone();
  await waitHealthy(host.health.settings, host.health.deps);
  reached("healthy");
  await tracker.stepDone();
  reached("closed");
  await finish(host);
}

/** The host is consistent with a healthy version: old versions go, then the journal. Trouble here undoes nothing. */
export async function finish({ layout, journal, limits, log }: HostDeps): Promise<void> {
  try {
    const removed = await layout.prune(limits.keepVersions);
    if (removed.length > 0) log.info({ removed }, "old versions removed");
  } catch (error) {
    log.warn({ error: String(error) }, "old versions could not be removed");
  }
  await journal.clear();
}

/**
 * Back to the previous version: stop, activate, start, health. The journal stays: the caller clears it once the outcome is
 * stored. Throws when it fails; then it stays for good, and the next start tries again.
 */
export async function rollBack(
  entry: Omit<JournalEntry, "phase" | "previous"> & { previous: NonNullable<JournalEntry["previous"]> },
  host: HostDeps,
  signal?: AbortSignal,
): Promise<void> {
  const { layout, journal, service, log, reached } = host;
  try {
    await journal.write({ ...entry, phase: "rolling_back" });
  } catch (error) {
    // a full disk: the entry of the swap still stands and leads back as well
    log.error({ error: String(error) }, "the journal could not be written; rolling back without");
  }
  reached("rollback_journaled");
  await service.stop();
  reached("rollback_stopped");
  await layout.activate(entry.previous.version);
  reached("rollback_activated");
  await service.start();
  reached("rollback_started");
  await waitHealthy(host.health.settings, host.health.deps, signal);
  reached("rollback_healthy");
}
