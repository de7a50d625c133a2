/**
 * The three steps of an upload (design/artifacts): what it consists of is judged before a byte is taken; bytes are
 * staged durably; then everything becomes a release at once. Each may be repeated.
 */
import type { z } from "zod";
import { describeUpload, judgeRoom } from "../../domain/artifact/upload.ts";
import { failure, isFailure } from "../../domain/errors.ts";
import type * as rest from "../../domain/rest/upload.ts";
import { appendAudit, audit } from "../../store/audit.ts";
import { transaction, type Pool } from "../../store/database.ts";
import { listDepots } from "../../store/depots.ts";
import * as rows from "../../store/uploads.ts";
import { livingWorkers } from "../../store/workers.ts";
import { isAnswering } from "../show-depot.ts";
import { verifyRelease, type SigningSettings } from "../../verify/verify-release.ts";

/** The staging folder as uploads need it; the worker of this host prepared it. */
export type StagingPort = {
  received(sha256: string, holder: string): Promise<{ bytes: number; staged: boolean }>;
  sweep(before: Date): Promise<void>;
  freeBytes(): Promise<number>;
  stagingId(): Promise<string | undefined>;
  append(
    piece: {
      fileName: string;
      sha256: string;
      sizeBytes: number;
      offset: number;
      body: AsyncIterable<Uint8Array>;
    },
    holder: string,
  ): Promise<number>;
};
export type UploadDeps = {
  pool: Pool;
  now: () => Date;
  staging: StagingPort;
  signing: SigningSettings;
  minCopies: number;
  /** Tells replication; rejects when Temporal is away. */
  poke: (cause: string) => Promise<void>;
  log: { warn(fields: object, message: string): void };
};
type Opened = z.output<typeof rest.upload>;

/** Which host's staging this API shares; `no_staging_here` without a worker that lives and takes work. */
async function holderHere({ pool, staging }: UploadDeps): Promise<string> {
  const id = await staging.stagingId();
  const workers = id === undefined ? [] : await livingWorkers(pool, id);
  const taking = workers.find(({ draining }) => draining === null);
  if (taking === undefined) throw failure("no_staging_here", undefined);
  return taking.holder;
}

/**
 * Judges the archives of one release and says how much of each is here. Nothing of it is visible before `finish`. Fails
 * with what `describeUpload` and `verifyRelease` throw, with `artifact_changed`, `upload_no_room`, `no_staging_here`.
 */
export async function open(deps: UploadDeps, body: z.output<typeof rest.uploadBody>, by: string): Promise<Opened> {
  const { distribution, version } = body;
  const entry = { principal: by, action: "release.upload.open", object: `release/${distribution}/${version}` } as const;
  try {
    const holder = await holderHere(deps);
    const upload = await judge(deps, body);
    await deps.staging.sweep(new Date(deps.now().getTime() - rows.UPLOAD_KEPT_MS));
    const files = await standing(deps, upload, holder);
    await checkRoom(deps, upload, files);
    await transaction(deps.pool, async (tx) => {
      await rows.openUpload(tx, upload, by, deps.now());
      const detail = { upload: upload.id, files: upload.files.map(({ fileName, sha256 }) => ({ fileName, sha256 })) };
      await appendAudit(tx, { ...entry, outcome: "accepted", detail }, deps.now());
    });
    return { id: upload.id, distribution, version, files };
  } catch (error) {
    if (isFailure(error))
      await audit(
        deps.pool,
        { ...entry, outcome: "refused", code: error.code, detail: { message: error.message } },
        deps.now(),
      );
    throw error;
  }
}

/** Names, sizes, checksums and signatures: all that can be judged without the archives. */
async function judge(
  { pool, signing }: UploadDeps,
  { distribution, version, files }: z.output<typeof rest.uploadBody>,
): Promise<rows.Upload> {
  const described = describeUpload({ distribution, version }, files);
  const proved: rows.ProvedFile[] = [];
  for (const file of described) {
    const { sha256, bundle, fileName } = file;
    const verification = await verifyRelease(signing, { sha256, bundle, version }).catch((error: unknown) => {
      throw isFailure(error) && error.status === 422
        ? failure("upload_refused", { asset: fileName, code: error.code, because: error.message }, error)
        : error;
    });
    proved.push({ ...file, verification });
  }
  const [changed] = await rows.changedFiles(pool, { distribution, version }, described);
  if (changed !== undefined) throw failure("artifact_changed", { asset: changed });
  return { id: rows.uploadId({ distribution, version }, described), distribution, version, files: proved };
}

const standing = ({ staging }: UploadDeps, upload: rows.Upload, holder: string): Promise<Opened["files"]> =>
  Promise.all(
    upload.files.map(async ({ fileName, sizeBytes, sha256 }) => {
      const { bytes, staged } = await staging.received(sha256, holder);
      return { fileName, sizeBytes, received: bytes, staged };
    }),
  );

async function checkRoom({ pool, staging, minCopies }: UploadDeps, upload: rows.Upload, files: Opened["files"]) {
  const unwanted = await rows.unwantedOf(
    pool,
    upload.files.map(({ sha256 }) => sha256),
  );
  const depots = await listDepots(pool);
  const because = judgeRoom({
    stagingBytes: sum(files.filter(({ staged }) => !staged).map((it) => it.sizeBytes - it.received)),
    stagingFreeBytes: await staging.freeBytes(),
    depotBytes: sum(upload.files.filter(({ sha256 }) => unwanted.has(sha256)).map(({ sizeBytes }) => sizeBytes)),
    depots: depots
      .filter((depot) => isAnswering(depot) && depot.state === "active")
      .map(({ nodeId, disks }) => ({
        nodeId,
        freeBytes: disks.flatMap(({ freeBytes }) => (freeBytes === null ? [] : [freeBytes])),
      })),
    minCopies,
  });
  if (because !== undefined) throw failure("upload_no_room", { because });
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

/**
 * Takes a piece of one archive; durable when it answers. Fails with `upload_offset` when something else than `offset` is
 * here, or when the piece was cut; with `digest_mismatch` when the whole is not what was announced: it begins anew then.
 */
export async function receive(
  deps: UploadDeps,
  at: { id: string; file: string; offset: number },
  body: AsyncIterable<Uint8Array>,
): Promise<Opened["files"][number]> {
  const holder = await holderHere(deps);
  const upload = await rows.touchUpload(deps.pool, at.id, deps.now());
  if (upload === undefined) throw failure("not_found", { what: `upload ${at.id}` });
  const file = upload.files.find(({ fileName }) => fileName === at.file);
  if (file === undefined) throw failure("not_found", { what: `${at.file} of upload ${at.id}` });
  const { fileName, sha256, sizeBytes } = file;
  const received = await deps.staging.append({ fileName, sha256, sizeBytes, offset: at.offset, body }, holder);
  return { fileName, sizeBytes, received, staged: received === sizeBytes };
}

/**
 * Everything of the upload is verified and wanted afterwards, or nothing is: `upload_unfinished` names what is missing.
 * Replication is fed again, also when every byte was known (depot-anchors I2) or deleted before (I4).
 */
export async function finish(deps: UploadDeps, id: string, by: string): Promise<z.output<typeof rest.uploaded>> {
  const upload = await rows.touchUpload(deps.pool, id, deps.now());
  if (upload === undefined) throw failure("not_found", { what: `upload ${id}` });
  const { distribution, version, files } = upload;
  const living = new Set((await livingWorkers(deps.pool)).map(({ holder }) => holder));
  const finished = await transaction(deps.pool, async (tx) => {
    // the names of a removed release stay, and so do its bytes: judged again, another upload may have come first
    const [changed] = await rows.changedFiles(tx, upload, files);
    if (changed !== undefined) throw failure("artifact_changed", { asset: changed });
    const staged = await rows.stagingOf(
      tx,
      files.map(({ sha256 }) => sha256),
    );
    const missing = files.filter(({ sha256 }) => staged.get(sha256)?.some((holder) => living.has(holder)) !== true);
    if (missing.length > 0)
      throw failure("upload_unfinished", { missing: missing.map(({ fileName }) => fileName).join(", ") });
    return rows.finishUpload(tx, id, by, deps.now());
  });
  if (finished === undefined) throw failure("not_found", { what: `upload ${id}` });
  await deps.poke(`upload of ${distribution} ${version}`).catch((error: unknown) => {
    deps.log.warn(
      { err: error, distribution, version },
      "an upload is staged; replication starts when Temporal answers",
    );
  });
  return { distribution, version, ...finished };
}
