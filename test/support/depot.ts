/** Depot nodes in a temporary folder, with a file system whose operations can be made to fail, stall or lie. */
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { nodeFs, type DepotFile, type DepotFs } from "../../src/depot/files.ts";
import { createDepotNode, type DepotNode, type Fence } from "../../src/depot/node.ts";
import { createGate } from "../../src/depot/locks.ts";
import type { ReadSource } from "../../src/depot/drain.ts";
import type { Floor } from "../../src/domain/depot/trickle.ts";
import { failure } from "../../src/domain/errors.ts";
import type { ForgetfulDisks } from "./forgetful-disks.ts";

const DAY_MS = 24 * 3_600_000;
export const OURS = "018f0000-0000-4000-8000-000000000001";
export const THEIRS = "018f0000-0000-4000-8000-000000000002";
export const digest = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
export const bytesOf = (text: string, length = 1_000): Buffer => Buffer.alloc(length, text);

/** Called before each operation; may throw, wait, or return other bytes to be written. */
export type Fault = (
  operation: keyof DepotFs | "append" | "read" | "sync",
  path: string,
  chunk?: Uint8Array,
) => unknown;

export function faultyFs(fault: Fault): DepotFs {
  const file = (path: string, opened: DepotFile): DepotFile => ({
    ...opened,
    append: async (chunk) => {
      const instead = await fault("append", path, chunk);
      await opened.append(instead instanceof Uint8Array ? instead : chunk);
    },
    read: async (into, position) => (await fault("read", path), opened.read(into, position)),
    sync: async () => {
      await fault("sync", path);
      await opened.sync();
    },
  });
  return {
    makeFolder: async (path) => (await fault("makeFolder", path), nodeFs.makeFolder(path)),
    list: async (path) => (await fault("list", path), nodeFs.list(path)),
    sizeOf: async (path) => (await fault("sizeOf", path), nodeFs.sizeOf(path)),
    create: async (path) => (await fault("create", path), file(path, await nodeFs.create(path))),
    open: async (path) => (await fault("open", path), file(path, await nodeFs.open(path))),
    readWhole: async (path) => (await fault("readWhole", path), nodeFs.readWhole(path)),
    rename: async (from, to) => (await fault("rename", from), nodeFs.rename(from, to)),
    remove: async (path) => (await fault("remove", path), nodeFs.remove(path)),
    syncFolder: async (path) => (await fault("syncFolder", path), nodeFs.syncFolder(path)),
    freeBytes: (path) => nodeFs.freeBytes(path),
  };
}

export const osError = (code: string): Error => Object.assign(new Error(`${code}: injected`), { code });

/** A store that checks and then deletes, in two steps: configurations wait for each other only. */
export function unlocked(): NonNullable<Parameters<typeof createDepotNode>[0]["locking"]> {
  const gate = createGate();
  return {
    locks: { hold: (_key, work) => work() },
    gate: { share: (work) => work(), alone: (work) => gate.alone(work) },
  };
}

export type TestNode = {
  node: DepotNode;
  folders: string[];
  /** What other nodes serve: by origin, by digest. A function may cut or change the stream. */
  peers: Map<string, Map<string, (offset: number) => Readable>>;
  reads: { origin: string; sha256: string; offset: number }[];
  /** Of the machine, which is never set, and of the wall, which is. */
  clock: { ms: number; wallMs: number };
  /** What scrubs read, as their pace was asked. */
  paced: { bytes: number };
  logs: string[];
  /** A new process on the same disks. The old one is left as a kill would leave it. */
  restart(fault?: Fault): Promise<DepotNode>;
  /** Names on the disks, as they are: `0/artifacts/<sha>`. */
  walk(): Promise<string[]>;
  remove(): Promise<void>;
};

export async function createTestNode(
  options: {
    disks?: number;
    fault?: Fault;
    slots?: number;
    diskTimeoutMs?: number;
    unlocked?: boolean;
    floor?: Floor;
    /** Disks in memory instead of folders; `fault` is not asked then. */
    memory?: ForgetfulDisks;
  } = {},
): Promise<TestNode> {
  const root = await mkdtemp(join(tmpdir(), "myriarch-depot-"));
  const folders = options.memory?.paths ?? Array.from({ length: options.disks ?? 2 }, (_, i) => join(root, String(i)));
  const peers: TestNode["peers"] = new Map();
  const reads: TestNode["reads"] = [];
  const clock = { ms: 0, wallMs: 0 };
  const paced = { bytes: 0 };
  const logs: string[] = [];
  const readFrom =
    (origin: string): ReadSource =>
    async (sha256, offset) => {
      reads.push({ origin, sha256, offset });
      const content = peers.get(origin)?.get(sha256);
      if (content === undefined) throw failure("depot_unreachable", { url: origin, message: "nothing there" });
      const body = content(offset);
      return { size: Number((body as Readable & { size?: number }).size), offset, body };
    };
  const build = (fault: Fault = () => undefined): DepotNode =>
    createDepotNode({
      disks: folders,
      fs: options.memory?.boot() ?? faultyFs(fault),
      readFrom,
      log: (message, fields) => logs.push(`${message} ${JSON.stringify(fields)}`),
      monotonicMs: () => clock.ms,
      trashGraceMs: 600_000,
      reconcileEveryMs: 3_600_000,
      diskTimeoutMs: options.diskTimeoutMs ?? 5_000,
      slots: options.slots ?? 16,
      scrub: {
        every: { light: DAY_MS, deep: 7 * DAY_MS },
        lookEveryMs: DAY_MS,
        nowMs: () => clock.ms + clock.wallMs,
        sleep: (ms, signal) => setTimeout(ms, undefined, { signal, ref: false }),
        pace: async (bytes) => void (paced.bytes += bytes),
      },
      ...(options.unlocked === true && { locking: unlocked() }),
      ...(options.floor && { floor: options.floor }),
    });
  const test: TestNode = {
    node: build(options.fault),
    folders,
    peers,
    reads,
    clock,
    paced,
    logs,
    restart: async (fault) => {
      await test.node.close();
      test.node = build(fault);
      await test.node.start();
      await test.node.reconcile();
      return test.node;
    },
    walk: () => (options.memory === undefined ? walk(folders) : Promise.resolve(walkMemory(options.memory))),
    remove: async () => {
      await test.node.close();
      await rm(root, { recursive: true, force: true });
    },
  };
  await test.node.start();
  return test;
}

const FOLDERS = ["artifacts", "tmp", "trash", "quarantine"];

const walkMemory = (disks: ForgetfulDisks): string[] =>
  disks.paths
    .flatMap((_, i) => FOLDERS.flatMap((kind) => disks.names(i, kind).map((name) => `${i}/${kind}/${name}`)))
    .sort();

async function walk(folders: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const [i, folder] of folders.entries()) {
    for (const kind of FOLDERS) {
      const names = await readdir(join(folder, kind)).catch(() => []);
      found.push(...names.map((name) => `${i}/${kind}/${name}`));
    }
  }
  return found.sort();
}

/** Every name in a final folder hashes to itself (invariant 1). */
export async function wrongNames(folders: readonly string[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const folder of folders) {
    for (const name of await readdir(join(folder, "artifacts")))
      if (digest(await readFile(join(folder, "artifacts", name))) !== name) wrong.push(name);
  }
  return wrong;
}

/** A configuration with these contents wanted. */
export const configOf = (generation: number, contents: readonly Uint8Array[], epoch = OURS) => {
  const sizes = new Map(contents.map((bytes) => [digest(bytes), bytes.length]));
  const artifacts = [...sizes.keys()].sort();
  return { epoch, generation, artifacts, sizes: artifacts.map((sha256) => sizes.get(sha256) ?? 0) };
};
export const fence = (generation: number, epoch = OURS): Fence => ({ epoch, generation });
export const stream = (bytes: Uint8Array): Readable => Readable.from([Buffer.from(bytes)], { objectMode: false });

/** What a source sends: from the offset on, cut after `cutAfter` bytes of the whole. */
export function served(bytes: Uint8Array, cutAfter = Infinity): (offset: number) => Readable {
  return (offset) => {
    const body = new Readable({
      read() {
        if (offset < Math.min(bytes.length, cutAfter))
          this.push(bytes.subarray(offset, Math.min(bytes.length, cutAfter)));
        if (cutAfter < bytes.length) this.destroy(new Error("cut"));
        else this.push(null);
      },
    });
    return Object.assign(body, { size: bytes.length });
  };
}

export async function readAll(node: DepotNode, sha256: string): Promise<Buffer | undefined> {
  const opened = await node.open(sha256);
  if (opened === undefined) return undefined;
  const pieces: Uint8Array[] = [];
  for await (const piece of opened.read(0, opened.size)) pieces.push(piece);
  return Buffer.concat(pieces);
}
