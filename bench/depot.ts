/**
 * What a depot takes: puts by the control plane and copies between nodes, onto two disks, against `cp`, `sha256sum` and
 * `sync` of the same bytes twice. Real depot processes over loopback, the parallelism of an execution, by turns.
 */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createDepotClient, type DepotClient } from "../src/depot/client.ts";
import { startDepots, TOKENS } from "../test/support/depot-process.ts";
import { startDepotProxy } from "../test/support/depot-proxy.ts";
import { sha256Of } from "../test/support/replication-world.ts";
import { atLeastTimes, atMost } from "./report.ts";

const FILES = Number(process.env["BENCH_FILES"] ?? 64);
const MIB = Number(process.env["BENCH_MIB"] ?? 16);
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 3);
const SHARE = 0.6;
const PUTS_AT_ONCE = 2;
const COPIES_AT_ONCE = 4;
const MIN_COPIES = 3;
const EPOCH = "018f0000-0000-4000-8000-000000000001";
const FENCE = { epoch: EPOCH, generation: 1 };
const run = promisify(execFile);

type File = { path: string; sha256: string; size: number };
type Depots = Awaited<ReturnType<typeof startDepots>>["depots"];

const root = await mkdtemp(join(tmpdir(), "myriarch-bench-"));
try {
  const files = await makeFiles(root);
  const puts: { ours: number; other: number }[] = [];
  const copies: { ours: number; other: number }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const ours = await takeAll(files);
    const other = await copyByHand(files);
    puts.push({ ours: ours.put, other });
    copies.push({ ours: ours.copy, other });
  }
  const sent = await sentByController(files);
  console.log(
    `${FILES} artifacts of ${MIB} MiB onto two disks, ${ROUNDS} rounds by turns; other: cp, sha256sum and sync of the same bytes twice.`,
  );
  console.log(`Load average of the machine, this benchmark included: ${(loadavg()[0] ?? 0).toFixed(1)}.`);
  console.log(JSON.stringify(atLeastTimes("put", puts, SHARE, "MiB/s")));
  console.log(JSON.stringify(atLeastTimes("copy from another node", copies, SHARE, "MiB/s")));
  console.log(
    JSON.stringify(atMost("bytes that the control plane sends for three copies", sent, MIN_COPIES, "× size")),
  );
} finally {
  await rm(root, { recursive: true, force: true });
}

async function makeFiles(folder: string): Promise<File[]> {
  const files: File[] = [];
  for (let i = 0; i < FILES; i++) {
    const bytes = randomBytes(MIB * 1024 ** 2);
    const file = { path: join(folder, `file-${i}`), sha256: sha256Of(bytes), size: bytes.length };
    await writeFile(file.path, bytes);
    files.push(file);
  }
  return files;
}

/** MiB per second. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (FILES * MIB * 1_000) / (performance.now() - startedAt);
}

/** MiB per second of puts to one new node and of copies from it to another. */
async function takeAll(files: readonly File[]): Promise<{ put: number; copy: number }> {
  return await withDepots(2, async (depots, clients) => {
    await configure(files, depots, clients);
    const [first, second] = clients;
    if (first === undefined || second === undefined) throw new Error("two depots were started");
    const put = await timed(() => atOnce(PUTS_AT_ONCE, files, (file) => putTo(first, file)));
    const copy = await timed(() =>
      atOnce(COPIES_AT_ONCE, files, (file) => copyTo(second, file, depots[0]?.readUrl ?? "")),
    );
    return { put, copy };
  });
}

async function withDepots<T>(count: number, work: (depots: Depots, clients: DepotClient[]) => Promise<T>): Promise<T> {
  const started = await startDepots(count, { slots: 64 });
  const { depots } = started;
  const clients = depots.map((depot) => createDepotClient(depot, { tokens: TOKENS, idleTimeoutMs: 120_000 }));
  try {
    return await work(depots, clients);
  } finally {
    await Promise.all(clients.map((client) => client.close()));
    await started.remove();
  }
}

async function configure(files: readonly File[], depots: Depots, clients: readonly DepotClient[]): Promise<void> {
  const sorted = files.toSorted((a, b) => (a.sha256 < b.sha256 ? -1 : 1));
  const set = { artifacts: sorted.map(({ sha256 }) => sha256), sizes: sorted.map(({ size }) => size) };
  const peers = depots.map(({ readUrl }) => new URL(readUrl).origin);
  for (const client of clients) await client.putConfig({ epoch: EPOCH, generation: 1, ...set }, peers);
}

async function putTo(client: DepotClient, { sha256, size, path }: File): Promise<void> {
  const answer = await client.put(sha256, FENCE, size, createReadStream(path));
  if (answer.successful_writes !== 2) throw new Error(`${answer.successful_writes} disks took it`);
}

async function copyTo(client: DepotClient, { sha256 }: File, from: string): Promise<void> {
  const { job } = await client.copyFromDepot(sha256, FENCE, from);
  for (;;) {
    const { state, message } = await client.job(job, 10_000);
    if (state === "done") return;
    if (state === "failed") throw new Error(message);
  }
}

async function atOnce(lanes: number, files: readonly File[], work: (file: File) => Promise<void>): Promise<void> {
  const left = [...files];
  const lane = async (): Promise<void> => {
    for (let file = left.shift(); file !== undefined; file = left.shift()) await work(file);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** The same work by hand: two copies of each file, durable, and both read again. */
async function copyByHand(files: readonly File[]): Promise<number> {
  const folders = [join(root, "by-hand-a"), join(root, "by-hand-b")];
  for (const folder of folders) await mkdir(folder);
  const script =
    'for f; do cp "$f" "$A/" && cp "$f" "$B/" && sync "$A/${f##*/}" "$B/${f##*/}" && sha256sum "$A/${f##*/}" "$B/${f##*/}"; done >/dev/null';
  const env = { ...process.env, A: folders[0], B: folders[1] };
  const speed = await timed(() => run("/bin/sh", ["-ec", script, "sh", ...files.map(({ path }) => path)], { env }));
  for (const folder of folders) await rm(folder, { recursive: true });
  return speed;
}

/** Bytes of bodies that leave the control plane for three copies of a few files, as a share of their size. */
async function sentByController(files: readonly File[]): Promise<number> {
  const few = files.slice(0, 4);
  return await withDepots(MIN_COPIES, async (depots, clients) => {
    await configure(few, depots, clients);
    let sent = 0;
    for (const depot of depots) {
      const proxy = await startDepotProxy(() => depot.controlUrl);
      const client = createDepotClient({ controlUrl: proxy.url, readUrl: depot.readUrl }, { tokens: TOKENS });
      for (const file of few) await putTo(client, file);
      sent += proxy.passed.reduce((sum, it) => sum + it.sent, 0);
      await client.close();
      await proxy.close();
    }
    return sent / few.reduce((sum, { size }) => sum + size, 0);
  });
}
