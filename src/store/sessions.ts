/** Sessions of browsers, and the one-time links that open the first one in development mode. */
import type { Role } from "../domain/rest/roles.ts";
import { transaction, type Db, type Pool } from "./database.ts";
import { hashSecret, newSecret } from "./tokens.ts";

export const SESSION_MS = 12 * 3_600_000;
export const LOGIN_LINK_MS = 15 * 60_000;

export type SessionRow = { principal: string; role: Role; expiresAt: Date };

/** Makes a link secret that opens one session within 15 minutes. */
export async function createLoginLink(db: Db, it: { principal: string; role: Role; now: Date }): Promise<string> {
  const secret = newSecret("myr_link_");
  await db.query("insert into login_links (hash, principal, role, expires_at) values ($1, $2, $3, $4)", [
    hashSecret(secret),
    it.principal,
    it.role,
    new Date(it.now.getTime() + LOGIN_LINK_MS),
  ]);
  return secret;
}

/** Uses a link up and opens a session; undefined when the link is unknown, used or too old. */
export async function openSession(
  pool: Pool,
  link: string,
  now: Date,
): Promise<(SessionRow & { secret: string }) | undefined> {
  return transaction(pool, async (tx) => {
    const { rows } = await tx.query<{ principal: string; role: Role }>(
      `update login_links set used_at = $2 where hash = $1 and used_at is null and expires_at > $2
       returning principal, role`,
      [hashSecret(link), now],
    );
    const user = rows[0];
    if (user === undefined) return undefined;
    const secret = newSecret("myr_session_");
    const expiresAt = new Date(now.getTime() + SESSION_MS);
    await tx.query("delete from sessions where expires_at < $1", [now]);
    await tx.query("insert into sessions (hash, principal, role, created_at, expires_at) values ($1, $2, $3, $4, $5)", [
      hashSecret(secret),
      user.principal,
      user.role,
      now,
      expiresAt,
    ]);
    return { ...user, expiresAt, secret };
  });
}

type TokenHolder = { id: string; owner: string; role: Role };

/** Opens a session for whoever holds a live API token: it ends with the token, after 12 hours at the latest. */
export async function openTokenSession(
  db: Db,
  token: TokenHolder,
  now: Date,
): Promise<SessionRow & { secret: string }> {
  const secret = newSecret("myr_session_");
  const expiresAt = new Date(now.getTime() + SESSION_MS);
  await db.query(
    "insert into sessions (hash, principal, role, created_at, expires_at, token) values ($1, $2, $3, $4, $5, $6)",
    [hashSecret(secret), token.owner, token.role, now, expiresAt, token.id],
  );
  return { principal: token.owner, role: token.role, expiresAt, secret };
}

/** The live session with this secret; a session opened by a token that was revoked or expired is not live. */
export async function findSession(db: Db, secret: string, now: Date): Promise<SessionRow | undefined> {
  const { rows } = await db.query<SessionRow>(
    `select s.principal, s.role, s.expires_at as "expiresAt"
       from sessions s left join api_tokens t on t.id = s.token
      where s.hash = $1 and s.expires_at > $2
        and (s.token is null or (t.revoked_at is null and (t.expires_at is null or t.expires_at > $2)))`,
    [hashSecret(secret), now],
  );
  return rows[0];
}

/** Ends a session at once. */
export async function endSession(db: Db, secret: string): Promise<void> {
  await db.query("delete from sessions where hash = $1", [hashSecret(secret)]);
}
