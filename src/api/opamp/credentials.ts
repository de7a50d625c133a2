/**
 * Who may connect: the enrollment token of the Authorization header, known by its SHA-256, or without one the client
 * certificate. Answers count for two seconds, and a notification ends them at once, so whoever loses its credential
 * cannot come back with it for longer than that.
 */
import { createHash } from "node:crypto";
import { deniedSubjects, endedEnrollments, findEnrollments, type Enrollment } from "../../store/credentials.ts";
import type { Pool } from "../../store/database.ts";
import { createAskedTogether } from "./asked-together.ts";
import type { ShownCertificate } from "./client-certificate.ts";

export type Credential = {
  /** What rows hold: `token:<id>` or `cert:<subject>`. */
  name: string;
  /** What people call it: the token's name, the subject. */
  title: string;
  labels: Record<string, string>;
  /** Names of the credentials whose agents it may bring: it was declared their successor. */
  succeeds: readonly string[];
  /** When it ends by itself; undefined: never. */
  endsAtMs: number | undefined;
};
export type Shown = { authorization: string | undefined; certificate: ShownCertificate };
export type Credentials = {
  /** The credential that is shown, or undefined: refuse with 401. Rejects when the database does not answer. */
  check(shown: Shown): Promise<Credential | undefined>;
  /** Of these, the names of those that were revoked, denied, or are over by their row. */
  ended(credentials: Iterable<Credential>): Promise<Set<string>>;
  /** Something changed: answers from before count no more. */
  forget(): void;
};

const CACHED_MS = 2_000;
const MAX_TOKEN_CHARS = 512;
const TOKEN = "token:";
const CERTIFICATE = "cert:";

export function createCredentials({ pool, now }: { pool: Pool; now: () => Date }): Credentials {
  const cached = { keepMs: CACHED_MS, nowMs: () => performance.now() };
  const tokens = createAskedTogether<Enrollment>({
    ...cached,
    query: (hashes) =>
      findEnrollments(
        pool,
        hashes.map((hash) => Buffer.from(hash, "hex")),
        now(),
      ),
  });
  const denied = createAskedTogether<true>({
    ...cached,
    query: async (subjects) => new Map((await deniedSubjects(pool, subjects)).map((subject) => [subject, true])),
  });

  const byToken = async (authorization: string): Promise<Credential | undefined> => {
    const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
    if (token === undefined || token.length > MAX_TOKEN_CHARS) return undefined;
    const found = await tokens.ask(createHash("sha256").update(token).digest("hex"));
    if (found === undefined) return undefined;
    const endsAtMs = found.expiresAt?.getTime();
    return endsAtMs !== undefined && endsAtMs <= now().getTime() ? undefined : tokenCredential(found, endsAtMs);
  };
  const byCertificate = async ({ subject, validToMs }: Extract<ShownCertificate, { shown: "valid" }>) =>
    (await denied.ask(subject)) === true
      ? undefined
      : { name: CERTIFICATE + subject, title: subject, labels: {}, succeeds: [], endsAtMs: validToMs };

  return {
    async check({ authorization, certificate }) {
      // A token that is shown counts, or nothing does: a refused one must not pass by another way.
      if (authorization !== undefined) return byToken(authorization);
      return certificate.shown === "valid" ? byCertificate(certificate) : undefined;
    },
    async ended(credentials) {
      const names = new Set(Array.from(credentials, ({ name }) => name));
      const named = (kind: string) =>
        Array.from(names).flatMap((name) => (name.startsWith(kind) ? [name.slice(kind.length)] : []));
      const [ids, subjects] = [named(TOKEN), named(CERTIFICATE)];
      const endedIds = ids.length === 0 ? [] : await endedEnrollments(pool, ids, now());
      const endedSubjects = subjects.length === 0 ? [] : await deniedSubjects(pool, subjects);
      return new Set([...endedIds.map((id) => TOKEN + id), ...endedSubjects.map((subject) => CERTIFICATE + subject)]);
    },
    forget() {
      tokens.forget();
      denied.forget();
    },
  };
}

const tokenCredential = (found: Enrollment, endsAtMs: number | undefined): Credential => ({
  name: TOKEN + found.id,
  title: found.name,
  labels: found.labels,
  succeeds: found.succeeds.map((id) => TOKEN + id),
  endsAtMs,
});
