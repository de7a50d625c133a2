/** Pins: a person keeps a release although nothing runs or wants it (design/artifacts, "Replication": retention). */
import type { HoldEntry } from "../domain/rollout/holds.ts";
import { appendAudit } from "./audit.ts";
import type { Db } from "./database.ts";
import { appendEvent } from "./events.ts";
import type { ReleaseName } from "./releases.ts";

export type PinChange = { changed: boolean; archives: number };

/** The row of a release, locked until the transaction ends, so that it is not pinned and removed at once. */
export async function lockRelease(tx: Db, { distribution, version }: ReleaseName): Promise<boolean> {
  const { rowCount } = await tx.query("select from releases where distribution = $1 and version = $2 for update", [
    distribution,
    version,
  ]);
  return rowCount === 1;
}

/**
 * Afterwards the release stays until `until` (null: for ever), whatever else needs it; a pin that it had is replaced.
 * Undefined: there is no such release. Call it inside a transaction.
 */
export async function pinRelease(
  tx: Db,
  it: ReleaseName,
  { by, reason }: HoldEntry,
  until: Date | null,
  now: Date,
): Promise<PinChange | undefined> {
  if (!(await lockRelease(tx, it))) return undefined;
  await tx.query(
    `insert into release_pins (distribution, version, by, reason, at, until) values ($1, $2, $3, $4, $5, $6)
     on conflict (distribution, version) do update set by = excluded.by, reason = excluded.reason, at = excluded.at,
       until = excluded.until`,
    [it.distribution, it.version, by, reason, now, until],
  );
  await record(tx, "release.pin", it, by, { reason, until: until?.toISOString() ?? null }, now);
  return { changed: true, archives: await archivesOf(tx, it) };
}

/** Afterwards it has no pin; `keepFor` counts from now when nothing else needs it. Call it inside a transaction. */
export async function unpinRelease(
  tx: Db,
  it: ReleaseName,
  { by, reason }: HoldEntry,
  now: Date,
): Promise<PinChange | undefined> {
  if (!(await lockRelease(tx, it))) return undefined;
  const { rowCount } = await tx.query("delete from release_pins where distribution = $1 and version = $2", [
    it.distribution,
    it.version,
  ]);
  const changed = (rowCount ?? 0) > 0;
  if (changed)
    await tx.query("update releases set unneeded_since = null where distribution = $1 and version = $2", [
      it.distribution,
      it.version,
    ]);
  await record(tx, "release.unpin", it, by, { reason, changed }, now);
  return { changed, archives: await archivesOf(tx, it) };
}

/** Archives of it that depots keep. */
async function archivesOf(db: Db, { distribution, version }: ReleaseName): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    "select count(*)::int as n from artifacts where distribution = $1 and version = $2 and wanted",
    [distribution, version],
  );
  return rows[0]?.n ?? 0;
}

async function record(
  tx: Db,
  action: string,
  { distribution, version }: ReleaseName,
  principal: string,
  detail: Record<string, unknown>,
  now: Date,
): Promise<void> {
  const object = `release/${distribution}/${version}`;
  await appendAudit(tx, { principal, action, object, outcome: "accepted", detail }, now);
  await appendEvent(tx, "depots", { kind: "release", distribution, version, state: action.slice("release.".length) });
}
