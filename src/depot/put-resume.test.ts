import { PassThrough } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  bytesOf,
  configOf,
  createTestNode,
  digest,
  fence,
  served,
  stream,
  wrongNames,
  type TestNode,
} from "../../test/support/depot.ts";

const A = bytesOf("abcdefg", 10_000);
const a = digest(A);
let it: TestNode;
beforeEach(async () => {
  it = await createTestNode();
  await it.node.putConfig(configOf(1, [A]), []);
});
afterEach(() => it.remove());
const code = (work: Promise<unknown>) =>
  work.then(
    () => "none",
    ({ code: is }: { code: string }) => is,
  );
const cutPut = (after: number) => it.node.put(a, fence(1), A.length, served(A, after)(0));

test("a put that was cut is gone on with after the bytes that arrived", async () => {
  expect(await code(cutPut(4_000))).toBe("depot_short_body");
  expect(await it.node.partial(a)).toBe(4_000);
  const rest = A.subarray(4_000);
  expect(await it.node.put(a, fence(1), rest.length, stream(rest), 4_000)).toEqual({
    datasets: 2,
    successful_writes: 2,
  });
  expect(await it.node.partial(a)).toBe(0);
  expect(await wrongNames(it.folders)).toEqual([]);
});

test.each([
  ["those that the disks did not have yet", "append"],
  ["those that came before the node had looked at its disks", "sizeOf"],
])("bytes that came before a cut count, also %s", async (_, waitsAt) => {
  // writes wait until the connection is gone
  const [writing, gone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let slow = false;
  await it.restart(async (operation) => {
    if (!slow || operation !== waitsAt) return;
    writing.resolve();
    await gone.promise;
  });
  slow = true;
  const body = new PassThrough();
  const put = code(it.node.put(a, fence(1), A.length, body));
  body.write(A.subarray(0, 1_000));
  await writing.promise;
  body.write(A.subarray(1_000, 5_000));
  await nextTurn();
  body.destroy(new Error("cut"));
  gone.resolve();
  expect(await put).toBe("depot_short_body");
  expect(await it.node.partial(a)).toBe(5_000);
});

test("another offset than what is there is refused, and nothing of it stays; from the start it works", async () => {
  await code(cutPut(4_000));
  const rest = A.subarray(3_000);
  expect(await code(it.node.put(a, fence(1), rest.length, stream(rest), 3_000))).toBe("depot_offset");
  expect(await it.node.partial(a)).toBe(0);
  expect(await code(it.node.put(a, fence(1), A.length, stream(A)))).toBe("none");
});

test("a wrong rest makes no name, and what was kept before goes with it", async () => {
  await code(cutPut(4_000));
  const wrong = Buffer.alloc(6_000, "x");
  expect(await code(it.node.put(a, fence(1), wrong.length, stream(wrong), 4_000))).toBe("depot_digest_mismatch");
  expect(await it.walk()).toEqual([]);
});
