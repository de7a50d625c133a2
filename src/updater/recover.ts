/**
 * What a start does after a hard kill (contract, "Rollback and recovery"): from what the journal says and what the bytes on
 * disk are to the repair, by one table. Afterwards the host is on exactly one version, healthy, and the journal is gone;
 * or both failed, the journal stays and the next start tries again.
 */
import {
  closeInterrupted,
  closeRolledBack,
  isOutcome,
  reportTransition,
  type UpdateAttempt,
} from "../domain/update/health-report.ts";
import { asStepError } from "../domain/update/step-error.ts";
import type { JournalEntry } from "./attempt-journal.ts";
import type { Backoff } from "./backoff.ts";
import { waitHealthy } from "./health.ts";
import type { HostDeps } from "./install.ts";
import type { Active } from "./layout.ts";
import { discard } from "./run-attempt.ts";
import type { State } from "./state.ts";
import { finish, rollBack, startWhatIsThere } from "./swap.ts";

/** What would run if the supervisor started now. */
type OnDisk = "new" | "new_damaged" | "previous" | "other";
type Repair = "finish" | "keep_previous" | "roll_back";

export const REPAIR: Record<JournalEntry["phase"], Record<OnDisk, Repair>> = {
  swapping: { new: "finish", new_damaged: "roll_back", previous: "keep_previous", other: "roll_back" },
  rolling_back: { new: "roll_back", new_damaged: "roll_back", previous: "roll_back", other: "roll_back" },
};

export type Recovered =
  | { repair: "none" }
  | { repair: Repair; ok: true; version: string }
  | { repair: Repair; ok: false; error: string };

export type RecoverDeps = {
  host: HostDeps;
  state: State;
  backoff: Backoff;
  /** A container's seed was taken back: it is not tried at each start. Called before the journal goes. */
  seedTakenBack?: (seed: JournalEntry, cause: string) => Promise<void>;
  signal?: AbortSignal;
};

/** Brings the host to one version and closes the attempt that was cut off. Throws only when it is cancelled. */
export async function recover({ host, state, backoff, seedTakenBack, signal }: RecoverDeps): Promise<Recovered> {
  await discard(host);
  const lost = await host.layout.lostMarkers();
  if (lost.length > 0)
    host.log.warn({ lost }, "install markers are unreadable; these versions count as put there by hand");
  const last = await lastReport(host, state);
  const journal = await host.journal.read();
  const active = await host.layout.active();
  const entry =
    journal.state === "open"
      ? journal.entry
      : journal.state === "unreadable"
        ? await guessEntry(active, host)
        : undefined;
  if (entry === undefined) {
    if (last !== undefined) await state.storeAttempt(closeInterrupted(last, interrupted(last), host.clock.nowNanos()));
    return { repair: "none" };
  }
  if (entry.source === "image" && entry.previous === null && active === undefined) {
    await host.journal.clear(); // cut off before anything was active: the volume is still empty and is seeded again
    return { repair: "none" };
  }
  const repair = REPAIR[entry.phase][whatIsOnDisk(active, entry)];
  host.log.warn({ phase: entry.phase, active: active?.version, repair }, "repairing a host that was cut off");
  const outcome = await mend(repair, entry, host, signal);
  if (entry.source === "image") {
    // no attempt of the server's: the component goes on showing the last one
    if (outcome.ok && outcome.repair === "roll_back") await seedTakenBack?.(entry, outcome.cause);
  } else {
    // an attempt that a full disk did not take is told from the journal
    const isTold = journal.state !== "open" || last?.version === entry.version;
    const report = isTold ? last : begunReport(entry.version, entry.previous?.version, host);
    if (report !== undefined) await state.storeAttempt(closeReport(report, entry, outcome, host));
    if (outcome.ok && outcome.repair === "roll_back") await backoff.remember(entry.archiveSha256, outcome.cause);
  }
  if (!outcome.ok) return { repair: outcome.repair, ok: false, error: outcome.error };
  await finish(host);
  return { repair: outcome.repair, ok: true, version: outcome.version };
}

function whatIsOnDisk(active: Active | undefined, { version, binarySha256, previous }: JournalEntry): OnDisk {
  if (active?.version === version) return active.binarySha256 === binarySha256 ? "new" : "new_damaged";
  return active !== undefined && active.version === previous?.version ? "previous" : "other";
}

/** Without a readable journal the marker of what is active has to do; nothing to go back to means nothing to decide. */
async function guessEntry(active: Active | undefined, host: HostDeps): Promise<JournalEntry | undefined> {
  if (active === undefined) return undefined;
  const { marker } = active;
  const before = marker?.previousVersion ?? "";
  const binarySha256 = before === "" ? undefined : await host.files.hash(host.layout.versionBinary(before));
  return {
    phase: "swapping",
    version: active.version,
    archiveSha256: marker?.archiveSha256 ?? "",
    binarySha256: marker?.binarySha256 ?? active.binarySha256,
    previous: binarySha256 === undefined ? null : { version: before, binarySha256 },
    cause: "",
  };
}

type Mended =
  | { ok: true; repair: Repair; version: string; cause: string }
  | { ok: false; repair: Repair; error: string; cause: string };

const CUT_OFF = "install: interrupted by a restart of the updater";

async function mend(repair: Repair, entry: JournalEntry, host: HostDeps, signal?: AbortSignal): Promise<Mended> {
  const { previous } = entry;
  const cause = entry.cause === "" ? CUT_OFF : entry.cause;
  if (repair === "roll_back" && previous !== null) return await mendBack({ ...entry, previous, cause }, host, signal);
  try {
    await host.service.stop(); // whatever runs now may have been started before the swap
    await host.service.start();
    await waitHealthy(host.health.settings, host.health.deps, signal);
    const version = repair === "keep_previous" ? (previous?.version ?? "") : entry.version;
    return { ok: true, repair, version, cause };
  } catch (error) {
    signal?.throwIfAborted();
    const { message } = asStepError(error, "health_check");
    if (repair === "finish" && previous !== null)
      return await mendBack(
        { ...entry, previous, cause: `${message}; interrupted by a restart of the updater` },
        host,
        signal,
      );
    await startWhatIsThere(host);
    return { ok: false, repair, error: message, cause };
  }
}

async function mendBack(
  entry: JournalEntry & { previous: NonNullable<JournalEntry["previous"]> },
  host: HostDeps,
  signal?: AbortSignal,
): Promise<Mended> {
  const { cause } = entry;
  try {
    await rollBack(entry, host, signal);
    return { ok: true, repair: "roll_back", version: entry.previous.version, cause };
  } catch (error) {
    signal?.throwIfAborted();
    return { ok: false, repair: "roll_back", error: asStepError(error, "rolling_back").message, cause };
  }
}

/** The last attempt; one whose file was lost is told from what was offered. */
async function lastReport(host: HostDeps, state: State): Promise<UpdateAttempt | undefined> {
  const found = await state.attempt();
  if (found.state === "ok") return found.value;
  if (found.state === "absent") return undefined;
  const { answer } = await state.packages();
  const version = answer?.packages[0]?.offeredVersion.replace(/^v/, "") ?? "";
  return begunReport(version, (await host.layout.active())?.version, host);
}

function begunReport(version: string, from: string | undefined, host: HostDeps): UpdateAttempt {
  const now = host.clock.nowNanos().toString();
  return {
    version,
    from: from ?? "",
    status: "installing",
    healthy: true,
    error: "",
    startNanos: now,
    statusNanos: now,
    steps: [],
  };
}

const interrupted = ({ status }: UpdateAttempt): string =>
  isOutcome(status)
    ? ""
    : asStepError(new Error("interrupted by a restart of the updater; the host was not changed"), status).message;

/** An attempt that was cut off is closed as failed ("interrupted"); one whose swap was taken back, as rolled back. */
function closeReport(report: UpdateAttempt, entry: JournalEntry, mended: Mended, host: HostDeps): UpdateAttempt {
  const now = host.clock.nowNanos();
  const update = `update to v${entry.version} failed: ${mended.cause}`;
  const from = entry.previous?.version ?? "";
  if (!mended.ok) {
    const cause = `rollback_failed: ${update}; rollback${from === "" ? "" : ` to v${from}`} failed: ${mended.error}`;
    return reportTransition(report, { kind: "ended", outcome: "failed", cause, healthy: false }, now, mended.error);
  }
  if (mended.repair === "roll_back")
    return closeRolledBack(report, mended.cause, `${update}; rolled back to v${from}`, now);
  return closeInterrupted(report, `${CUT_OFF}; v${mended.version} is active and healthy`, now);
}
