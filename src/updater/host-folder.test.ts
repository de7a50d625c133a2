import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
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

/** The contract's sentence, clause by clause ("Signature verification"). */
describe("the token file", () => {
  const own = process.getuid?.() ?? 0;
  const WRITABLE = "is writable by group or others";
  const READABLE = "is readable by others";
  const FOREIGN = "belongs to an account other than root and our own";
  it.each<[clause: string, mode: number, texts: string[]]>([
    ["ours alone", 0o600, []],
    ["readable by its group", 0o640, []],
    ["writable by its group", 0o620, [WRITABLE]],
    ["writable by others", 0o602, [WRITABLE]],
    ["readable by others", 0o604, [READABLE]],
    ["readable and writable by everybody", 0o666, [WRITABLE, READABLE]],
  ])("%s is warned about as it deserves, by setting and path, never content", async (_, mode, texts) => {
    const path = join(root, "token");
    writeFileSync(path, "hunter2");
    chmodSync(path, mode);
    expect(await tokenFileWarnings("server.tokenFile", path)).toEqual(
      texts.map((text) => `server.tokenFile: ${path} ${text}`),
    );
  });

  it.skipIf(own !== 0)(
    "owned by another account is warned about (only the superuser can give a file away)",
    async () => {
      const path = join(root, "token");
      writeFileSync(path, "hunter2", { mode: 0o600 });
      chownSync(path, 65_534, 65_534);
      expect(await tokenFileWarnings("server.tokenFile", path)).toEqual([`server.tokenFile: ${path} ${FOREIGN}`]);
      // its own account's file is nobody else's, whichever account that is
      expect(await tokenFileWarnings("server.tokenFile", path, 65_534)).toEqual([]);
    },
  );

  it("owned by root is as good as our own", async () => {
    expect(await tokenFileWarnings("server.tokenFile", "/etc/hostname", 65_534)).not.toContainEqual(
      expect.stringContaining(FOREIGN),
    );
  });
});
