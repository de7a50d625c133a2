import { randomBytes, randomUUID } from "node:crypto";
import { fastify, type FastifyInstance } from "fastify";
import { serializerCompiler, validatorCompiler } from "fastify-type-provider-zod";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { mintDownloadToken } from "../../src/api/download-token.ts";
import { answerProblems } from "../../src/api/problem.ts";
import { artifactContentRoutes } from "../../src/api/routes/artifact-content.ts";
import { createArtifactStreams } from "../../src/api/stream-artifact.ts";
import { createDepotReader, type DepotReader } from "../../src/depot/client.ts";
import { artifactFor, type ArtifactRow } from "../../src/store/artifacts.ts";
import { downloadSources } from "../../src/store/downloads.ts";
import { createArtifactWorld, type ArtifactWorld } from "../support/artifact-world.ts";
import { digest } from "../support/depot.ts";
import { TOKENS } from "../support/depot-process.ts";

const key = randomBytes(32);
const TTL_MS = 60_000;
let world: ArtifactWorld;
let row: ArtifactRow & { sha256: string; sizeBytes: number };
let reader: DepotReader;
let app: FastifyInstance;
let base: string;
let agent: string;
let clockMs = 0;
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
  const streams = createArtifactStreams({
    reader,
    sources: (sha256) => downloadSources(world.pool, sha256),
    stagingDir: world.stagingDir,
    onSwitch: () => undefined,
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
    }),
    { prefix: "/api/v1" },
  );
  base = await app.listen({ host: "127.0.0.1", port: 0 });
});
afterAll(async () => {
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
) =>
  fetch(`${base}/api/v1/artifacts/${path}`, {
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
    const answer = await get(token());
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    await Promise.all(held.map((one) => one.arrayBuffer()));
    await expect.poll(async () => (await get(token(), { range: "bytes=0-0" })).status).toBe(206);
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
