/**
 * A worker that is killed at any point of any activity of the sync: the next one completes the cycle, and everything that
 * has to happen once has happened once (contract: "If the leader fails in between, the next sync cycle … completes the work").
 */
import { once } from "node:events";
import { rename } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { applySnapshot, createRolloutWorld } from "../support/rollout-world.ts";
import { CONFIG, object } from "../support/git-repository.ts";
import { bundleSync, createGitSyncWorld, type GitSyncWorld } from "../support/git-sync-world.ts";
import type { KillAt } from "../support/git-sync-worker.ts";

let bundle: Awaited<ReturnType<typeof bundleSync>>;
beforeAll(async () => {
  bundle = await bundleSync();
});
afterAll(() => bundle.remove());

const FILES = {
  "blueprints/base.yaml": object("Blueprint", "base", `{config: ${CONFIG}}`),
  "fleets/a.yaml": object("Fleet", "a", "{selector: {}, blueprint: base}"),
};
const MORE = { "fleets/b.yaml": object("Fleet", "b", "{selector: {}, blueprint: base, priority: 1}") };
const POLL_MS = 1_000;
/** Each death costs the twenty seconds after which Temporal misses the heartbeats; five run at a time. */
const LIMIT_MS = 300_000;

const count = async (world: GitSyncWorld, sql: string): Promise<number> =>
  (await world.database.pool.query<{ n: number }>(`select count(*)::int as n from ${sql}`)).rows[0]?.n ?? -1;
const totals = async (world: GitSyncWorld) => ({
  snapshots: await count(world, "snapshots"),
  applies: await count(world, "audit where action = 'gitops.apply'"),
  notifications: await count(world, "notifications"),
  generation: (await world.state()).generation,
});
const applied = (world: GitSyncWorld, commit: string): Promise<unknown> =>
  world.until("the commit is applied and the planner woken", async () => {
    const { appliedCommit } = await world.state();
    return appliedCommit === commit && (await world.woken()).includes(`snapshot ${commit}`);
  });

/** The first worker dies at `killAt`; the second starts when it is dead. */
async function killed(killAt: KillAt, check: (world: GitSyncWorld, next: () => Promise<void>) => Promise<void>) {
  const world = await createGitSyncWorld(inject("temporalAddress"), bundle.codePath);
  try {
    const first = await world.spawnWorker(killAt);
    const death = once(first, "exit");
    await check(world, async () => {
      expect(await death).toEqual([null, "SIGKILL"]);
      await world.spawnWorker();
    });
  } finally {
    await world.close();
  }
}

const points: KillAt["point"][] = ["begun", "uncommitted", "unanswered"];

describe.concurrent("killed while a valid commit is taken over", () => {
  const table = (["fetchRevision", "validateRevision", "applyRevision"] as const).flatMap((activity) =>
    points.map((point) => ({ activity, point })),
  );
  test.each(table)(
    "$activity, $point: one snapshot, one audit row, the planner woken once",
    async (killAt) => {
      await killed(killAt, async (world, next) => {
        const one = await world.repository.push("one", FILES);
        await world.start(POLL_MS);
        await next();
        await applied(world, one);
        expect(await totals(world)).toEqual({ snapshots: 1, applies: 1, notifications: 0, generation: 1 });
        const two = await world.repository.push("two", MORE);
        await applied(world, two);
        expect(await world.woken()).toEqual([`snapshot ${one}`, `snapshot ${two}`]);
        expect(await totals(world)).toEqual({ snapshots: 2, applies: 2, notifications: 0, generation: 2 });
      });
    },
    LIMIT_MS,
  );
});

describe.concurrent("killed while an invalid commit is refused", () => {
  test.each(points)(
    "validateRevision, %s: one notification, and what comes after it is applied",
    async (point) => {
      await killed({ activity: "validateRevision", point }, async (world, next) => {
        const bad = await world.repository.push("bad", { ...FILES, "fleets/bad.yaml": "kind: [\n" });
        await world.start(POLL_MS);
        await next();
        await world.until("the refusal is known", async () => (await world.state()).rejectedCommit === bad);
        expect(await totals(world)).toEqual({ snapshots: 0, applies: 0, notifications: 1, generation: 0 });
        await world.repository.git("rm", "-q", "fleets/bad.yaml");
        await applied(world, await world.repository.push("good"));
        expect(await totals(world)).toEqual({ snapshots: 1, applies: 1, notifications: 1, generation: 1 });
      });
    },
    LIMIT_MS,
  );
});

describe.concurrent("killed while a failed sync is recorded", () => {
  test.each(points)(
    "recordSyncFailure, %s: the reason is shown, and the next poll applies",
    async (point) => {
      await killed({ activity: "recordSyncFailure", point }, async (world, next) => {
        const one = await world.repository.push("one", FILES);
        const { bare } = world.repository;
        await rename(bare, `${bare}.aside`);
        await world.start(POLL_MS);
        await next();
        await world.until("the failure is known", async () => (await world.state()).errorCode === "sync_failed");
        await rename(`${bare}.aside`, bare);
        await applied(world, one);
        expect(await totals(world)).toEqual({ snapshots: 1, applies: 1, notifications: 0, generation: 1 });
      });
    },
    LIMIT_MS,
  );
});

test(
  "two workers at once, one of them killed again and again: every applied commit stands once",
  async () => {
    const world = await createGitSyncWorld(inject("temporalAddress"), bundle.codePath);
    try {
      let victim = await world.spawnWorker();
      await world.spawnWorker();
      await world.repository.push("one", FILES);
      await world.start(200);
      for (let round = 0; round < 3; round += 1) {
        const commit = await world.repository.push(`round ${round}`, {
          "fleets/a.yaml": `# ${round}\n${FILES["fleets/a.yaml"]}`,
        });
        victim.kill("SIGKILL");
        victim = await world.spawnWorker();
        await applied(world, commit);
      }
      const { snapshots, applies, generation } = await totals(world);
      expect([applies, generation]).toEqual([snapshots, snapshots]);
      const woken = await world.woken();
      expect(new Set(woken).size).toBe(woken.length);
    } finally {
      await world.close();
    }
  },
  LIMIT_MS,
);

test("a snapshot whose signal was lost is planned by the planner's watchdog, within its minute", async () => {
  const world = await createRolloutWorld();
  try {
    await world.begin();
    await world.hosts.add("h0");
    await world.startWorker();
    await world.commit("0.160.0");
    // the host has this version: what is planned is only the standing catch-up, number 0
    await world.until("the first plan", async () => (await world.rollout(0).catch(() => undefined)) !== undefined);
    const { rows } = await world.pool.query<{ objects: string }>(
      "select objects::text from snapshots order by generation desc limit 1",
    );
    const objects = JSON.parse((rows[0]?.objects ?? "").replaceAll("0.160.0", "0.161.0")) as Parameters<
      typeof applySnapshot
    >[2];
    const before = performance.now();
    // what an apply leaves behind when its worker dies before it signals
    await applySnapshot(world.pool, "f".repeat(40), objects);
    await world.until(
      "the plan of the new snapshot",
      async () => (await world.rollout(1).catch(() => undefined)) !== undefined,
      90_000,
    );
    expect(performance.now() - before).toBeLessThan(75_000);
  } finally {
    await world.close();
  }
});
