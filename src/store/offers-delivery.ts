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
  recipient: string;
  artifactId: string | null;
  fileName: string | null;
  sha256: Buffer | null;
  bundle: string | null;
};

/**
 * The open offers of these recipients, their rollouts locked against a new hold until the transaction ends. One for each
 * recipient: the oldest.
 */
export async function lockOpenOffers(tx: Db, recipients: readonly string[]): Promise<Map<string, OpenOffer>> {
  const { rows } = await tx.query<Row>(
    `select o.id, o.recipient, o.kind, o.direction, o.fleet, o.n, o.version, o.config_hash as "configHash", c.body,
       o.packages_hash as "packagesHash", a.id as "artifactId", a.file_name as "fileName", a.sha256, a.bundle,
       o.sent_at as "sentAt", o.token_at as "tokenAt", r.holds, r.ending
     from offers o join rollouts r using (fleet, n)
       left join configs c on c.hash = o.config_hash left join artifacts a on a.id = o.artifact
     where o.recipient = any($1::uuid[]) and o.closed_at is null
     order by o.fleet, o.n, o.opened_at for share of r`,
    [recipients],
  );
  const offers = new Map<string, OpenOffer>();
  for (const { recipient, artifactId, fileName, sha256, bundle, ...offer } of rows) {
    const complete = artifactId !== null && fileName !== null && sha256 !== null && bundle !== null;
    const artifact = complete ? { id: artifactId, fileName, sha256, bundle } : null;
    if (!offers.has(recipient)) offers.set(recipient, { ...offer, artifact });
  }
  return offers;
}

export type Sending = { offer: string; withToken: boolean };

/** Notes that these offers leave now. Returns those that do: the others were closed meanwhile and must not. */
export async function markAllSent(tx: Db, sendings: readonly Sending[], now: Date): Promise<Set<string>> {
  if (sendings.length === 0) return new Set();
  const ordered = sendings.toSorted((a, b) => (a.offer < b.offer ? -1 : 1));
  const { rows } = await tx.query<{ id: string }>(
    `update offers o set sent_at = coalesce(o.sent_at, $3), token_at = case when s.token then $3 else o.token_at end
     from unnest($1::uuid[], $2::boolean[]) as s(id, token) where o.id = s.id and o.closed_at is null returning o.id`,
    [ordered.map((s) => s.offer), ordered.map((s) => s.withToken), now],
  );
  return new Set(rows.map((row) => row.id));
}

/** `lockOpenOffers` for one recipient. */
export const lockOpenOffer = async (tx: Db, recipient: string): Promise<OpenOffer | undefined> =>
  (await lockOpenOffers(tx, [recipient])).get(recipient);

/** `markAllSent` for one offer: false when it must not leave any more. */
export const markSent = async (tx: Db, offer: string, now: Date, withToken: boolean): Promise<boolean> =>
  (await markAllSent(tx, [{ offer, withToken }], now)).has(offer);

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
