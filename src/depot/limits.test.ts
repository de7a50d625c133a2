/** What a node allows over its listeners: readers that stop or come in crowds, classes, metrics. */
import { request, type IncomingMessage } from "node:http";
import { afterEach, expect, test } from "vitest";
import { bytesOf, configOf, createTestNode, digest, fence, OURS, stream } from "../../test/support/depot.ts";
import type { TestNode } from "../../test/support/depot.ts";
import { createDepotClient, createDepotReader } from "./client.ts";
import { buildMetricsServer } from "./metrics.ts";
import { buildReadServer, type ReadOptions } from "./read-server.ts";
import { buildControlServer } from "./server.ts";

const A = bytesOf("a", 16_000_000); // more than the buffers between two processes
const a = digest(A);
const READ = "read-token-of-the-test";
const CONTROL = "control-token-of-the-test";
const log = (): void => undefined;

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});
async function given(options: Partial<ReadOptions> = {}): Promise<{ it: TestNode; readUrl: string }> {
  const it = await createTestNode({ disks: 1 });
  const read = buildReadServer(it.node, { token: READ, log, ...options });
  cleanups.push(
    () => it.remove(),
    () => read.close(),
  );
  await it.node.putConfig(configOf(1, [A]), []);
  await it.node.put(a, fence(1), A.length, stream(A));
  return { it, readUrl: await read.listen({ host: "127.0.0.1", port: 0 }) };
}
/** Begins a read and reads nothing of it. */
async function stoppedReader(readUrl: string, transferClass = "replicate"): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${READ}`, "x-transfer-class": transferClass };
  const asked = request(`${readUrl}/artifact/sha256/${a}`, { headers, agent: false });
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    asked.once("response", resolve).once("error", reject).end();
  });
  answer.on("error", () => undefined);
  cleanups.push(async () => answer.destroy());
  return answer;
}
async function statusOf(readUrl: string, transferClass: string): Promise<[number | undefined, string | undefined]> {
  const answer = await stoppedReader(readUrl, transferClass);
  answer.destroy();
  return [answer.statusCode, answer.headers["retry-after"]];
}

test("a reader that stops reading is cut after the idle time, and its place is free again", async () => {
  const { readUrl } = await given({ slots: 1, idleTimeoutMs: 500 });
  const stopped = await stoppedReader(readUrl, "install");
  // whoever comes next waits in the queue, and is cut there itself as long as the place is taken
  const next = () => statusOf(readUrl, "install").catch(() => "cut");
  await expect.poll(next, { timeout: 15_000 }).toEqual([200, undefined]);
  const cut = new Promise<void>((resolve) => stopped.once("close", resolve));
  stopped.resume();
  await cut;
  expect(stopped.complete).toBe(false);
});

test("beyond places and queue a reader is told to come again; a host finds a place where copies do not", async () => {
  const { readUrl } = await given({ slots: 4, idleTimeoutMs: 60_000 });
  for (let i = 0; i < 3; i++) await stoppedReader(readUrl);
  const waiting = Array.from({ length: 4 }, () => statusOf(readUrl, "replicate"));
  expect(await statusOf(readUrl, "install")).toEqual([200, undefined]);
  expect(await Promise.all(waiting)).toEqual(Array.from({ length: 4 }, () => [429, "2"]));
  expect(await statusOf(readUrl, "instal")).toEqual([400, undefined]);
});

test("while copies have used up the bandwidth, a download of a host goes on as if there were no cap, and is charged", async () => {
  const charged = { bytes: 0 };
  const waiting = Promise.withResolvers<void>();
  const usedUp = {
    take: (_bytes: number, signal: AbortSignal) =>
      new Promise<void>((_, reject) => {
        waiting.resolve();
        signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      }),
    charge: (bytes: number) => void (charged.bytes += bytes),
    slice: 65_536,
  };
  const { readUrl } = await given({ outlet: usedUp });
  const copies = createDepotReader({ token: READ });
  const gone = new AbortController();
  const copy = copies.read(readUrl, a, 0, gone.signal).then(
    () => "came",
    () => "waited", // not even its first byte went out
  );
  await waiting.promise;
  const installs = createDepotReader({ token: READ, transferClass: "install" });
  cleanups.push(
    () => installs.close(),
    () => copies.close(),
  );
  const { body } = await installs.read(readUrl, a, 0);
  expect(Buffer.concat(await body.toArray()).equals(A)).toBe(true);
  expect(charged.bytes).toBe(A.length);
  gone.abort();
  expect(await copy).toBe("waited");
}, 60_000);

test("a reader that takes next to nothing is cut", async () => {
  const clock = { ms: 0 };
  const { readUrl } = await given({
    floor: { windowMs: 1_000, minBytes: 100_000_000 },
    monotonicMs: () => (clock.ms += 300), // each piece takes its time
  });
  const reader = createDepotReader({ token: READ });
  cleanups.push(() => reader.close());
  const { body } = await reader.read(readUrl, a, 0);
  await expect(body.toArray()).rejects.toThrow();
});

test("metrics say what is there and what went through, behind the token or on a listener of their own, and no secret", async () => {
  const { it, readUrl } = await given();
  const control = buildControlServer(it.node, { token: CONTROL, log });
  const controlUrl = await control.listen({ host: "127.0.0.1", port: 0 });
  const metrics = buildMetricsServer(it.node, { log });
  const metricsUrl = await metrics.listen({ host: "127.0.0.1", port: 0 });
  const client = createDepotClient({ controlUrl, readUrl }, { tokens: { control: CONTROL, read: READ } });
  const installs = createDepotReader({ token: READ, transferClass: "install" });
  cleanups.push(
    () => control.close(),
    () => metrics.close(),
    () => client.close(),
    () => installs.close(),
  );
  await client.put(a, { epoch: OURS, generation: 1 }, A.length, stream(A));
  for (const read of [await client.read(a), await installs.read(readUrl, a, 0)]) await read.body.toArray();
  expect(await client.suspect(a)).toEqual({ right: 1, wrong: 0, missing: 0, unreadable: 0 });
  it.node.scrub.begin("deep");
  await it.node.scrub.idle();
  expect((await fetch(`${controlUrl}/metrics`)).status).toBe(401);
  const text = await (await fetch(`${metricsUrl}/metrics`)).text();
  for (const line of [
    "depot_config_generation 1",
    'depot_artifacts{state="ok"} 1',
    'depot_artifacts{state="corrupt"} 0',
    `depot_bytes_total{dir="in",peer_class="controller"} ${A.length}`,
    `depot_bytes_total{dir="out",peer_class="replicate"} ${A.length}`,
    `depot_bytes_total{dir="out",peer_class="install"} ${A.length}`,
    'depot_transfers{state="active"} 0',
    'depot_transfers_ended_total{result="done"} 2',
    `depot_scrub_bytes_total ${A.length}`,
    'depot_scrub_copies_total{result="right"} 1',
    `depot_disk_up{disk="${it.folders[0]}"} 1`,
  ])
    expect(text).toContain(`\n${line}\n`);
  expect(text).not.toMatch(new RegExp(`${READ}|${CONTROL}|${a}|127\\.0\\.0\\.1`));
  const behindToken = await fetch(`${controlUrl}/metrics`, { headers: { authorization: `Bearer ${CONTROL}` } });
  expect([behindToken.status, behindToken.headers.get("content-type")]).toEqual([
    200,
    expect.stringContaining("text/plain"),
  ]);
});
