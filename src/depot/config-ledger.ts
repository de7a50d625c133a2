/**
 * The node's configuration on its disks: one file on each, the highest generation that can be read wins; beside it the
 * epoch of the installation.
 */
import { join } from "node:path";
import { z } from "zod";
import type { Peers } from "../domain/depot/config.ts";
import type { Disk } from "./disk.ts";
import { replaceFile } from "./replace-file.ts";
import { setDigest } from "./wire.ts";

const CONFIG = "artifact-config.json";
const INSTALLATION = "installation.json";

const entry = z.strictObject({
  v: z.literal(1),
  epoch: z.uuid(),
  generation: z.int().nonnegative(),
  digest: z.string(),
  artifacts: z.array(z.string()),
  sizes: z.array(z.int().nonnegative()).optional(),
  peers: z.array(z.string()),
  /** Nothing is deleted while the generation is not above this one. */
  keepUpTo: z.int().optional(),
});
const installation = z.strictObject({ v: z.literal(1), epoch: z.uuid() });

export type LedgerEntry = {
  epoch: string;
  generation: number;
  digest: string;
  artifacts: readonly string[];
  sizes?: readonly number[] | undefined;
  peers: Peers;
  keepUpTo?: number | undefined;
};
/** What the disks say together. */
export type LedgerState =
  | { kind: "known"; entry: LedgerEntry }
  | { kind: "none"; epoch?: string }
  | { kind: "unreadable"; path: string; epoch?: string };

type Read<T> = { is: "read"; value: T } | { is: "none" } | { is: "unreadable"; why: string };
type OnDisk = { path: string; config: Read<LedgerEntry>; epoch: Read<string> };

/**
 * Reads every disk. Where only some can say what the configuration is (a disk is missing, new, or its file damaged),
 * a newer one may have been lost: what is known then keeps every file up to its own generation.
 */
export async function loadLedger(disks: readonly Disk[]): Promise<{ state: LedgerState; doubts: string[] }> {
  const found = await Promise.all(disks.map(readDisk));
  const entries = found.flatMap(({ config }) => (config.is === "read" ? [config.value] : []));
  const epochs = new Set([
    ...entries.map(({ epoch }) => epoch),
    ...found.flatMap(({ epoch }) => (epoch.is === "read" ? [epoch.value] : [])),
  ]);
  const doubts = found.flatMap(({ path, config, epoch }) =>
    [config, epoch].flatMap((read) => (read.is === "unreadable" ? [`${path}: ${read.why}`] : [])),
  );
  return { state: together(disks.length, entries, epochs, join(found[0]?.path ?? "", CONFIG), doubts), doubts };
}

function together(
  disks: number,
  entries: readonly LedgerEntry[],
  epochs: ReadonlySet<string>,
  path: string,
  doubts: readonly string[],
): LedgerState {
  if (epochs.size > 1) return { kind: "unreadable", path };
  const [epoch] = epochs;
  const newest = entries.toSorted((a, b) => b.generation - a.generation)[0];
  if (newest !== undefined) {
    const certain = entries.length === disks;
    const keepUpTo = certain ? newest.keepUpTo : Math.max(newest.generation, newest.keepUpTo ?? 0);
    return { kind: "known", entry: { ...newest, keepUpTo } };
  }
  if (doubts.length > 0) return { kind: "unreadable", path, ...(epoch !== undefined && { epoch }) };
  return { kind: "none", ...(epoch !== undefined && { epoch }) };
}

async function readDisk(disk: Disk): Promise<OnDisk> {
  const read = async <T>(name: string, parse: (text: string) => T): Promise<Read<T>> => {
    try {
      const bytes = await disk.run("read configuration", (fs) => fs.readWhole(join(disk.path, name)));
      return bytes === undefined ? { is: "none" } : { is: "read", value: parse(bytes.toString("utf8")) };
    } catch (error) {
      return { is: "unreadable", why: error instanceof Error ? error.message : String(error) };
    }
  };
  return {
    path: disk.path,
    config: await read(CONFIG, parseEntry),
    epoch: await read(INSTALLATION, (text) => installation.parse(JSON.parse(text)).epoch),
  };
}

function parseEntry(text: string): LedgerEntry {
  const { v: _, ...read } = entry.parse(JSON.parse(text));
  if (setDigest(read.artifacts) !== read.digest) throw new Error("the list is not the one that was written");
  return read;
}

/** Writes the entry to every disk given. Resolves with those on which it is durable now. */
export async function saveLedger(disks: readonly Disk[], next: LedgerEntry): Promise<Disk[]> {
  const results = await Promise.allSettled(
    disks.map(async (disk) => {
      await replaceFile(disk, INSTALLATION, { v: 1, epoch: next.epoch });
      await replaceFile(disk, CONFIG, { v: 1, ...next });
      return disk;
    }),
  );
  return results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
}

/** Remembers the installation on disks that hold files of an unknown one (`adopt`). */
export async function saveEpoch(disks: readonly Disk[], epoch: string): Promise<void> {
  for (const disk of disks) await replaceFile(disk, INSTALLATION, { v: 1, epoch });
}
