import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { freePort, openPortBook } from "./ports.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "myriarch-ports-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const open = (lines: string[] = []) => openPortBook(join(folder, "ports.json"), (line) => lines.push(line));

test("a port is chosen once and kept over openings, the wanted one if it is free", async () => {
  const wanted = await freePort();
  const [api, other] = await Promise.all([open().then((book) => book.take("api", wanted)), freePort()]);
  expect(api).toBe(wanted);
  const again = await open();
  expect(await again.take("api", other)).toBe(wanted);
  expect(JSON.parse(await readFile(join(folder, "ports.json"), "utf8"))).toEqual({ api: wanted });
});

test("names asked for at the same time get different ports", async () => {
  const book = await open();
  const ports = await Promise.all(["a", "b", "c", "d"].map((name) => book.take(name)));
  expect(new Set(ports).size).toBe(4);
});

test("a kept port that a stranger took is chosen again, said so, and kept", async () => {
  const lines: string[] = [];
  const before = await (await open()).take("api");
  const stranger = createServer().listen(before, "127.0.0.1");
  await once(stranger, "listening");
  try {
    const after = await (await open(lines)).take("api");
    expect(after).not.toBe(before);
    expect(lines).toEqual([expect.stringContaining(`port ${before} of api is taken`)]);
    expect(await (await open()).take("api")).toBe(after);
  } finally {
    stranger.close();
  }
});
