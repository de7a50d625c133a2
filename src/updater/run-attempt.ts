/** Runs one attempt to its end: install, or the way back, and what both leave behind. Never throws for a failed update. */
import type { UpdateAttempt } from "../domain/update/health-report.ts";
import { normalizeVersion } from "../domain/update/version.ts";
import type { AttemptJournal } from "./attempt-journal.ts";
import { AttemptTracker, type TrackerDeps } from "./attempt-tracker.ts";
import { install, type HostDeps, type Offer } from "./install.ts";
import { clearJournal, rollBack, versionBefore } from "./swap.ts";

/** Begins an attempt; its report can be told from now on. A malformed version is reported as it came, bounded. */
export async function beginTracking(offer: Offer, host: HostDeps, deps: TrackerDeps): Promise<AttemptTracker> {
  const before = await versionBefore(host);
  const version = normalizeVersion(offer.versionText) ?? offer.versionText.replace(/^v/, "").slice(0, 64);
  const tracker = new AttemptTracker({ version, from: before?.version ?? "" }, deps);
  await tracker.begun();
  return tracker;
}

/** Afterwards the attempt has ended, and the host runs one version, or the report says that both failed. */
export async function runAttempt(offer: Offer, tracker: AttemptTracker, host: HostDeps): Promise<UpdateAttempt> {
  const before = { versions: await host.layout.installed(), journal: await host.journal.read() };
  try {
    await install(offer, tracker, host);
  } catch (error) {
    if (tracker.attempt.kind === "ended") {
      // the update itself is done: what failed was tidying up, and the journal makes the next start look again
      host.log.error({ error: String(error) }, "tidying up after the update failed");
    } else {
      const wasStopped = tracker.supervisorStopped;
      await tracker.stepFailed(error);
      if (!wasStopped) await undoUnused(before, tracker, host);
      else if (tracker.versions.from !== "") await goBack(tracker, host);
    }
  }
  await discard(host);
  return tracker.report;
}

async function goBack(tracker: AttemptTracker, host: HostDeps): Promise<void> {
  try {
    const found = await host.journal.read();
    if (found.state !== "open" || found.entry.previous === null)
      throw new Error("the journal names no previous version");
    const cause = tracker.attempt.kind === "running" ? (tracker.attempt.cause ?? "") : "";
    await rollBack({ ...found.entry, previous: found.entry.previous, cause }, host);
  } catch (error) {
    await tracker.stepFailed(error);
    return;
  }
  await tracker.stepDone();
  await clearJournal(host.journal, host.log);
}

type Before = { versions: readonly string[]; journal: Awaited<ReturnType<AttemptJournal["read"]>> };

/** The host did not change: nor may the folder of versions and the journal of an earlier update that still is to be mended. */
async function undoUnused(before: Before, tracker: AttemptTracker, host: HostDeps): Promise<void> {
  const { version } = tracker.versions;
  try {
    if (before.journal.state === "open") await host.journal.write(before.journal.entry);
    else await host.journal.clear();
    if (normalizeVersion(version) === version && !before.versions.includes(version)) await host.layout.drop(version);
  } catch (error) {
    host.log.warn({ error: String(error) }, "what the attempt had prepared could not be taken away");
  }
}

/** Spool and staging are worth nothing once an attempt has ended. */
export async function discard({
  files,
  layout,
  spoolDir,
  log,
}: Pick<HostDeps, "files" | "layout" | "spoolDir" | "log">) {
  try {
    await files.remove(spoolDir);
    await layout.sweep();
  } catch (error) {
    log.warn({ error: String(error) }, "spool or staging could not be removed");
  }
}
