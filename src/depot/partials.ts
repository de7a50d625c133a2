/** What was written before a source gave up or a put was cut, kept a while for the next one. */
import { failure } from "../domain/errors.ts";
import type { Upload } from "./upload.ts";

const PARTIAL_MS = 600_000;
export type Partials = ReturnType<typeof createPartials>;

export function createPartials() {
  const kept = new Map<string, { upload: Upload; expiry: NodeJS.Timeout }>();
  const take = (sha256: string): Upload | undefined => {
    const partial = kept.get(sha256);
    clearTimeout(partial?.expiry);
    kept.delete(sha256);
    return partial?.upload;
  };
  return {
    take,
    bytes: (sha256: string): number => kept.get(sha256)?.upload.bytes() ?? 0,
    /** What was kept when it has exactly `offset` bytes; a new upload for 0. */
    goOn: async (sha256: string, offset: number, begin: () => Promise<Upload>): Promise<Upload> => {
      const upload = take(sha256);
      if (offset > 0 && upload?.bytes() === offset) return upload;
      await upload?.discard();
      if (offset > 0) throw failure("depot_offset", { sent: offset, have: upload?.bytes() ?? 0 });
      return begin();
    },
    keep: (sha256: string, upload: Upload): void => {
      const expiry = setTimeout(() => void take(sha256)?.discard(), PARTIAL_MS).unref();
      kept.set(sha256, { upload, expiry });
    },
    discardAll: async (): Promise<void> => {
      for (const sha256 of Array.from(kept.keys())) await take(sha256)?.discard();
    },
  };
}
