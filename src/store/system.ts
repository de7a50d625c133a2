/** Counts over everything, for the overview and the metrics. */
import type { Db } from "./database.ts";

export type SystemCounts = {
  collectors: number;
  updaters: number;
  unknown: number;
  connected: number;
  healthyCollectors: number;
  unassigned: number;
};

export async function countAgents(db: Db): Promise<SystemCounts> {
  const { rows } = await db.query<SystemCounts>(
    `select count(*) filter (where a.kind = 'collector')::int as collectors,
            count(*) filter (where a.kind = 'updater')::int as updaters,
            count(*) filter (where a.kind = 'unknown')::int as unknown,
            count(*) filter (where a.connected)::int as connected,
            count(*) filter (where a.kind = 'collector' and a.connected and a.healthy)::int as "healthyCollectors",
            count(*) filter (where a.kind = 'collector' and w.fleet is null)::int as unassigned
       from agents a left join wanted w on w.host = a.uid`,
  );
  const row = rows[0];
  if (row === undefined) throw new Error("an aggregate without a row");
  return row;
}

export type GitSummary = {
  state: "never" | "ok" | "error";
  seenCommit: string | null;
  appliedCommit: string | null;
  appliedAt: Date | null;
  checkedAt: Date | null;
  errorCode: string | null;
  errorMessage: string | null;
};

export async function gitSummary(db: Db): Promise<GitSummary> {
  const { rows } = await db.query<GitSummary>(
    `select state, seen_commit as "seenCommit", applied_commit as "appliedCommit", applied_at as "appliedAt",
       checked_at as "checkedAt", error_code as "errorCode", error_message as "errorMessage" from gitops_state`,
  );
  const row = rows[0];
  if (row === undefined) throw new Error("the row of gitops_state is gone");
  return row;
}

/** Rollouts of changes by state. */
export async function countRollouts(db: Db): Promise<Map<string, number>> {
  const { rows } = await db.query<{ state: string; count: number }>(
    "select state, count(*)::int as count from rollouts where kind = 'change' group by state",
  );
  return new Map(rows.map(({ state, count }) => [state, count]));
}
