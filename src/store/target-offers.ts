/** Every offer that was made to one target: the part of its history that attempts do not tell. */
import type { Db } from "./database.ts";

export type TargetOffer = {
  /** Null: a withdrawal, which belongs to no attempt. */
  attempt: number | null;
  kind: "package" | "config" | "withdraw";
  direction: "forward" | "back" | "take_back" | "withdraw";
  version: string | null;
  /** Hexadecimal. */
  config: string | null;
  openedAt: Date;
  sentAt: Date | null;
  closedAt: Date | null;
  closeReason: string | null;
};

/** Oldest first. */
export async function readTargetOffers(db: Db, fleet: string, n: number, host: string): Promise<TargetOffer[]> {
  const { rows } = await db.query<TargetOffer>(
    `select o.attempt, o.kind, o.direction, o.version, encode(o.config_hash, 'hex') as config, o.opened_at as "openedAt",
        o.sent_at as "sentAt", o.closed_at as "closedAt", o.close_reason as "closeReason"
       from offers o where o.fleet = $1 and o.n = $2 and o.host = $3 order by o.opened_at, o.id`,
    [fleet, n, host],
  );
  return rows;
}
