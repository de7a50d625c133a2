/** Where the bytes of artifacts are. */
import type { Db } from "./database.ts";

export type CopyRow = { nodes: { node: string; disks: number; answering: boolean }[]; staged: string[] };

/** By artifact id: nodes that have it, and hosts whose staging has it. */
export async function copiesOf(db: Db, ids: readonly string[]): Promise<Map<string, CopyRow>> {
  const { rows } = await db.query<CopyRow & { id: string }>(
    `select a.id,
       coalesce((select jsonb_agg(jsonb_build_object('node', d.node_id, 'disks', c.disks,
           'answering', d.error is null and d.answered_at is not null) order by d.node_id)
         from copies c join depots d using (node_id) where c.sha256 = a.sha256 and c.disks > 0 and d.state <> 'removed'),
         '[]') as nodes,
       coalesce((select array_agg(s.holder order by s.holder) from staging s where s.sha256 = a.sha256), '{}') as staged
     from artifacts a where a.id = any($1::uuid[])`,
    [ids],
  );
  return new Map(rows.map(({ id, nodes, staged }) => [id, { nodes, staged }]));
}
