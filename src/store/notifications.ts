/** What people have to be told: an outbox, each occasion once, kept for pages and for whatever delivers. */
import type { Db } from "./database.ts";

export type Notification = {
  id: bigint;
  kind: string;
  at: Date;
  data: Record<string, unknown>;
  deliveredAt: Date | null;
};

/**
 * Notes an occasion inside the caller's transaction, so that it is told exactly when its change is. False when it was
 * noted before. `data` never holds a secret.
 */
export async function noteNotification(
  tx: Db,
  { key, kind, at, data }: Pick<Notification, "kind" | "at" | "data"> & { key: string },
): Promise<boolean> {
  const { rowCount } = await tx.query(
    "insert into notifications (key, kind, at, data) values ($1, $2, $3, $4) on conflict (key) do nothing",
    [key, kind, at, JSON.stringify(data)],
  );
  return rowCount === 1;
}

/** The newest first, those before `before` only. */
export async function listNotifications(
  db: Db,
  { before, kind, limit }: { before?: bigint | undefined; kind?: string | undefined; limit: number },
): Promise<Notification[]> {
  const { rows } = await db.query<Notification>(
    `select id, kind, at, data, delivered_at as "deliveredAt" from notifications
      where ($1::bigint is null or id < $1) and ($2::text is null or kind = $2) order by id desc limit $3`,
    [before ?? null, kind ?? null, limit],
  );
  return rows;
}
