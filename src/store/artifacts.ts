/**
 * Rows of artifacts: what was fetched, how it was verified, and how far its copies are. The wanted set is the set of
 * digests of rows with `wanted`; the database moves its generation with it (migration 0013), whoever changes it.
 */
import { platformOf, type ArtifactRef, type Platform } from "../domain/artifact/asset.ts";
import { CONTRACT_DEFAULTS } from "../domain/brand.ts";
import { CHANNELS } from "../domain/channels.ts";
import { notify, type Db } from "./database.ts";

/** What the signature proved; kept with the artifact and shown. */
export type VerificationRecord = {
  identity: string;
  issuer: string;
  repository: string;
  logIndex: string;
  signedAt: string[];
};
export type ArtifactRow = {
  id: string;
  distribution: string;
  version: string;
  os: string;
  arch: string;
  fileName: string;
  /** Lower-case hexadecimal; null until the archive was read once. */
  sha256: string | null;
  sizeBytes: number | null;
  /** The raw Sigstore bundle as fetched. */
  bundle: string | null;
  checksum: string | null;
  verification: VerificationRecord | null;
  sourceUrl: string;
  /** `removed`: it was verified once and depots keep it no longer; a fetch or an upload brings it back. */
  state: "fetching" | "verified" | "failed" | "removed";
  errorCode: string | null;
  errorMessage: string | null;
  wanted: boolean;
  /** The release was revoked: it is offered to nobody. */
  revokedReason: string | null;
};

const SELECT = `
  select a.id, a.distribution, a.version, a.os, a.arch, a.file_name as "fileName", encode(a.sha256, 'hex') as sha256,
    a.size_bytes::float8 as "sizeBytes", a.bundle, a.checksum, a.verification, a.source_url as "sourceUrl", a.state,
    a.error_code as "errorCode", a.error_message as "errorMessage", a.wanted, case when r.revoked_at is not null then coalesce(r.revoked_reason, '') end as "revokedReason"
  from artifacts a left join releases r using (distribution, version)`;

/** The artifact of a release for a platform as an agent reports it; undefined when none was ever asked for. */
export async function artifactFor(
  db: Db,
  distribution: string,
  version: string,
  os: string,
  arch: string,
): Promise<ArtifactRow | undefined> {
  const platform = platformOf(os, arch);
  if (platform === undefined) return undefined;
  const found = await db.query<ArtifactRow>(
    `${SELECT} where a.distribution = $1 and a.version = $2 and a.os = $3 and a.arch = $4`,
    [distribution, version, platform.os, platform.arch],
  );
  return found.rows[0];
}

export async function artifactById(db: Db, id: string): Promise<ArtifactRow | undefined> {
  return (await db.query<ArtifactRow>(`${SELECT} where a.id = $1`, [id])).rows[0];
}

export async function listArtifacts(db: Db): Promise<ArtifactRow[]> {
  return (await db.query<ArtifactRow>(`${SELECT} order by a.distribution, a.created_at desc, a.os, a.arch`)).rows;
}

/** Makes sure that a row for this asset exists. Concurrent callers get the same row. */
export async function openArtifact(
  db: Db,
  ref: ArtifactRef,
  file: { fileName: string; sourceUrl: string },
): Promise<ArtifactRow> {
  await db.query("insert into releases (distribution, version) values ($1, $2) on conflict do nothing", [
    ref.distribution,
    ref.version,
  ]);
  const opened = await db.query<{ id: string }>(
    `insert into artifacts (distribution, version, os, arch, file_name, source_url) values ($1, $2, $3, $4, $5, $6)
     on conflict (distribution, version, os, arch) do update set source_url = excluded.source_url returning id`,
    [ref.distribution, ref.version, ref.os, ref.arch, file.fileName, file.sourceUrl],
  );
  const row = await artifactById(db, opened.rows[0]?.id ?? "");
  if (row === undefined) throw new Error("an artifact row vanished while it was opened");
  return row;
}

/** Notes that a fetch is being tried (again); what failed before is shown no longer. */
export async function artifactTried(db: Db, id: string, at: Date): Promise<void> {
  await db.query(
    `update artifacts set tried_at = $2, state = case when state in ('failed', 'removed') then 'fetching' else state end,
       error_code = case when state = 'failed' then null else error_code end,
       error_message = case when state = 'failed' then null else error_message end
     where id = $1`,
    [id, at],
  );
}

/** Keeps the two small files, which came first; what was verified before is not touched. */
export async function artifactAnnounced(
  db: Db,
  id: string,
  { checksum, bundle }: { checksum: string; bundle: string },
): Promise<void> {
  await db.query("update artifacts set checksum = $2, bundle = $3 where id = $1 and verification is null", [
    id,
    checksum,
    bundle,
  ]);
}

export type FetchedFiles = { sha256: string; sizeBytes: number; checksum: string; bundle: string };

/** Keeps what was downloaded. It is not wanted by anybody before it is verified. */
export async function artifactFetched(db: Db, id: string, files: FetchedFiles): Promise<void> {
  await db.query(
    `update artifacts set sha256 = decode($2, 'hex'), size_bytes = $3, checksum = $4, bundle = $5
     where id = $1 and not (verification is not null and sha256 is distinct from decode($2, 'hex'))`,
    [id, files.sha256, files.sizeBytes, files.checksum, files.bundle],
  );
}

/**
 * The artifact is verified and joins the wanted set: generation + 1 and the outbox row are in the same transaction.
 * Call it inside one. Returns whether anything changed.
 */
export async function admitArtifact(tx: Db, id: string, verification: VerificationRecord, at: Date): Promise<boolean> {
  await tx.query("select set_config('myriarch.cause', $1, true)", [`artifact ${id}`]);
  const changed = await tx.query(
    `update artifacts set state = 'verified', verification = $2, wanted = true, error_code = null, error_message = null,
       verified_at = $3
     where id = $1 and not (state = 'verified' and wanted)`,
    [id, JSON.stringify(verification), at],
  );
  await notify(tx, CHANNELS.artifacts, id);
  return (changed.rowCount ?? 0) > 0;
}

/** Keeps the cause of a failure: `final` ends the fetch, otherwise it is what the next try is for. */
export async function artifactFailed(
  db: Db,
  id: string,
  cause: { code: string; message: string; final: boolean },
): Promise<void> {
  await db.query(
    `update artifacts set error_code = $2, error_message = $3,
       state = case when $4 and not wanted then 'failed' else state end
     where id = $1`,
    [id, cause.code, cause.message.slice(0, 2_000), cause.final],
  );
  await notify(db, CHANNELS.artifacts, id);
}

export type Readiness = {
  ready: boolean;
  /** Final: it will not become ready by waiting. */
  failed?: { code: string; message: string };
  artifacts: {
    id: string | null;
    platform: Platform;
    state: "absent" | Exclude<ArtifactRow["state"], "removed">;
    copies: number;
  }[];
  /** Of the artifact that has fewest. */
  copies: number;
  /** min(minCopies, answering nodes), at least one. */
  want: number;
  /** Ready, but with fewer copies than `minCopies`. */
  degraded: boolean;
};
type ReadinessQuestion = { distribution: string; version: string; platforms: readonly Platform[]; minCopies?: number };

/**
 * Whether a wave that needs these platforms of a release may start (design/artifacts, "Replication"): each artifact
 * verified, not revoked, and held by `min(minCopies, answering nodes)` nodes, at least one. A node that does not answer
 * neither counts nor blocks; one that drains counts for what it has and is not waited for.
 */
export async function artifactReadiness(db: Db, question: ReadinessQuestion): Promise<Readiness> {
  const minCopies = question.minCopies ?? CONTRACT_DEFAULTS.minCopies;
  const answering = await db.query<{ n: number }>(
    "select count(*)::int as n from depots where state = 'active' and answered_at is not null and error is null",
  );
  const want = Math.max(1, Math.min(minCopies, answering.rows[0]?.n ?? 0));
  const rows = await db.query<ArtifactRow & { copies: number }>(
    `select x.*, (select count(*)::int from copies c join depots d using (node_id)
       where c.sha256 = decode(x.sha256, 'hex') and c.disks > 0 and d.state <> 'removed' and d.error is null) as copies
     from (${SELECT} where a.distribution = $1 and a.version = $2) x`,
    [question.distribution, question.version],
  );
  const artifacts = question.platforms.map((asked) => {
    const platform = platformOf(asked.os, asked.arch) ?? asked;
    const row = rows.rows.find((r) => r.os === platform.os && r.arch === platform.arch);
    const state = row === undefined || row.state === "removed" ? "absent" : row.state;
    return { row, platform, id: row?.id ?? null, state, copies: row?.copies ?? 0 } as const;
  });
  const copies = artifacts.length === 0 ? 0 : Math.min(...artifacts.map((a) => a.copies));
  const failed = artifacts.map(({ row }) => finalCause(row)).find((cause) => cause !== undefined);
  const ready = failed === undefined && artifacts.every((a) => a.state === "verified" && a.copies >= want);
  return {
    ready,
    ...(failed && { failed }),
    artifacts: artifacts.map(({ id, platform, state, copies: have }) => ({ id, platform, state, copies: have })),
    copies,
    want,
    degraded: ready && copies < minCopies,
  };
}

function finalCause(row: ArtifactRow | undefined): Readiness["failed"] {
  if (row === undefined) return undefined;
  if (row.revokedReason !== null) return { code: "artifact_revoked", message: `revoked: ${row.revokedReason}` };
  if (row.state !== "failed") return undefined;
  return { code: row.errorCode ?? "internal", message: row.errorMessage ?? "the artifact cannot be had" };
}

/** Whether a node that answers, or a staging, has the bytes. */
export async function existsSomewhere(db: Db, sha256: string): Promise<boolean> {
  const { rows } = await db.query<{ there: boolean }>(
    `select exists (select from copies c join depots d using (node_id)
         where c.sha256 = decode($1, 'hex') and c.disks > 0 and d.error is null and d.state <> 'removed')
       or exists (select from staging where sha256 = decode($1, 'hex')) as there`,
    [sha256],
  );
  return rows[0]?.there === true;
}

/** Wanted artifacts with these bytes. */
export async function artifactsWithDigest(db: Db, sha256: string): Promise<ArtifactRow[]> {
  return (await db.query<ArtifactRow>(`${SELECT} where a.wanted and a.sha256 = decode($1, 'hex')`, [sha256])).rows;
}
