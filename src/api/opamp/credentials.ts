/**
 * Who may connect: the enrollment token of the Authorization header, known by its SHA-256. Answers are cached for a
 * moment, so that a storm of reconnects is not a storm of queries; a revoked token counts for at most that long.
 */
import { createHash } from "node:crypto";
import { findEnrollment } from "../../store/agents.ts";
import type { Pool } from "../../store/database.ts";

export type Credential = { name: string; tokenId: string; labels: Record<string, string> };
export type Credentials = {
  /** The credential of this header, or undefined: refuse with 401. Throws when the database does not answer. */
  check(authorization: string | undefined): Promise<Credential | undefined>;
};

const CACHED_MS = 5_000;
/** Refused tokens are remembered as well, but never without bound. */
const MAX_ENTRIES = 10_000;
const MAX_TOKEN_CHARS = 512;

type Entry = { until: number; credential: Promise<Credential | undefined> };

export function createCredentials({ pool, now }: { pool: Pool; now: () => Date }): Credentials {
  const cache = new Map<string, Entry>();

  const lookUp = async (hash: Buffer): Promise<Credential | undefined> => {
    const found = await findEnrollment(pool, hash, now());
    return found && { name: `token:${found.id}`, tokenId: found.id, labels: found.labels };
  };
  return {
    async check(authorization) {
      const token = /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
      if (token === undefined || token.length > MAX_TOKEN_CHARS) return undefined;
      const hash = createHash("sha256").update(token).digest();
      const key = hash.toString("latin1");
      const cached = cache.get(key);
      if (cached !== undefined && cached.until > now().getTime()) return cached.credential;
      if (cache.size >= MAX_ENTRIES) cache.clear();
      const credential = lookUp(hash);
      cache.set(key, { until: now().getTime() + CACHED_MS, credential });
      // Only answers are kept: after a failed query the next connection asks again.
      return credential.catch((error: unknown) => {
        cache.delete(key);
        throw error;
      });
    },
  };
}
