/** What an execution costs when there is nothing to do: fifty nodes with one disk each, two thousand artifacts. */
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { parseDepotConfig } from "../../src/depot/config.ts";
import { createDepotClient } from "../../src/depot/client.ts";
import { runDepot, type RunningDepot } from "../../src/depot/run.ts";
import { listDepots, readWantedSet } from "../../src/store/depots.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { TOKENS } from "../support/depot-process.ts";
import { startDepotProxy, type DepotProxy } from "../support/depot-proxy.ts";
import { createReplicationWorld, sha256Of, type ReplicationWorld } from "../support/replication-world.ts";

const NODES = 50;
const ARTIFACTS = 2_000;
let root: string;
let database: TestDatabase;
let world: ReplicationWorld;
const depots: RunningDepot[] = [];
const proxies: DepotProxy[] = [];

/** Real nodes over loopback, in this process. All their disks show the same files, which is nothing to them. */
async function startNode(i: number, files: string): Promise<void> {
  const disk = join(root, `disk-${i}`);
  await mkdir(disk);
  await symlink(files, join(disk, "artifacts"));
  await mkdir(join(disk, "trash"));
  const listener = (token: string) => `{listen: "127.0.0.1:0", tokenFile: ${join(root, token)}}`;
  const text = `{nodeId: n${i}, disks: [${disk}], control: ${listener("control")}, read: ${listener("read")}}`;
  const depot = await runDepot(parseDepotConfig(text, "depot.yaml"), () => undefined);
  depots.push(depot);
  const proxy = await startDepotProxy(() => depot.controlUrl);
  proxies.push(proxy);
  await world.register([{ nodeId: `n${i}`, controlUrl: proxy.url, readUrl: depot.readUrl }]);
}

/** Every node gets its first configuration, as an execution would send it. */
async function configure(): Promise<void> {
  const wanted = await readWantedSet(database.pool);
  const peers = (await listDepots(database.pool)).map(({ readUrl }) => new URL(readUrl).origin);
  for (const depot of depots) {
    const client = createDepotClient(depot, { tokens: TOKENS });
    await client.putConfig(wanted, peers);
    await client.close();
  }
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "myriarch-idle-"));
  await writeFile(join(root, "control"), TOKENS.control);
  await writeFile(join(root, "read"), TOKENS.read);
  database = await createTestDatabase();
  world = await createReplicationWorld({
    pool: database.pool,
    databaseUrl: database.url,
    temporalAddress: inject("temporalAddress"),
  });
  const files = join(root, "files");
  await mkdir(files);
  const contents = Array.from({ length: ARTIFACTS }, (_, i) => Buffer.from(`content ${i}`));
  for (let i = 0; i < NODES; i++) await startNode(i, files);
  // the nodes have no file yet, so they take their first configuration
  await database.pool.query(
    `insert into artifacts (distribution, version, os, arch, file_name, sha256, size_bytes, source_url, state, wanted)
     select 'otelcol', n::text || '.0.0', 'linux', 'amd64', 'a', decode(sha256, 'hex'), size, 'file:///a', 'verified', true
     from unnest($1::text[], $2::int[]) with ordinality as c (sha256, size, n)`,
    [contents.map(sha256Of), contents.map((bytes) => bytes.length)],
  );
  await configure();
  await Promise.all(contents.map((bytes) => writeFile(join(files, sha256Of(bytes)), bytes)));
  await world.execute(); // the first one tells the nodes what is held, and finds all of it
}, 180_000);
afterAll(async () => {
  await world.close();
  await Promise.all(proxies.map((proxy) => proxy.close()));
  await Promise.all(depots.map((depot) => depot.close()));
  await database.drop();
  await rm(root, { recursive: true, force: true });
}, 60_000);

test("an idle execution at 50 nodes and 2,000 artifacts is 100 requests and less than 10 MB, and no large message", async () => {
  for (const proxy of proxies) proxy.forget();
  const { did, workflowId } = await world.execute();
  expect(did).toMatchObject({ nodes: NODES, puts: 0, copies: 0, failed: 0, lost: 0, skipped: [] });
  const requests = proxies.reduce((sum, { passed }) => sum + passed.length, 0);
  const bytes = proxies.reduce((sum, proxy) => sum + proxy.wireBytes(), 0);
  expect(requests, JSON.stringify(proxies[0]?.passed)).toBe(2 * NODES);
  expect(bytes).toBeLessThan(10_000_000);
  const { events } = await world.client.workflow.getHandle(workflowId).fetchHistory();
  const messages = (events ?? []).flatMap(
    ({ activityTaskScheduledEventAttributes: from, activityTaskCompletedEventAttributes: to }) =>
      [...(from?.input?.payloads ?? []), ...(to?.result?.payloads ?? [])].map(({ data }) => data?.length ?? 0),
  );
  expect(Math.max(...messages)).toBeLessThan(4_096);
  console.log(`idle: ${requests} requests, ${bytes} bytes on the wire, largest message ${Math.max(...messages)} bytes`);
}, 120_000);
