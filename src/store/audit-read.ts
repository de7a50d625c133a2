/** Reading the audit log, and checking that its chain is whole. */
import { createHash } from "node:crypto";
import { canonicalRow, type AuditEntry } from "./audit.ts";
import { transaction, type Db, type Pool } from "./database.ts";

export type AuditRow = {
  seq: bigint;
  at: Date;
  principal: string;
  claimed: string | null;
  action: string;
  object: string;
  outcome: "accepted" | "refused";
  code: string | null;
  detail: Record<string, unknown>;
};
type ChainRow = AuditRow & { prevHash: Buffer; hash: Buffer };

const COLUMNS = "seq, at, principal, claimed, action, object, outcome, code, detail";

type AuditFilter = {
  before?: bigint | undefined;
  action?: string | undefined;
  object?: string | undefined;
  principal?: string | undefined;
  outcome?: string | undefined;
  limit: number;
};

/** The newest rows first, those before `before` only. */
export async function listAudit(db: Db, filter: AuditFilter): Promise<AuditRow[]> {
  const { rows } = await db.query<AuditRow>(
    `select ${COLUMNS} from audit
      where ($1::bigint is null or seq < $1) and ($2::text is null or action = $2) and ($3::text is null or object = $3)
        and ($4::text is null or principal = $4) and ($5::text is null or outcome = $5)
      order by seq desc limit $6`,
    [
      filter.before ?? null,
      filter.action ?? null,
      filter.object ?? null,
      filter.principal ?? null,
      filter.outcome ?? null,
      filter.limit,
    ],
  );
  return rows;
}

export type ChainHead = { seq: bigint; hash: string };
export type ChainVerdict =
  | { ok: true; rows: number; head: ChainHead | null }
  | { ok: false; rows: number; seq: bigint | null; because: "changed" | "missing_before" | "head_not_found" };

const PAGE = 2_000;
const GENESIS = Buffer.alloc(32);

/**
 * Recomputes the whole chain in one snapshot. A changed row, a removed one in the middle and a removed beginning are
 * found; a cut tail only with `expectHead`, a head hash that was written down before (log, metrics).
 */
export async function verifyAudit(pool: Pool, expectHead?: string): Promise<ChainVerdict> {
  return transaction(pool, async (tx) => {
    await tx.query("set transaction isolation level repeatable read, read only");
    let prev: Buffer = GENESIS;
    let head: ChainHead | null = null;
    let rows = 0;
    let found = expectHead === undefined;
    for (;;) {
      const page = await chainPage(tx, head?.seq ?? 0n);
      for (const row of page) {
        if (!row.prevHash.equals(prev)) return { ok: false, rows, seq: row.seq, because: "missing_before" };
        const hash = createHash("sha256")
          .update(prev)
          .update(canonicalRow(row.at, entryOf(row)))
          .digest();
        if (!hash.equals(row.hash)) return { ok: false, rows, seq: row.seq, because: "changed" };
        prev = row.hash;
        rows += 1;
        head = { seq: row.seq, hash: hash.toString("hex") };
        found ||= head.hash === expectHead;
      }
      if (page.length < PAGE) break;
    }
    return found ? { ok: true, rows, head } : { ok: false, rows, seq: null, because: "head_not_found" };
  });
}

/** The newest row's number and hash, for log and metrics. */
export async function auditHead(db: Db): Promise<ChainHead | null> {
  const { rows } = await db.query<{ seq: bigint; hash: Buffer }>(
    "select seq, hash from audit order by seq desc limit 1",
  );
  return rows[0] === undefined ? null : { seq: rows[0].seq, hash: rows[0].hash.toString("hex") };
}

const chainPage = async (db: Db, after: bigint): Promise<ChainRow[]> =>
  (
    await db.query<ChainRow>(
      `select ${COLUMNS}, prev_hash as "prevHash", hash from audit where seq > $1 order by seq limit ${PAGE}`,
      [after],
    )
  ).rows;

const entryOf = (row: AuditRow): AuditEntry => ({
  principal: row.principal,
  action: row.action,
  object: row.object,
  outcome: row.outcome,
  detail: row.detail,
  ...(row.claimed !== null && { claimed: row.claimed }),
  ...(row.code !== null && { code: row.code }),
});
