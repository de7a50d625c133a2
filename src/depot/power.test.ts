/**
 * A process or a machine that dies at every single file operation of what a node does (depot-anchors 2.2: write, fsync,
 * rename, fsync of the folder, unlink, configuration). What was acknowledged is there afterwards; everything else is as
 * before or as after, never something between.
 */
import { afterEach, describe, expect, test } from "vitest";
import { bytesOf, configOf, createTestNode, digest, fence, readAll, stream } from "../../test/support/depot.ts";
import type { TestNode } from "../../test/support/depot.ts";
import { createForgetfulDisks, osError, type ForgetfulDisks } from "../../test/support/forgetful-disks.ts";
import { seededChoose } from "../domain/depot/plan-replication.ts";

const A = bytesOf("a");
const B = bytesOf("b");
const [a, b] = [digest(A), digest(B)];
const GRACE_MS = 600_000;

type Death = "the process is killed" | "the power goes";
type Mortal = { it: TestNode; disks: ForgetfulDisks };
const nodes: TestNode[] = [];
afterEach(async () => {
  for (const node of nodes.splice(0)) await node.remove();
});

/** Does `work`, and dies before its `at`th file operation. Whether it got there. */
async function dies(
  death: Death,
  at: number,
  before: (it: TestNode, disks: ForgetfulDisks) => Promise<void>,
  work: (it: TestNode) => Promise<unknown>,
): Promise<Mortal & { answered: boolean; died: boolean }> {
  let left: number | undefined;
  const disks = createForgetfulDisks(2, async () => {
    if (left === undefined || left-- > 0) return;
    left = undefined;
    died = true;
    if (death === "the process is killed") disks.kill();
    else disks.cutPower(seededChoose(at));
    throw osError("EIO");
  });
  let died = false;
  const it = await createTestNode({ memory: disks });
  nodes.push(it);
  await it.node.reconcile();
  await before(it, disks);
  left = at;
  const answered = await work(it).then(
    () => !died,
    () => false,
  );
  left = undefined;
  if (!died) disks.cutPower(seededChoose(at)); // right after the answer
  await it.restart();
  return { it, disks, answered, died };
}

/** Once for each operation, until one comes that the work does not get to. */
async function atEach(
  death: Death,
  before: (it: TestNode, disks: ForgetfulDisks) => Promise<void>,
  work: (it: TestNode) => Promise<unknown>,
  then: (mortal: Mortal & { answered: boolean }) => Promise<void>,
): Promise<number> {
  for (let at = 0; ; at++) {
    const mortal = await dies(death, at, before, work);
    await then(mortal);
    if (!mortal.died) return at;
    await mortal.it.remove();
    nodes.pop();
  }
}

const namesOf = ({ disks }: Mortal, folder: string): string[][] => disks.paths.map((_, i) => disks.names(i, folder));
function expectRightNames({ disks }: Mortal): void {
  for (const [i] of disks.paths.entries())
    for (const name of disks.names(i, "artifacts"))
      expect(digest(disks.read(i, `artifacts/${name}`) ?? Buffer.alloc(0))).toBe(name);
}
const withConfig = async (it: TestNode): Promise<void> => it.node.putConfig(configOf(1, [A, B]), []);
const withA = async (it: TestNode): Promise<void> => {
  await withConfig(it);
  await it.node.put(a, fence(1), A.length, stream(A));
};
const DEATHS: Death[] = ["the process is killed", "the power goes"];

describe.each(DEATHS)("%s at every operation", (death) => {
  test("of a put: what was answered is on as many disks as it said, names are whole, nothing else stays", async () => {
    const put = (it: TestNode) => it.node.put(a, fence(1), A.length, stream(A));
    const operations = await atEach(death, withConfig, put, async (mortal) => {
      expectRightNames(mortal);
      const { list } = await mortal.it.node.list();
      if (mortal.answered) expect(list).toEqual({ [a]: 2 });
      if (list[a] !== undefined) expect(await readAll(mortal.it.node, a)).toEqual(A);
      expect(namesOf(mortal, "tmp")).toEqual([[], []]);
      expect(await put(mortal.it)).toEqual({ datasets: 2, successful_writes: 2 });
    });
    expect(operations).toBeGreaterThan(10);
  });

  test("of a put over a rotten copy: it is the right one, or still the rotten one, which nobody gets", async () => {
    const rotten = async (it: TestNode, disks: ForgetfulDisks): Promise<void> => {
      await withA(it);
      for (const i of [0, 1]) disks.damage(i, `artifacts/${a}`, () => Buffer.from(B));
    };
    const put = (it: TestNode) => it.node.put(a, fence(1), A.length, stream(A));
    await atEach(death, rotten, put, async ({ it, answered }) => {
      const read = await readAll(it.node, a).catch(() => undefined);
      if (answered) expect(read).toEqual(A);
      else expect([undefined, A.toString()]).toContain(read?.toString());
      expect(await put(it)).toMatchObject({ successful_writes: 2 });
    });
  });

  test("of a change of the configuration: it is the old or the new one, and what was answered is not forgotten", async () => {
    const change = (it: TestNode) => it.node.putConfig({ ...configOf(2, [A]), held: [a] }, []);
    await atEach(death, withConfig, change, async ({ it, answered }) => {
      const { generation } = it.node.config() ?? {};
      expect(answered ? [2] : [1, 2]).toContain(generation);
      await it.node.putConfig({ ...configOf(2, [A]), held: [a] }, []);
      expect(it.node.config()).toMatchObject({ generation: 2, held: [a] });
    });
  });

  test("of a deletion: the rest of it follows, and nothing of it stays for ever", async () => {
    const drop = async (it: TestNode): Promise<void> => {
      await it.node.putConfig(configOf(2, [B]), []);
      await it.node.reconcile();
    };
    await atEach(death, withA, drop, async (mortal) => {
      const { it } = mortal;
      await it.node.putConfig(configOf(2, [B]), []);
      await it.node.putConfig(configOf(3, [B]), []); // a ledger that was torn keeps everything for one generation
      await it.node.reconcile();
      expect(namesOf(mortal, "artifacts")).toEqual([[], []]);
      it.clock.ms += GRACE_MS;
      await it.node.reconcile();
      expect(await it.walk()).toEqual([]);
    });
  });

  test("of a deletion, and the artifact is wanted again: it is listed only if it is there, and then stays", async () => {
    const drop = async (it: TestNode): Promise<void> => {
      await it.node.putConfig(configOf(2, [B]), []);
      await it.node.reconcile();
    };
    await atEach(death, withA, drop, async (mortal) => {
      const { it } = mortal;
      await it.node.putConfig(configOf(4, [A, B]), []);
      await it.node.reconcile();
      const { list } = await it.node.list();
      it.clock.ms += GRACE_MS;
      await it.node.reconcile();
      expect((await it.node.list()).list).toEqual(list);
      expectRightNames(mortal);
    });
  });
});

test("a power cut right after an answer loses nothing of it, whatever the disks keep of the rest", async () => {
  for (let seed = 1; seed <= 50; seed++) {
    const disks = createForgetfulDisks(2, async () => undefined);
    const it = await createTestNode({ memory: disks });
    await withConfig(it);
    expect(await it.node.put(a, fence(1), A.length, stream(A))).toMatchObject({ successful_writes: 2 });
    disks.cutPower(seededChoose(seed));
    await it.restart();
    expect({ seed, ...(await it.node.list()) }).toMatchObject({ seed, generation: 1, list: { [a]: 2 } });
    expect(await readAll(it.node, b)).toBeUndefined();
    await it.remove();
  }
});
