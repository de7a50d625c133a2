/**
 * Leaving the wanted set. The database moves the generation and writes the outbox row with it (migration 0013), whoever
 * changes it; the set is a union over all releases, so that bytes which another release has too stay wanted.
 */
import type { Db } from "./database.ts";
import type { ReleaseName } from "./releases.ts";

/**
 * Nothing of this release is wanted afterwards: depots remove its archives after their grace time, except bytes that
 * another wanted release shares. Rows and proofs stay; a fetch or an upload of the same bytes brings it back. Call it
 * inside a transaction. How many archives it had.
 */
export async function unwantRelease(tx: Db, { distribution, version }: ReleaseName, cause: string): Promise<number> {
  await tx.query("select set_config('myriarch.cause', $1, true)", [cause]);
  const { rowCount } = await tx.query(
    "update artifacts set wanted = false, state = 'removed' where distribution = $1 and version = $2 and wanted",
    [distribution, version],
  );
  // what it is needed for later counts anew
  await tx.query("update releases set unneeded_since = null where distribution = $1 and version = $2", [
    distribution,
    version,
  ]);
  return rowCount ?? 0;
}
