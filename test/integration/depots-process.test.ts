import { execFile } from "node:child_process";
import { readdir, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, describe, expect, test } from "vitest";
import { createDepotClient, createDepotReader, type DepotClient } from "../../src/depot/client.ts";
import { seededChoose } from "../../src/domain/depot/plan-replication.ts";
import { bytesOf, configOf, digest, OURS, stream, wrongNames } from "../support/depot.ts";
import { startDepots, TOKENS, type DepotProcess } from "../support/depot-process.ts";

const A = bytesOf("a", 8_000_000);
const B = bytesOf("b", 1_000);
const fence = { epoch: OURS, generation: 1 };
let group: Awaited<ReturnType<typeof startDepots>>;
const clients: DepotClient[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  await group.remove();
});
function clientOf(depot: DepotProcess): DepotClient {
  const client = createDepotClient(depot, { tokens: TOKENS });
  clients.push(client);
  return client;
}

describe("a depot process", () => {
  test("killed at any point of a put keeps what it had, shows no wrong byte, and takes the artifact afterwards", async () => {
    group = await startDepots(1);
    const [depot] = group.depots as [DepotProcess];
    let client = clientOf(depot);
    await client.putConfig(configOf(1, [A, B]), []);
    await client.put(digest(B), fence, B.length, stream(B));
    const choose = seededChoose(42);
    for (let round = 0; round < 5; round++) {
      const sent = 1 + choose(A.length);
      await cutPut(depot, A.subarray(0, sent), () => depot.kill());
      await depot.start();
      client = clientOf(depot);
      expect(await wrongNames(depot.disks)).toEqual([]);
      const { generation, list } = await client.list();
      expect([generation, list[digest(B)]]).toEqual([1, 2]);
      await expect
        .poll(async () => (await Promise.all(depot.disks.map((disk) => readdir(join(disk, "tmp"))))).flat())
        .toEqual([]);
    }
    expect(await client.put(digest(A), fence, A.length, stream(A))).toEqual({ datasets: 2, successful_writes: 2 });
    expect(await wrongNames(depot.disks)).toEqual([]);
  });

  test("finds a flipped byte when it is scrubbed, heals it from its other disk, and tells how it stands", async () => {
    group = await startDepots(1);
    const [depot] = group.depots as [DepotProcess];
    const client = clientOf(depot);
    expect(await depot.status()).toMatch(/^depot-1: no configuration yet\ndisk .*disk-a: ok, /);
    await client.putConfig(configOf(1, [A, B]), []);
    for (const bytes of [A, B]) await client.put(digest(bytes), fence, bytes.length, stream(bytes));
    const place = join(depot.disks[0] ?? "", "artifacts", digest(A));
    const wrong = Buffer.from(A);
    wrong.writeUInt8(wrong.readUInt8(4_000_000) ^ 1, 4_000_000);
    await writeFile(place, wrong);
    await client.scrub("deep");
    await expect.poll(async () => (await client.status()).scrub.deepEndedAt, { timeout: 30_000 }).not.toBeNull();
    expect((await client.status()).scrub.found).toMatchObject({ right: 3, wrong: 1 });
    await expect.poll(async () => (await client.list()).list[digest(A)], { timeout: 30_000 }).toBe(2);
    expect(await wrongNames(depot.disks)).toEqual([]);
    expect(await depot.status()).toContain("generation 1, 2 artifacts: 2 on every disk, 0 on some, 0 missing");
  });

  test("copies from another node, which it only does from registered ones", async () => {
    group = await startDepots(2);
    const [first, second] = group.depots as [DepotProcess, DepotProcess];
    const [one, two] = [clientOf(first), clientOf(second)];
    await one.putConfig(configOf(1, [A]), []);
    await two.putConfig(configOf(1, [A]), [new URL(first.readUrl).origin]);
    await one.put(digest(A), fence, A.length, stream(A));
    const { job } = await two.copyFromDepot(digest(A), fence, first.readUrl);
    expect(await two.job(job, 20_000)).toMatchObject({ state: "done", bytes: A.length, successful_writes: 2 });
    await expect(one.copyFromDepot(digest(A), fence, second.readUrl)).rejects.toMatchObject({
      code: "depot_source_refused",
    });
    expect(await wrongNames(second.disks)).toEqual([]);
  });

  test("keeps copies to the cap of its configuration", async () => {
    const cap = 2 * 1024 ** 2;
    group = await startDepots(1, { bandwidth: { out: cap } });
    const [depot] = group.depots as [DepotProcess];
    await clientOf(depot).putConfig(configOf(1, [A]), []);
    await clientOf(depot).put(digest(A), fence, A.length, stream(A));
    const stop = new AbortController();
    const copies = { bytes: 0 };
    const readers = Array.from({ length: 4 }, () => readAgainAndAgain(depot, copies, stop.signal));
    try {
      await expect.poll(() => copies.bytes, { timeout: 30_000 }).toBeGreaterThan(cap / 4);
      const [fromMs, before] = [performance.now(), copies.bytes];
      await expect.poll(() => copies.bytes, { timeout: 60_000 }).toBeGreaterThan(before + 4 * cap);
      // what was on its way when the clock was read, and a quarter of a second that may be caught up
      const most = ((performance.now() - fromMs) / 1_000 + 0.25) * cap * 1.05 + 4 * 65_536;
      expect(copies.bytes - before).toBeLessThan(most);
    } finally {
      stop.abort();
      await Promise.all(readers);
    }
  });

  test("ends on SIGTERM with 0, and leaves nothing half", async () => {
    group = await startDepots(1);
    const [depot] = group.depots as [DepotProcess];
    await clientOf(depot).putConfig(configOf(1, [B]), []);
    expect(await depot.stop()).toBe(0);
  });

  test("says what it is with --help, and what is wrong with its configuration", async () => {
    group = await startDepots(0);
    const script = new URL("../../src/bin/myriarch-depot.ts", import.meta.url).pathname;
    const run = (...args: string[]) => promisify(execFile)(process.execPath, [script, ...args]);
    expect((await run("--help")).stdout).toContain("artifact store node");
    const config = join(process.env["TMPDIR"] ?? "/tmp", `myriarch-depot-${process.pid}.yaml`);
    await writeFile(config, "nodeId: x\ndisk: [a]\n");
    await expect(run("--config", config)).rejects.toMatchObject({
      code: 78,
      stderr: expect.stringContaining(`${config}:2:1: error: disk: unknown key`),
    });
    await rm(config);
  });
});

/** Copies as another depot would, until `signal`. */
async function readAgainAndAgain(depot: DepotProcess, sum: { bytes: number }, signal: AbortSignal): Promise<void> {
  const reader = createDepotReader({ token: TOKENS.read });
  while (!signal.aborted) {
    try {
      const { body } = await reader.read(depot.readUrl, digest(A), 0, signal);
      for await (const piece of body) sum.bytes += (piece as Buffer).length;
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
  await reader.close();
}

/** Sends the beginning of a put and then lets the node be ended. */
async function cutPut(depot: DepotProcess, bytes: Buffer, end: () => Promise<void>): Promise<void> {
  const headers = {
    authorization: `Bearer ${TOKENS.control}`,
    "x-epoch": OURS,
    "content-type": "application/octet-stream",
    "content-length": A.length,
  };
  const sent = request(`${depot.controlUrl}/artifacts/${digest(A)}?generation=1`, { method: "PUT", headers });
  const cut = new Promise<void>((resolve) => sent.once("error", () => resolve()).once("response", () => resolve()));
  await new Promise<void>((resolve) => sent.write(bytes, () => resolve()));
  await end();
  await cut;
}
