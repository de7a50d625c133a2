import { randomBytes, randomUUID } from "node:crypto";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fastify, type FastifyInstance } from "fastify";
import { serializerCompiler, validatorCompiler } from "fastify-type-provider-zod";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { pokeReplication } from "../../src/activities/artifacts.ts";
import { createDepotClients } from "../../src/activities/depot-clients.ts";
import { mintDownloadToken } from "../../src/api/download-token.ts";
import { answerProblems } from "../../src/api/problem.ts";
import { createWrongCopyReport } from "../../src/api/report-wrong-copy.ts";
import { artifactContentRoutes } from "../../src/api/routes/artifact-content.ts";
import { createArtifactStreams, type SourceFault } from "../../src/api/stream-artifact.ts";
import { createDepotReader, type DepotReader } from "../../src/depot/client.ts";
import { artifactFor, type ArtifactRow } from "../../src/store/artifacts.ts";
import { downloadSources } from "../../src/store/downloads.ts";
import { createArtifactWorld, type ArtifactWorld } from "../support/artifact-world.ts";
import { digest } from "../support/depot.ts";
import { TOKENS } from "../support/depot-process.ts";
import { flipByte } from "../support/flip-byte.ts";

const key = randomBytes(32);
const TTL_MS = 60_000;
let world: ArtifactWorld;
let row: ArtifactRow & { sha256: string; sizeBytes: number };
let reader: DepotReader;
let app: FastifyInstance;
let base: string;
let agent: string;
let clockMs = 0;
let chance = 0;
const wrong: SourceFault[] = [];
const reports: Promise<void>[] = [];
const failed: object[] = [];
const closing: (() => Promise<void>)[] = [];
const now = (): Date => new Date(Date.UTC(2027, 0, 1) + clockMs);

beforeAll(async () => {
  world = await createArtifactWorld({ depots: 3 });
  await world.register();
  await world.startWorker();
  await world.fetch(await world.publish("0.161.0", {}, 16_000_000));
  await world.until("staging is released", async () => {
    const { rows } = await world.pool.query("select from staging");
    return rows.length === 0;
  });
  row = (await artifactFor(world.pool, "otelcol-contrib", "0.161.0", "linux", "amd64")) as typeof row;
  reader = createDepotReader({ token: TOKENS.read, idleTimeoutMs: 2_000 });
  const clients = createDepotClients(TOKENS);
  closing.push(() => clients.close());
  const report = createWrongCopyReport({
    pool: world.pool,
    depotClient: (address) => clients.of(address),
    wakeReplication: (cause) => pokeReplication(world.client, cause),
    log: { error: (fields) => void ("err" in fields && failed.push(fields)) },
  });
  const streams = createArtifactStreams({
    reader,
    sources: (sha256) => downloadSources(world.pool, sha256),
    stagingDir: world.stagingDir,
    nowMs: () => now().getTime(),
    onSwitch: () => undefined,
    onWrong: (fault) => {
      wrong.push(fault);
      reports.push(report(fault));
    },
  });
  app = fastify();
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  answerProblems(app);
  await app.register(
    artifactContentRoutes({
      pool: world.pool,
      keys: [key],
      streams,
      downloadTokenTtlMs: TTL_MS,
      maxConcurrentDownloads: 2,
      now,
      chance: () => chance,
    }),
    { prefix: "/api/v1" },
  );
  base = await app.listen({ host: "127.0.0.1", port: 0 });
});
afterAll(async () => {
  for (const close of closing) await close();
  await app.close();
  await reader.close();
  await world.close();
});
beforeEach(async () => {
  agent = randomUUID();
  await offer(agent);
});

async function offer(recipient: string): Promise<void> {
  await world.pool.query(
    `insert into offers (host, recipient, kind, direction, fleet, n, attempt, version, artifact)
     values ($1, $2, 'package', 'forward', 'demo', 1, 1, '0.161.0', $3)`,
    [randomUUID(), recipient, row.id],
  );
}
const token = (claims: Partial<{ artifact: string; agent: string; issuedAtMs: number }> = {}): string =>
  mintDownloadToken(key, { artifact: row.id, agent, issuedAtMs: now().getTime(), ...claims });
const get = (
  bearer: string | undefined,
  headers: Record<string, string> = {},
  path = `${row.id}/content/${row.fileName}`,
  method = "GET",
) =>
  fetch(`${base}/api/v1/artifacts/${path}`, {
    method,
    headers: { ...(bearer && { authorization: `Bearer ${bearer}` }), ...headers },
  });
const refused = async (answer: Promise<Response>): Promise<[number, string]> => {
  const response = await answer;
  return [response.status, ((await response.json()) as { code: string }).code];
};
const audited = async (): Promise<string[]> =>
  (
    await world.pool.query<{ because: string }>(
      "select detail->>'because' as because from audit where action = 'artifact.download' and principal = $1 order by seq",
      [`agent:${agent}`],
    )
  ).rows.map((entry) => entry.because);

async function readRange(path: string, at: number, length: number): Promise<Buffer> {
  const file = await open(path, "r");
  const { buffer } = await file.read(Buffer.alloc(length), 0, length, at);
  await file.close();
  return buffer;
}

describe("a download", () => {
  test("with the token of an open offer brings the very bytes", async () => {
    const answer = await get(token());
    expect([answer.status, answer.headers.get("etag"), answer.headers.get("content-length")]).toEqual([
      200,
      `"${row.sha256}"`,
      String(row.sizeBytes),
    ]);
    expect(digest(new Uint8Array(await answer.arrayBuffer()))).toBe(row.sha256);
  });

  test("that was cut goes on with Range, and starts anew when If-Range is of something else", async () => {
    const whole = Buffer.from(await (await get(token())).arrayBuffer());
    const rest = await get(token(), { range: "bytes=1000000-", "if-range": `"${row.sha256}"` });
    expect([rest.status, rest.headers.get("content-range")]).toEqual([
      206,
      `bytes 1000000-${row.sizeBytes - 1}/${row.sizeBytes}`,
    ]);
    expect(Buffer.from(await rest.arrayBuffer()).equals(whole.subarray(1_000_000))).toBe(true);
    const changed = await get(token(), { range: "bytes=1000000-", "if-range": '"other"' });
    expect(changed.status).toBe(200);
    expect((await changed.arrayBuffer()).byteLength).toBe(row.sizeBytes);
    expect((await get(token(), { range: `bytes=${row.sizeBytes}-` })).status).toBe(416);
    expect((await get(token(), { "if-match": '"other"' })).status).toBe(412);
  });

  test("is described by HEAD as by GET, under the same conditions, without a byte", async () => {
    const head = (bearer: string | undefined, headers: Record<string, string> = {}) =>
      get(bearer, headers, undefined, "HEAD");
    const whole = await head(token());
    expect([whole.status, whole.headers.get("content-length"), whole.headers.get("etag")]).toEqual([
      200,
      String(row.sizeBytes),
      `"${row.sha256}"`,
    ]);
    const part = await head(token(), { range: "bytes=10-19" });
    expect([part.status, part.headers.get("content-length")]).toEqual([206, "10"]);
    expect((await head(undefined)).status).toBe(401);
    expect((await head(token({ agent: randomUUID() }))).status).toBe(403);
  });

  test("whose token grows too old while it runs comes to its end; when it is cut, the fresh token brings the rest", async () => {
    const old = token();
    const [running, cut] = await Promise.all([get(old), get(old)]);
    const stream = cut.body?.getReader();
    const first = Buffer.from((await stream?.read())?.value ?? []);
    clockMs += TTL_MS + 1;
    expect(digest(new Uint8Array(await running.arrayBuffer()))).toBe(row.sha256);
    await stream?.cancel();
    const range = { range: `bytes=${first.length}-`, "if-range": `"${row.sha256}"` };
    expect(await refused(get(old, range))).toEqual([403, "download_refused"]);
    const rest = await get(token(), range);
    expect(rest.status).toBe(206);
    expect(digest(Buffer.concat([first, Buffer.from(await rest.arrayBuffer())]))).toBe(row.sha256);
  });

  test("has no wrong byte of a depot whose copies are rotten: another one has the right ones", async () => {
    for (const depot of world.depots.slice(0, 2))
      for (const disk of depot.disks) await flipByte(join(disk, "artifacts", row.sha256), 5_000_000);
    expect(digest(new Uint8Array(await (await get(token())).arrayBuffer()))).toBe(row.sha256);
    expect(wrong.map(({ node }) => node).toSorted()).toEqual(["depot-1", "depot-2"]);
    const part = await get(token(), { range: "bytes=4999999-5000001" });
    expect(digest(Buffer.from(await part.arrayBuffer()))).toBe(
      digest(await readRange(join(world.depots[2]?.disks[0] ?? "", "artifacts", row.sha256), 4_999_999, 3)),
    );
    await Promise.all(reports);
    expect(failed).toEqual([]);
    const { rows } = await world.pool.query<{ node: string }>(
      "select distinct node_id as node from replication_history where kind = 'corrupt' order by 1",
    );
    expect(rows.map(({ node }) => node)).toEqual(["depot-1", "depot-2"]);
    await world.until("the rotten copies are replaced", async () => {
      const copies = world.depots.flatMap(({ disks }) => disks.map((disk) => join(disk, "artifacts", row.sha256)));
      const read = await Promise.all(copies.map((path) => readFile(path).catch(() => Buffer.alloc(0))));
      return read.every((bytes) => digest(bytes) === row.sha256);
    });
    clockMs += 600_000; // trusted again
  });

  test("of a token that is no longer, or never was, worth anything is refused", async () => {
    expect(await refused(get(undefined))).toEqual([401, "unauthenticated"]);
    expect(await refused(get("nonsense"))).toEqual([403, "download_refused"]);
    expect(await refused(get(mintDownloadToken(randomBytes(32), { artifact: row.id, agent, issuedAtMs: 0 })))).toEqual([
      403,
      "download_refused",
    ]);
    expect(await refused(get(token({ artifact: randomUUID() })))).toEqual([403, "download_refused"]);
    expect(await refused(get(token({ agent: randomUUID() })))).toEqual([403, "download_refused"]);
    expect(await refused(get(token({ issuedAtMs: now().getTime() - TTL_MS - 1 })))).toEqual([403, "download_refused"]);
    expect(await refused(get(token(), {}, `${row.id}/content/other.tar.gz`))).toEqual([404, "not_found"]);
    const unknown = randomUUID();
    expect(await refused(get(token({ artifact: unknown }), {}, `${unknown}/content/x`))).toEqual([404, "not_found"]);
    await world.pool.query("update offers set closed_at = now() where recipient = $1", [agent]);
    expect(await refused(get(token()))).toEqual([403, "download_refused"]);
    await offer(agent);
    await world.pool.query("update releases set revoked_at = now(), revoked_reason = 'bad'");
    expect(await refused(get(token()))).toEqual([403, "download_refused"]);
    await world.pool.query("update releases set revoked_at = null");
    expect((await get(token())).status).toBe(200);
  });

  test("refused again and again is written down at most once a minute per agent and cause", async () => {
    for (let i = 0; i < 5; i++) await get(token({ issuedAtMs: 0 }));
    await get(token({ artifact: randomUUID() }));
    expect(await audited()).toEqual(["it is too old", "it is for another artifact"]);
    clockMs += 60_000;
    await get(token({ issuedAtMs: 0 }));
    expect(await audited()).toHaveLength(3);
  });

  test("beyond the limit is asked to come again later, with a moment", async () => {
    const held = await Promise.all([get(token()), get(token())]);
    for (const [drawn, retryAfter] of [
      [0, "5"],
      [0.999, "14"],
    ] as const) {
      chance = drawn;
      const answer = await get(token());
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, retryAfter]);
      expect(await answer.json()).toMatchObject({ code: "downloads_busy" });
    }
    // who only asks how large it is takes no place
    expect((await get(token(), {}, undefined, "HEAD")).status).toBe(200);
    await Promise.all(held.map((one) => one.arrayBuffer()));
    const again = async () => (await get(token(), { range: "bytes=0-0" })).status;
    await expect.poll(again, { timeout: 60_000 }).toBe(206);
  });

  test("goes on from another depot when one dies in the middle; with none left it is told to wait", async () => {
    const answer = await get(token());
    const stream = answer.body?.getReader();
    const first = await stream?.read();
    const pieces = [Buffer.from(first?.value ?? [])];
    await world.depots[0]?.kill();
    await world.depots[1]?.kill();
    for (let piece = await stream?.read(); piece?.done === false; piece = await stream?.read())
      pieces.push(Buffer.from(piece.value));
    expect(digest(Buffer.concat(pieces))).toBe(row.sha256);
    expect(digest(new Uint8Array(await (await get(token())).arrayBuffer()))).toBe(row.sha256);
    await world.depots[2]?.kill();
    expect(await refused(get(token()))).toEqual([503, "artifact_unavailable"]);
  });
});
