/** What Git says, as rows: the state of the sync, the applied snapshots, the issues of a revision. */
import type { GitObject } from "../domain/gitops/kinds.ts";
import type { Snapshot } from "../domain/gitops/snapshot.ts";
import type { Db } from "./database.ts";

type SnapshotRow = { commit: string; generation: bigint; author: string; subject: string; objects: GitObject[] };

/** The snapshot in force, or undefined before the first valid revision. */
export async function readSnapshot(db: Db): Promise<Snapshot | undefined> {
  const { rows } = await db.query<SnapshotRow>(
    `select s.commit, s.generation, s.author, s.subject, s.objects
       from snapshots s join gitops_state g on g.applied_commit = s.commit`,
  );
  const row = rows[0];
  return row === undefined ? undefined : { ...row, generation: Number(row.generation) };
}
