/** Which artifacts rollouts need: platforms of their targets, and what nobody has asked for yet. */
import type { ArtifactRef, Platform } from "../domain/artifact/asset.ts";
import type { Db } from "./database.ts";

/** Platforms of targets that get a version and run this distribution. */
export async function rolloutPlatforms(db: Db, fleet: string, n: number, distribution: string): Promise<Platform[]> {
  const { rows } = await db.query<Platform>(
    `select distinct c.os, c.arch from targets t join attempts a using (fleet, n, host, attempt) join agents c on c.uid = t.host
      where t.fleet = $1 and t.n = $2 and t.to_version is not null and a.finished_at is null and c.service_name = $3`,
    [fleet, n, distribution],
  );
  return rows;
}

/** Whether a fetch of this release has failed since then. */
export async function hasFailedSince(
  db: Db,
  { distribution, version }: { distribution: string; version: string },
  since: Date,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `select 1 from artifacts where distribution = $1 and version = $2 and state = 'failed' and tried_at >= $3 limit 1`,
    [distribution, version, since],
  );
  return (rowCount ?? 0) > 0;
}

/** Artifacts that waiting targets of open, prepared rollouts need and that were never asked for. */
export async function missingArtifacts(db: Db): Promise<ArtifactRef[]> {
  const { rows } = await db.query<ArtifactRef>(
    `select distinct r.distribution, t.to_version as version, c.os, c.arch
       from rollouts r join targets t using (fleet, n) join attempts a using (fleet, n, host, attempt)
         join agents c on c.uid = t.host
      where r.finished_at is null and r.prepared_at is not null and r.ending is null and a.phase = 'pending'
        and a.direction = 'forward' and t.to_version is not null and c.service_name = r.distribution
        and c.version <> t.to_version
        and not exists (select from artifacts f where f.distribution = r.distribution and f.version = t.to_version
          and f.os = c.os and f.arch = c.arch and f.state <> 'removed')
      limit 50`,
  );
  return rows;
}
