import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { hostPorts, systemPorts, type FaultPoint } from "./fault-points.ts";

let root: string;
beforeEach(() => void (root = mkdtempSync(join(tmpdir(), "updater-faults-"))));
afterEach(() => rmSync(root, { recursive: true, force: true }));

const portsWith = (fault: string) =>
  hostPorts({ NODE_ENV: "test", MYRIARCH_FAULT: fault, MYRIARCH_FAULT_FILE: join(root, "points") }, { state: root });
const points = (): FaultPoint[] =>
  readFileSync(join(root, "points"), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as FaultPoint);

describe("fault points", () => {
  it.each([
    [{ MYRIARCH_FAULT: "kill:1" }],
    [{ MYRIARCH_FAULT: "kill:1", NODE_ENV: "production" }],
    [{ NODE_ENV: "test" }],
  ])("are not there with %j: the ports are the system's own", (env) => {
    expect(hostPorts(env, {})).toBe(systemPorts);
  });

  it.each(["", "kill", "kill:", "explode:3"])("refuse %j", (fault) => {
    expect(() => portsWith(fault)).toThrow(/MYRIARCH_FAULT must be/);
  });

  it("list every call of a durable write, before, after and in the middle", async () => {
    await portsWith("record").files.writeDurably(join(root, "journal.json"), "text");
    const beside = "<state>/journal.json.tmp-*";
    expect(points().map(({ label }) => label)).toEqual(
      [
        `before create ${beside}`,
        `after create ${beside}`,
        `before chmod ${beside}`,
        `after chmod ${beside}`,
        `before write ${beside}`,
        `half write ${beside}`,
        `after write ${beside}`,
        `before sync ${beside}`,
        `after sync ${beside}`,
        "before rename <state>/journal.json",
        "after rename <state>/journal.json",
        "before sync folder <state>",
        "after sync folder <state>",
      ].map((label) => `${label}#1`),
    );
    expect(points().map(({ n }) => n)).toEqual(points().map((_, index) => index + 1));
  });

  it("let one call fail, by number or by label, and leave the old file", async () => {
    const path = join(root, "journal.json");
    writeFileSync(path, "old");
    await expect(portsWith("fail:6").files.writeDurably(path, "new text")).rejects.toMatchObject({ code: "ENOSPC" });
    expect([readFileSync(path, "utf8"), readdirSync(root).toSorted()]).toEqual(["old", ["journal.json", "points"]]);
    const again = portsWith("fail:before rename <state>/journal.json#2").files;
    await again.writeDurably(path, "first");
    await expect(again.writeDurably(path, "second")).rejects.toMatchObject({ code: "EIO", syscall: "rename" });
    expect(readFileSync(path, "utf8")).toBe("first");
    await again.writeDurably(path, "third");
  });

  it("let a disk be full from a call on: nothing is stored any more, removing still works", async () => {
    const { files } = portsWith("full:14");
    await files.writeDurably(join(root, "one"), "1");
    for (const _ of [1, 2])
      await expect(files.writeDurably(join(root, "two"), "2")).rejects.toMatchObject({ code: "ENOSPC" });
    await expect(files.makeFolder(join(root, "folder"))).rejects.toMatchObject({ code: "ENOSPC" });
    await files.remove(join(root, "one"));
    expect(readdirSync(root)).toEqual(["points"]);
  });
});
