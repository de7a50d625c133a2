/** API tokens of people and automation, and enrollment tokens of agents. Only their hashes are kept. */
import { createHash, randomBytes } from "node:crypto";
import { CHANNELS } from "../domain/channels.ts";
import type { Role } from "../domain/rest/roles.ts";
import { notify, type Db } from "./database.ts";

export const hashSecret = (secret: string): Buffer => createHash("sha256").update(secret).digest();
/** 256 bits of chance; the prefix lets scanners recognise a leaked one. */
export const newSecret = (prefix: "myr_api_" | "myr_enroll_" | "myr_link_" | "myr_session_"): string =>
  prefix + randomBytes(32).toString("base64url");

export type ApiTokenRow = {
  id: string;
  name: string;
  owner: string;
  role: Role;
  createdAt: Date;
  createdBy: string;
  expiresAt: Date | null;
  revokedAt: Date | null;
};
export type EnrollmentTokenRow = Omit<ApiTokenRow, "owner" | "role"> & {
  labels: Record<string, string>;
  /** Name of the token whose agents may come with this one and keep their UIDs. */
  successorOf: string | null;
};

const API_COLUMNS = `id, name, owner, role, created_at as "createdAt", created_by as "createdBy",
  expires_at as "expiresAt", revoked_at as "revokedAt"`;
const ENROLLMENT_COLUMNS = `id, name, labels, created_at as "createdAt", created_by as "createdBy",
  expires_at as "expiresAt", revoked_at as "revokedAt",
  (select p.name from enrollment_tokens p where p.id = enrollment_tokens.successor_of) as "successorOf"`;

type NewApiToken = { name: string; owner: string; role: Role; createdBy: string; expiresAt: Date | null; at: Date };
type NewEnrollmentToken = {
  name: string;
  labels: Record<string, string>;
  createdBy: string;
  expiresAt: Date | null;
  at: Date;
  /** Id of the token that it succeeds. */
  successorOf?: string;
};

/** Creates an API token. The secret is returned this once; undefined when the name is taken. */
export async function createApiToken(db: Db, it: NewApiToken): Promise<(ApiTokenRow & { token: string }) | undefined> {
  const token = newSecret("myr_api_");
  const { rows } = await db.query<ApiTokenRow>(
    `insert into api_tokens (name, owner, role, hash, created_by, expires_at, created_at) values ($1, $2, $3, $4, $5, $6, $7)
     on conflict (name) do nothing returning ${API_COLUMNS}`,
    [it.name, it.owner, it.role, hashSecret(token), it.createdBy, it.expiresAt, it.at],
  );
  return rows[0] && { ...rows[0], token };
}

/** Creates an enrollment token. The secret is returned this once; undefined when the name is taken. */
export async function createEnrollmentToken(
  db: Db,
  it: NewEnrollmentToken,
): Promise<(EnrollmentTokenRow & { token: string }) | undefined> {
  const token = newSecret("myr_enroll_");
  const { rows } = await db.query<EnrollmentTokenRow>(
    `insert into enrollment_tokens (name, labels, hash, created_by, expires_at, created_at, successor_of)
     values ($1, $2, $3, $4, $5, $6, $7)
     on conflict (name) do nothing returning ${ENROLLMENT_COLUMNS}`,
    [it.name, JSON.stringify(it.labels), hashSecret(token), it.createdBy, it.expiresAt, it.at, it.successorOf ?? null],
  );
  if (rows[0] === undefined) return undefined;
  await notify(db, CHANNELS.credentials);
  return { ...rows[0], token };
}

/**
 * Declares a new enrollment token the successor of `id`: agents of the old one may come with it and keep their UIDs. The
 * old one ends at `endsAt`, if that is named and it does not end before. Undefined when there is no such token;
 * `name_taken` when the successor's name is.
 */
export async function rotateEnrollmentToken(
  tx: Db,
  it: { id: string; name: string | undefined; endsAt: Date | null; createdBy: string; at: Date },
): Promise<(EnrollmentTokenRow & { token: string; predecessor: string }) | "name_taken" | undefined> {
  const { rows } = await tx.query<{ name: string; labels: Record<string, string>; names: string[] }>(
    `select name, labels, array(select n.name from enrollment_tokens n) as names
     from enrollment_tokens where id = $1 for update`,
    [it.id],
  );
  const old = rows[0];
  if (old === undefined) return undefined;
  const { createdBy, at } = it;
  const name = it.name ?? nextName(old.name, new Set(old.names));
  const next = { name, labels: old.labels, createdBy, expiresAt: null, at, successorOf: it.id };
  const created = await createEnrollmentToken(tx, next);
  if (created === undefined) return "name_taken";
  if (it.endsAt !== null)
    await tx.query("update enrollment_tokens set expires_at = least(expires_at, $2) where id = $1", [it.id, it.endsAt]);
  return { ...created, predecessor: old.name };
}

const MAX_NAME_CHARS = 63;

/** `web` → `web-2` → `web-3`, the first that is free. */
function nextName(name: string, taken: ReadonlySet<string>): string {
  const [, base = name, number = "1"] = /^(.+)-(\d{1,4})$/.exec(name) ?? [];
  for (let n = Number(number) + 1; ; n++) {
    const next = `${base.slice(0, MAX_NAME_CHARS - `-${n}`.length)}-${n}`;
    if (!taken.has(next)) return next;
  }
}

export const listApiTokens = async (db: Db): Promise<ApiTokenRow[]> =>
  (await db.query<ApiTokenRow>(`select ${API_COLUMNS} from api_tokens order by name`)).rows;

export const listEnrollmentTokens = async (db: Db): Promise<EnrollmentTokenRow[]> =>
  (await db.query<EnrollmentTokenRow>(`select ${ENROLLMENT_COLUMNS} from enrollment_tokens order by name`)).rows;

const TABLES = { api: "api_tokens", enrollment: "enrollment_tokens" } as const;

/** Revokes a token: refused from the next request on. Undefined when there is none; the row as it stands else. */
export async function revokeToken(
  db: Db,
  kind: keyof typeof TABLES,
  id: string,
  at: Date,
): Promise<{ name: string; changed: boolean } | undefined> {
  const table = TABLES[kind];
  const changed = await db.query<{ name: string }>(
    `update ${table} set revoked_at = $2 where id = $1 and revoked_at is null returning name`,
    [id, at],
  );
  if (changed.rows[0] !== undefined) {
    if (kind === "enrollment") await notify(db, CHANNELS.credentials);
    return { name: changed.rows[0].name, changed: true };
  }
  const same = await db.query<{ name: string }>(`select name from ${table} where id = $1`, [id]);
  return same.rows[0] && { name: same.rows[0].name, changed: false };
}

/** The live API token with this secret, or undefined: unknown, expired and revoked look alike. */
export async function findApiToken(
  db: Db,
  secret: string,
  now: Date,
): Promise<{ id: string; name: string; owner: string; role: Role } | undefined> {
  const { rows } = await db.query<{ id: string; name: string; owner: string; role: Role }>(
    `select id, name, owner, role from api_tokens
      where hash = $1 and revoked_at is null and (expires_at is null or expires_at > $2)`,
    [hashSecret(secret), now],
  );
  return rows[0];
}
