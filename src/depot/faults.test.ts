/** What a node does when an operation of a disk, a source or the clock goes wrong (depot-anchors 2.2), where no other test says it. */
import { rename, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { afterEach, describe, expect, test } from "vitest";
import {
  bytesOf,
  configOf,
  createTestNode,
  digest,
  fence,
  osError,
  readAll,
  served,
  stream,
  THEIRS,
  wrongNames,
  type Fault,
  type TestNode,
} from "../../test/support/depot.ts";
import { isFailure } from "../domain/errors.ts";

const A = bytesOf("a");
const B = bytesOf("b");
const LARGE = bytesOf("l", 700_000); // three pieces
const [a, b, large] = [digest(A), digest(B), digest(LARGE)];
const PEER = "http://127.0.0.1:7001";

const nodes: TestNode[] = [];
afterEach(async () => {
  for (const node of nodes.splice(0)) await node.remove();
});
async function given(options: Parameters<typeof createTestNode>[0] = {}): Promise<TestNode> {
  const it = await createTestNode(options);
  nodes.push(it);
  return it;
}
const put = (it: TestNode, bytes: Buffer, generation = 1) =>
  it.node.put(digest(bytes), fence(generation), bytes.length, stream(bytes));
const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "none",
    (error: unknown) => (isFailure(error) ? error.code : error),
  );
const isUpload = (path: string): boolean => /tmp\/[0-9a-f-]{36}$/.test(path);
const onDisk0 = (path: string): boolean => path.includes("/0/");

describe("a disk that goes wrong while an artifact is written leaves, and the other one has it", () => {
  test.each<[string, (written: { bytes: number }) => Fault]>([
    ["a read-only file system", () => (what, path) => what === "create" && fail("EROFS", path)],
    ["no permission", () => (what, path) => what === "create" && fail("EACCES", path)],
    [
      "no room at some byte",
      (written) => (what, path, chunk) => {
        if (what !== "append" || !onDisk0(path) || !isUpload(path)) return undefined;
        written.bytes += chunk?.length ?? 0;
        return written.bytes > 300_000 ? Promise.reject(osError("ENOSPC")) : undefined;
      },
    ],
    [
      "a write that is short and says nothing",
      () => (what, path, chunk) =>
        what === "append" && onDisk0(path) && isUpload(path) ? chunk?.subarray(1) : undefined,
    ],
  ])("%s", async (_, faultOf) => {
    let armed = false;
    const fault = faultOf({ bytes: 0 });
    const it = await given({ fault: (...args) => (armed ? fault(...args) : undefined) });
    await it.node.putConfig(configOf(1, [LARGE]), []);
    armed = true;
    expect(await put(it, LARGE)).toEqual({ datasets: 2, successful_writes: 1 });
    expect((await it.walk()).filter((name) => name.includes("artifacts"))).toEqual([`1/artifacts/${large}`]);
  });
  const fail = (errno: string, path: string): unknown =>
    onDisk0(path) && isUpload(path) ? Promise.reject(osError(errno)) : undefined;

  test("one whose folders cannot be made takes no part from the start, and does when they can", async () => {
    let readOnly = true;
    const fault: Fault = (what, path) =>
      readOnly && what === "makeFolder" && onDisk0(path) && Promise.reject(osError("EROFS"));
    const it = await given({ fault });
    await it.node.adopt("018f0000-0000-4000-8000-000000000001");
    await it.node.putConfig(configOf(1, [A]), []);
    expect(await put(it, A)).toMatchObject({ successful_writes: 1 });
    expect((await it.node.status()).disks[0]?.state).toContain("EROFS");
    readOnly = false;
    await it.node.reconcile();
    expect((await it.node.list()).list).toEqual({ [a]: 2 });
  });

  test("an fsync that failed is no copy and is never tried again on that file", async () => {
    const synced: string[] = [];
    let armed = false;
    const it = await given({
      fault: (what, path) => {
        if (!armed || what !== "sync" || !isUpload(path)) return undefined;
        synced.push(path);
        return onDisk0(path) ? Promise.reject(osError("EIO")) : undefined;
      },
    });
    await it.node.putConfig(configOf(1, [A]), []);
    armed = true;
    expect(await put(it, A)).toMatchObject({ successful_writes: 1 });
    await it.node.reconcile();
    expect((await it.node.list()).list).toEqual({ [a]: 1 }); // it fails for ever: the disk is out each time it is tried
    expect(new Set(synced).size).toBe(synced.length);
    armed = false;
    await it.node.reconcile();
    expect((await it.node.list()).list).toEqual({ [a]: 2 });
  });

  test("a name whose folder could not be synced counts only after its bytes were read again", async () => {
    let [broken, isWrong] = [false, false];
    const reads: string[] = [];
    const it = await given({
      fault: (what, path) => {
        if (what === "open") reads.push(path);
        return broken && what === "syncFolder" && path.endsWith("/0/artifacts") && Promise.reject(osError("EIO"));
      },
    });
    await it.node.putConfig(configOf(1, [A]), []);
    for (isWrong of [false, true]) {
      await it.node.reconcile();
      broken = true;
      for (const folder of it.folders) await rm(join(folder, "artifacts", a), { force: true });
      expect(await put(it, A)).toEqual({ datasets: 2, successful_writes: 1 });
      expect((await it.walk()).filter((name) => name.startsWith("0/artifacts"))).toEqual([`0/artifacts/${a}`]);
      expect((await it.node.list()).list).toEqual({ [a]: 1 });
      if (isWrong) await writeFile(join(it.folders[0] ?? "", "artifacts", a), bytesOf("x"));
      broken = false;
      reads.length = 0;
      await it.node.reconcile();
      expect(reads).toContain(join(it.folders[0] ?? "", "artifacts", a));
      await it.node.reconcile();
      expect(await wrongNames(it.folders)).toEqual([]);
      expect((await it.node.list()).list).toEqual({ [a]: 2 });
    }
  });
});

describe("a reader", () => {
  const failing = (when: (count: number) => boolean): { fault: Fault; arm: () => void } => {
    let count = -1;
    return {
      arm: () => (count = 0),
      fault: (what, path) => {
        if (what !== "read" || count < 0 || !path.includes("/0/artifacts/")) return undefined;
        return when(count++) ? Promise.reject(osError("EIO")) : undefined;
      },
    };
  };
  const withLarge = async (fault: Fault): Promise<TestNode> => {
    const it = await given({ fault });
    await it.node.putConfig(configOf(1, [LARGE]), []);
    await put(it, LARGE);
    return it;
  };
  test("gets it from the sibling when the disk fails before the first byte", async () => {
    const { fault, arm } = failing(() => true);
    const it = await withLarge(fault);
    arm();
    expect(await readAll(it.node, large)).toEqual(LARGE);
    expect((await it.node.status()).disks[0]?.state).toContain("EIO");
  });
  test("is cut, never filled up, when it fails after that; the next one gets all of it", async () => {
    const { fault, arm } = failing((count) => count > 1);
    const it = await withLarge(fault);
    arm();
    await expect(readAll(it.node, large)).rejects.toThrow("EIO");
    expect(await readAll(it.node, large)).toEqual(LARGE);
  });
  test("of a part is cut when the file was cut meanwhile", async () => {
    const it = await withLarge(() => undefined);
    const opened = await it.node.open(large);
    for (const folder of it.folders) await truncate(join(folder, "artifacts", large), 300_000);
    const read = async (): Promise<number> => {
      let bytes = 0;
      for await (const piece of opened?.read(299_000, 600_000) ?? []) bytes += piece.length;
      return bytes;
    };
    await expect(read()).rejects.toThrow("ends early");
  });
  test("finds nothing when the file goes between the look and the opening, and the node goes on", async () => {
    const it = await given({ disks: 1 });
    await it.node.putConfig(configOf(1, [A, B]), []);
    for (const bytes of [A, B]) await put(it, bytes);
    const opened = await it.node.open(a);
    await rm(join(it.folders[0] ?? "", "artifacts", a));
    await expect(Readable.from(opened?.read(0, A.length) ?? []).toArray()).rejects.toThrow("ENOENT");
    expect(await readAll(it.node, b)).toEqual(B);
  });
  test("that got wrong bytes says so: the copy is read again, put aside and replaced", async () => {
    const it = await given();
    await it.node.putConfig(configOf(1, [A, B]), []);
    await put(it, A);
    await writeFile(join(it.folders[1] ?? "", "artifacts", a), bytesOf("x"));
    expect(await it.node.suspect(a)).toEqual({ right: 1, wrong: 1, missing: 0, unreadable: 0 });
    await it.node.reconcile();
    expect(await it.node.suspect(a)).toEqual({ right: 2, wrong: 0, missing: 0, unreadable: 0 });
    expect(await it.node.suspect(b)).toEqual({ right: 0, wrong: 0, missing: 2, unreadable: 0 });
  });
});

describe("deletion", () => {
  test("that fails is done later, not forgotten", async () => {
    let broken = false;
    const it = await given({
      disks: 1,
      fault: (what, path) =>
        broken && what === "rename" && path.includes("/artifacts/") && Promise.reject(osError("EIO")),
    });
    await it.node.putConfig(configOf(1, [A]), []);
    await put(it, A);
    broken = true;
    await it.node.putConfig(configOf(2, [B]), []);
    await it.node.reconcile();
    expect(await it.walk()).toEqual([`0/artifacts/${a}`]);
    broken = false;
    await it.node.reconcile();
    expect(await it.walk()).toEqual([`0/trash/${a}`]);
  });
  test("reaches a disk that comes late: its unwanted files, orphans and temporary files go", async () => {
    const it = await given();
    await it.node.putConfig(configOf(1, [A]), []);
    await put(it, A);
    await it.node.close();
    const [first = ""] = it.folders;
    await rename(first, `${first}.away`);
    await writeFile(join(`${first}.away`, "tmp", "018f0000-0000-4000-8000-00000000000a"), "half");
    let away = true;
    await it.restart((what, path) => away && what === "makeFolder" && onDisk0(path) && Promise.reject(osError("EIO")));
    await it.node.putConfig(configOf(2, [B]), []);
    await it.node.putConfig(configOf(3, [B]), []);
    await rename(`${first}.away`, first);
    away = false;
    await it.node.reconcile();
    expect(await it.walk()).toEqual([`0/trash/${a}`, `1/trash/${a}`]);
  });
  test.each([3_600_000, -3_600_000])("waits its time, whatever the wall clock does meanwhile (%i ms)", async (jump) => {
    const it = await given();
    await it.node.putConfig(configOf(1, [A]), []);
    await put(it, A);
    await it.node.putConfig(configOf(2, [B]), []);
    await it.node.reconcile();
    await it.node.reconcile();
    it.clock.wallMs += jump;
    it.clock.ms += 599_999;
    await it.node.reconcile();
    expect(await it.walk()).toHaveLength(2);
    it.clock.ms += 1;
    await it.node.reconcile();
    expect(await it.walk()).toEqual([]);
  });
});

describe("the network", () => {
  const copying = async (options: Parameters<typeof createTestNode>[0] = {}): Promise<TestNode> => {
    const it = await given(options);
    await it.node.putConfig(configOf(1, [A, LARGE]), [PEER]);
    return it;
  };
  const copyOf = async (it: TestNode, sha256: string) => {
    const { id } = await it.node.copyFromDepot(sha256, fence(1), PEER);
    return it.node.job(id, 15_000);
  };
  test("a source that trickles is left, what came is kept, and another source goes on there", async () => {
    const it = await copying({ floor: { windowMs: 50, minBytes: 1_000 } });
    const trickle = (offset: number): Readable => {
      it.clock.ms += 20; // it takes its time for each byte
      const body = Readable.from(
        (function* () {
          for (let i = offset; i < LARGE.length; i++) {
            it.clock.ms += 20;
            yield LARGE.subarray(i, i + 1);
          }
        })(),
        { objectMode: false, highWaterMark: 1 },
      );
      return Object.assign(body, { size: LARGE.length });
    };
    it.peers.set(PEER, new Map([[large, trickle]]));
    expect(await copyOf(it, large)).toMatchObject({ state: "failed", code: "depot_source_failed" });
    it.peers.set(PEER, new Map([[large, served(LARGE)]]));
    expect(await copyOf(it, large)).toMatchObject({ state: "done", successful_writes: 2 });
    expect(it.reads.at(-1)?.offset).toBeGreaterThan(0);
  });
  test("a flipped bit on the way gives no file, and the second try of the same source does", async () => {
    const it = await copying();
    const flipped = Buffer.from(A);
    flipped.writeUInt8(flipped.readUInt8(500) ^ 1, 500);
    it.peers.set(PEER, new Map([[a, served(flipped)]]));
    expect(await copyOf(it, a)).toMatchObject({ state: "failed", code: "depot_digest_mismatch" });
    expect(await it.walk()).toEqual([]);
    it.peers.set(PEER, new Map([[a, served(A)]]));
    expect(await copyOf(it, a)).toMatchObject({ state: "done" });
  });
  test("a copy of another generation or of something unwanted asks no source; one that is late does not land", async () => {
    const it = await copying();
    expect(await codeOf(it.node.copyFromDepot(a, fence(2), PEER))).toBe("depot_generation");
    expect(await codeOf(it.node.copyFromDepot(b, fence(1), PEER))).toBe("depot_unwanted");
    expect(it.reads).toEqual([]);
    const body = Object.assign(new PassThrough(), { size: A.length });
    it.peers.set(PEER, new Map([[a, () => body]]));
    const { id } = await it.node.copyFromDepot(a, fence(1), PEER);
    body.write(A.subarray(0, 500));
    await it.node.putConfig(configOf(2, [B]), []);
    body.end(A.subarray(500));
    expect(await it.node.job(id, 15_000)).toMatchObject({ state: "failed", code: "depot_generation" });
    expect(await it.walk()).toEqual([]);
  });
  test("a put and copies of one artifact at once are one transfer", async () => {
    const it = await copying();
    it.peers.set(PEER, new Map([[a, served(A)]]));
    const answers = await Promise.all([
      put(it, A),
      it.node.copyFromDepot(a, fence(1), PEER).then(({ id }) => it.node.job(id, 15_000)),
      put(it, A),
    ]);
    expect(answers.map((answer) => answer?.successful_writes)).toEqual([2, 2, 2]);
    expect(it.reads).toEqual([]);
  });
  test("a job that is ended says so, keeps what came, and its slot is free", async () => {
    const it = await copying({ slots: 1 });
    const body = Object.assign(new PassThrough(), { size: LARGE.length });
    it.peers.set(PEER, new Map([[large, () => body]]));
    const { id } = await it.node.copyFromDepot(large, fence(1), PEER);
    body.write(LARGE.subarray(0, 1_000));
    await expect.poll(() => it.node.job(id, 0), { timeout: 15_000 }).toMatchObject({ bytes: 1_000 });
    it.node.cancel(id);
    expect(await it.node.job(id, 15_000)).toMatchObject({ state: "failed", code: "depot_cancelled" });
    expect(it.node.cancel(id)).toMatchObject({ state: "failed" });
    expect(it.node.cancel("unknown")).toBeUndefined();
    it.peers.set(PEER, new Map([[large, served(LARGE)]]));
    expect(await copyOf(it, large)).toMatchObject({ state: "done" });
    expect(it.reads.at(-1)?.offset).toBe(1_000);
  });
});

describe("regressions", () => {
  test("a foreign installation's configuration at generation 100 is refused by a node that is at 3 (R6)", async () => {
    const it = await given();
    await it.node.putConfig(configOf(3, [A]), []);
    expect(await codeOf(it.node.putConfig(configOf(100, [B], THEIRS), []))).toBe("depot_epoch");
    await it.restart();
    await it.node.putConfig(configOf(4, [A]), []);
    expect(it.node.config()).toMatchObject({ generation: 4 });
  });
  test("a node with one disk is complete after the first execution: nine more bring nothing in (R10)", async () => {
    const it = await given({ disks: 1 });
    await it.node.putConfig(configOf(1, [A]), [PEER]);
    it.peers.set(PEER, new Map([[a, served(A)]]));
    for (let execution = 0; execution < 10; execution++) {
      const { id } = await it.node.copyFromDepot(a, fence(1), PEER);
      expect(await it.node.job(id, 15_000)).toMatchObject({ state: "done", datasets: 1, successful_writes: 1 });
      await it.node.reconcile();
    }
    expect(it.reads).toHaveLength(1);
    expect(await it.node.status()).toMatchObject({ config: { complete: 1, partial: 0, missing: 0 } });
  });
  test("five thousand requests neither fail its status nor make it grow (R12)", async () => {
    const it = await given();
    await it.node.putConfig(configOf(1, [A]), [PEER]);
    await put(it, A);
    const before = JSON.stringify(await it.node.status()).length;
    for (let i = 0; i < 5_000; i++) {
      const work = i % 2 === 0 ? it.node.copyFromDepot(b, fence(1), PEER) : it.node.put(a, fence(9), 1, stream(B));
      await work.catch(() => undefined);
    }
    const jobs = await Promise.all(Array.from({ length: 1_200 }, () => it.node.copyFromDepot(a, fence(1), PEER)));
    expect(JSON.stringify(await it.node.status()).length).toBeLessThan(before + 500);
    expect(await it.node.job(jobs.at(-1)?.id ?? "", 15_000)).toMatchObject({ state: "done" });
  });
});

test("what a scrub finds wrong without a sibling comes from a peer: the list asks for it", async () => {
  const it = await given({ disks: 1 });
  await it.node.putConfig(configOf(1, [A]), [PEER]);
  await put(it, A);
  await writeFile(join(it.folders[0] ?? "", "artifacts", a), bytesOf("x"));
  it.node.scrub.begin("deep");
  await it.node.scrub.idle();
  expect((await it.node.list()).list).toEqual({});
  it.peers.set(PEER, new Map([[a, served(A)]]));
  const { id } = await it.node.copyFromDepot(a, fence(1), PEER);
  expect(await it.node.job(id, 15_000)).toMatchObject({ state: "done" });
  expect(await readAll(it.node, a)).toEqual(A);
});
