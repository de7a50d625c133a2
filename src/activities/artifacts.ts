/**
 * Fetching one artifact (design/artifacts, "Fetch and verify"): resolve, download to staging, check the checksum file and
 * the Sigstore bundle, record, and make it wanted by the depots. Each step can be repeated; what went wrong is kept with
 * the artifact and shown by whoever waits for it.
 */
import { heartbeat, cancellationSignal } from "@temporalio/activity";
import type { Client } from "@temporalio/client";
import type { Logger } from "pino";
import {
  assetName,
  assetUrls,
  isArtifactRef,
  parseChecksum,
  platformOf,
  platformText,
  type ArtifactRef,
} from "../domain/artifact/asset.ts";
import { failure, isFailure } from "../domain/errors.ts";
import * as rows from "../store/artifacts.ts";
import { appendAudit } from "../store/audit.ts";
import { transaction, type Db, type Pool } from "../store/database.ts";
import { appendEvent } from "../store/events.ts";
import { openNotice } from "../store/notices.ts";
import { noteNotification } from "../store/notifications.ts";
import { verifyRelease, type SigningSettings } from "../verify/verify-release.ts";
import { poke, QUEUES, WORKFLOW_IDS } from "../workflows/messages.ts";
import { withActivityFailures } from "./artifact-failure.ts";
import type { ArtifactSource } from "./artifact-source.ts";
import type { Staging } from "./artifact-staging.ts";

export type ArtifactDeps = {
  pool: Pool;
  client: Client;
  now: () => Date;
  log: Pick<Logger, "info" | "warn" | "error">;
  staging: Staging;
  source: ArtifactSource;
  settings: SigningSettings & { sourceBaseUrl: string };
};
export type ArtifactActivities = ReturnType<typeof createArtifactActivities>;

const MAX_CHECKSUM_BYTES = 64 * 1024;
const MAX_BUNDLE_BYTES = 1024 ** 2;

/** What `artifact-fetch` does outside its workflow. `downloadArtifact` belongs on the queue `io`, the rest on `control`. */
export function createArtifactActivities(deps: ArtifactDeps) {
  return withActivityFailures(
    {
      /** Opens the row; `done` when nothing needs to be fetched: it is verified, and staged or stored somewhere. */
      openArtifact: (ref: ArtifactRef) => openArtifact(deps, ref),
      /** Archive, checksum file and bundle are here, the archive is durable in this host's staging and its digest right. */
      downloadArtifact: (id: string) => remembering(deps, id, () => downloadArtifact(deps, id)),
      /** The signature is of these bytes and of this release. What it proved. */
      verifyArtifact: (id: string) => remembering(deps, id, () => verifyArtifact(deps, id)),
      /** Recorded as verified and wanted: generation, outbox and audit in the same transaction; replication is told. */
      admitArtifact: (id: string, proved: rows.VerificationRecord) => admitArtifact(deps, id, proved),
      /** The fetch is given up; the cause stays with the artifact. */
      giveUpArtifact: (id: string, cause: { code: string; message: string }) => giveUpArtifact(deps, id, cause),
    },
    deps.log,
  );
}

async function openArtifact(
  { pool, now, settings }: ArtifactDeps,
  asked: ArtifactRef,
): Promise<{ id: string; done: boolean }> {
  const platform = platformOf(asked.os, asked.arch);
  if (platform === undefined) throw failure("unsupported_platform", { platform: platformText(asked) });
  const ref = { ...asked, ...platform };
  if (!isArtifactRef(ref))
    throw failure("invalid_request", { message: "distribution or version cannot name an archive" });
  const sourceUrl = assetUrls(settings.sourceBaseUrl, ref).archive;
  const row = await rows.openArtifact(pool, ref, { fileName: assetName(ref), sourceUrl });
  if (row.state === "verified" && row.wanted && row.sha256 !== null && (await rows.existsSomewhere(pool, row.sha256)))
    return { id: row.id, done: true };
  await rows.artifactTried(pool, row.id, now());
  return { id: row.id, done: false };
}

async function downloadArtifact(
  deps: ArtifactDeps,
  id: string,
): Promise<{ sha256: string; sizeBytes: number; holder: string }> {
  const { pool, staging, source } = deps;
  const row = await must(pool, id);
  const urls = {
    archive: row.sourceUrl,
    checksum: `${row.sourceUrl}.sha256`,
    bundle: `${row.sourceUrl}.sigstore.json`,
  };
  const signal = cancellationSignal();
  // the small files first: a release without them is refused before a gigabyte of it came
  const checksum = await small(deps, row.fileName, urls.checksum, MAX_CHECKSUM_BYTES, signal);
  const bundle = await small(deps, row.fileName, urls.bundle, MAX_BUNDLE_BYTES, signal);
  const want = parseChecksum(checksum);
  if (want === undefined) throw failure("checksum_malformed", { asset: row.fileName });
  if (row.verification !== null && row.sha256 !== null && row.sha256 !== want)
    throw failure("artifact_changed", { asset: row.fileName });
  await rows.artifactAnnounced(pool, id, { checksum, bundle });
  // and one that is signed wrongly: final for this digest, whatever its bytes are
  await verifyRelease(deps.settings, { sha256: want, bundle, version: row.version });
  const progress = (bytes: number): void => heartbeat({ bytes });
  const downloaded = await staging.download(id, urls.archive, source, progress, signal);
  if (downloaded === undefined) throw incomplete(row.fileName, "the archive");
  const { sha256, sizeBytes } = downloaded;
  if (sha256 !== want) {
    await staging.discard(downloaded);
    throw failure("digest_mismatch", { want, got: sha256 });
  }
  await rows.artifactFetched(pool, id, { sha256, sizeBytes, checksum, bundle });
  await staging.place(downloaded);
  return { sha256, sizeBytes, holder: staging.holder };
}

/** Both files are required (design: a 404 of either is final, `release too old or incomplete`). */
async function small(
  { source }: ArtifactDeps,
  asset: string,
  url: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<string> {
  const bytes = await source.readSmall(url, maxBytes, signal);
  if (bytes === undefined) throw incomplete(asset, url.slice(url.lastIndexOf(asset) + asset.length));
  return bytes.toString("utf8");
}

const incomplete = (asset: string, missing: string) => failure("artifact_incomplete", { asset, missing });

async function verifyArtifact({ pool, settings }: ArtifactDeps, id: string): Promise<rows.VerificationRecord> {
  const { sha256, bundle, version } = await must(pool, id);
  if (sha256 === null || bundle === null) throw new Error(`artifact ${id} was verified before it was fetched`);
  return verifyRelease(settings, { sha256, bundle, version });
}

async function admitArtifact(deps: ArtifactDeps, id: string, proved: rows.VerificationRecord): Promise<void> {
  const { pool, client, now } = deps;
  const { distribution, version, os, arch, sha256 } = await must(pool, id);
  await transaction(pool, async (tx) => {
    if (!(await rows.admitArtifact(tx, id, proved, now()))) return;
    const detail = { distribution, version, platform: platformText({ os, arch }), sha256, ...proved };
    const entry = { principal: "system", action: "artifact.verify", object: id, outcome: "accepted", detail } as const;
    await appendAudit(tx, entry, now());
    await appendEvent(tx, "depots", { kind: "artifact", id, state: "verified" });
  });
  // also when nothing changed: bytes that were lost are staged again (a re-fetch always feeds replication)
  await pokeReplication(client, `artifact ${id}`);
}

async function giveUpArtifact(
  { pool, now }: ArtifactDeps,
  id: string,
  cause: { code: string; message: string },
): Promise<void> {
  const row = await must(pool, id);
  const { distribution, version } = row;
  const platform = platformText(row);
  await transaction(pool, async (tx) => {
    await rows.artifactFailed(tx, id, { ...cause, final: true });
    if (cause.code === "artifact_incomplete") await openNotice(tx, "release_too_old", { distribution, version }, now());
    const detail = { distribution, version, platform, message: cause.message };
    const entry = { principal: "system", action: "artifact.verify", object: id, outcome: "refused" } as const;
    await appendAudit(tx, { ...entry, code: cause.code, detail }, now());
    await appendEvent(tx, "depots", { kind: "artifact", id, state: "failed", code: cause.code });
    await announceRefusal(tx, row, { ...cause, platform }, now());
  });
}

/** People are told once of each digest and cause, however often it is tried: what is refused stays refused. */
async function announceRefusal(
  tx: Db,
  { fileName, distribution, version, checksum }: rows.ArtifactRow,
  { code, message, platform }: { code: string; message: string; platform: string },
  at: Date,
): Promise<void> {
  const sha256 = parseChecksum(checksum ?? "") ?? null;
  const data = { distribution, version, platform, sha256, code, message };
  const key = `artifact_refused:${fileName}:${sha256 ?? "no digest"}:${code}`;
  if (await noteNotification(tx, { key, kind: "artifact_refused", at, data }))
    await appendEvent(tx, "depots", { notify: "artifact_refused", ...data });
}

/** Wakes replication; starts it if there is none. */
export async function pokeReplication(client: Client, cause: string): Promise<void> {
  await client.workflow.signalWithStart("artifactReplication", {
    workflowId: WORKFLOW_IDS.artifactReplication,
    taskQueue: QUEUES.control,
    args: [{}],
    signal: poke,
    signalArgs: [{ cause }],
    staticSummary: "keeps artifacts on all depots",
  });
}

/** What a try failed with stands at the artifact while the next one is awaited. */
async function remembering<T>({ pool }: ArtifactDeps, id: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isFailure(error))
      await rows.artifactFailed(pool, id, { code: error.code, message: error.message, final: false });
    throw error;
  }
}

async function must(pool: Pool, id: string): Promise<rows.ArtifactRow> {
  const row = await rows.artifactById(pool, id);
  if (row === undefined) throw failure("not_found", { what: `artifact ${id}` });
  return row;
}
