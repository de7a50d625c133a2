/**
 * The swap and the way back. The supervisor is stopped only for the swap; from then on nothing is cancelled until the host
 * is consistent again, and the journal covers hard kills.
 */
import type { AttemptTracker } from "./attempt-tracker.ts";
import type { JournalEntry } from "./attempt-journal.ts";
import { waitHealthy } from "./health.ts";
import type { HostDeps, StagedBinary } from "./install.ts";
import { writeMarker } from "./layout.ts";

/** What hears of a swap's steps: the tracker of an attempt, or whoever seeds a container. */
export type SwapWatch = Pick<AttemptTracker, "stopping" | "stepDone">;

/**
 * Marker, move, journal, stop, activate, start, health. Throws at the step that failed; the caller decides the way back.
 * `signal` cuts the wait for health short and is for seeds only: with the container everything on it ends, and the journal stays.
 */
export async function swap(
  binary: StagedBinary,
  tracker: SwapWatch,
  host: HostDeps,
  signal?: AbortSignal,
): Promise<void> {
  const { layout, journal, service } = host;
  const previous = await versionBefore(host);
  const installedAt = new Date(Number(host.clock.nowNanos() / 1_000_000n)).toISOString();
  const { version, archiveSha256, binarySha256, source } = binary;
  await writeMarker(host.files, binary.folder, {
    version,
    archiveSha256,
    binarySha256,
    previousVersion: previous?.version ?? "",
    installedAt,
    source,
  });
  await layout.place(binary.folder, version);
  await journal.write({
    phase: "swapping",
    version,
    archiveSha256,
    binarySha256,
    previous: previous ?? null,
    cause: "",
    ...(source === "image" && { source }),
  });
  tracker.stopping();
  host.health.deps.mending?.begin();
  await service.stop();
  await layout.activate(version);
  await tracker.stepDone();
  await service.start();
  await tracker.stepDone();
  await waitHealthy(host.health.settings, host.health.deps, signal);
  await tracker.stepDone();
  await finish(host);
}

/**
 * The host is consistent with a healthy version: old versions go, then the journal. Trouble here undoes nothing and is not
 * thrown: a journal that stays makes the next start look again.
 */
export async function finish({ layout, journal, limits, log }: HostDeps): Promise<void> {
  try {
    const removed = await layout.prune(limits.keepVersions);
    if (removed.length > 0) log.info({ removed }, "old versions removed");
  } catch (error) {
    log.warn({ error: String(error) }, "old versions could not be removed");
  }
  await clearJournal(journal, log);
}

export async function clearJournal(journal: HostDeps["journal"], log: HostDeps["log"]): Promise<void> {
  try {
    await journal.clear();
  } catch (error) {
    log.error({ error: String(error) }, "the journal could not be removed; the next start looks again");
  }
}

/** Where a failure leads back to: what is active, unless that is what an earlier update could not take back. */
export async function versionBefore({ layout, journal }: HostDeps): Promise<JournalEntry["previous"] | undefined> {
  const active = await layout.active();
  if (active === undefined) return undefined;
  const found = await journal.read();
  const isBroken = found.state === "open" && found.entry.version === active.version;
  if (isBroken && found.entry.previous !== null) return found.entry.previous;
  return { version: active.version, binarySha256: active.binarySha256 };
}

/** When a way back fails, some collector is better than none: the next start of the updater tries again. Never throws. */
export async function startWhatIsThere({ service, log }: HostDeps): Promise<void> {
  try {
    await service.start();
  } catch (error) {
    log.error({ error: String(error) }, "the supervisor does not start");
  }
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
  const { layout, journal, service, log } = host;
  try {
    await journal.write({ ...entry, phase: "rolling_back" });
  } catch (error) {
    // a full disk: the entry of the swap still stands and leads back as well
    log.error({ error: String(error) }, "the journal could not be written; rolling back without");
  }
  try {
    await service.stop();
    await layout.activate(entry.previous.version);
    await service.start();
  } catch (error) {
    await startWhatIsThere(host);
    throw error;
  }
  await waitHealthy(host.health.settings, host.health.deps, signal);
}
