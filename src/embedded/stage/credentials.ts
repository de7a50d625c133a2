/** First credentials of an embedded installation, kept in files that only their owner reads. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Pool } from "../../store/database.ts";
import { createApiToken, createEnrollmentToken, hashSecret } from "../../store/tokens.ts";
import { writeFileWhole } from "./files.ts";

export type Credentials = { adminToken: string; adminTokenFile: string; enrollmentTokenFile: string };

const NAME = "quickstart";

/** Both tokens are in their files and known to the database afterwards, whatever an earlier start left half done. */
export async function openCredentials(pool: Pool, folder: string, now: () => Date): Promise<Credentials> {
  const adminTokenFile = join(folder, "admin-token");
  const enrollmentTokenFile = join(folder, "enrollment-token");
  const origin = { name: NAME, createdBy: "system", expiresAt: null };
  const adminToken = await openToken(pool, "api_tokens", adminTokenFile, () =>
    createApiToken(pool, { ...origin, owner: "admin", role: "admin", at: now() }),
  );
  await openToken(pool, "enrollment_tokens", enrollmentTokenFile, () =>
    createEnrollmentToken(pool, { ...origin, labels: {}, at: now() }),
  );
  return { adminToken, adminTokenFile, enrollmentTokenFile };
}

async function openToken(
  pool: Pool,
  table: "api_tokens" | "enrollment_tokens",
  file: string,
  create: () => Promise<{ token: string } | undefined>,
): Promise<string> {
  const kept = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  if (kept !== undefined) {
    const known = await pool.query(`select 1 from ${table} where hash = $1`, [hashSecret(kept.trim())]);
    if (known.rowCount !== 0) return kept.trim();
  }
  // A start that was killed between row and file: nobody has ever seen that token.
  await pool.query(`delete from ${table} where name = $1`, [NAME]);
  const created = await create();
  if (created === undefined) throw new Error(`another start makes the token of ${file} at this moment`);
  await writeFileWhole(file, `${created.token}\n`, 0o600);
  return created.token;
}
