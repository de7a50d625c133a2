import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import { createArtifactSource, type ArtifactSource } from "./artifact-source.ts";
import { isPrivateAddress } from "./private-address.ts";

const BYTES = Buffer.from("0123456789".repeat(100));
const servers: Server[] = [];
const sources: ArtifactSource[] = [];
afterEach(async () => {
  for (const source of sources.splice(0)) await source.close();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});
const source = (idleTimeoutMs = 2_000): ArtifactSource => {
  const made = createArtifactSource({ idleTimeoutMs });
  sources.push(made);
  return made;
};
async function serve(handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(handler);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
const read = async (opened: Awaited<ReturnType<ArtifactSource["open"]>>): Promise<string> =>
  opened === undefined ? "absent" : Buffer.concat(await opened.body.toArray()).toString();
const code = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "none",
    (error: { code: string }) => error.code,
  );
/** Serves BYTES with ranges, as a mirror does. */
const mirror = (request: IncomingMessage, response: ServerResponse): void => {
  const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? Number.NaN);
  const resumes = Number.isSafeInteger(start) && request.headers["if-range"] === '"v1"';
  if (resumes && start >= BYTES.length)
    return void response.writeHead(416, { "content-range": `bytes */${BYTES.length}` }).end();
  const headers = { etag: '"v1"', "content-length": BYTES.length - (resumes ? start : 0) };
  const range = { "content-range": `bytes ${start}-${BYTES.length - 1}/${BYTES.length}` };
  response
    .writeHead(resumes ? 206 : 200, resumes ? { ...headers, ...range } : headers)
    .end(resumes ? BYTES.subarray(start) : BYTES);
};

describe("a mirror over http", () => {
  test("is read whole, and from an offset while it has the same content", async () => {
    const url = `${await serve(mirror)}/a`;
    const whole = await source().open(url);
    expect(whole).toMatchObject({ offset: 0, size: BYTES.length, validator: '"v1"' });
    expect(await read(whole)).toBe(BYTES.toString());
    const rest = await source().open(url, { offset: 990, validator: '"v1"' });
    expect(rest).toMatchObject({ offset: 990, size: BYTES.length });
    expect(await read(rest)).toBe("0123456789");
  });
  test.each([
    ["that changed meanwhile", { offset: 10, validator: '"v0"' }],
    ["that says 416 to a complete file", { offset: BYTES.length, validator: '"v1"' }],
  ])("%s begins anew", async (_, resume) => {
    const opened = await source().open(`${await serve(mirror)}/a`, resume);
    expect(opened?.offset).toBe(0);
    expect(await read(opened)).toBe(BYTES.toString());
  });
  test("a missing file is absent; other answers may be tried again", async () => {
    const base = await serve((request, response) => void response.writeHead(Number(request.url?.slice(1))).end());
    expect(await source().open(`${base}/404`)).toBeUndefined();
    expect(await source().readSmall(`${base}/404`, 10)).toBeUndefined();
    for (const status of [401, 403, 429, 500, 503])
      expect(await code(source().open(`${base}/${status}`))).toBe("artifact_unreachable");
  });
  test("a source that falls silent is given up", async () => {
    const base = await serve(() => undefined);
    expect(await code(source(300).open(`${base}/a`))).toBe("artifact_unreachable");
  });
  test("a small file has a bound", async () => {
    const base = await serve((_, response) => void response.end("x".repeat(2_000)));
    expect(await code(source().readSmall(`${base}/a`, 1_000))).toBe("artifact_too_large");
  });
});

describe("redirects", () => {
  test("up to five are followed, without credentials, and the sixth is not", async () => {
    const seen: (string | undefined)[] = [];
    const base = await serve((request, response) => {
      seen.push(request.headers.authorization);
      const left = Number(request.url?.slice(1));
      if (left === 0) response.end("there");
      else response.writeHead(302, { location: `/${left - 1}` }).end();
    });
    expect(await read(await source().open(`${base}/5`))).toBe("there");
    expect(await code(source().open(`${base}/6`))).toBe("artifact_redirect_refused");
    expect(seen.every((header) => header === undefined)).toBe(true);
  });
  test.each([
    ["to credentials", "http://user:secret@127.0.0.1:9/"],
    ["to a file", "file:///etc/passwd"],
    ["to no URL", "http://["],
  ])("%s are refused", async (_, location) => {
    const base = await serve((__, response) => void response.writeHead(302, { location }).end());
    const error = await source()
      .open(`${base}/a`)
      .then(
        () => undefined,
        (refused: Error & { code: string }) => refused,
      );
    expect(error?.code).toBe("artifact_redirect_refused");
  });
  test("a redirect's query, which may be a signature, is in no error", async () => {
    const base = await serve(
      (_, response) => void response.writeHead(302, { location: "ftp://host/x?sig=s3cret" }).end(),
    );
    await expect(source().open(`${base}/a`)).rejects.toSatisfy((error) => !String(error).includes("s3cret"));
  });
});

describe("a mirror folder", () => {
  test("is read by file: URLs, from an offset while it is unchanged", async () => {
    const folder = await mkdtemp(join(tmpdir(), "myriarch-source-"));
    const path = join(folder, "a b");
    await writeFile(path, BYTES);
    const url = pathToFileURL(path).href;
    const whole = await source().open(url);
    expect(await read(whole)).toBe(BYTES.toString());
    const validator = whole?.validator ?? "";
    expect(await read(await source().open(url, { offset: 995, validator }))).toBe("56789");
    expect((await source().open(url, { offset: 995, validator: "other" }))?.offset).toBe(0);
    expect(await source().open(`${url}.missing`)).toBeUndefined();
    await rm(folder, { recursive: true });
  });
});

test.each([
  ["127.0.0.1", true],
  ["10.1.2.3", true],
  ["172.31.0.1", true],
  ["192.168.1.1", true],
  ["169.254.169.254", true],
  ["100.64.0.1", true],
  ["0.0.0.0", true],
  ["::1", true],
  ["::", true],
  ["fd00::1", true],
  ["fe80::1", true],
  ["::ffff:127.0.0.1", true],
  ["::ffff:7f00:1", true],
  ["64:ff9b::7f00:1", true],
  ["no address", true],
  ["140.82.112.3", false],
  ["172.32.0.1", false],
  ["2606:50c0:8000::153", false],
])("%s is private: %s", (address, expected) => expect(isPrivateAddress(address)).toBe(expected));
