import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lockFolder, prepareFolder, tokenFileWarnings } from "./host-folder.ts";

let root: string;
beforeEach(() => void (root = mkdtempSync(join(tmpdir(), "updater-folder-"))));
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe("the updater's folders", () => {
  it("are made for our account alone", async () => {
    await prepareFolder(join(root, "state"), 0o700);
    expect(statSync(join(root, "state")).mode & 0o777).toBe(0o700);
    await prepareFolder(join(root, "state"), 0o700);
  });

  it.each([0o775, 0o757, 0o777])("with mode %o are refused: others could write into them", async (mode) => {
    mkdirSync(join(root, "state"));
    chmodSync(join(root, "state"), mode);
    await expect(prepareFolder(join(root, "state"), 0o700)).rejects.toThrow(/writable by others/);
  });
});

describe("the lock", () => {
  it("is held by one, refused to a second, and free again after its release", async () => {
    const lock = await lockFolder(root);
    await expect(lockFolder(root)).rejects.toThrow(new RegExp(`process ${process.pid}`));
    await lock.release();
    await (await lockFolder(root)).release();
  });

  it.each([
    ["a process that is gone", '{"pid":1073741824,"started":"1"}'],
    ["a process whose id is used again", `{"pid":${process.pid},"started":"1"}`],
    ["a writer that died while it wrote", '{"pid":'],
  ])("of %s is taken over", async (_, content) => {
    writeFileSync(join(root, "lock"), content);
    await (await lockFolder(root)).release();
  });
});

describe("the token file", () => {
  it.each<[number, RegExp[]]>([
    [0o600, []],
    [0o640, []],
    [0o644, [/readable by others/]],
    [0o660, [/writable by group or others/]],
    [0o666, [/writable by group or others/, /readable by others/]],
  ])("with mode %o is warned about as it deserves, by setting and path, never content", async (mode, warnings) => {
    const path = join(root, "token");
    writeFileSync(path, "hunter2");
    chmodSync(path, mode);
    const found = await tokenFileWarnings("server.tokenFile", path);
    expect(found).toHaveLength(warnings.length);
    warnings.forEach((warning, at) => expect(found[at]).toMatch(warning));
    for (const text of found) {
      expect(text).toContain(`server.tokenFile: ${path}`);
      expect(text).not.toContain("hunter2");
    }
  });
});
