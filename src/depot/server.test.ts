import { request as httpRequest } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import {
  bytesOf,
  configOf,
  createTestNode,
  digest,
  OURS,
  stream,
  THEIRS,
  type TestNode,
} from "../../test/support/depot.ts";
import { createDepotClient, type DepotClient } from "./client.ts";
import { buildReadServer } from "./read-server.ts";
import { buildControlServer } from "./server.ts";

const A = bytesOf("a", 100_000);
const a = digest(A);
const CONTROL = "control-token-of-the-test";
const READ = "read-token-of-the-test";

type Running = { it: TestNode; controlUrl: string; readUrl: string; client: DepotClient };
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function given(): Promise<Running> {
  const it = await createTestNode();
  const log = (): void => undefined;
  const control = buildControlServer(it.node, { token: CONTROL, log });
  const read = buildReadServer(it.node, { token: READ, log });
  const controlUrl = await control.listen({ host: "127.0.0.1", port: 0 });
  const readUrl = await read.listen({ host: "127.0.0.1", port: 0 });
  const client = createDepotClient(
    { controlUrl, readUrl },
    { tokens: { control: CONTROL, read: READ }, idleTimeoutMs: 2_000 },
  );
  cleanups.push(
    () => it.remove(),
    () => control.close(),
    () => read.close(),
    () => client.close(),
  );
  return { it, controlUrl, readUrl, client };
}
const code = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "none",
    (error: { code: string }) => error.code,
  );
const status = async (url: string, init: RequestInit, token: string): Promise<[number, unknown]> => {
  const answer = await fetch(url, {
    ...init,
    headers: { authorization: `Bearer ${token}`, ...(init.headers as object) },
  });
  const text = await answer.text();
  const known = answer.headers.get("content-type")?.includes("json") === true && answer.status >= 400;
  return [answer.status, known ? (JSON.parse(text) as { code: string }).code : undefined];
};
const json = (method: string, body: unknown): RequestInit => ({
  method,
  body: JSON.stringify(body),
  headers: { "content-type": "application/json" },
});

describe("a depot over HTTP", () => {
  test("the client's calls: configure, put, list, read, copy, wait for the job", async () => {
    const { it, client, readUrl } = await given();
    const fence = { epoch: OURS, generation: 1 };
    await client.putConfig(configOf(1, [A]), [readUrl]);
    expect(await client.put(a, fence, A.length, stream(A))).toEqual({ datasets: 2, successful_writes: 2 });
    expect(await client.list()).toMatchObject({
      generation: 1,
      list: { [a]: 2 },
      disks: [{ state: "ok" }, { state: "ok" }],
    });
    const whole = await client.read(a);
    expect(Buffer.concat(await whole.body.toArray())).toEqual(A);
    const part = await client.read(a, 99_990);
    expect(Buffer.concat(await part.body.toArray())).toEqual(A.subarray(99_990));
    // the second node of this test is the same program with other disks
    const other = await given();
    await other.client.putConfig(configOf(1, [A]), [readUrl]);
    it.peers.clear();
    expect(await code(other.client.copyFromDepot(a, fence, "http://127.0.0.1:1"))).toBe("depot_source_refused");
    expect(await code(other.client.copyFromDepot(a, fence, readUrl))).toBe("depot_source_failed");
    expect(await code(client.job("unknown", 0))).toBe("not_found");
  });

  test("status codes are those of the original, each refusal with a code", async () => {
    const { controlUrl, readUrl, client } = await given();
    const put = (path: string, epoch = OURS, body: Buffer = A) =>
      status(
        controlUrl + path,
        {
          method: "PUT",
          body: new Uint8Array(body),
          headers: { "x-epoch": epoch, "content-type": "application/octet-stream" },
        },
        CONTROL,
      );
    expect(await status(`${controlUrl}/artifacts-config`, {}, CONTROL)).toEqual([404, "not_found"]);
    expect(await status(`${controlUrl}/artifacts`, {}, CONTROL)).toEqual([400, "depot_no_config"]);
    expect(await put(`/artifacts/${a}?generation=1`)).toEqual([400, "depot_no_config"]);
    const config = { ...configOf(2, [A]), peers: [] };
    expect(await status(`${controlUrl}/artifacts-config`, json("PUT", config), CONTROL)).toEqual([204, undefined]);
    const older = { ...config, generation: 1 };
    expect(await status(`${controlUrl}/artifacts-config`, json("PUT", older), CONTROL)).toEqual([
      409,
      "depot_generation",
    ]);
    const foreign = { ...config, epoch: THEIRS, generation: 100 };
    expect(await status(`${controlUrl}/artifacts-config`, json("PUT", foreign), CONTROL)).toEqual([409, "depot_epoch"]);
    const unknownKey = { ...config, generation: 3, extra: 1 };
    expect(await status(`${controlUrl}/artifacts-config`, json("PUT", unknownKey), CONTROL)).toEqual([
      400,
      "invalid_request",
    ]);
    expect(await put(`/artifacts/${a}?generation=1`)).toEqual([409, "depot_generation"]);
    expect(await put(`/artifacts/${a}?generation=2`, THEIRS)).toEqual([409, "depot_epoch"]);
    expect(await put(`/artifacts/${digest(Buffer.from("?"))}?generation=2`)).toEqual([400, "depot_unwanted"]);
    expect(await put(`/artifacts/${a}`)).toEqual([400, "invalid_request"]);
    expect(await put(`/artifacts/..%2fx?generation=2`)).toEqual([400, "invalid_request"]);
    expect(await put(`/artifacts/${a}?generation=2`, OURS, bytesOf("b", A.length))).toEqual([
      400,
      "depot_digest_mismatch",
    ]);
    expect(await put(`/artifacts/${a}?generation=2`)).toEqual([200, undefined]);
    expect(await status(`${readUrl}/artifact/sha256/${a}`, {}, READ)).toEqual([200, undefined]);
    expect(await status(`${readUrl}/artifact/sha256/${digest(Buffer.from("?"))}`, {}, READ)).toEqual([
      404,
      "not_found",
    ]);
    expect(await code(client.list())).toBe("none");
  });

  test("each listener has its own token; the read listener has one call", async () => {
    const { controlUrl, readUrl } = await given();
    expect(await status(`${controlUrl}/healthz`, {}, "")).toEqual([200, undefined]);
    for (const token of ["", READ, `${CONTROL}x`])
      expect(await status(`${controlUrl}/artifacts`, {}, token)).toEqual([401, "unauthenticated"]);
    for (const token of ["", CONTROL])
      expect(await status(`${readUrl}/artifact/sha256/${a}`, {}, token)).toEqual([401, "unauthenticated"]);
    expect(await status(`${readUrl}/artifacts-config`, {}, READ)).toEqual([404, "not_found"]);
    expect(await status(`${readUrl}/artifact/sha256/${a}`, { method: "PUT", body: "x" }, READ)).toEqual([
      404,
      "not_found",
    ]);
  });

  test("reads have ranges and an ETag that is the digest", async () => {
    const { readUrl, client } = await given();
    await client.putConfig(configOf(1, [A]), []);
    await client.put(a, { epoch: OURS, generation: 1 }, A.length, stream(A));
    const get = (headers: Record<string, string>, method = "GET") =>
      fetch(`${readUrl}/artifact/sha256/${a}`, { method, headers: { authorization: `Bearer ${READ}`, ...headers } });
    const whole = await get({});
    expect([whole.headers.get("etag"), whole.headers.get("accept-ranges")]).toEqual([`"${a}"`, "bytes"]);
    expect(Buffer.from(await whole.arrayBuffer())).toEqual(A);
    const middle = await get({ range: "bytes=10-19" });
    expect([middle.status, middle.headers.get("content-range")]).toEqual([206, `bytes 10-19/${A.length}`]);
    expect(Buffer.from(await middle.arrayBuffer())).toEqual(A.subarray(10, 20));
    const beyond = await get({ range: `bytes=${A.length}-` });
    expect([beyond.status, beyond.headers.get("content-range")]).toEqual([416, `bytes */${A.length}`]);
    expect((await get({ "if-match": '"other"' })).status).toBe(412);
    const head = await get({}, "HEAD");
    expect([head.status, head.headers.get("content-length")]).toEqual([200, String(A.length)]);
  });

  test("a body that is cut in the middle leaves no name, and the node goes on", async () => {
    const { it, controlUrl, client } = await given();
    await client.putConfig(configOf(1, [A]), []);
    await new Promise<void>((resolve) => {
      const headers = {
        authorization: `Bearer ${CONTROL}`,
        "x-epoch": OURS,
        "content-type": "application/octet-stream",
        "content-length": A.length,
      };
      const sent = httpRequest(`${controlUrl}/artifacts/${a}?generation=1`, { method: "PUT", headers });
      sent.on("error", () => resolve());
      sent.write(A.subarray(0, 50_000), () => sent.destroy(new Error("cut")));
    });
    await expect.poll(() => it.logs.some((line) => line.includes("depot_short_body"))).toBe(true);
    expect((await it.walk()).filter((name) => !name.includes("/tmp/"))).toEqual([]);
    expect(await client.put(a, { epoch: OURS, generation: 1 }, A.length, stream(A))).toMatchObject({
      successful_writes: 2,
    });
  });

  test("a node that is not there, or does not answer, is unreachable within its time", async () => {
    const client = createDepotClient(
      { controlUrl: "http://127.0.0.1:9", readUrl: "http://127.0.0.1:9" },
      { tokens: { control: CONTROL, read: READ } },
    );
    cleanups.push(() => client.close());
    expect(await code(client.list())).toBe("depot_unreachable");
    expect(await code(client.put(a, { epoch: OURS, generation: 1 }, A.length, stream(A)))).toBe("depot_unreachable");
  });
});
