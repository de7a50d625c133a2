/** Retention: what nothing needs any more leaves the depots, a few releases at a time (design/artifacts, "Replication"). */
import type { Logger } from "pino";
import { chooseExpired } from "../domain/artifact/retention.ts";
import { transaction, type Pool } from "../store/database.ts";
import { readGeneration } from "../store/depots.ts";
import { keptReleases, noteNeeds, removeExpired } from "../store/retention.ts";
import { withActivityFailures } from "./artifact-failure.ts";

export type RetentionDeps = {
  pool: Pool;
  now: () => Date;
  keepForMs: number;
  log: Pick<Logger, "info" | "error">;
};
export type RetentionActivities = ReturnType<typeof createRetentionActivities>;
export type RetentionRun = {
  /** `DISTRIBUTION VERSION` of what was removed. */
  deleted: string[];
  kept: number;
  /** More could go, or something moved meanwhile: the next run comes soon. */
  more: boolean;
};

/** Removed in one run at most, so that a mistake in what is needed is seen before it is everywhere. */
const AT_ONCE = 5;

export function createRetentionActivities(deps: RetentionDeps) {
  return withActivityFailures(
    {
      /** One run: notes since when nobody needs what, and removes what is over its time. Repeating it is harmless. */
      applyRetention: () => applyRetention(deps),
    },
    deps.log,
  );
}

async function applyRetention({ pool, now, keepForMs, log }: RetentionDeps): Promise<RetentionRun> {
  let { generation } = await readGeneration(pool);
  const facts = await noteNeeds(pool, await keptReleases(pool), now());
  const { chosen, more } = chooseExpired(facts, now().getTime(), { keepForMs, atOnce: AT_ONCE });
  const run: RetentionRun = { deleted: [], kept: facts.length, more };
  for (const { distribution, version } of chosen) {
    const release = { distribution, version };
    const removal = await transaction(pool, (tx) => removeExpired(tx, release, { generation, keepForMs, now: now() }));
    if (removal === "deleted") {
      log.info({ ...release, generation }, "nothing needs this release any more: depots remove it");
      run.deleted.push(`${distribution} ${version}`);
      run.kept -= 1;
      generation += 1;
    }
    // somebody else changed the set: everything is read again by the next run
    if (removal === "moved") return { ...run, more: true };
  }
  return run;
}
