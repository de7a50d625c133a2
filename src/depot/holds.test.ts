/** Pinned artifacts and those in use (depot-anchors, invariant 15): no configuration takes them away by mistake. */
import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { bytesOf, configOf, createTestNode, digest, fence, osError, OURS, stream } from "../../test/support/depot.ts";
import type { TestNode } from "../../test/support/depot.ts";
import { isFailure } from "../domain/errors.ts";
import { setDigest } from "./wire.ts";

const A = bytesOf("a");
const B = bytesOf("b");
const [a, b] = [digest(A), digest(B)];

const nodes: TestNode[] = [];
afterEach(async () => {
  for (const node of nodes.splice(0)) await node.remove();
});
/** Both artifacts wanted at generation 5, `a` held. */
async function given(options: Parameters<typeof createTestNode>[0] = {}): Promise<TestNode> {
  const it = await createTestNode(options);
  nodes.push(it);
  await it.node.putConfig({ ...configOf(5, [A, B]), held: [a] }, []);
  for (const bytes of [A, B]) await it.node.put(digest(bytes), fence(5), bytes.length, stream(bytes));
  return it;
}
const refusal = async (work: Promise<unknown>): Promise<unknown> => {
  const error = await work.then(
    () => "taken",
    (cause: unknown) => cause,
  );
  return isFailure(error) ? [error.code, error.detail] : error;
};
const HELD = ["depot_held", { digests: a, count: 1 }];
const stays = async (it: TestNode): Promise<void> => {
  await it.node.reconcile();
  expect(await it.walk()).toEqual(expect.arrayContaining([`0/artifacts/${a}`]));
};

test("a configuration that drops a held artifact is refused whole, names it, and takes nothing away", async () => {
  const it = await given();
  expect(await refusal(it.node.putConfig(configOf(6, [B]), []))).toEqual(HELD);
  expect(await refusal(it.node.putConfig({ ...configOf(6, [B]), held: [b] }, []))).toEqual(HELD);
  expect(it.node.config()).toMatchObject({ generation: 5, held: [a] });
  await stays(it);
});

test("it goes when a configuration before did not hold it any more, or when it is let go by name", async () => {
  const it = await given();
  await it.node.putConfig({ ...configOf(6, [A, B]), held: [b] }, []);
  await it.node.putConfig(configOf(7, [B]), []);
  expect(await refusal(it.node.putConfig(configOf(8, [A]), []))).toEqual(["depot_held", { digests: b, count: 1 }]);
  await it.node.putConfig({ ...configOf(8, [A]), released: [b] }, []);
  await it.node.reconcile();
  expect((await it.walk()).filter((name) => name.includes("artifacts"))).toEqual([
    `0/artifacts/${a}`,
    `1/artifacts/${a}`,
  ]);
});

test("within a generation holds are added and never taken away, whichever controller comes last", async () => {
  const it = await given();
  await it.node.putConfig({ ...configOf(5, [A, B]), held: [b] }, []);
  expect(it.node.config()?.held).toEqual([a, b].toSorted());
  await it.node.putConfig({ ...configOf(5, [A, B]), held: [] }, []);
  expect(it.node.config()?.held).toEqual([a, b].toSorted());
});

test("a short form that names other holds asks for the whole; one that names none is content", async () => {
  const it = await given();
  const short = { epoch: OURS, generation: 5, digest: setDigest([a, b]) };
  expect(await refusal(it.node.confirmConfig({ ...short, heldDigest: setDigest([a]) }, []))).toBe("taken");
  expect(await refusal(it.node.confirmConfig(short, []))).toBe("taken");
  expect(await refusal(it.node.confirmConfig({ ...short, heldDigest: setDigest([a, b]) }, []))).toEqual([
    "depot_config_needed",
    undefined,
  ]);
});

test("holds outlive a restart, and a disk that never heard of them", async () => {
  const it = await given();
  await rm(it.folders[0] ?? "", { recursive: true });
  const again = await it.restart();
  expect(await refusal(again.putConfig(configOf(6, [B]), []))).toEqual(HELD);
  await stays(it);
});

test.each([
  ["garbage", (path: string) => writeFile(path, "\0\0")],
  ["gone", (path: string) => rm(path)],
])("the first configuration after the lost one (%s) is refused as well when it drops what is held", async (_, lose) => {
  const it = await given();
  for (const folder of it.folders) await lose(join(folder, "artifact-config.json"));
  const again = await it.restart();
  for (const generation of [6, 7]) expect(await refusal(again.putConfig(configOf(generation, [B]), []))).toEqual(HELD);
  await stays(it);
  await again.putConfig(configOf(8, [A, B]), []);
  expect(again.config()?.held).toEqual([a]);
});

test("a person may let go what no controller can name any more, also while the configuration is lost", async () => {
  const it = await given();
  for (const folder of it.folders) await writeFile(join(folder, "artifact-config.json"), "{");
  const again = await it.restart();
  await again.adopt(OURS, [a]);
  await it.restart();
  expect(await refusal(it.node.putConfig(configOf(6, [B]), []))).toBe("taken");
});

test("killed between holds and configuration, a node holds too much, never too little", async () => {
  let dying = false;
  const it = await given({
    fault: (operation, path) => {
      if (dying && operation === "create" && path.includes("artifact-config")) throw osError("EIO");
    },
  });
  dying = true;
  expect(await refusal(it.node.putConfig({ ...configOf(6, [A, B]), held: [a, b] }, []))).toMatchObject([
    "depot_io",
    {},
  ]);
  const again = await it.restart();
  expect(again.config()).toMatchObject({ generation: 5 });
  expect(await refusal(again.putConfig(configOf(7, [A]), []))).toMatchObject(["depot_held", { digests: b }]);
  expect(await readdir(join(it.folders[0] ?? "", "trash"))).toEqual([]);
});
