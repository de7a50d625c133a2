/** Upload of a release over REST: open, send each archive in pieces, finish. */
import { z } from "zod";
import { MAX_UPLOAD_FILES } from "../artifact/upload.ts";
import { releaseParams } from "./release.ts";

/** A bundle is a file of some 16 kB; the server judges it up to 256 KiB. */
const MAX_BUNDLE_CHARS = 256 * 1024;
const fileName = z.string().min(1).max(200);

export const uploadBody = z.strictObject({
  ...releaseParams.shape,
  files: z
    .array(
      z.strictObject({
        fileName,
        sizeBytes: z.int().min(1),
        checksum: z.string().max(4_096).describe("the text of the file with .sha256"),
        bundle: z.string().max(MAX_BUNDLE_CHARS).describe("the text of the file with .sigstore.json"),
      }),
    )
    .min(1)
    .max(MAX_UPLOAD_FILES),
});
export const uploadFile = z.object({
  fileName: z.string(),
  sizeBytes: z.number(),
  received: z.number().describe("bytes that are here: send what follows them"),
  staged: z.boolean().describe("whole, its digest is right, and it is durable"),
});
export const upload = z.object({
  id: z.string(),
  distribution: z.string(),
  version: z.string(),
  files: z.array(uploadFile),
});
export const uploadParams = z.object({ id: z.string().regex(/^[0-9a-f]{32}$/, "is no upload") });
export const pieceParams = uploadParams.extend({ file: fileName });
export const pieceQuery = z.object({ offset: z.coerce.number().int().min(0) });
export const uploaded = z.object({
  distribution: z.string(),
  version: z.string(),
  changed: z
    .boolean()
    .describe("false: everything was known and wanted already; its bytes feed replication all the same"),
  artifacts: z.array(z.uuid()),
});
