import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { configOf, createTestNode, digest, fence, readAll, stream, type TestNode } from "../../test/support/depot.ts";
import { createFindings } from "./findings.ts";

let it: TestNode;
afterEach(() => it?.remove());

test("a copy with wrong bytes and its repair are told once each, with their disks, also with the list", async () => {
  it = await createTestNode();
  const bytes = Buffer.from("the right bytes");
  const a = digest(bytes);
  await it.node.putConfig(configOf(1, [bytes]), []);
  await it.node.put(a, fence(1), bytes.length, stream(bytes));
  const before = (await it.node.list()).findings;
  expect(before?.count).toBe(0);
  await writeFile(join(it.folders[0] ?? "", "artifacts", a), "the wrong bytes");
  expect(await readAll(it.node, a).catch(() => "cut")).toBeDefined();
  await it.node.reconcile();
  const { findings } = await it.node.status();
  expect(findings?.recent).toMatchObject([
    { n: 1, kind: "corrupt", sha256: a, disk: it.folders[0] },
    { n: 2, kind: "repaired", sha256: a, disk: it.folders[0] },
  ]);
  expect((await it.node.list()).findings).toEqual({ life: before?.life, count: 2 });
  // another life counts anew, and says that it is another
  const again = await it.restart();
  expect((await again.list()).findings).toMatchObject({ count: 0 });
  expect((await again.list()).findings?.life).not.toBe(before?.life);
});

test("however many there are, the newest hundred are kept", () => {
  const findings = createFindings(() => 0);
  for (let n = 0; n < 250; n++) findings.note("corrupt", "ab", "/a");
  expect(findings.mark().count).toBe(250);
  expect(findings.recent().map(({ n }) => n)).toEqual(Array.from({ length: 100 }, (_, i) => 151 + i));
});
