/** Where the bytes of artifacts are. */
import type { Db } from "./database.ts";

export type CopyRow = {
  /** `of`: disks of the node that are well. */
  nodes: { node: string; disks: number; of: number; answering: boolean }[];
  staged: string[];
  /** Since when it is called what it was called last. */
  since: Date | null;
};

/** By artifact id: nodes that have it, and hosts whose staging has it. */
export async function copiesOf(db: Db, ids: readonly string[]): Promise<Map<string, CopyRow>> {
  const { rows } = await db.query<CopyRow & { id: string }>(
    `select a.id,
       coalesce((select jsonb_agg(jsonb_build_object('node', d.node_id, 'disks', c.disks, 'of',
           greatest(1, (select count(*) from jsonb_array_elements(d.disks) x where x->>'state' = 'ok')),
           'answering', d.error is null and d.answered_at is not null) order by d.node_id)
         from copies c join depots d using (node_id) where c.sha256 = a.sha256 and c.disks > 0 and d.state <> 'removed'),
         '[]') as nodes,
       coalesce((select array_agg(s.holder order by s.holder) from staging s where s.sha256 = a.sha256), '{}') as staged,
       (select w.since from replication_words w where w.sha256 = a.sha256) as since
     from artifacts a where a.id = any($1::uuid[])`,
    [ids],
  );
  return new Map(rows.map(({ id, ...row }) => [id, row]));
}
