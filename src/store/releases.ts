/**
 * Releases: what a distribution published as a version, with all its archives. A revoked one is offered to nobody, is no
 * way back, and holds its rollouts (design/artifacts, "Fetch and verify"); its archives stay, since hosts may run it.
 */
import { CHANNELS } from "../domain/channels.ts";
import { withoutHold, type HoldEntry, type Holds } from "../domain/rollout/holds.ts";
import { isFinalState } from "../domain/rollout/phases.ts";
import { appendAudit } from "./audit.ts";
import { setHolds, unsend } from "./controls.ts";
import { notify, type Db } from "./database.ts";
import { appendEvent } from "./events.ts";
import { openNotice } from "./notices.ts";
import { refreshState } from "./rollout-state.ts";
import { lockRelease } from "./pins.ts";
import { usersOf, type ReleaseUser } from "./release-users.ts";
import { lockFleet, readRollout } from "./rollouts.ts";
import { unwantRelease } from "./wanted-set.ts";

export type ReleaseName = { distribution: string; version: string };
export type ReleaseRow = ReleaseName & {
  revoked: HoldEntry | null;
  /** `linux_amd64` and the like, of its archives that were asked for. */
  platforms: string[];
  /** Collectors that report it. */
  hosts: number;
};
export type RolloutName = { fleet: string; n: number };
/** `held`: its open rollouts, which stopped, or go on. */
export type ReleaseChange = { changed: boolean; held: RolloutName[] };

/** Every release that was ever asked for, the newest version of each distribution as the database sorts text. */
export async function listReleases(db: Db, only?: ReleaseName): Promise<ReleaseRow[]> {
  const { rows } = await db.query<ReleaseRow>(
    `select r.distribution, r.version, revoked_hold(r.distribution, r.version)->'revoked' as revoked,
        coalesce((select array_agg(a.os || '_' || a.arch order by a.os, a.arch) from artifacts a
          where a.distribution = r.distribution and a.version = r.version), '{}') as platforms,
        (select count(*)::int from agents c where c.kind = 'collector' and c.service_name = r.distribution
          and c.version = r.version) as hosts
      from releases r where $1::text is null or (r.distribution = $1 and r.version = $2)
      order by r.distribution, string_to_array(regexp_replace(r.version, '[^0-9.].*$', ''), '.')::bigint[] desc, r.version desc`,
    [only?.distribution ?? null, only?.version ?? null],
  );
  return rows;
}

/**
 * Afterwards nothing of this release is offered any more: its open rollouts have the hold `revoked`, offers that were not
 * sent are taken back. Revoking it again changes nothing. Call it inside a transaction.
 */
export async function revokeRelease(tx: Db, it: ReleaseName, entry: HoldEntry, now: Date): Promise<ReleaseChange> {
  const { rowCount } = await tx.query(
    `insert into releases (distribution, version, revoked_at, revoked_reason, revoked_by) values ($1, $2, $3, $4, $5)
     on conflict (distribution, version) do update set revoked_at = excluded.revoked_at,
       revoked_reason = excluded.revoked_reason, revoked_by = excluded.revoked_by where releases.revoked_at is null`,
    [it.distribution, it.version, now, entry.reason, entry.by],
  );
  const changed = (rowCount ?? 0) > 0;
  if (changed) await openNotice(tx, "release_revoked", it, now, true);
  const held = await changeHolds(tx, it, (holds) => ({ ...holds, revoked: holds.revoked ?? entry }), now);
  await record(tx, "release.revoke", it, entry, { changed, held }, now);
  return { changed, held };
}

/** Afterwards it is like any other release, and what it alone held goes on. Call it inside a transaction. */
export async function unrevokeRelease(tx: Db, it: ReleaseName, entry: HoldEntry, now: Date): Promise<ReleaseChange> {
  const { rowCount } = await tx.query(
    `update releases set revoked_at = null, revoked_reason = null, revoked_by = null
      where distribution = $1 and version = $2 and revoked_at is not null`,
    [it.distribution, it.version],
  );
  const changed = (rowCount ?? 0) > 0;
  const held = await changeHolds(tx, it, (holds) => withoutHold(holds, "revoked"), now);
  await record(tx, "release.unrevoke", it, entry, { changed, held }, now);
  return { changed, held };
}

/** The holds of every open rollout of the release, each under the locks that everybody takes: fleet, then rollout. */
async function changeHolds(
  tx: Db,
  { distribution, version }: ReleaseName,
  change: (holds: Holds) => Holds,
  now: Date,
): Promise<RolloutName[]> {
  const { rows } = await tx.query<RolloutName>(
    `select fleet, n from rollouts where distribution = $1 and version = $2 and finished_at is null order by fleet, n`,
    [distribution, version],
  );
  for (const { fleet, n } of rows) {
    await lockFleet(tx, fleet);
    const row = await readRollout(tx, fleet, n, "update");
    if (row === undefined || isFinalState(row.state)) continue; // it ended before its row was ours
    const holds = change(row.holds);
    await setHolds(tx, row, holds);
    if (holds.revoked !== undefined) await unsend(tx, row, now);
    await refreshState(tx, fleet, n, now);
  }
  return rows;
}

export type Deletion = { changed: boolean; archives: number; users: ReleaseUser[] };

/**
 * Afterwards depots keep nothing of this release, unless another one has the same bytes; a fetch or an upload brings it
 * back. What was verified stays known, so that the version never comes back with other bytes. `users` not empty: refused,
 * they need it. Undefined: there is no such release. Call it inside a transaction.
 */
export async function deleteRelease(
  tx: Db,
  it: ReleaseName,
  entry: HoldEntry,
  now: Date,
): Promise<Deletion | undefined> {
  if (!(await lockRelease(tx, it))) return undefined;
  // no snapshot comes into force, and so nothing new is planned, between the look and the removal
  await tx.query("select from gitops_state for share");
  // an offer of it that is being opened ends first, and is seen below; a later one finds it removed (migration 0024)
  await tx.query("select from artifacts where distribution = $1 and version = $2 order by id for update", [
    it.distribution,
    it.version,
  ]);
  const users = await usersOf(tx, it);
  if (users.length > 0) return { changed: false, archives: 0, users };
  const archives = await unwantRelease(tx, it, `deletion of ${it.distribution} ${it.version}`);
  const { rowCount } = await tx.query(
    "delete from artifacts where distribution = $1 and version = $2 and verification is null and state = 'failed'",
    [it.distribution, it.version],
  );
  const changed = archives > 0 || (rowCount ?? 0) > 0;
  const object = `release/${it.distribution}/${it.version}`;
  const detail = { reason: entry.reason, changed, archives };
  await appendAudit(tx, { principal: entry.by, action: "release.delete", object, outcome: "accepted", detail }, now);
  if (changed) await appendEvent(tx, "depots", { kind: "release", ...it, state: "release.delete" });
  return { changed, archives, users };
}

async function record(
  tx: Db,
  action: string,
  { distribution, version }: ReleaseName,
  { by, reason }: HoldEntry,
  { changed, held }: ReleaseChange,
  now: Date,
): Promise<void> {
  const object = `release/${distribution}/${version}`;
  const detail = { reason, changed, rollouts: held.map(({ fleet, n }) => `${fleet}/${n}`) };
  await appendAudit(tx, { principal: by, action, object, outcome: "accepted", detail }, now);
  if (!changed) return;
  await appendEvent(tx, "depots", { kind: "release", distribution, version, state: action });
  await notify(tx, CHANNELS.artifacts);
}
