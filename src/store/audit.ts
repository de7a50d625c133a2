/** The audit log: every change by a person, a token or the system, accepted or refused, as a hash chain. */
import { createHash } from "node:crypto";
import type { Db, Pool } from "./database.ts";
import { transaction } from "./database.ts";

export type AuditEntry = {
  principal: string;
  claimed?: string | undefined;
  action: string;
  object: string;
  outcome: "accepted" | "refused";
  code?: string | undefined;
  /** Never a secret: what lands here is shown on pages and exported. */
  detail?: Record<string, unknown>;
};

const LOCK = 7_319_043;
const GENESIS = Buffer.alloc(32);

/** What the hash of a row covers: key order is fixed, so that any reader computes the same bytes. */
export const canonicalRow = (at: Date, entry: AuditEntry): string =>
  JSON.stringify([
    at.toISOString(),
    entry.principal,
    entry.claimed ?? null,
    entry.action,
    entry.object,
    entry.outcome,
    entry.code ?? null,
    // As it will be read back: a Date or an undefined inside is text or nothing in the row.
    sortKeys(JSON.parse(JSON.stringify(entry.detail ?? {})) as unknown),
  ]);

const sortKeys = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([k, v]) => [k, sortKeys(v)]),
  );
};

/** Appends one entry inside the caller's transaction: the change and its audit row are one commit. */
export async function appendAudit(tx: Db, entry: AuditEntry, at: Date): Promise<void> {
  await tx.query("select pg_advisory_xact_lock($1)", [LOCK]);
  const last = await tx.query<{ hash: Buffer }>("select hash from audit order by seq desc limit 1");
  const prev = last.rows[0]?.hash ?? GENESIS;
  const hash = createHash("sha256").update(prev).update(canonicalRow(at, entry)).digest();
  await tx.query(
    `insert into audit (at, principal, claimed, action, object, outcome, code, detail, prev_hash, hash)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      at,
      entry.principal,
      entry.claimed ?? null,
      entry.action,
      entry.object,
      entry.outcome,
      entry.code ?? null,
      JSON.stringify(entry.detail ?? {}),
      prev,
      hash,
    ],
  );
}

/** Appends one entry in a transaction of its own: for refusals, which change nothing else. */
export const audit = (pool: Pool, entry: AuditEntry, at: Date): Promise<void> =>
  transaction(pool, (tx) => appendAudit(tx, entry, at));
