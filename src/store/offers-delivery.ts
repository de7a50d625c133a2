/**
 * Open offers as the process that holds the agent's connection reads them: complete, with the hold of their rollout. The
 * rollout's row is locked in shared mode first: a pause that commits before us is seen, one that comes later finds
 * `sent_at` set. Whoever opens or closes offers takes the same locks in the same order (rollout, then offer).
 */
import type { OfferDirection } from "../domain/agents/offer-gate.ts";
import type { Holds } from "../domain/rollout/holds.ts";
import type { Db } from "./database.ts";

export type OfferedArtifact = { id: string; fileName: string; sha256: Buffer; bundle: string };
export type OpenOffer = {
  id: string;
  kind: "package" | "config" | "withdraw";
  direction: OfferDirection;
  fleet: string;
  n: number;
  version: string | null;
  configHash: Buffer | null;
  /** Rendered bytes of `configHash`. */
  body: Buffer | null;
  packagesHash: Buffer | null;
  artifact: OfferedArtifact | null;
  sentAt: Date | null;
  tokenAt: Date | null;
  holds: Holds;
  ending: string | null;
};

type Row = Omit<OpenOffer, "artifact"> & {
  artifactId: string | null;
  fileName: string | null;
  sha256: Buffer | null;
  bundle: string | null;
};

/** The open offer of this recipient, its rollout locked against a new hold until the transaction ends. */
export async function lockOpenOffer(tx: Db, recipient: string): Promise<OpenOffer | undefined> {
  const { rows } = await tx.query<Row>(
    `select o.id, o.kind, o.direction, o.fleet, o.n, o.version, o.config_hash as "configHash", c.body,
       o.packages_hash as "packagesHash", a.id as "artifactId", a.file_name as "fileName", a.sha256, a.bundle,
       o.sent_at as "sentAt", o.token_at as "tokenAt", r.holds, r.ending
     from offers o join rollouts r using (fleet, n)
       left join configs c on c.hash = o.config_hash left join artifacts a on a.id = o.artifact
     where o.recipient = $1 and o.closed_at is null order by o.opened_at limit 1 for share of r`,
    [recipient],
  );
  const row = rows[0];
  if (row === undefined) return undefined;
  const { artifactId, fileName, sha256, bundle, ...offer } = row;
  const complete = artifactId !== null && fileName !== null && sha256 !== null && bundle !== null;
  return { ...offer, artifact: complete ? { id: artifactId, fileName, sha256, bundle } : null };
}

/** Notes that the offer leaves now, with a token of now. False: it was closed meanwhile and must not leave. */
export async function markSent(tx: Db, offer: string, now: Date, withToken: boolean): Promise<boolean> {
  const changed = await tx.query(
    `update offers set sent_at = coalesce(sent_at, $2), token_at = case when $3 then $2 else token_at end
     where id = $1 and closed_at is null`,
    [offer, now, withToken],
  );
  return changed.rowCount === 1;
}

/**
 * Recipients with an open offer that was never sent, or whose token was minted before `halfSpentBefore` (null: tokens
 * never age). At most `limit`, oldest first.
 */
export async function recipientsDue(db: Db, halfSpentBefore: Date | null, limit: number): Promise<string[]> {
  const { rows } = await db.query<{ recipient: string }>(
    `select recipient from offers where closed_at is null
       and (sent_at is null or (kind <> 'config' and token_at < $1::timestamptz))
     order by opened_at limit $2`,
    [halfSpentBefore, limit],
  );
  return rows.map((row) => row.recipient);
}
