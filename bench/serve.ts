/**
 * What one real `myriarchd --roles api` gives to hosts: an archive that lies on a real depot, to many hosts at once, against
 * one static server (nginx with sendfile when it is here, else Node's streams) under the same clients. Ours reads over HTTP
 * from another process, compares every piece before it is sent, and checks a token; the static server has the file.
 */
import { execFile, spawn } from "node:child_process";
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { mintDownloadToken } from "../src/api/download-token.ts";
import { createDepotClient } from "../src/depot/client.ts";
import { freePort } from "../src/embedded/ports.ts";
import { startServices } from "../src/embedded/services.ts";
import { openPool, type Pool } from "../src/store/database.ts";
import { migrate } from "../src/store/migrate.ts";
import { startDepots, TOKENS, type DepotProcess } from "../test/support/depot-process.ts";
import { startReplicas } from "../test/support/replicas.ts";
import { peakKib, residentKib } from "./opamp-process.ts";
import { atLeastTimes, atMost } from "./report.ts";

const MIB = Number(process.env["BENCH_MIB"] ?? 300);
const HOSTS = Number(process.env["BENCH_HOSTS"] ?? 50);
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 3);
const SHARE = 0.5;
/** What fifty streams may hold, each a few pieces of 256 KiB; one archive alone would be more. */
const GROWTH_MIB = 150;
const EPOCH = "018f0000-0000-4000-8000-000000000001";
const run = promisify(execFile);

const folder = await mkdtemp(join(tmpdir(), "myriarch-bench-"));
const ends: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
try {
  await measure();
} finally {
  for (const end of ends.toReversed()) await end();
}

type Download = { url: string; headers: readonly string[] };

async function measure(): Promise<void> {
  const archive = randomBytes(MIB * 1024 ** 2);
  const file = join(folder, "archive.tar.gz");
  await writeFile(file, archive);
  const started = await startDepots(1);
  ends.push(() => started.remove());
  const [depot] = started.depots;
  if (depot === undefined) throw new Error("a depot was started");
  const sha256 = createHash("sha256").update(archive).digest("hex");
  await store(depot, file, sha256, archive.length);
  const { pid, downloads } = await startOurs(depot, sha256, archive.length);
  const other = await startStatic(file);
  // the first one of a process is read twice: once to learn what its pieces are
  await downloadAll(downloads.slice(0, 1));
  const before = await residentKib(pid);
  const rounds: { ours: number; other: number }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const ours = await downloadAll(downloads);
    rounds.push({ ours, other: await downloadAll(downloads.map(() => ({ url: other.url, headers: [] }))) });
  }
  const growth = ((await peakKib(pid)) - before) / 1_024;
  console.log(
    `${MIB} MiB from one depot to ${HOSTS} clients at once, ${ROUNDS} rounds by turns; other: ${other.name}.`,
  );
  console.log(`Load average of the machine, this benchmark included: ${(loadavg()[0] ?? 0).toFixed(1)}.`);
  console.log(JSON.stringify(atLeastTimes(`served to ${HOSTS} at once`, rounds, SHARE, "MiB/s")));
  console.log(JSON.stringify(atMost("most memory above that of before", growth, GROWTH_MIB, "MiB")));
}

async function store(depot: DepotProcess, file: string, sha256: string, size: number): Promise<void> {
  const client = createDepotClient(depot, { tokens: TOKENS, idleTimeoutMs: 120_000 });
  try {
    await client.putConfig({ epoch: EPOCH, generation: 1, artifacts: [sha256], sizes: [size] }, []);
    await client.put(sha256, { epoch: EPOCH, generation: 1 }, size, createReadStream(file));
  } finally {
    await client.close();
  }
}

/** One API process, and a download with a token and an open offer for each host. */
async function startOurs(depot: DepotProcess, sha256: string, size: number) {
  const services = await startServices({ dataDir: folder, log: () => undefined, env: {} });
  ends.push(() => services.stop());
  const pool = openPool(services.databaseUrl, () => undefined, 2);
  ends.push(() => pool.end());
  await migrate(pool);
  const { databaseUrl, temporalAddress } = services;
  const options = { databaseUrl, temporalAddress, count: 1, depotReadToken: TOKENS.read };
  const replicas = await startReplicas(options);
  ends.push(() => replicas.stop());
  const [replica] = replicas.all;
  const artifact = await writeRows(pool, depot, sha256, size);
  const downloads: Download[] = [];
  for (let i = 0; i < HOSTS; i++) {
    const agent = await offer(pool, artifact);
    const token = mintDownloadToken(replicas.key, { artifact, agent, issuedAtMs: Date.now() });
    const url = `http://127.0.0.1:${replica.port}/api/v1/artifacts/${artifact}/content/archive.tar.gz`;
    downloads.push({ url, headers: ["-H", `Authorization: Bearer ${token}`] });
  }
  return { pid: replica.pid() ?? 0, downloads };
}

async function writeRows(pool: Pool, depot: DepotProcess, sha256: string, size: number): Promise<string> {
  await pool.query(
    "insert into depots (node_id, zone, control_url, read_url, answered_at, generation) values ($1, 'a', $2, $3, now(), 1)",
    [depot.nodeId, depot.controlUrl, depot.readUrl],
  );
  await pool.query("insert into copies (node_id, sha256, disks) values ($1, decode($2, 'hex'), 2)", [
    depot.nodeId,
    sha256,
  ]);
  const { rows } = await pool.query<{ id: string }>(
    `insert into artifacts (distribution, version, os, arch, file_name, sha256, size_bytes, source_url, state, wanted)
     values ('otelcol', '1.0.0', 'linux', 'amd64', 'archive.tar.gz', decode($1, 'hex'), $2, 'bench', 'verified', true)
     returning id`,
    [sha256, size],
  );
  return rows[0]?.id ?? "";
}

/** An open offer of the artifact; the agent that it is for. */
async function offer(pool: Pool, artifact: string): Promise<string> {
  const agent = randomUUID();
  await pool.query(
    `insert into offers (host, recipient, kind, direction, fleet, n, attempt, version, artifact)
     values ($1, $2, 'package', 'forward', 'bench', 1, 1, '1.0.0', $3)`,
    [randomUUID(), agent, artifact],
  );
  return agent;
}

/** MiB per second over all of them together. Each must bring all its bytes. */
async function downloadAll(downloads: readonly Download[]): Promise<number> {
  const startedAt = performance.now();
  const sizes = await Promise.all(downloads.map(downloadOne));
  const ms = performance.now() - startedAt;
  const wrong = sizes.filter((size) => size !== MIB * 1024 ** 2);
  if (wrong.length > 0) throw new Error(`${wrong.length} of ${downloads.length} downloads were not whole`);
  return (downloads.length * MIB * 1_000) / ms;
}

async function downloadOne({ url, headers }: Download): Promise<number> {
  const { stdout } = await run("curl", ["-sS", "-f", "-o", "/dev/null", "-w", "%{size_download}", ...headers, url]);
  return Number(stdout);
}

/** A server that does nothing but give the file. */
async function startStatic(file: string): Promise<{ name: string; url: string }> {
  return (await startNginx(file)) ?? (await startStreams(file));
}

async function startNginx(file: string): Promise<{ name: string; url: string } | undefined> {
  const { stdout, stderr } = await run("nginx", ["-v"]).catch(() => ({ stdout: "", stderr: "" }));
  const version = /nginx\/(\S+)/.exec(stdout + stderr)?.[1];
  if (version === undefined) return undefined;
  const port = await freePort();
  const root = join(folder, "nginx");
  await mkdir(root);
  await writeFile(
    join(root, "nginx.conf"),
    `daemon off; pid ${root}/pid; error_log ${root}/error.log; user root;
events {}
http { access_log off; sendfile on; server { listen 127.0.0.1:${port}; location / { root ${folder}; } } }\n`,
  );
  const child = spawn("nginx", ["-p", root, "-c", join(root, "nginx.conf")], { stdio: "ignore" });
  ends.push(async () => {
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    await exited;
  });
  const url = `http://127.0.0.1:${port}/${file.slice(folder.length + 1)}`;
  await run("curl", ["-sSf", "-o", "/dev/null", "--retry", "20", "--retry-connrefused", "--retry-delay", "1", url]);
  return { name: `nginx ${version} with sendfile`, url };
}

async function startStreams(file: string): Promise<{ name: string; url: string }> {
  const server = createServer((_, response) => void createReadStream(file).pipe(response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  ends.push(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  return {
    name: "a file stream of Node (no nginx here)",
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
  };
}
