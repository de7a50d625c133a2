/** Random schedules of everything that meets at one node (`test/support/depot-schedules.ts`), and the fixed one (R1). */
import { setTimeout as slowDisk } from "node:timers/promises";
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
} from "../../test/support/depot.ts";
import { runSchedules } from "../../test/support/depot-schedules.ts";
import { seededChoose } from "../domain/depot/plan-replication.ts";

const CONTENTS = ["a", "b"].map((text) => bytesOf(text));
/** Many more, with other seeds: `npm run chaos -- depot`. */
const SCHEDULES = 40;

test(`${SCHEDULES} seeded schedules: what is listed stays, what is wanted is what is listed, generations only rise`, async () => {
  expect(await runSchedules(1_000, SCHEDULES)).toEqual([]);
}, 120_000);

test.each([517, 915, 1_018])("schedule %i, which once broke a rule", async (seed) => {
  expect(await runSchedules(seed, 1)).toEqual([]);
});

test("the same schedules notice a store that checks and unlinks in two steps", async () => {
  const broken = await runSchedules(1, 40, { unlocked: true, calm: true });
  expect(broken.flatMap((it) => it.broken).join()).toContain("is wanted and LOST");
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
    await it.node.reconcile();
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
