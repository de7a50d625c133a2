import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { processStart, tryLock } from "./lock-file.mjs";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "myriarch-lock-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test("one owner at a time, the other is told who, and a released lock is free", () => {
  const file = join(folder, "lock");
  const first = tryLock(file, "first");
  if (!first.held) throw new Error("a new lock was not given");
  expect(tryLock(file, "second")).toMatchObject({ held: false, owner: { pid: process.pid, what: "first" } });
  first.release();
  const second = tryLock(file, "second");
  expect(second.held).toBe(true);
});

test.each([
  ["whose process is gone", { pid: 2 ** 22 + 1, started: "1", what: "gone" }],
  ["whose process id belongs to another process now", { pid: process.pid, started: "1", what: "reused" }],
])("a lock %s is taken over", async (_, owner) => {
  const file = join(folder, "lock");
  await writeFile(file, JSON.stringify(owner));
  expect(tryLock(file, "next").held).toBe(true);
});

test.each(["", "{", "null"])("a lock file that was damaged (%j) is taken over", async (content) => {
  const file = join(folder, "lock");
  await writeFile(file, content);
  expect(tryLock(file, "next").held).toBe(true);
});

test("processes that take turns over a lock whose owner died lose no update and leave no file", async () => {
  const [file, counter] = [join(folder, "lock"), join(folder, "counter")];
  await writeFile(file, JSON.stringify({ pid: 2 ** 22 + 1, started: "1", what: "gone" }));
  await writeFile(counter, "0");
  const script = `
    import { readFileSync, writeFileSync } from "node:fs";
    import { tryLock } from ${JSON.stringify(new URL("./lock-file.mjs", import.meta.url).href)};
    for (let done = 0; done < 50; ) {
      const got = tryLock(${JSON.stringify(file)}, "counting");
      if (!got.held) continue;
      writeFileSync(${JSON.stringify(counter)}, String(Number(readFileSync(${JSON.stringify(counter)}, "utf8")) + 1));
      got.release();
      done += 1;
    }`;
  const exits = await Promise.all(
    [1, 2, 3].map(async () => {
      const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
        stdio: ["ignore", "inherit", "inherit"],
      });
      return (await once(child, "exit")) as [number];
    }),
  );
  expect(exits.map(([code]) => code)).toEqual([0, 0, 0]);
  expect(await readFile(counter, "utf8")).toBe("150");
  expect(await readdir(folder)).toEqual(["counter"]);
});

test("a zombie has no start time: it holds nothing any more", async () => {
  // The shell's child ends at once and is not waited for, because the shell became `sleep`.
  const parent = spawn("/bin/sh", ["-c", "true & echo $!; exec sleep 60"], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const [line] = (await once(parent.stdout, "data")) as [Buffer];
    const pid = Number(line.toString());
    await expect.poll(() => processStart(pid), { timeout: 5_000, interval: 10 }).toBeUndefined();
  } finally {
    parent.kill("SIGKILL");
  }
});
