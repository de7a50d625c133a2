import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer, type Server as SecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createTestAuthority } from "../../test/support/certificates.ts";
import { sha256, virtualClock } from "../../test/support/updater-host.ts";
import { createDownloader, type Download } from "./download.ts";
import { systemFiles } from "./files.ts";

const BODY = Buffer.from(Array.from({ length: 5_000 }, (_, at) => at % 251));
const PATH = "/api/v1/artifacts/7/content/a.tar.gz";

type Answer = (request: IncomingMessage, response: ServerResponse, count: number) => void;
let servers: (Server | SecureServer)[];
let folder: string;
let clock: ReturnType<typeof virtualClock>;
const logged: string[] = [];

beforeEach(() => {
  servers = [];
  logged.length = 0;
  folder = mkdtempSync(join(tmpdir(), "updater-download-"));
  clock = virtualClock();
});
afterEach(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  rmSync(folder, { recursive: true, force: true });
});

async function serve(answer: Answer): Promise<{ base: string; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => answer(request, response, requests.push(request)));
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return { base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

const files = (): string[] => (existsSync(join(folder, "spool")) ? readdirSync(join(folder, "spool")) : []);

async function get(base: string, over: Partial<Download> = {}, tls?: { ca: Buffer }) {
  const log = { info: (fields: object, text: string) => void logged.push(`${text} ${JSON.stringify(fields)}`) };
  const download = createDownloader({ files: systemFiles, clock, log, tls });
  return await download({
    url: `${base}${PATH}`,
    headers: () => [{ key: "Authorization", value: "Bearer hunter2" }],
    allowedUrlPrefixes: [`${base}/api/v1/artifacts`],
    spoolFile: join(folder, "spool", "a"),
    maxBytes: 100_000,
    idleTimeoutMs: 1_000,
    signal: new AbortController().signal,
    onProgress: cutWhenTaken,
    ...over,
  });
}

/** The connection is cut once the host has these bytes: an error that overtakes them would take them away. */
let cut: { at: number; response: ServerResponse } | undefined;
const cutWhenTaken = (bytes: number): void => {
  if (cut === undefined || bytes < cut.at) return;
  cut.response.destroy();
  cut = undefined;
};
/** Sends the first `bytes`, then cuts the connection. */
const cutAfter = (response: ServerResponse, bytes: number, headers: Record<string, string> = {}) => {
  response.writeHead(200, { "content-length": BODY.length, ...headers });
  cut = { at: bytes, response };
  response.write(BODY.subarray(0, bytes));
};
const rest = (request: IncomingMessage, response: ServerResponse, body = BODY) => {
  const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1]);
  response
    .writeHead(206, { "content-range": `bytes ${from}-${body.length - 1}/${body.length}` })
    .end(body.subarray(from));
};

describe("a download", () => {
  it("is spooled and hashed, with the offer's headers", async () => {
    const { base, requests } = await serve((_, response) => response.end(BODY));
    const spooled = await get(base);
    expect(spooled).toMatchObject({ sha256: sha256(BODY), bytes: BODY.length });
    expect(readFileSync(spooled.path)).toEqual(BODY);
    expect(requests[0]?.headers.authorization).toBe("Bearer hunter2");
  });

  it.each<[string, Answer]>([
    [
      "goes on where it was cut",
      (request, response, count) => (count === 1 ? cutAfter(response, 2_000) : rest(request, response)),
    ],
    [
      "is cut again and again, a little further each time",
      (request, response, count) => {
        if (count === 1) return cutAfter(response, 500);
        if (count > 7) return rest(request, response);
        const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1]);
        response.writeHead(206, {
          "content-range": `bytes ${from}-${BODY.length - 1}/${BODY.length}`,
          "content-length": BODY.length - from,
        });
        cut = { at: from + 500, response };
        response.write(BODY.subarray(from, from + 500));
      },
    ],
    [
      "starts over at a server that ignores the range",
      (_, response, count) => (count === 1 ? cutAfter(response, 2_000) : response.end(BODY)),
    ],
    [
      "starts over when the partial answer begins elsewhere",
      (request, response, count) => {
        if (count === 1) return cutAfter(response, 2_000);
        if (count === 2) return response.writeHead(206, { "content-range": `bytes 10-20/${BODY.length}` }).end("x");
        return request.headers.range === undefined ? response.end(BODY) : response.writeHead(500).end();
      },
    ],
    [
      "is complete when the range is refused at its very end",
      (_, response, count) => {
        if (count === 1) return cutAfter(response, BODY.length, { "content-length": String(BODY.length + 1) });
        return response.writeHead(416, { "content-range": `bytes */${BODY.length}` }).end();
      },
    ],
    [
      "starts over when the range is refused because the file is another one",
      (request, response, count) => {
        if (count === 1) return cutAfter(response, 2_000);
        return request.headers.range === undefined
          ? response.end(BODY)
          : response.writeHead(416, { "content-range": "bytes */17" }).end();
      },
    ],
    [
      "outlives a server error",
      (_, response, count) => (count === 1 ? response.writeHead(502).end() : response.end(BODY)),
    ],
    [
      "outlives a stall",
      (request, response, count) => {
        if (count > 1) return rest(request, response);
        response.writeHead(200, { "content-length": BODY.length });
        response.write(BODY.subarray(0, 100));
      },
    ],
    [
      "takes one 404 for a hiccup",
      (_, response, count) => (count === 1 ? response.writeHead(404).end() : response.end(BODY)),
    ],
  ])("%s", async (_, answer) => {
    const { base } = await serve(answer);
    expect(await get(base)).toMatchObject({ sha256: sha256(BODY), bytes: BODY.length });
  });

  it("asks for the rest only of the file it began: If-Range carries a strong ETag", async () => {
    const { base, requests } = await serve((_, response, count) =>
      count === 1
        ? cutAfter(response, 2_000, { etag: '"one"' })
        : response.writeHead(200, { etag: '"two"' }).end(BODY.subarray(1)),
    );
    expect(await get(base)).toMatchObject({ sha256: sha256(BODY.subarray(1)) });
    expect(requests[1]?.headers).toMatchObject({ range: "bytes=2000-", "if-range": '"one"' });
  });

  it.each<[string, Answer, RegExp, number]>([
    ["a server that is gone for good", (_, response) => response.destroy(), /^download: the download was cut/, 5],
    ["404", (_, response) => response.writeHead(404).end(), /^download: .*404/, 3],
    ["a refused token", (_, response) => response.writeHead(403).end(), /^download: the server answers 403/, 1],
    [
      "an archive said to be too large",
      (_, response) => response.writeHead(200, { "content-length": 200_000 }).end(),
      /^download: the archive is larger/,
      1,
    ],
    [
      "an archive that grows too large",
      (_, response) => response.end(Buffer.alloc(200_000)),
      /^download: the archive is larger/,
      1,
    ],
    [
      "a server that never lets us through",
      (_, response) => response.writeHead(503, { "retry-after": "1" }).end(),
      /^download: the server put us off too often/,
      13,
    ],
  ])("%s ends in a clean failure after a bounded number of tries", async (_, answer, error, tries) => {
    const { base, requests } = await serve(answer);
    await expect(get(base)).rejects.toThrow(error);
    expect([requests.length, files()]).toEqual([tries, []]);
    expect(logged.join()).not.toContain("hunter2");
  });

  it("waits as long as a throttling server asks, and longer by chance", async () => {
    const { base } = await serve((_, response, count) =>
      count === 1 ? response.writeHead(503, { "retry-after": "30" }).end() : response.end(BODY),
    );
    const before = clock.monotonicMs();
    await get(base);
    expect(clock.monotonicMs() - before).toBeGreaterThanOrEqual(30_000);
  });

  it("is taken back at once, and leaves nothing", async () => {
    const taken = new AbortController();
    const { base } = await serve((_, response) => {
      response.writeHead(200, { "content-length": BODY.length }).write(BODY.subarray(0, 10));
      taken.abort(new Error("withdrawn"));
    });
    await expect(get(base, { signal: taken.signal })).rejects.toThrow("withdrawn");
    expect(files()).toEqual([]);
  });
});

describe("redirects", () => {
  it("are followed below the prefixes; the token stays with its origin", async () => {
    const other = await serve((_, response) => response.end(BODY));
    const { base, requests } = await serve((request, response) =>
      response.writeHead(302, { location: request.url === PATH ? `${PATH}2` : `${other.base}${PATH}` }).end(),
    );
    const allowedUrlPrefixes = [`${base}/api/v1/artifacts`, `${other.base}/api/v1/artifacts`];
    expect(await get(base, { allowedUrlPrefixes })).toMatchObject({ sha256: sha256(BODY) });
    expect(requests.map(({ headers }) => headers.authorization)).toEqual(["Bearer hunter2", "Bearer hunter2"]);
    expect(other.requests[0]?.headers.authorization).toBeUndefined();
  });

  it.each([
    ["to a host off the list", (other: string) => `${other}${PATH}`],
    ["to another path", () => "/secret"],
    ["that climbs", () => "/api/v1/artifacts/../secret"],
  ])("%s are refused, and nobody else is asked", async (_, location) => {
    const other = await serve((_request, response) => response.end(BODY));
    const { base, requests } = await serve((_request, response) =>
      response.writeHead(302, { location: location(other.base) }).end(),
    );
    await expect(get(base)).rejects.toThrow(/^policy_refused: /);
    expect([requests.length, other.requests.length, files()]).toEqual([1, 0, []]);
  });

  it("from https to http are refused although both are on the list: the plain server gets no request", async () => {
    const plain = await serve((_, response) => response.end(BODY));
    const authority = await createTestAuthority();
    const { cert, key } = await authority.issue({ commonName: "localhost", ip: ["127.0.0.1"] });
    const asked: (string | undefined)[] = [];
    const secure = createSecureServer({ cert, key }, (request, response) => {
      asked.push(request.headers.authorization);
      response.writeHead(302, { location: `${plain.base}${PATH}` }).end();
    });
    servers.push(secure);
    await new Promise<void>((resolve) => {
      secure.listen(0, "127.0.0.1", resolve);
    });
    const base = `https://127.0.0.1:${(secure.address() as AddressInfo).port}`;
    const allowedUrlPrefixes = [`${base}/api/v1/artifacts`, `${plain.base}/api/v1/artifacts`];
    const tls = { ca: Buffer.from(authority.ca) };
    await expect(get(base, { allowedUrlPrefixes }, tls)).rejects.toThrow(
      /^policy_refused: a redirect from https to http$/,
    );
    expect([asked, plain.requests.length, files()]).toEqual([["Bearer hunter2"], 0, []]);
  });

  it("beyond the fifth are refused", async () => {
    const { base, requests } = await serve((_, response, count) =>
      response.writeHead(302, { location: `${PATH}${count}` }).end(),
    );
    await expect(get(base)).rejects.toThrow(/more than 5 redirects/);
    expect(requests).toHaveLength(6);
  });
});
