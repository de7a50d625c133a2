/** Notices (domain/notices): the rows, the facts that they are judged by, and what release discovery remembers. */
import { desiredVersion } from "../domain/fleet/desired-version.ts";
import type { FleetUse } from "../domain/artifact/discovery.ts";
import { fleets } from "../domain/gitops/snapshot.ts";
import { compareVersions } from "../domain/update/version.ts";
import type { NoticeFacts, NoticeKind, ReleaseSubject, Runs } from "../domain/notices.ts";
import type { Db } from "./database.ts";
import { appendEvent } from "./events.ts";
import { readSnapshot } from "./gitops.ts";

export type NoticeRow = {
  id: bigint;
  kind: NoticeKind;
  data: ReleaseSubject;
  at: Date;
  supersededBy: bigint | null;
  acknowledgedAt: Date | null;
  acknowledgedBy: string | null;
  comment: string | null;
};
const COLUMNS = `id, kind, data, at, superseded_by as "supersededBy", acknowledged_at as "acknowledgedAt",
  acknowledged_by as "acknowledgedBy", comment`;

/**
 * Opens a notice; false when there is one of this kind and subject. With `again` that one is open anew, not acknowledged
 * any more: for what can happen to the same subject a second time. Call it inside a transaction.
 */
export async function openNotice(
  tx: Db,
  kind: NoticeKind,
  { distribution, version }: ReleaseSubject,
  at: Date,
  again = false,
): Promise<boolean> {
  const subject = `${distribution}/${version}`;
  const { rows } = await tx.query<{ id: bigint }>(
    `insert into notices (kind, subject, data, at) values ($1, $2, $3, $4)
     on conflict (kind, subject) do update set at = excluded.at, superseded_by = null, acknowledged_at = null,
       acknowledged_by = null, comment = null where $5 returning id`,
    [kind, subject, JSON.stringify({ distribution, version }), at, again],
  );
  const [row] = rows;
  if (row === undefined) return false;
  await appendEvent(tx, "notices", { id: row.id.toString(), kind, distribution, version, state: "open" });
  return true;
}

/**
 * Opens `release_available`, once per release; open ones of other releases of the distribution are superseded by it.
 * False when it was told before, or when a newer one that nobody revoked stands. Call it inside a transaction.
 */
export async function openReleaseNotice(tx: Db, release: ReleaseSubject, at: Date): Promise<boolean> {
  const { rows } = await tx.query<{ id: bigint; version: string; revoked: boolean }>(
    `select n.id, n.data->>'version' as version, exists (select from releases r where r.distribution = $1
        and r.version = n.data->>'version' and r.revoked_at is not null) as revoked
       from notices n where n.kind = 'release_available' and n.data->>'distribution' = $1 and n.superseded_by is null
      for update of n`,
    [release.distribution],
  );
  if (rows.some(({ version, revoked }) => !revoked && compareVersions(version, release.version) >= 0)) return false;
  if (!(await openNotice(tx, "release_available", release, at))) return false;
  await tx.query(
    `update notices n set superseded_by = newest.id from notices newest
      where newest.kind = 'release_available' and newest.subject = $1 and n.id = any($2)`,
    [`${release.distribution}/${release.version}`, rows.map(({ id }) => id)],
  );
  return true;
}

/** The newest first, at most `limit`, those before `before` only. */
export async function readNotices(
  db: Db,
  { before, kind, limit }: { before?: bigint | undefined; kind?: NoticeKind | undefined; limit: number },
): Promise<NoticeRow[]> {
  const { rows } = await db.query<NoticeRow>(
    `select ${COLUMNS} from notices where ($1::bigint is null or id < $1) and ($2::text is null or kind = $2)
      order by id desc limit $3`,
    [before ?? null, kind ?? null, limit],
  );
  return rows;
}

/** One notice; `lock` keeps it until the end of the caller's transaction. */
export async function readNotice(db: Db, id: bigint, lock = false): Promise<NoticeRow | undefined> {
  const { rows } = await db.query<NoticeRow>(
    `select ${COLUMNS} from notices where id = $1 ${lock ? "for update" : ""}`,
    [id],
  );
  return rows[0];
}

/** Afterwards it is acknowledged. Call it inside a transaction that holds the row. */
export async function acknowledgeNotice(
  tx: Db,
  { id, kind, data }: NoticeRow,
  { by, comment, at }: { by: string; comment: string | null; at: Date },
): Promise<void> {
  await tx.query("update notices set acknowledged_at = $2, acknowledged_by = $3, comment = $4 where id = $1", [
    id,
    at,
    by,
    comment,
  ]);
  await appendEvent(tx, "notices", { id: id.toString(), kind, ...data, state: "acknowledged" });
}

/** What Git wants of each fleet that it gives a collector version. */
export async function readFleetUses(db: Db): Promise<FleetUse[]> {
  const snapshot = await readSnapshot(db);
  return (snapshot === undefined ? [] : fleets(snapshot)).flatMap((fleet) => {
    const desired = desiredVersion(fleet);
    return desired === undefined
      ? []
      : [{ fleet: fleet.name, distribution: desired.distribution, version: desired.version }];
  });
}

/** Releases that nobody is offered. */
export async function revokedReleases(db: Db): Promise<NoticeFacts["revoked"]> {
  const { rows } = await db.query<NoticeFacts["revoked"][number]>(
    `select distribution, version, coalesce(revoked_by, '') as by, coalesce(revoked_reason, '') as reason
       from releases where revoked_at is not null`,
  );
  return rows;
}

/** Everything that notices are judged by, as it is now. */
export async function readNoticeFacts(db: Db): Promise<NoticeFacts> {
  const [uses, runs, revoked, incomplete] = [
    await readFleetUses(db),
    await db.query<Runs>(
      `select a.service_name as distribution, a.version, w.fleet, count(*)::int as hosts
         from agents a join releases r on r.distribution = a.service_name and r.version = a.version
           left join wanted w on w.host = a.uid
        where a.kind = 'collector' and r.revoked_at is not null group by 1, 2, 3 order by 1, 2, 3`,
    ),
    await revokedReleases(db),
    await db.query<NoticeFacts["incomplete"][number]>(
      `select a.distribution, a.version, coalesce(max(a.error_message), '') as message
         from artifacts a join notices n on n.kind = 'release_too_old' and n.subject = a.distribution || '/' || a.version
        where a.state in ('fetching', 'failed') group by 1, 2`,
    ),
  ];
  return { uses, runs: runs.rows, revoked, incomplete: incomplete.rows };
}

/** The platform of most collectors of a distribution, as they report it; undefined: none is known. */
export async function commonestPlatform(
  db: Db,
  distribution: string,
): Promise<{ os: string; arch: string } | undefined> {
  const { rows } = await db.query<{ os: string; arch: string }>(
    `select os, arch from agents where kind = 'collector' and service_name = $1 and os <> '' and arch <> ''
      group by os, arch order by count(*) desc, os, arch limit 1`,
    [distribution],
  );
  return rows[0];
}

export type DiscoveryRow = {
  source: string;
  checkedAt: Date;
  error: { code: string; message: string } | null;
  answeredAt: Date | null;
  etag: string | null;
  lastModified: string | null;
  versions: string[];
};

/** What a source said last, or of the source that was asked last when none is named. */
export async function readDiscovery(db: Db, source?: string): Promise<DiscoveryRow | undefined> {
  const { rows } = await db.query<Omit<DiscoveryRow, "error"> & { code: string | null; message: string | null }>(
    `select source, checked_at as "checkedAt", error_code as code, error_message as message,
        answered_at as "answeredAt", etag, last_modified as "lastModified", versions
       from release_discovery where $1::text is null or source = $1 order by checked_at desc limit 1`,
    [source ?? null],
  );
  return rows.map(({ code, message, ...row }) => ({
    ...row,
    error: code === null ? null : { code, message: message ?? "" },
  }))[0];
}

/** The source did not answer, or with nothing that is understood; what it said before stays. */
export async function discoveryFailed(
  db: Db,
  source: string,
  error: { code: string; message: string },
  at: Date,
): Promise<void> {
  await db.query(
    `insert into release_discovery (source, checked_at, error_code, error_message) values ($1, $2, $3, $4)
     on conflict (source) do update set checked_at = excluded.checked_at, error_code = excluded.error_code,
       error_message = excluded.error_message`,
    [source, at, error.code, error.message],
  );
}

/** What the source said. */
export async function discoveryAnswered(
  db: Db,
  it: Pick<DiscoveryRow, "source" | "etag" | "lastModified" | "versions">,
  at: Date,
): Promise<void> {
  await db.query(
    `insert into release_discovery (source, checked_at, answered_at, etag, last_modified, versions)
     values ($1, $2, $2, $3, $4, $5)
     on conflict (source) do update set checked_at = excluded.checked_at, answered_at = excluded.answered_at,
       error_code = null, error_message = null, etag = excluded.etag, last_modified = excluded.last_modified,
       versions = excluded.versions`,
    [it.source, at, it.etag, it.lastModified, JSON.stringify(it.versions)],
  );
}
