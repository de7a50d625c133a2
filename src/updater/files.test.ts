import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemFiles } from "./files.ts";

let root: string;
beforeEach(() => void (root = mkdtempSync(join(tmpdir(), "updater-files-"))));
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Runs `look` as often as the event loop lets it while `work` goes on; answers how often. */
async function during(work: Promise<void>, look: () => void): Promise<number> {
  let looks = 0;
  const state = { ended: false };
  const watched = work.finally(() => (state.ended = true));
  while (!state.ended) {
    look();
    looks++;
    await setImmediate();
  }
  await watched;
  return looks;
}

describe("durable files", () => {
  it("a reader of `current` sees one version or the other at every moment of many swaps", async () => {
    const current = join(root, "current");
    symlinkSync("versions/a", current);
    const swaps = async () => {
      for (let swap = 0; swap < 50; swap++)
        await systemFiles.replaceSymlink(swap % 2 === 0 ? "versions/b" : "versions/a", current);
    };
    const looks = await during(swaps(), () => expect(["versions/a", "versions/b"]).toContain(readlinkSync(current)));
    expect(looks).toBeGreaterThan(50);
    expect(readdirSync(root)).toEqual(["current"]);
  });

  it("a reader of a state file sees the old or the new text, never half of it", async () => {
    const path = join(root, "state.json");
    const texts = [JSON.stringify({ long: "x".repeat(100_000) }), JSON.stringify({ short: "y" })];
    writeFileSync(path, texts[0] ?? "");
    const writes = async () => {
      for (let turn = 0; turn < 30; turn++) await systemFiles.writeDurably(path, texts[turn % 2] ?? "");
    };
    await during(writes(), () => expect(texts).toContain(readFileSync(path, "utf8")));
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("a copy is executable whatever the umask, and a failed one leaves nothing", async () => {
    writeFileSync(join(root, "from"), "x");
    const before = process.umask(0o077);
    try {
      await systemFiles.copyDurably(join(root, "from"), join(root, "to"), 0o755);
    } finally {
      process.umask(before);
    }
    expect(statSync(join(root, "to")).mode & 0o777).toBe(0o755);
    await expect(systemFiles.copyDurably(join(root, "absent"), join(root, "other"), 0o755)).rejects.toThrow("ENOENT");
    expect(readdirSync(root).toSorted()).toEqual(["from", "to"]);
  });
});
