/** What Git says, as rows: the state of the sync, judged revisions with their issues, the applied snapshots. */
import type { Change } from "../domain/gitops/change.ts";
import type { Issue } from "../domain/gitops/issue-codes.ts";
import type { GitObject } from "../domain/gitops/kinds.ts";
import type { Snapshot } from "../domain/gitops/snapshot.ts";
import { afterSync, type SyncEvent, type SyncState } from "../domain/gitops/sync-state.ts";
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

export type GitopsState = SyncState & {
  appliedAt: Date | null;
  checkedAt: Date | null;
  generation: number;
  /** A webhook's delivery that no fetch has answered yet. */
  deliveryAt: Date | null;
};

const STATE = `select state, seen_commit as "seenCommit", applied_commit as "appliedCommit", applied_at as "appliedAt",
    checked_at as "checkedAt", error_code as "errorCode", error_message as "errorMessage",
    rejected_commit as "rejectedCommit", generation, delivery_at as "deliveryAt" from gitops_state`;

/** The state of the sync; with `lock` nobody else changes it before the caller's transaction ends. */
export async function readGitopsState(db: Db, lock = false): Promise<GitopsState> {
  const { rows } = await db.query<Omit<GitopsState, "generation"> & { generation: bigint }>(
    lock ? `${STATE} for update` : STATE,
  );
  const row = rows[0];
  if (row === undefined) throw new Error("gitops_state has no row");
  return { ...row, generation: Number(row.generation) };
}

/** Applies an event to the state inside the caller's transaction; `before` must have been read with `lock`. */
export async function recordSync(tx: Db, before: GitopsState, event: SyncEvent, at: Date): Promise<void> {
  const after = afterSync(before, event);
  const isApplied = event.kind === "applied";
  await tx.query(
    `update gitops_state set state = $1, seen_commit = $2, applied_commit = $3, rejected_commit = $4, error_code = $5,
       error_message = $6, checked_at = $7, applied_at = $8, generation = $9`,
    [
      after.state,
      after.seenCommit,
      after.appliedCommit,
      after.rejectedCommit,
      after.errorCode,
      after.errorMessage,
      at,
      isApplied ? at : before.appliedAt,
      before.generation + (isApplied ? 1 : 0),
    ],
  );
}

/** A webhook that waits for a sync: in a row, so that it is not lost while Temporal is away. */
export async function noteDelivery(db: Db, at: Date): Promise<void> {
  await db.query("update gitops_state set delivery_at = $1", [at]);
}

/** Deliveries up to `since` are answered: the head was fetched after them. */
export async function clearDelivery(db: Db, since: Date): Promise<void> {
  await db.query("update gitops_state set delivery_at = null where delivery_at <= $1", [since]);
}

export type Judged = {
  commit: string;
  author: string;
  subject: string;
  at: Date;
  issues: readonly Issue[];
  /** Undefined when the revision is invalid. */
  objects: readonly GitObject[] | undefined;
};

/** Stores a verdict with its issues, in place of an earlier one on the same commit. Older verdicts are removed. */
export async function saveJudged(tx: Db, { commit, author, subject, at, issues, objects }: Judged): Promise<void> {
  const errors = issues.filter(({ severity }) => severity === "error").length;
  const others = `commit <> $1 and commit not in (select coalesce(applied_commit, '') from gitops_state)`;
  await tx.query(`delete from gitops_revisions where ${others}`, [commit]);
  await tx.query(`delete from gitops_issues where ${others} or commit = $1`, [commit]);
  await tx.query(
    `insert into gitops_revisions (commit, author, subject, judged_at, errors, warnings, objects)
     values ($1, $2, $3, $4, $5, $6, $7)
     on conflict (commit) do update set author = excluded.author, subject = excluded.subject,
       judged_at = excluded.judged_at, errors = excluded.errors, warnings = excluded.warnings, objects = excluded.objects`,
    [
      commit,
      author,
      subject,
      at,
      errors,
      issues.length - errors,
      objects === undefined ? null : JSON.stringify(objects),
    ],
  );
  await tx.query(
    `insert into gitops_issues (commit, n, issue)
     select $1, n, issue from jsonb_array_elements($2::jsonb) with ordinality as t (issue, n)`,
    [commit, JSON.stringify(issues)],
  );
}

export type StoredRevision = { author: string; subject: string; objects: GitObject[] | null };

export async function readJudged(db: Db, commit: string): Promise<StoredRevision | undefined> {
  const { rows } = await db.query<StoredRevision>(
    "select author, subject, objects from gitops_revisions where commit = $1",
    [commit],
  );
  return rows[0];
}

/** Issues of one revision, in their order. */
export async function readIssues(db: Db, commit: string, limit = 1_000): Promise<Issue[]> {
  const { rows } = await db.query<{ issue: Issue }>(
    "select issue from gitops_issues where commit = $1 order by n limit $2",
    [commit, limit],
  );
  return rows.map(({ issue }) => issue);
}

/** The applied snapshot becomes a row; a commit that is applied again (after a force-push back) takes its new place. */
export async function saveSnapshot(tx: Db, snapshot: Snapshot, change: Change, at: Date): Promise<void> {
  await tx.query(
    `insert into snapshots (commit, generation, applied_at, author, subject, objects, change)
     values ($1, $2, $3, $4, $5, $6, $7)
     on conflict (commit) do update set generation = excluded.generation, applied_at = excluded.applied_at,
       author = excluded.author, subject = excluded.subject, objects = excluded.objects, change = excluded.change`,
    [
      snapshot.commit,
      snapshot.generation,
      at,
      snapshot.author,
      snapshot.subject,
      JSON.stringify(snapshot.objects),
      JSON.stringify(change),
    ],
  );
}

/** What the apply of the snapshot in force changed. */
export async function readAppliedChange(db: Db): Promise<Change | undefined> {
  const { rows } = await db.query<{ change: Change | null }>(
    "select s.change from snapshots s join gitops_state g on g.applied_commit = s.commit",
  );
  return rows[0]?.change ?? undefined;
}

/** Objects of a commit that was applied, or judged valid, and is still kept. */
export async function readCommit(db: Db, commit: string): Promise<GitObject[] | undefined> {
  const { rows } = await db.query<{ objects: GitObject[] }>(
    `select objects from snapshots where commit = $1
     union all select objects from gitops_revisions where commit = $1 and objects is not null limit 1`,
    [commit],
  );
  return rows[0]?.objects;
}
