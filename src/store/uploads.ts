/**
 * Uploads that are not finished. Until an upload is finished nothing of it is an artifact; then everything is, in one
 * transaction. While its row lives, what it has staged is not released.
 */
import { createHash } from "node:crypto";
import type { DescribedFile } from "../domain/artifact/upload.ts";
import {
  admitArtifact,
  artifactFetched,
  openArtifact,
  type ArtifactRow,
  type VerificationRecord,
} from "./artifacts.ts";
import { appendAudit } from "./audit.ts";
import type { Db } from "./database.ts";
import { appendEvent } from "./events.ts";
import type { ReleaseName } from "./releases.ts";

export type ProvedFile = DescribedFile & { verification: VerificationRecord };
export type Upload = ReleaseName & { id: string; files: ProvedFile[] };

/** Untouched for so long it is over, and its bytes go. */
export const UPLOAD_KEPT_MS = 24 * 3_600_000;

/** The same archives of the same release are the same upload, whoever sends them. */
export const uploadId = ({ distribution, version }: ReleaseName, files: readonly DescribedFile[]): string =>
  createHash("sha256")
    .update(JSON.stringify([distribution, version, files.map(({ fileName, sha256 }) => [fileName, sha256])]))
    .digest("hex")
    .slice(0, 32);

const bytesOf = (files: readonly { sha256: string }[]): Buffer[] =>
  files.map(({ sha256 }) => Buffer.from(sha256, "hex"));

/** Opens an upload, or goes on with it. Those that nobody touched for a day are over. */
export async function openUpload(db: Db, upload: Upload, by: string, now: Date): Promise<void> {
  await db.query("delete from uploads where touched_at < $1", [new Date(now.getTime() - UPLOAD_KEPT_MS)]);
  await db.query(
    `insert into uploads (id, distribution, version, files, digests, opened_by, opened_at, touched_at)
     values ($1, $2, $3, $4, $5, $6, $7, $7)
     on conflict (id) do update set files = excluded.files, touched_at = excluded.touched_at`,
    [upload.id, upload.distribution, upload.version, JSON.stringify(upload.files), bytesOf(upload.files), by, now],
  );
}

/** The upload, touched; undefined when it is finished, over, or was never opened. */
export async function touchUpload(db: Db, id: string, now: Date): Promise<Upload | undefined> {
  const { rows } = await db.query<Upload>(
    "update uploads set touched_at = $2 where id = $1 returning id, distribution, version, files",
    [id, now],
  );
  return rows[0];
}

/** Archives of the release that were verified before, with other bytes than these. A release never changes. */
export async function changedFiles(
  db: Db,
  { distribution, version }: ReleaseName,
  files: readonly DescribedFile[],
): Promise<string[]> {
  const { rows } = await db.query<{ fileName: string }>(
    `select a.file_name as "fileName" from artifacts a
       join jsonb_to_recordset($3::jsonb) as f (os text, arch text, sha256 text) using (os, arch)
     where a.distribution = $1 and a.version = $2 and a.verification is not null and a.sha256 <> decode(f.sha256, 'hex')
     order by a.file_name`,
    [distribution, version, JSON.stringify(files)],
  );
  return rows.map((row) => row.fileName);
}

/** Of these digests those that no artifact wants now: what depots would have to take. */
export async function unwantedOf(db: Db, digests: readonly string[]): Promise<Set<string>> {
  const { rows } = await db.query<{ sha256: string }>(
    `select d.sha256 from unnest($1::text[]) as d(sha256)
     where not exists (select from artifacts a where a.wanted and a.sha256 = decode(d.sha256, 'hex'))`,
    [digests],
  );
  return new Set(rows.map((row) => row.sha256));
}

/** Hosts whose staging has each of these digests, as rows say. */
export async function stagingOf(db: Db, digests: readonly string[]): Promise<Map<string, string[]>> {
  const { rows } = await db.query<{ sha256: string; holders: string[] }>(
    `select encode(sha256, 'hex') as sha256, array_agg(holder order by holder) as holders from staging
     where sha256 = any($1) group by sha256`,
    [bytesOf(digests.map((sha256) => ({ sha256 })))],
  );
  return new Map(rows.map((row) => [row.sha256, row.holders]));
}

export type Finished = { artifacts: string[]; changed: boolean };

/**
 * Everything of the upload becomes a verified, wanted artifact: wanted set, generation, outbox and audit in the caller's
 * transaction, also when it was deleted before. Undefined: somebody else finished it.
 */
export async function finishUpload(tx: Db, id: string, by: string, now: Date): Promise<Finished | undefined> {
  const { rows } = await tx.query<Upload>(
    "delete from uploads where id = $1 returning id, distribution, version, files",
    [id],
  );
  const upload = rows[0];
  if (upload === undefined) return undefined;
  const { distribution, version, files } = upload;
  const artifacts: string[] = [];
  let changed = false;
  for (const { fileName, os, arch, sha256, sizeBytes, checksum, bundle, verification } of files) {
    const ref = { distribution, version, os, arch };
    const { id: artifact }: ArtifactRow = await openArtifact(tx, ref, { fileName, sourceUrl: `upload:${fileName}` });
    await artifactFetched(tx, artifact, { sha256, sizeBytes, checksum, bundle });
    changed = (await admitArtifact(tx, artifact, verification, now)) || changed;
    await appendEvent(tx, "depots", { kind: "artifact", id: artifact, state: "verified" });
    artifacts.push(artifact);
  }
  const shown = files.map(({ fileName, sha256, verification }) => ({ fileName, sha256, ...verification }));
  const entry = { principal: by, action: "release.upload", object: `release/${distribution}/${version}` } as const;
  await appendAudit(tx, { ...entry, outcome: "accepted", detail: { changed, files: shown } }, now);
  return { artifacts, changed };
}
