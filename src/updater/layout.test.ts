import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { EffectKind } from "./effect.ts";
import { portsOf } from "./fault-points.ts";
import { systemFiles, type Files } from "./files.ts";
import { Layout } from "./layout.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "updater-layout-"));
  for (const version of ["0.160.0", "0.161.0"]) put(version);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const put = (name: string, content = name) => {
  mkdirSync(join(root, "versions", name), { recursive: true });
  writeFileSync(join(root, "versions", name, "otelcol"), content);
};
const layoutOf = (activation: "symlink" | "copy", files: Files = systemFiles) =>
  new Layout({ installDir: root, binary: "otelcol", activation }, files);
const names = () => readdirSync(join(root, "versions")).toSorted();

/** Files that fail at calls of a kind, from the `from`-th one on, once `broken`. */
function failing(kind: EffectKind, code: string, from = 1) {
  const state = { broken: true, calls: 0 };
  const { files } = portsOf(async (it, target, work) => {
    if (state.broken && it === kind && ++state.calls >= from)
      throw Object.assign(new Error(`${code}: ${it} ${target}`), { code, syscall: it });
    return await work();
  });
  return { state, files };
}

/** Reads the link until it read it 200,000 times and its standard input is closed. */
const READER = `
const { readlinkSync } = require("node:fs");
const seen = {};
let reads = 0, told = false;
process.stdin.on("end", () => (told = true)).resume();
process.stdout.write("reading");
(function batch() {
  for (let n = 0; n < 1000; n++, reads++) {
    let what;
    try { what = readlinkSync(process.argv[1]); } catch (error) { what = error.code; }
    seen[what] = (seen[what] ?? 0) + 1;
  }
  if (told && reads >= 200000) process.stdout.write(JSON.stringify({ reads, seen }));
  else setImmediate(batch);
})();
`;

describe("the active version", () => {
  it("is one whole version at each of 200,000 readlinks of another process during 50 swaps and more", async () => {
    const layout = layoutOf("symlink");
    await layout.activate("0.160.0");
    const reader = spawn(process.execPath, ["-e", READER, join(root, "current")], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    let said = "";
    reader.stdout.on("data", (part: Buffer) => (said += part.toString()));
    const closed = once(reader, "close");
    await once(reader.stdout, "data");
    let swaps = 0;
    while (reader.exitCode === null) {
      await layout.activate(swaps++ % 2 === 0 ? "0.161.0" : "0.160.0");
      if (swaps === 50) reader.stdin.end();
    }
    await closed;
    const { reads, seen } = JSON.parse(said.replace("reading", "")) as { reads: number; seen: Record<string, number> };
    console.log(`${reads} readlinks during ${swaps} swaps: ${JSON.stringify(seen)}`);
    expect(Object.keys(seen).toSorted()).toEqual(["versions/0.160.0", "versions/0.161.0"]);
    expect([reads >= 200_000, swaps >= 50]).toEqual([true, true]);
  }, 120_000);

  it("is activated again on a full disk: nothing has to change", async () => {
    await layoutOf("symlink").activate("0.160.0");
    await layoutOf("symlink", failing("symlink", "ENOSPC").files).activate("0.160.0");
    await layoutOf("copy").activate("0.160.0");
    await layoutOf("copy", failing("create", "ENOSPC").files).activate("0.160.0");
  });

  it("comes back on a full disk by the bytes that .previous still holds", async () => {
    const layout = layoutOf("copy");
    await layout.activate("0.160.0");
    await layout.activate("0.161.0");
    expect(readFileSync(join(root, "bin/otelcol.previous"), "utf8")).toBe("0.160.0");
    await layoutOf("copy", failing("write", "ENOSPC").files).activate("0.160.0");
    expect([readFileSync(layout.stable, "utf8"), readdirSync(join(root, "bin"))]).toEqual(["0.160.0", ["otelcol"]]);
  });
});

describe("a version's folder", () => {
  it("is gone as a whole or there as a whole, wherever its removal ends", async () => {
    for (let call = 1; call <= 2; call++) {
      const { files } = failing("unlink", "EIO", call);
      writeFileSync(join(root, "versions/0.160.0/install.json"), "{}");
      await expect(layoutOf("symlink", files).drop("0.160.0")).rejects.toThrow("EIO");
      expect(existsSync(join(root, "versions/0.160.0"))).toBe(false);
      await layoutOf("symlink").sweep();
      expect(names()).toEqual(["0.161.0"]);
      put("0.160.0");
    }
  });

  it("that was moved aside comes back when its successor cannot take its place", async () => {
    put(".staging-1", "new bytes");
    const { files, state } = failing("rename", "EIO", 2);
    const [placed] = await Promise.allSettled([
      layoutOf("symlink", files).place(join(root, "versions/.staging-1"), "0.160.0"),
    ]);
    expect([placed?.status, state.calls]).toEqual(["rejected", 3]);
    state.broken = false;
    await layoutOf("symlink", files).sweep(); // a start after it
    expect(names()).toEqual(["0.160.0", "0.161.0"]);
    expect(readFileSync(join(root, "versions/0.160.0/otelcol"), "utf8")).toBe("0.160.0");
  });

  it("that has its successor already does not come back", async () => {
    put(".replaced-0.160.0", "former bytes");
    symlinkSync("versions/0.160.0", join(root, "current"));
    await layoutOf("symlink").sweep();
    expect(names()).toEqual(["0.160.0", "0.161.0"]);
    expect(readFileSync(join(root, "versions/0.160.0/otelcol"), "utf8")).toBe("0.160.0");
  });
});
