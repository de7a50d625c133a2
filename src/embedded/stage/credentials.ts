/** First credentials of an embedded installation, kept in files that only their owner reads. */
import type { Pool } from "../../store/database.ts";
import { createApiToken, createEnrollmentToken, findApiToken } from "../../store/tokens.ts";
import { keptSecret, writeFileWhole } from "./files.ts";
import { join } from "node:path";

export type Credentials = { adminToken: string; adminTokenFile: string; enrollmentTokenFile: string };

const NAME = "quickstart";

/** Makes both tokens at the first time. A database that was replaced gets new ones under the same files. */
export async function openCredentials(pool: Pool, folder: string, now: () => Date): Promise<Credentials> {
  const adminTokenFile = join(folder, "admin-token");
  const enrollmentTokenFile = join(folder, "enrollment-token");
  const known = await pool.query("select 1 from enrollment_tokens where name = $1", [NAME]);
  const make = (file: string, create: () => Promise<{ token: string } | undefined>): Promise<string> => {
    const text = async (): Promise<string> => {
      const created = await create();
      if (created === undefined) throw new Error(`the token of ${file} exists in the database but its file is gone`);
      return created.token;
    };
    return known.rowCount === 0
      ? text().then(async (token) => (await keep(file, token), token))
      : keptSecret(file, text);
  };
  const origin = { name: NAME, createdBy: "system", expiresAt: null };
  const adminToken = await make(adminTokenFile, () =>
    createApiToken(pool, { ...origin, owner: "admin", role: "admin", at: now() }),
  );
  await make(enrollmentTokenFile, () => createEnrollmentToken(pool, { ...origin, labels: {}, at: now() }));
  if ((await findApiToken(pool, adminToken, now())) === undefined)
    throw new Error(`${adminTokenFile} holds a token that the database does not know: remove the data folder`);
  return { adminToken, adminTokenFile, enrollmentTokenFile };
}

const keep = (file: string, token: string): Promise<void> => writeFileWhole(file, `${token}\n`, 0o600);
