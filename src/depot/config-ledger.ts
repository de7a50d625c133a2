/**
 * The node's configuration on its disks: one file on each, the highest generation that can be read wins; beside it the
 * epoch of the installation, and what is held, so that both are known when the configuration is lost.
 */
import { join } from "node:path";
import { z } from "zod";
import type { Peers } from "../domain/depot/config.ts";
import { newestHolds, type Holds } from "../domain/depot/holds.ts";
import type { Disk } from "./disk.ts";
import { replaceFile } from "./replace-file.ts";
import { setDigest } from "./wire.ts";

const CONFIG = "artifact-config.json";
const INSTALLATION = "installation.json";
const HOLDS = "holds.json";

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
  held: z.array(z.string()).default([]),
  heldDigest: z.string().optional(),
});
const holds = z.strictObject({ v: z.literal(1), epoch: z.uuid(), generation: z.int(), held: z.array(z.string()) });
const installation = z.strictObject({ v: z.literal(1), epoch: z.uuid() });

export type LedgerEntry = {
  epoch: string;
  generation: number;
  digest: string;
  artifacts: readonly string[];
  sizes?: readonly number[] | undefined;
  peers: Peers;
  keepUpTo?: number | undefined;
  held: readonly string[];
  /** Of the list of held artifacts as it was sent last; undefined: none was sent. */
  heldDigest?: string | undefined;
};
/** What the disks say together. */
export type LedgerState =
  | { kind: "known"; entry: LedgerEntry }
  | { kind: "none"; epoch?: string }
  | { kind: "unreadable"; path: string; epoch?: string };

type Read<T> = { is: "read"; value: T } | { is: "none" } | { is: "unreadable"; why: string };
type OnDisk = { path: string; config: Read<LedgerEntry>; epoch: Read<string>; holds: Read<z.infer<typeof holds>> };
export type Loaded = {
  state: LedgerState;
  holds: Holds;
  /** Disks that do not have the configuration that counts. */
  behind: Disk[];
  doubts: string[];
};

/**
 * Reads every disk. Where only some can say what the configuration is (a disk is missing, new, or its file damaged),
 * a newer one may have been lost: what is known then keeps every file up to its own generation.
 */
export async function loadLedger(disks: readonly Disk[]): Promise<Loaded> {
  const found = await Promise.all(disks.map(readDisk));
  const entries = found.flatMap(({ config }) => (config.is === "read" ? [config.value] : []));
  const epochs = new Set([
    ...entries.map(({ epoch }) => epoch),
    ...found.flatMap(({ epoch }) => (epoch.is === "read" ? [epoch.value] : [])),
  ]);
  const doubtsOf = (...read: readonly Read<unknown>[]) =>
    read.flatMap((it) => (it.is === "unreadable" ? [it.why] : []));
  const doubts = found.flatMap(({ path, config, epoch }) => doubtsOf(config, epoch).map((why) => `${path}: ${why}`));
  const lostHolds = found.flatMap(({ path, holds: read }) => doubtsOf(read).map((why) => `${path}: ${why}`));
  const held = found.flatMap(({ holds: read }) => (read.is === "read" ? [read.value] : []));
  const newest = newestOf(entries);
  return {
    behind: disks.filter((_, i) => !isSame(found[i]?.config, newest)),
    state: together(disks.length, entries, epochs, join(found[0]?.path ?? "", CONFIG), doubts),
    holds: newestHolds([...entries, ...held]),
    doubts: [...doubts, ...lostHolds],
  };
}

const newestOf = (entries: readonly LedgerEntry[]): LedgerEntry | undefined =>
  entries.toSorted((a, b) => b.generation - a.generation)[0];

const isSame = (read: Read<LedgerEntry> | undefined, newest: LedgerEntry | undefined): boolean =>
  read?.is === "read" && read.value.generation === newest?.generation && read.value.digest === newest.digest;

function together(
  disks: number,
  entries: readonly LedgerEntry[],
  epochs: ReadonlySet<string>,
  path: string,
  doubts: readonly string[],
): LedgerState {
  if (epochs.size > 1) return { kind: "unreadable", path };
  const [epoch] = epochs;
  const newest = newestOf(entries);
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
    holds: await read(HOLDS, (text) => holds.parse(JSON.parse(text))),
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
      await saveHolds(disk, next);
      await replaceFile(disk, CONFIG, { v: 1, ...next });
      return disk;
    }),
  );
  return results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
}

/** Before the configuration that they belong to: killed between the two, a disk holds too much, never too little. */
const saveHolds = (disk: Disk, { epoch, generation, held }: Holds & { epoch: string }): Promise<void> =>
  replaceFile(disk, HOLDS, { v: 1, epoch, generation, held });

/** Remembers the installation on disks that hold files of an unknown one (`adopt`). */
export async function saveEpoch(disks: readonly Disk[], epoch: string, held: Holds): Promise<void> {
  for (const disk of disks) {
    await replaceFile(disk, INSTALLATION, { v: 1, epoch });
    await saveHolds(disk, { ...held, epoch });
  }
}
