/** Scrubs of a node over real files: what they find, what comes of it, and that they go on where they were. */
import { readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import {
  bytesOf,
  configOf,
  createTestNode,
  digest,
  fence,
  osError,
  readAll,
  stream,
  type Fault,
} from "../../test/support/depot.ts";
import type { TestNode } from "../../test/support/depot.ts";

const DAY = 24 * 3_600_000;
const CONTENTS = ["a", "b", "c"].map((text) => bytesOf(text));
const [a, b, c] = CONTENTS.map(digest) as [string, string, string];
const ORDER = [a, b, c].toSorted();

const nodes: TestNode[] = [];
afterEach(async () => {
  for (const node of nodes.splice(0)) await node.remove();
});
async function given(options: { disks?: number; fault?: Fault } = {}): Promise<TestNode> {
  const it = await createTestNode(options);
  nodes.push(it);
  await it.node.putConfig(configOf(1, CONTENTS), []);
  for (const bytes of CONTENTS) await it.node.put(digest(bytes), fence(1), bytes.length, stream(bytes));
  return it;
}
async function scrub(it: TestNode, kind: "light" | "deep") {
  it.node.scrub.begin(kind);
  await it.node.scrub.idle();
  return it.node.scrub.status();
}
const copy = (it: TestNode, disk: number, sha256: string): string => join(it.folders[disk] ?? "", "artifacts", sha256);
async function flip(path: string): Promise<void> {
  const bytes = await readFile(path);
  bytes.writeUInt8(bytes.readUInt8(500) ^ 1, 500);
  await writeFile(path, bytes);
}

test("a deep scrub reads every byte of every copy, at its pace, and remembers when", async () => {
  const it = await given();
  it.clock.ms = DAY;
  expect(await scrub(it, "deep")).toEqual({
    running: null,
    lightEndedAt: "1970-01-02T00:00:00.000Z",
    deepEndedAt: "1970-01-02T00:00:00.000Z",
    found: { right: 6, wrong: 0, missing: 0, unreadable: 0 },
  });
  expect(it.paced.bytes).toBe(6_000);
});

test("a light one compares sizes and reads nothing", async () => {
  const it = await given();
  await truncate(copy(it, 1, b), 999);
  expect((await scrub(it, "light")).found).toEqual({ right: 5, wrong: 1, missing: 0, unreadable: 0 });
  expect(it.paced.bytes).toBe(0);
});

test.each([
  ["a flipped bit", flip, { right: 5, wrong: 1 }],
  ["a cut file", (path: string) => truncate(path, 10), { right: 5, wrong: 1 }],
  ["a copy that is gone", (path: string) => rm(path), { right: 5, missing: 1 }],
])("%s is found, put aside and replaced by the sibling's", async (_, damage, found) => {
  const it = await given();
  await damage(copy(it, 0, a));
  expect((await scrub(it, "deep")).found).toMatchObject(found);
  await expect.poll(async () => (await it.node.list()).list[a], { timeout: 15_000 }).toBe(2);
  expect(await readFile(copy(it, 0, a))).toEqual(CONTENTS[0]);
  expect(it.reads).toEqual([]); // nothing came over the network
});

test("without a sibling the list no longer names it, and the wrong bytes are kept aside", async () => {
  const it = await given({ disks: 1 });
  await flip(copy(it, 0, a));
  await scrub(it, "deep");
  expect((await it.node.list()).list).toEqual({ [b]: 1, [c]: 1 });
  expect(await readAll(it.node, a)).toBeUndefined();
  expect((await it.walk()).filter((name) => name.startsWith(`0/quarantine/${a}`))).toHaveLength(1);
});

test("nothing that is right is taken away, whatever the configuration says meanwhile", async () => {
  const it = await given();
  it.node.scrub.begin("deep");
  await it.node.putConfig(configOf(2, CONTENTS.slice(0, 1)), []);
  await it.node.putConfig(configOf(3, CONTENTS), []);
  await it.node.scrub.idle();
  await it.node.reconcile();
  expect((await it.node.list()).list).toEqual({ [a]: 2, [b]: 2, [c]: 2 });
});

test("one that is cut off goes on where it was", async () => {
  const opened: string[] = [];
  const held = Promise.withResolvers<void>();
  const atSecond = Promise.withResolvers<void>();
  const it = await given({
    disks: 1,
    fault: async (operation, path) => {
      if (operation !== "open" || !path.endsWith(ORDER[1] ?? "?")) return;
      atSecond.resolve();
      await held.promise;
    },
  });
  it.node.scrub.begin("deep");
  await atSecond.promise;
  expect(it.node.scrub.status().running).toEqual({
    kind: "deep",
    startedAt: "1970-01-01T00:00:00.000Z",
    checked: 1,
    of: 3,
  });
  const restarted = it.restart((operation, path) => void (operation === "open" && opened.push(path)));
  held.resolve();
  await restarted;
  opened.length = 0;
  await scrub(it, "deep");
  expect(opened.map((path) => path.slice(-64))).not.toContain(ORDER[0]);
  expect(it.node.scrub.status().deepEndedAt).not.toBeNull();
});

test("a disk that fails meanwhile is left out, and the other's copies are read", async () => {
  let broken = false;
  const it = await given({
    fault: (operation, path) => {
      if (broken && operation === "sizeOf" && path.includes("/0/")) throw osError("EIO");
    },
  });
  broken = true;
  const { found } = await scrub(it, "deep");
  expect(found).toMatchObject({ unreadable: 1, right: 3, wrong: 0 });
  expect((await it.node.status()).disks.map(({ state }) => state === "ok")).toEqual([false, true]);
});

test("the state of a node in one look", async () => {
  const it = await given();
  await rm(copy(it, 0, a));
  await rm(copy(it, 0, b));
  await rm(copy(it, 1, b));
  expect(await it.node.status()).toMatchObject({
    config: { generation: 1, wanted: 3, complete: 1, partial: 1, missing: 1 },
    transfers: [],
  });
});
