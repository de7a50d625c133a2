import { createHash } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { createDownload } from "./download.ts";

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});
const BODY = Buffer.alloc(200_000, "a");
const SHA256 = createHash("sha256").update(BODY).digest("hex");

async function serve(answer: (n: number) => "cut" | number): Promise<string> {
  let n = 0;
  server = createServer((_, response) => {
    const what = answer((n += 1));
    if (what === "cut") {
      response.writeHead(200, { "content-length": String(BODY.length) });
      response.write(BODY.subarray(0, 1_000), () => response.destroy());
    } else response.writeHead(what, { "retry-after": "0" }).end(what === 200 ? BODY : "");
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test.each([
  ["a connection that is cut in the middle", (n: number) => (n === 1 ? "cut" : 200) as "cut" | number],
  ["a server that is just starting", (n: number) => (n < 3 ? 502 : 200)],
  ["a server that is busy", (n: number) => (n === 1 ? 503 : 200)],
])("%s is tried again and ends in the right bytes", async (_, answer) => {
  const url = await serve(answer);
  const download = createDownload(2, () => 0);
  expect(await download(url, () => ({}), new AbortController().signal)).toBe(SHA256);
  await download.close();
});

test("a refusal is final", async () => {
  const url = await serve(() => 403);
  const download = createDownload(2, () => 0);
  await expect(download(url, () => ({}), new AbortController().signal)).rejects.toThrow("403");
  await download.close();
});
