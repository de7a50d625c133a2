/**
 * The first API token of an installation, with the role admin: `node deploy/compose/first-token.ts --config FILE NAME`.
 * Prints the token, once. Every other token is made over the API by somebody who has one; this one needs the database,
 * so it is refused when an admin token that still works exists.
 */
import { parseArgs } from "node:util";
import { loadSettings, secretOf } from "../../src/bin/roles/load.ts";
import { appendAudit } from "../../src/store/audit.ts";
import { openPool, transaction } from "../../src/store/database.ts";
import { migrate } from "../../src/store/migrate.ts";
import { createApiToken, listApiTokens } from "../../src/store/tokens.ts";

const USAGE = "usage: first-token.ts --config FILE NAME";
const { values, positionals } = parseArgs({
  options: { config: { type: "string" }, help: { type: "boolean", default: false } },
  allowPositionals: true,
});
const [name] = positionals;
if (values.help) console.log(USAGE);
else if (values.config === undefined || name === undefined) {
  console.error(USAGE);
  process.exitCode = 2;
} else process.exitCode = await firstToken(values.config, name);

async function firstToken(configFile: string, owner: string): Promise<number> {
  const settings = await loadSettings(configFile);
  const pool = openPool(await secretOf(settings.database.url), (error) => console.error(error.message), 1);
  try {
    await migrate(pool);
    const now = new Date();
    const token = await transaction(pool, async (tx) => {
      const works = (it: { role: string; revokedAt: Date | null; expiresAt: Date | null }): boolean =>
        it.role === "admin" && it.revokedAt === null && (it.expiresAt === null || it.expiresAt > now);
      if ((await listApiTokens(tx)).some(works)) return undefined;
      const created = await createApiToken(tx, {
        name: `first-admin-${now.getTime()}`,
        owner,
        role: "admin",
        createdBy: "installation",
        expiresAt: null,
        at: now,
      });
      if (created === undefined) return undefined;
      const detail = { id: created.id, role: "admin", owner, expiresAt: null };
      const entry = { principal: "installation", action: "tokens.create", outcome: "accepted" } as const;
      await appendAudit(tx, { ...entry, object: `api/${created.name}`, detail }, now);
      return created.token;
    });
    if (token !== undefined) {
      console.log(token);
      return 0;
    }
    console.error("an admin token exists and works: use it to make others, or revoke it first");
    return 1;
  } finally {
    await pool.end();
  }
}
