/**
 * Random schedules of everything that meets at one node: controllers that change the set, writers, listings, the
 * reconciler, restarts, with file operations that take their time. The oracle knows acknowledged answers only.
 */
import { setImmediate as nextTurn, setTimeout as slowDisk } from "node:timers/promises";
import { expect, test } from "vitest";
import {
  bytesOf,
  configOf,
  createTestNode,
  digest,
  fence,
  stream,
  wrongNames,
  type Fault,
  type TestNode,
} from "../../test/support/depot.ts";
import { seededChoose, type Choose } from "../domain/depot/plan-replication.ts";

const CONTENTS = ["a", "b"].map((text) => bytesOf(text));
const STEPS = 30;

type Oracle = {
  sent: { generation: number; wants: Set<string> }[];
  acknowledged: number;
  /** Digests that the node listed and must keep, since no later configuration without them was sent. */
  kept: Set<string>;
  broken: string[];
};

async function runSchedule(seed: number): Promise<string[]> {
  const choose = seededChoose(seed);
  // taking a file away is slow: the gap between its check and the unlink is what this is about
  const slow = (operation: string, path: string): unknown =>
    operation === "rename" && path.includes("/artifacts/") ? slowDisk(choose(25)) : nextTurn();
  const it = await createTestNode({ disks: 1 + choose(2), fault: slow });
  const oracle: Oracle = { sent: [], acknowledged: 0, kept: new Set(), broken: [] };
  const running = new Set<Promise<void>>();
  await it.node.reconcile();
  try {
    for (let step = 0; step < STEPS; step++) {
      const work = oneStep(it, oracle, choose)
        .catch((error: unknown) => void oracle.broken.push(`step ${step}: ${String(error)}`))
        .finally(() => running.delete(work));
      running.add(work);
      for (let i = choose(8); i > 0; i--) await nextTurn();
      if (running.size > 4) await Promise.race(running);
      await check(it, oracle, `step ${step}`);
    }
    await Promise.all(running);
    await it.node.reconcile();
    await check(it, oracle, "at the end");
    return oracle.broken;
  } finally {
    await Promise.allSettled(running);
    await it.remove();
  }
}

async function oneStep(it: TestNode, oracle: Oracle, choose: Choose): Promise<void> {
  const newest = oracle.sent.at(-1)?.generation ?? 0;
  const kind = choose(10);
  if (kind < 4) await changeSet(it, oracle, newest + 1, choose);
  else if (kind < 5 && newest > 1) await staleController(it, oracle, 1 + choose(newest - 1));
  else if (kind < 7) await write(it, oracle, choose);
  else if (kind < 9) await look(it, oracle);
  else await it.node.reconcile();
}

async function changeSet(it: TestNode, oracle: Oracle, generation: number, choose: Choose): Promise<void> {
  const contents = CONTENTS.filter((_, i) => i > 0 || choose(2) === 1); // one comes and goes
  const config = configOf(generation, contents);
  oracle.sent.push({ generation, wants: new Set(config.artifacts) });
  for (const sha256 of oracle.kept) if (!config.artifacts.includes(sha256)) oracle.kept.delete(sha256);
  await it.node.putConfig(config, []).then(
    () => (oracle.acknowledged = Math.max(oracle.acknowledged, generation)),
    (error: { code: string }) => {
      if (error.code !== "depot_generation") throw error;
    },
  );
}

/** Invariant 12: who is behind changes nothing. */
async function staleController(it: TestNode, oracle: Oracle, generation: number): Promise<void> {
  if (generation >= oracle.acknowledged) return;
  const error = await it.node.putConfig(configOf(generation, CONTENTS), []).then(
    () => "accepted",
    (refused: { code: string }) => refused.code,
  );
  if (error !== "depot_generation") oracle.broken.push(`a stale controller was answered ${error}`);
}

async function write(it: TestNode, oracle: Oracle, choose: Choose): Promise<void> {
  const bytes = CONTENTS[choose(CONTENTS.length)] ?? Buffer.alloc(0);
  const cut = choose(4) === 0;
  const generation = Math.max(1, oracle.acknowledged);
  await it.node
    .put(digest(bytes), fence(generation), bytes.length, stream(cut ? bytes.subarray(1) : bytes))
    .catch((error: { code?: string }) => {
      if (error.code === undefined) throw error;
    });
}

/** Invariant 6, and what invariant 7 promises from now on. */
async function look(it: TestNode, oracle: Oracle): Promise<void> {
  if (oracle.acknowledged === 0) return;
  const { generation, list } = await it.node.list();
  const config = oracle.sent.find((sent) => sent.generation === generation);
  for (const sha256 of Object.keys(list)) {
    if (config?.wants.has(sha256) !== true)
      oracle.broken.push(`listed ${sha256} that generation ${generation} does not want`);
    const later = oracle.sent.filter((sent) => sent.generation > generation);
    if (later.every((sent) => sent.wants.has(sha256))) oracle.kept.add(sha256);
  }
}

/** Invariants 1, 3 and 7, by a raw walk of the disks. */
async function check(it: TestNode, oracle: Oracle, when: string): Promise<void> {
  const files = await it.walk();
  for (const sha256 of oracle.kept)
    if (!files.some((name) => name.endsWith(`artifacts/${sha256}`)))
      oracle.broken.push(`${when}: ${sha256.slice(0, 8)} was listed and is gone`);
  const held = it.node.config()?.generation ?? 0;
  if (held < oracle.acknowledged) oracle.broken.push(`${when}: at ${held} after ${oracle.acknowledged}`);
}

const SEEDS = Array.from({ length: 25 }, (_, i) => 1_000 + i);

test("twenty-five seeded schedules: what is listed stays, what is wanted is what is listed, generations only rise", async () => {
  for (const seed of SEEDS) expect({ seed, broken: await runSchedule(seed) }).toEqual({ seed, broken: [] });
}, 120_000);

/**
 * R1: unlink decided at generation 2, in which nobody wants the artifact; generation 3 wants it again meanwhile; the file
 * is listed; then the unlink happens. Returns what was listed at 3, before and after.
 */
async function regressionOne(unlocked: boolean): Promise<{ before: string[]; after: string[] }> {
  const [A = Buffer.alloc(0), B = Buffer.alloc(0)] = CONTENTS;
  const taking = Promise.withResolvers<void>();
  const take = Promise.withResolvers<void>();
  const restore = Promise.withResolvers<void>();
  let armed = false;
  const fault: Fault = async (operation, path) => {
    if (armed && operation === "rename" && path.includes("/artifacts/")) {
      taking.resolve();
      await take.promise;
    }
    if (operation === "open" && path.includes("/trash/")) await restore.promise;
  };
  const it = await createTestNode({ disks: 1, unlocked, fault });
  try {
    await it.node.putConfig(configOf(1, [A, B]), []);
    await it.node.put(digest(A), fence(1), A.length, stream(A));
    await it.node.reconcile();
    armed = true;
    await it.node.putConfig(configOf(2, [B]), []);
    await taking.promise;
    const again = it.node.putConfig(configOf(3, [A, B]), []);
    await Promise.race([again, slowDisk(300)]);
    const listed = async (): Promise<string[]> => {
      const { generation, list } = await it.node.list();
      return generation === 3 ? Object.keys(list) : [];
    };
    const before = await listed();
    take.resolve();
    await again;
    await expect.poll(() => it.walk()).toContain(`0/trash/${digest(A)}`);
    const after = await listed();
    restore.resolve();
    await it.node.reconcile();
    expect(await listed()).toEqual([digest(A)]);
    return { before, after };
  } finally {
    take.resolve();
    restore.resolve();
    await it.remove();
  }
}

test("unlink and re-check are one step: what a generation listed is not taken away in it (R1)", async () => {
  expect(await regressionOne(false)).toEqual({ before: [], after: [] });
});

test("a store that checks and then unlinks breaks that promise in the same schedule", async () => {
  expect(await regressionOne(true)).toEqual({ before: [expect.any(String)], after: [] });
});

test("no name ever has other bytes, whatever is cut", async () => {
  const it = await createTestNode();
  await it.node.putConfig(configOf(1, CONTENTS), []);
  const choose = seededChoose(7);
  const writes = Array.from({ length: 30 }, () => {
    const bytes = CONTENTS[choose(3)] ?? Buffer.alloc(0);
    return it.node.put(
      digest(bytes),
      fence(1),
      undefined,
      stream(choose(3) === 0 ? bytes.subarray(choose(900)) : bytes),
    );
  });
  await Promise.allSettled(writes);
  expect(await wrongNames(it.folders)).toEqual([]);
  await it.remove();
});
