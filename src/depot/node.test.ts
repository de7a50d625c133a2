import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import {
  bytesOf,
  configOf,
  createTestNode,
  digest,
  fence,
  OURS,
  osError,
  readAll,
  served,
  stream,
  THEIRS,
  wrongNames,
  type Fault,
  type TestNode,
} from "../../test/support/depot.ts";
import type { ErrorCode } from "../domain/errors.ts";

const A = bytesOf("a");
const B = bytesOf("b");
const a = digest(A);
const b = digest(B);
const PEER = "http://127.0.0.1:7001";

const nodes: TestNode[] = [];
afterEach(async () => {
  for (const node of nodes.splice(0)) await node.remove();
});
async function given(options: Parameters<typeof createTestNode>[0] = {}): Promise<TestNode> {
  const node = await createTestNode(options);
  nodes.push(node);
  return node;
}
const code = (work: Promise<unknown>): Promise<ErrorCode | "none"> =>
  work.then(
    () => "none",
    (error: { code: ErrorCode }) => error.code,
  );
const withA = async (it: TestNode, generation = 1): Promise<void> => {
  await it.node.putConfig(configOf(generation, [A]), [PEER]);
  await it.node.put(a, fence(generation), A.length, stream(A));
};

describe("the five calls", () => {
  test("a node without configuration says so, and takes no artifact", async () => {
    const it = await given();
    expect(it.node.config()).toBeUndefined();
    expect(await code(it.node.list())).toBe("depot_no_config");
    expect(await code(it.node.put(a, fence(1), A.length, stream(A)))).toBe("depot_no_config");
  });
  test("a put artifact lies on every disk under its digest, and is listed with the generation", async () => {
    const it = await given();
    await it.node.putConfig(configOf(3, [A, B]), []);
    expect(await it.node.put(a, fence(3), A.length, stream(A))).toEqual({ datasets: 2, successful_writes: 2 });
    expect(await it.node.list()).toMatchObject({ epoch: OURS, generation: 3, list: { [a]: 2 } });
    expect(await readAll(it.node, a)).toEqual(A);
    expect(await it.walk()).toEqual([`0/artifacts/${a}`, `1/artifacts/${a}`]);
  });
  test.each<[string, Parameters<TestNode["node"]["put"]>, ErrorCode]>([
    ["of an older generation", [a, fence(2), A.length, stream(A)], "depot_generation"],
    ["of a newer generation", [a, fence(4), A.length, stream(A)], "depot_generation"],
    ["of another installation", [a, fence(3, THEIRS), A.length, stream(A)], "depot_epoch"],
    ["without an epoch", [a, { epoch: undefined, generation: 3 }, A.length, stream(A)], "depot_epoch"],
    ["of an artifact that nobody wants", [b, fence(3), B.length, stream(B)], "depot_unwanted"],
    ["of other bytes", [a, fence(3), A.length, stream(B)], "depot_digest_mismatch"],
    ["of a cut body", [a, fence(3), A.length, stream(A.subarray(1))], "depot_short_body"],
    ["of too many bytes", [a, fence(3), A.length, stream(Buffer.concat([A, A]))], "depot_digest_mismatch"],
  ])("a put %s is refused and leaves nothing", async (_, args, expected) => {
    const it = await given();
    await it.node.putConfig(configOf(3, [A]), []);
    expect(await code(it.node.put(...args))).toBe(expected);
    expect(await it.walk()).toEqual([]);
  });
  test("a copy comes from a registered node, as a job with an end", async () => {
    const it = await given();
    await it.node.putConfig(configOf(1, [A]), [PEER]);
    it.peers.set(PEER, new Map([[a, served(A)]]));
    const { id } = await it.node.copyFromDepot(a, fence(1), PEER);
    expect(await it.node.job(id, 5_000)).toMatchObject({ state: "done", bytes: A.length, successful_writes: 2 });
    expect((await it.node.list()).list).toEqual({ [a]: 2 });
  });
  test("no other origin is ever asked for a copy", async () => {
    const it = await given();
    await it.node.putConfig(configOf(1, [A]), [PEER]);
    for (const url of ["http://127.0.0.1:7002", "http://127.0.0.1:7001.evil.example", "https://127.0.0.1:7001"])
      expect(await code(it.node.copyFromDepot(a, fence(1), url))).toBe("depot_source_refused");
    expect(it.reads).toEqual([]);
  });
  test("a source that fails is told before the copy is accepted", async () => {
    const it = await given();
    await it.node.putConfig(configOf(1, [A]), [PEER]);
    expect(await code(it.node.copyFromDepot(a, fence(1), PEER))).toBe("depot_source_failed");
    expect(await it.walk()).toEqual([]);
  });
  test("a cut copy goes on where it was, from another source too", async () => {
    const it = await given();
    const second = "http://127.0.0.1:7002";
    await it.node.putConfig(configOf(1, [A]), [PEER, second]);
    it.peers.set(PEER, new Map([[a, served(A, 400)]]));
    it.peers.set(second, new Map([[a, served(A)]]));
    const first = await it.node.copyFromDepot(a, fence(1), PEER);
    expect(await it.node.job(first.id, 5_000)).toMatchObject({ state: "failed", code: "depot_source_failed" });
    const next = await it.node.copyFromDepot(a, fence(1), second);
    expect(await it.node.job(next.id, 5_000)).toMatchObject({ state: "done" });
    expect(it.reads.at(-1)).toEqual({ origin: second, sha256: a, offset: 400 });
    expect(await readAll(it.node, a)).toEqual(A);
  });
  test("wrong bytes of a source never get a name", async () => {
    const it = await given();
    await it.node.putConfig(configOf(1, [A]), [PEER]);
    it.peers.set(PEER, new Map([[a, served(B)]]));
    const { id } = await it.node.copyFromDepot(a, fence(1), PEER);
    expect(await it.node.job(id, 5_000)).toMatchObject({ state: "failed", code: "depot_digest_mismatch" });
    expect(await it.walk()).toEqual([]);
  });
  test("a second request for the same artifact joins the first", async () => {
    const it = await given();
    await it.node.putConfig(configOf(1, [A]), [PEER]);
    it.peers.set(PEER, new Map([[a, served(A)]]));
    const jobs = await Promise.all([1, 2, 3].map(() => it.node.copyFromDepot(a, fence(1), PEER)));
    expect(new Set(jobs.map((job) => job.id)).size).toBe(1);
    await it.node.job(jobs[0]?.id ?? "", 5_000);
    expect(it.reads).toHaveLength(1);
  });
  test("what is there with the right bytes needs nothing from outside; wrong bytes are replaced", async () => {
    const it = await given();
    await withA(it);
    expect(await it.node.copyFromDepot(a, fence(1), PEER)).toMatchObject({ sha256: a });
    expect(it.reads).toEqual([]);
    for (const folder of it.folders) await writeFile(join(folder, "artifacts", a), bytesOf("x"));
    await it.node.put(a, fence(1), A.length, stream(A));
    expect(await wrongNames(it.folders)).toEqual([]);
  });
  test("beyond its slots a node is busy", async () => {
    const it = await given({ slots: 1 });
    await it.node.putConfig(configOf(1, [A, B]), []);
    const slow = Object.assign(stream(A), {});
    const first = it.node.put(a, fence(1), A.length, slow);
    expect(await code(it.node.put(b, fence(1), B.length, stream(B)))).toBe("depot_busy");
    await first;
    expect(await code(it.node.put(b, fence(1), B.length, stream(B)))).toBe("none");
  });
});

describe("the configuration", () => {
  test("outlives a restart, and a stale controller is refused then too (R2)", async () => {
    const it = await given();
    await it.node.putConfig(configOf(5, [A]), []);
    const again = await it.restart();
    expect(again.config()).toMatchObject({ generation: 5, artifacts: [a] });
    expect(await code(again.putConfig(configOf(4, [B]), []))).toBe("depot_generation");
  });
  test("the same again writes nothing, whole or short", async () => {
    const writes: string[] = [];
    const it = await given({ fault: (operation, path) => operation === "create" && writes.push(path) });
    await it.node.putConfig(configOf(5, [A]), [PEER]);
    const before = writes.length;
    await it.node.putConfig(configOf(5, [A]), [PEER]);
    const { artifacts, ...rest } = configOf(5, [A]);
    const { setDigest } = await import("./wire.ts");
    await it.node.confirmConfig({ ...rest, digest: setDigest(artifacts) }, [PEER]);
    expect(writes).toHaveLength(before);
  });
  test("after a pass nothing looks at the disks until the configuration changes (contract: waits for a change)", async () => {
    let looks = 0;
    const it = await given({ fault: (operation) => operation === "list" && void (looks += 1) });
    await it.node.putConfig(configOf(5, [A]), []);
    await it.node.reconcile();
    const before = looks;
    await it.node.putConfig(configOf(5, [A]), []);
    await it.node.list();
    expect(looks).toBe(before);
    await it.node.putConfig(configOf(6, [B]), []);
    await expect.poll(() => looks).toBeGreaterThan(before);
  });
  test("the short form of something new asks for the whole", async () => {
    const it = await given();
    expect(await code(it.node.confirmConfig({ epoch: OURS, generation: 1, digest: "x" }, []))).toBe(
      "depot_config_needed",
    );
  });
  test.each([
    ["garbage", "not json"],
    ["empty", ""],
    ["zero bytes", "\0".repeat(300)],
    ["another list than was written", undefined],
  ])(
    "an unreadable one (%s) is an error, not an absence: nothing is deleted before the next higher one",
    async (_, text) => {
      const it = await given();
      await withA(it, 5);
      for (const folder of it.folders) {
        const path = join(folder, "artifact-config.json");
        await writeFile(path, text ?? (await readFile(path, "utf8")).replaceAll(a, b));
      }
      const again = await it.restart();
      expect(await code(again.list())).toBe("depot_config_unreadable");
      expect(await code(again.putConfig(configOf(1, [B], THEIRS), []))).toBe("depot_epoch");
      await again.putConfig(configOf(6, [B]), []);
      await again.reconcile();
      expect(await it.walk()).toEqual([`0/artifacts/${a}`, `1/artifacts/${a}`]);
      await again.putConfig(configOf(7, [B]), []);
      await again.reconcile();
      expect(await it.walk()).toEqual([`0/trash/${a}`, `1/trash/${a}`]);
    },
  );
  test("a node with files and without configuration or epoch takes none until a person adopts it", async () => {
    const it = await given();
    await withA(it, 5);
    for (const folder of it.folders)
      for (const name of ["artifact-config.json", "installation.json"]) await rm(join(folder, name));
    const again = await it.restart();
    expect(await code(again.putConfig(configOf(6, [B]), []))).toBe("depot_config_unreadable");
    await again.adopt(OURS);
    await again.putConfig(configOf(6, [B]), []);
    await again.reconcile();
    expect(await it.walk()).toContain(`0/artifacts/${a}`);
  });
  test("the newest one only on a disk that is pulled before the restart: nothing is deleted by an older one (R3)", async () => {
    let failSecond = false;
    const it = await given({
      fault: (operation, path) => {
        if (failSecond && operation === "create" && path.includes("/1/tmp/")) throw osError("ENOSPC");
      },
    });
    await it.node.putConfig(configOf(4, [A]), []);
    await it.node.put(a, fence(4), A.length, stream(A));
    failSecond = true;
    await it.node.putConfig(configOf(5, [A, B]), []);
    await it.node.close();
    failSecond = false;
    await rm(it.folders[0] ?? "", { recursive: true });
    const again = await it.restart();
    expect(again.config()).toMatchObject({ generation: 4 });
    // a stale controller is at 4 and may confirm it, but nothing goes by its word
    await again.putConfig(configOf(4, [A]), []);
    await again.reconcile();
    expect((await it.walk()).filter((name) => name.includes("trash"))).toEqual([]);
    await again.putConfig(configOf(5, [A, B]), []);
    expect(await again.list()).toMatchObject({ generation: 5 });
  });
  test("a disk that comes back with a newer one is believed", async () => {
    const it = await given();
    await it.node.putConfig(configOf(5, [A]), []);
    const aside = `${it.folders[0]}.aside`;
    const { rename } = await import("node:fs/promises");
    await it.node.close();
    await rename(it.folders[0] ?? "", aside);
    let gone = true;
    const path = join(it.folders[1] ?? "", "artifact-config.json");
    await writeFile(path, (await readFile(path, "utf8")).replace('"generation":5', '"generation":4'));
    const again = await it.restart((operation, at) => {
      if (gone && operation === "makeFolder" && at.startsWith(it.folders[0] ?? "")) throw osError("EIO");
    });
    expect(again.config()).toMatchObject({ generation: 4 });
    await rename(aside, it.folders[0] ?? "");
    gone = false;
    await again.reconcile();
    expect(again.config()).toMatchObject({ generation: 5 });
  });
});

describe("deletion", () => {
  test("goes by the trash, and what is wanted again comes back from it", async () => {
    const it = await given();
    await withA(it, 1);
    await it.node.putConfig(configOf(2, [B]), []);
    await it.node.reconcile();
    expect(await it.walk()).toEqual([`0/trash/${a}`, `1/trash/${a}`]);
    expect(await readAll(it.node, a)).toBeUndefined();
    await it.node.putConfig(configOf(3, [A, B]), []);
    await it.node.reconcile();
    expect((await it.node.list()).list).toEqual({ [a]: 2 });
  });
  test("ends after the grace time", async () => {
    const it = await given();
    await withA(it, 1);
    await it.node.putConfig(configOf(2, [B]), []);
    await it.node.reconcile();
    await it.node.reconcile();
    it.clock.ms += 599_999;
    await it.node.reconcile();
    expect(await it.walk()).toHaveLength(2);
    it.clock.ms += 1;
    await it.node.reconcile();
    expect(await it.walk()).toEqual([]);
  });
  test("left-over temporary files and orphans of an earlier life go at the start", async () => {
    const it = await given();
    await withA(it, 1);
    await writeFile(join(it.folders[0] ?? "", "tmp", "leftover"), "x");
    await writeFile(join(it.folders[1] ?? "", "artifacts", b), B);
    await it.restart();
    expect(await it.walk()).toEqual([`0/artifacts/${a}`, `1/artifacts/${a}`, `1/trash/${b}`]);
  });
  test("unlink decided at generation 2 never takes what generation 3 wants again (R1)", async () => {
    // the reconciler is held right before its rename; meanwhile 3 wants A again and the writer of 1 has landed
    let reached = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const fault: Fault = async (operation, path) => {
      if (operation !== "rename" || !path.includes("/artifacts/")) return;
      reached.resolve();
      await go.promise;
    };
    const it = await given({ disks: 1, fault });
    await withA(it, 1);
    reached = Promise.withResolvers<void>();
    await it.node.putConfig(configOf(2, [B]), []);
    const deleting = it.node.reconcile();
    await reached.promise;
    const wantedAgain = it.node.putConfig(configOf(3, [A, B]), []);
    go.resolve();
    await wantedAgain;
    await deleting;
    // from the moment that 3 is in force, a listed copy stays
    const listed = (await it.node.list()).list;
    await it.node.reconcile();
    const later = (await it.node.list()).list;
    for (const sha256 of Object.keys(listed)) expect(Object.keys(later)).toContain(sha256);
    expect(later).toEqual({ [a]: 1 });
  });
  test("a put that was admitted at an older generation does not land after it", async () => {
    const it = await given();
    await it.node.putConfig(configOf(1, [A]), []);
    const { PassThrough } = await import("node:stream");
    const body = new PassThrough();
    const put = code(it.node.put(a, fence(1), A.length, body));
    body.write(A.subarray(0, 500));
    await it.node.putConfig(configOf(2, [B]), []);
    body.end(A.subarray(500));
    expect(await put).toBe("depot_generation");
    expect(await it.walk()).toEqual([]);
  });
  test("four writers of one digest, two of them cut: the name is whole (R4)", async () => {
    const it = await given();
    await it.node.putConfig(configOf(1, [A]), []);
    const bodies = [A, A.subarray(0, 10), A, A.subarray(0, 700)];
    await Promise.allSettled(bodies.map((bytes) => it.node.put(a, fence(1), A.length, stream(bytes))));
    await it.node.put(a, fence(1), A.length, stream(A));
    expect(await wrongNames(it.folders)).toEqual([]);
    expect(await it.walk()).toEqual([`0/artifacts/${a}`, `1/artifacts/${a}`]);
  });
});

describe("disks that fail", () => {
  const onDisk0 =
    (operation: string, then: () => unknown): Fault =>
    (what, path) =>
      what === operation &&
      path.includes("/0/tmp/") &&
      !path.includes("artifact-config") &&
      !path.includes("installation") &&
      !path.includes(".probe")
        ? then()
        : undefined;
  test.each<[string, Fault]>([
    ["no room at create", onDisk0("create", () => Promise.reject(osError("ENOSPC")))],
    ["no room while writing", onDisk0("append", () => Promise.reject(osError("ENOSPC")))],
    ["an I/O error while writing", onDisk0("append", () => Promise.reject(osError("EIO")))],
    ["a failing fsync", onDisk0("sync", () => Promise.reject(osError("EIO")))],
    ["a write that hangs", onDisk0("append", () => new Promise(() => undefined))],
    ["a write that stores other bytes", onDisk0("append", () => bytesOf("z"))],
    ["a rename that fails", onDisk0("rename", () => Promise.reject(osError("EIO")))],
  ])("%s: the other disk finishes the put", async (_, fault) => {
    const it = await given({ fault, diskTimeoutMs: 300 });
    await it.node.putConfig(configOf(1, [A]), []);
    expect(await it.node.put(a, fence(1), A.length, stream(A))).toEqual({ datasets: 2, successful_writes: 1 });
    expect((await it.node.list()).list).toEqual({ [a]: 1 });
    expect(await readAll(it.node, a)).toEqual(A);
    expect(await wrongNames(it.folders)).toEqual([]);
  });
  test("no room anywhere is 507 and leaves nothing", async () => {
    let full = false;
    const it = await given({
      fault: (operation) => full && operation === "append" && Promise.reject(osError("ENOSPC")),
    });
    await it.node.putConfig(configOf(1, [A]), []);
    full = true;
    expect(await code(it.node.put(a, fence(1), A.length, stream(A)))).toBe("depot_full");
    expect(await it.walk()).toEqual([]);
  });
  test("a replaced disk gets everything from its sibling, nothing from the network", async () => {
    const it = await given();
    await withA(it);
    await rm(join(it.folders[0] ?? "", "artifacts"), { recursive: true });
    await mkdir(join(it.folders[0] ?? "", "artifacts"));
    await it.node.reconcile();
    expect((await it.node.list()).list).toEqual({ [a]: 2 });
    expect(it.reads).toEqual([]);
  });
  test("a corrupt copy beside an intact sibling: no wrong answer, put aside on the spot, repaired (R8)", async () => {
    const it = await given();
    await withA(it);
    await writeFile(join(it.folders[0] ?? "", "artifacts", a), bytesOf("x"));
    expect(await readAll(it.node, a)).toEqual(A);
    expect((await it.walk()).filter((name) => name.includes("quarantine"))).toHaveLength(1);
    await it.node.reconcile();
    expect((await it.node.list()).list).toEqual({ [a]: 2 });
    expect(await wrongNames(it.folders)).toEqual([]);
  });
  test("a cut file is no copy: the list counts the right size only, the reader takes the sibling", async () => {
    const it = await given();
    await withA(it);
    await writeFile(join(it.folders[0] ?? "", "artifacts", a), A.subarray(0, 10));
    expect((await it.node.list()).list).toEqual({ [a]: 1 });
    expect(await readAll(it.node, a)).toEqual(A);
  });
  test("a disk that failed is tried again and filled", async () => {
    let broken = false;
    const it = await given({ fault: (_, path) => broken && path.includes("/0/") && Promise.reject(osError("EIO")) });
    await it.node.putConfig(configOf(1, [B]), []);
    broken = true;
    await withA(it, 2);
    expect((await it.node.list()).list).toEqual({ [a]: 1 });
    broken = false;
    await it.node.reconcile();
    expect((await it.node.list()).list).toEqual({ [a]: 2 });
    await rm(it.folders[1] ?? "", { recursive: true });
    expect((await it.restart()).config()).toMatchObject({ generation: 2 });
  });
  test("a new node one of whose disks cannot be read takes no configuration before a person adopts it", async () => {
    let broken = true;
    const it = await given({ fault: (_, path) => broken && path.includes("/0/") && Promise.reject(osError("EIO")) });
    expect(await code(it.node.putConfig(configOf(1, [A]), []))).toBe("depot_config_unreadable");
    broken = false;
    await it.node.reconcile();
    expect(await code(it.node.putConfig(configOf(1, [A]), []))).toBe("none");
  });
});

test("a node that stops takes nothing new and leaves no half file", async () => {
  const it = await given();
  await it.node.putConfig(configOf(1, [A]), []);
  await it.node.close();
  expect(await code(it.node.put(a, fence(1), A.length, stream(A)))).toBe("depot_stopping");
  expect(await it.walk()).toEqual([]);
});
