/** What a download is checked against, and where its bytes are. */
import type { Db } from "./database.ts";

export type Downloadable = {
  fileName: string;
  sha256: string;
  sizeBytes: number;
  /** The agent's offer that references the artifact is open. */
  offered: boolean;
  revoked: boolean;
};

/** The artifact and whether `agent` still has an open offer of it; undefined when it is not verified, or unknown. */
export async function readDownloadable(db: Db, artifact: string, agent: string): Promise<Downloadable | undefined> {
  const { rows } = await db.query<Downloadable>(
    `select a.file_name as "fileName", encode(a.sha256, 'hex') as sha256, a.size_bytes::float8 as "sizeBytes",
       exists (select from offers o where o.recipient = $2 and o.artifact = a.id and o.closed_at is null) as offered,
       r.revoked_at is not null as revoked
     from artifacts a left join releases r using (distribution, version) where a.id = $1 and a.state = 'verified'`,
    [artifact, agent],
  );
  return rows[0];
}

/** Nodes that have the bytes and answered last; those of them that did not answer come last, as a hope. */
export async function downloadSources(db: Db, sha256: string): Promise<{ node: string; readUrl: string }[]> {
  const { rows } = await db.query<{ node: string; readUrl: string }>(
    `select d.node_id as node, d.read_url as "readUrl" from copies c join depots d using (node_id)
     where c.sha256 = decode($1, 'hex') and c.disks > 0 and d.state <> 'removed'
     order by d.error is not null, d.node_id`,
    [sha256],
  );
  return rows;
}
