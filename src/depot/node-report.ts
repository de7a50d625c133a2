/** What a node says of itself: its configuration, its copies, its disks, and what is going on. */
import type { DepotConfig } from "../domain/depot/config.ts";
import { copiesOn, packCopies } from "../domain/depot/copy-bits.ts";
import type { NodeStatus } from "../domain/depot/node-status.ts";
import { failure } from "../domain/errors.ts";
import type { ConfigState, InForce } from "./config-state.ts";
import type { DiskStore } from "./disk-store.ts";
import type { Findings } from "./findings.ts";
import type { Scrub } from "./scrub.ts";
import type { Transfers } from "./transfers.ts";
import type { DepotBits, DepotList } from "./wire.ts";

export type Report = {
  /** Undefined when the node never had one. */
  config(): DepotConfig | undefined;
  /** Copies of what the configuration names, and the generation they were counted at. */
  list(): Promise<DepotList>;
  /** The same as bits over the set with this digest; fails with `depot_set` when it keeps another. */
  listBits(digest: string): Promise<DepotBits>;
  /** How it stands, also while no configuration is trusted. Bounded: what runs, never what was. */
  status(): Promise<NodeStatus>;
  /** Copies that were put aside as wrong. */
  quarantined(): Promise<number>;
};
type Parts = { store: DiskStore; state: ConfigState; transfers: Transfers; scrub: Scrub; findings: Findings };

export const createReport = ({ store, state, transfers, scrub, findings }: Parts): Report => ({
  config: () => {
    const entry = state.inForce()?.entry;
    if (entry === undefined) return undefined;
    const { epoch, generation, artifacts, held } = entry;
    return { epoch, generation, artifacts, ...(held.length > 0 && { held }) };
  },
  list: async () => ({ ...(await listNode(store, state.trusted())), findings: findings.mark() }),
  listBits: async (digest) => ({ ...(await bitsOf(store, state.trusted(), digest)), findings: findings.mark() }),
  status: async () => ({
    ...(await statusOf(store, state)),
    disks: await disksOf(store),
    transfers: transfers.running().map(({ sha256, bytes }) => ({ sha256, bytes })),
    scrub: scrub.status(),
    findings: { ...findings.mark(), recent: findings.recent() },
  }),
  quarantined: () => quarantinedOn(store),
});

async function quarantinedOn(store: DiskStore): Promise<number> {
  const names = store.healthy().map((disk) => disk.run("list", (fs) => fs.list(disk.quarantine)).catch(() => []));
  return (await Promise.all(names)).flat().length;
}

/** One snapshot of the configuration, then the files: it names only what that generation wants (invariant 6). */
async function listNode(store: DiskStore, { entry, sizes }: InForce): Promise<DepotList> {
  const list: Record<string, number> = {};
  for (const sha256 of entry.artifacts) {
    const copies = await store.copies(sha256, sizes.get(sha256));
    if (copies.length > 0) list[sha256] = copies.length;
  }
  return { epoch: entry.epoch, generation: entry.generation, list, disks: await disksOf(store) };
}

async function bitsOf(store: DiskStore, inForce: InForce, digest: string): Promise<DepotBits> {
  const { artifacts, digest: current, generation } = inForce.entry;
  if (digest !== current) throw failure("depot_set", { sent: digest, current, generation });
  const { list, ...said } = await listNode(store, inForce);
  const copies = artifacts.map((sha256) => copiesOn(list[sha256] ?? 0, store.disks.length));
  return { ...said, bits: Buffer.from(packCopies(copies)).toString("base64") };
}

const disksOf = (store: DiskStore): Promise<DepotList["disks"]> =>
  Promise.all(
    store.disks.map(async (disk) => ({
      path: disk.path,
      state: disk.failure() ?? "ok",
      freeBytes: await disk.run("free", (fs) => fs.freeBytes(disk.path)).catch(() => null),
    })),
  );

/** What the configuration wants, by the copies that are there: on every disk, on some, on none. */
async function statusOf(store: DiskStore, state: ConfigState): Promise<Pick<NodeStatus, "config" | "problem">> {
  let inForce: InForce | undefined;
  try {
    inForce = state.inForce();
  } catch (error) {
    return { config: null, problem: error instanceof Error ? error.message : String(error) };
  }
  if (inForce === undefined) return { config: null, problem: null };
  const { list, generation } = await listNode(store, inForce);
  const copies = inForce.entry.artifacts.map((sha256) => list[sha256] ?? 0);
  const complete = copies.filter((count) => count === store.disks.length).length;
  const missing = copies.filter((count) => count === 0).length;
  const wanted = copies.length;
  return { config: { generation, wanted, complete, partial: wanted - complete - missing, missing }, problem: null };
}
