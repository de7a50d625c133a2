/** What agents show at the door: enrollment tokens by their hash, client certificates by their subject. */
import type { Db } from "./database.ts";

export type Enrollment = {
  id: string;
  name: string;
  labels: Record<string, string>;
  expiresAt: Date | null;
  /** Tokens that this one was declared to succeed, nearest or not. */
  succeeds: string[];
};

/** The enrollment tokens with these hashes that count, by hash in hexadecimal. */
export async function findEnrollments(
  db: Db,
  hashes: readonly Uint8Array[],
  now: Date,
): Promise<Map<string, Enrollment>> {
  const { rows } = await db.query<Enrollment & { hash: string }>(
    `with recursive live as (
       select id, name, labels, expires_at, successor_of, encode(hash, 'hex') as hash from enrollment_tokens
       where hash = any($1::bytea[]) and revoked_at is null and (expires_at is null or expires_at > $2)),
     line as (
       select id as token, successor_of as elder from live where successor_of is not null
       union select l.token, t.successor_of from line l join enrollment_tokens t on t.id = l.elder
       where t.successor_of is not null)
     select id, name, labels, expires_at as "expiresAt", hash,
       array(select elder::text from line where token = live.id) as succeeds from live`,
    [hashes, now],
  );
  return new Map(rows.map(({ hash, ...row }) => [hash, row]));
}

/** Of these enrollment tokens, the ones that count no more. */
export async function endedEnrollments(db: Db, ids: readonly string[], now: Date): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `select asked.id from unnest($1::uuid[]) as asked(id) left join enrollment_tokens t using (id)
     where t.id is null or t.revoked_at is not null or t.expires_at <= $2`,
    [ids, now],
  );
  return rows.map((row) => row.id);
}

/** Of these subjects of client certificates, the denied ones. */
export async function deniedSubjects(db: Db, subjects: readonly string[]): Promise<string[]> {
  const { rows } = await db.query<{ subject: string }>(
    "select subject from denied_certificates where subject = any($1::text[])",
    [subjects],
  );
  return rows.map((row) => row.subject);
}

export type DeniedCertificate = { subject: string; reason: string; deniedBy: string; deniedAt: Date };
const COLUMNS = `subject, reason, denied_by as "deniedBy", denied_at as "deniedAt"`;

export const listDenied = async (db: Db): Promise<DeniedCertificate[]> =>
  (await db.query<DeniedCertificate>(`select ${COLUMNS} from denied_certificates order by subject`)).rows;

/** From now on certificates of this subject are refused. False when they were already. */
export async function denyCertificate(db: Db, it: DeniedCertificate): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into denied_certificates (subject, reason, denied_by, denied_at) values ($1, $2, $3, $4)
     on conflict (subject) do nothing`,
    [it.subject, it.reason, it.deniedBy, it.deniedAt],
  );
  return rowCount === 1;
}

/** Certificates of this subject count again. False when they were not denied. */
export async function allowCertificate(db: Db, subject: string): Promise<boolean> {
  return (await db.query("delete from denied_certificates where subject = $1", [subject])).rowCount === 1;
}
