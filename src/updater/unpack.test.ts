import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { pack, type Header } from "tar-stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemFiles } from "./files.ts";
import { unpack } from "./unpack.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "updater-unpack-"));
  mkdirSync(join(root, "staging"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

type Entry = [Partial<Header> & { name: string }, string?];
const good: Entry = [{ name: "otelcol", mode: 0o600 }, "binary"];

async function tryUnpack(entries: Entry[], maxBytes = 1_000_000): Promise<void> {
  const tar = pack();
  for (const [header, content = ""] of entries) tar.entry(header, content);
  tar.finalize();
  const archive = join(root, "a.tar.gz");
  writeFileSync(archive, gzipSync(await buffer(tar)));
  await unpack({ archive, binary: "otelcol", folder: join(root, "staging"), maxBytes }, systemFiles);
}

describe("an archive", () => {
  it.each<[string, Entry[]]>([
    ["with the binary alone", [good]],
    ["whose root is written ./", [[{ name: "./", type: "directory" }], [{ name: "./otelcol" }, "binary"]]],
    [
      "with other regular files and folders",
      [[{ name: "LICENSE" }, "x"], [{ name: "docs", type: "directory" }], [{ name: "docs/otelcol" }, "other"], good],
    ],
    ["with names that only look dangerous", [[{ name: "..a" }, "x"], [{ name: "a..b/c" }, "x"], good]],
  ])("%s gives exactly the executable", async (_, entries) => {
    await tryUnpack(entries);
    expect(readdirSync(join(root, "staging"))).toEqual(["otelcol"]);
    expect(readFileSync(join(root, "staging/otelcol"), "utf8")).toBe("binary");
    expect(statSync(join(root, "staging/otelcol")).mode & 0o777).toBe(0o755);
  });

  it.each<[string, Entry[]]>([
    ["whose binary is a symlink", [[{ name: "otelcol", type: "symlink", linkname: "/etc/passwd" }]]],
    ["whose binary is a hard link", [[{ name: "otelcol", type: "link", linkname: "/etc/passwd" }]]],
    ["with a link elsewhere, beside a good binary", [good, [{ name: "x", type: "symlink", linkname: "otelcol" }]]],
    ["with a device", [good, [{ name: "null", type: "character-device" }]]],
    ["with a pipe", [good, [{ name: "pipe", type: "fifo" }]]],
    ["that climbs", [good, [{ name: "../evil" }, "x"]]],
    ["that climbs in the middle", [good, [{ name: "a/../../evil" }, "x"]]],
    ["that climbs with backslashes", [good, [{ name: "..\\evil" }, "x"]]],
    ["with an absolute path", [good, [{ name: "/evil" }, "x"]]],
    ["with a drive letter", [good, [{ name: "C:evil" }, "x"]]],
    ["with the binary twice", [good, good]],
    ["with the binary twice in different spelling", [good, [{ name: "./otelcol" }, "other"]]],
    ["whose binary lies deeper only", [[{ name: "bin/otelcol" }, "binary"]]],
    ["whose binary is a folder", [[{ name: "otelcol", type: "directory" }]]],
    ["without anything", []],
  ])("%s is refused whole", async (_, entries) => {
    await expect(tryUnpack(entries)).rejects.toThrow(/^verification: the archive is refused: /);
    expect(readdirSync(root).toSorted()).toEqual(["a.tar.gz", "staging"]);
  });

  it("that unpacks to more than allowed is refused while it unpacks", async () => {
    await expect(
      tryUnpack([
        [{ name: "otelcol" }, "\0".repeat(900_000)],
        [{ name: "x" }, "\0".repeat(900_000)],
      ]),
    ).rejects.toThrow(/unpacks to more than/);
  });

  it("that does not fit on the disk is disk_full before it is written", async () => {
    const files = { ...systemFiles, freeBytes: async () => 3 };
    const archive = join(root, "b.tar.gz");
    const tar = pack();
    tar.entry({ name: "otelcol" }, "binary");
    tar.finalize();
    writeFileSync(archive, gzipSync(await buffer(tar)));
    await expect(
      unpack({ archive, binary: "otelcol", folder: join(root, "staging"), maxBytes: 1_000_000 }, files),
    ).rejects.toThrow(/^disk_full: \S+ has no room for the unpacked collector: 6 bytes are needed, 3 are free$/);
    const roomy = { ...systemFiles, freeBytes: async () => 17 };
    const once = { archive, binary: "otelcol", folder: join(root, "staging"), maxBytes: 1_000_000 };
    // with copies the same bytes lie on the disk three times
    await expect(unpack({ ...once, copies: 3 }, roomy)).rejects.toThrow(/^disk_full: .* 18 bytes are needed/);
    await unpack(once, roomy);
  });
});
