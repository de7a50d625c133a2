/**
 * The configuration that a node has in force, and how it changes. Whoever calls what changes it holds the gate alone:
 * nothing is written to a final place or taken away meanwhile.
 */
import type { DepotConfig, Peers } from "../domain/depot/config.ts";
import { droppedHolds, holdsAfter, NO_HOLDS, type Holds, type Said } from "../domain/depot/holds.ts";
import { judgeConfig, type Held, type Judgement, type Next } from "../domain/depot/judge-config.ts";
import { failure, Failure, type DetailOf, type ErrorCode } from "../domain/errors.ts";
import { loadLedger, saveEpoch, saveLedger, type LedgerEntry, type LedgerState } from "./config-ledger.ts";
import type { Disk } from "./disk.ts";
import { artifactNames } from "./disk-store.ts";
import type { Wanted } from "./reconciler.ts";
import { setDigest } from "./wire.ts";

export type InForce = { entry: LedgerEntry; wants: ReadonlySet<string>; sizes: ReadonlyMap<string, number> };
type Log = (message: string, fields: object) => void;

export class ConfigState {
  readonly #disks: readonly Disk[];
  readonly #log: Log;
  #ledger: LedgerState = { kind: "none" };
  #inForce: InForce | undefined;
  #holds: Holds = NO_HOLDS;
  #hasFiles = false;
  /** Disks without the configuration in force: killed in the middle, they were full, or it was damaged there. */
  #behind = new Set<Disk>();

  constructor(disks: readonly Disk[], log: Log) {
    this.#disks = disks;
    this.#log = log;
  }

  /** Reads what the disks say, and tells those that know less. */
  async load(): Promise<void> {
    const { state, holds, behind, doubts } = await loadLedger(this.#disks);
    if (doubts.length > 0) this.#log("the configuration on some disks cannot be read", { doubts });
    this.#ledger = state;
    this.#holds = holds;
    this.#hasFiles = await anyFiles(this.#healthy());
    if (state.kind !== "known") return;
    // killed between holds and configuration, a disk knows newer holds: both count until a configuration is acknowledged
    this.#publish({ ...state.entry, held: [...new Set([...state.entry.held, ...holds.held])].sort() });
    this.#behind = new Set(behind);
    await this.catchUp();
  }

  isBehind(): boolean {
    return this.#healthy().some((disk) => this.#behind.has(disk));
  }

  /**
   * Writes the configuration in force on the disks that lack it: what is acknowledged must not hang on one disk. Those
   * that cannot take it now are asked again the next time.
   */
  async catchUp(): Promise<void> {
    const disks = this.#healthy().filter((disk) => this.#behind.has(disk));
    if (disks.length === 0 || this.#inForce === undefined) return;
    for (const disk of await saveLedger(disks, this.#inForce.entry)) this.#behind.delete(disk);
  }

  /** Takes the whole configuration. Whether anything changed; refusals are failures. */
  async replace(next: DepotConfig & { digest: string }, peers: Peers): Promise<boolean> {
    const judged = this.#judge(next);
    const { epoch, generation, digest, artifacts, sizes } = next;
    const said: Said = { ...next, artifacts: new Set(artifacts) };
    const dropped = droppedHolds(this.#holds, said);
    if (dropped.length > 0)
      throw failure("depot_held", { digests: dropped.slice(0, 5).join(", "), count: dropped.length });
    const { held } = holdsAfter(this.#holds, said);
    const heldDigest = next.held === undefined ? this.#inForce?.entry.heldDigest : setDigest(next.held);
    if (judged.do === "keep") return this.#keep(peers, { held, heldDigest });
    await this.#save({
      epoch,
      generation,
      digest,
      artifacts,
      peers,
      sizes,
      keepUpTo: judged.keepUpTo,
      held,
      heldDigest,
    });
    return true;
  }

  /** Takes the short form, which says only what the node should have already. */
  async confirm(next: Next, peers: Peers): Promise<void> {
    const needsAll = this.#judge(next).do === "accept";
    const { heldDigest } = next;
    if (needsAll || (heldDigest !== undefined && heldDigest !== this.#inForce?.entry.heldDigest))
      throw failure("depot_config_needed", undefined);
    await this.#keep(peers);
  }

  /**
   * A person says that the files here belong to this installation: deletions are allowed from now on, and what is
   * `released` is held no more.
   */
  async adopt(epoch: string, released: readonly string[]): Promise<void> {
    const held = this.#holds.held.filter((sha256) => !released.includes(sha256));
    if (this.#ledger.kind === "known") {
      const { entry } = this.#ledger;
      if (entry.epoch !== epoch) throw failure("depot_epoch", { sent: epoch, current: entry.epoch });
      await this.#save({ ...entry, keepUpTo: undefined, held });
    } else {
      this.#holds = { ...this.#holds, held };
      await saveEpoch(this.#healthy(), epoch, this.#holds);
      this.#ledger = { ...this.#ledger, epoch };
    }
  }

  /** A disk came back. What it knows better counts; a foreign one stays out; one without configuration gets ours. */
  async meet(disk: Disk): Promise<void> {
    if (this.#inForce === undefined) return this.load();
    const { entry } = this.#inForce;
    const { state } = await loadLedger([disk]);
    const theirs = state.kind === "known" ? state.entry.epoch : state.epoch;
    if (theirs !== undefined && theirs !== entry.epoch) disk.eject(`it belongs to another installation (${theirs})`);
    else if (state.kind === "known" && state.entry.generation > entry.generation) await this.#save(state.entry);
    else {
      this.#behind.add(disk);
      await this.catchUp();
    }
  }

  /** Undefined when there never was one; fails while it is unreadable. */
  inForce(): InForce | undefined {
    if (this.#ledger.kind === "unreadable") throw failure("depot_config_unreadable", { path: this.#ledger.path });
    return this.#inForce;
  }

  trusted(): InForce {
    const inForce = this.inForce();
    if (inForce === undefined) throw failure("depot_no_config", undefined);
    return inForce;
  }

  /** For the reconciler: undefined while nothing is known. */
  wanted(): Wanted | undefined {
    if (this.#ledger.kind !== "known" || this.#inForce === undefined) return undefined;
    const { entry, wants, sizes } = this.#inForce;
    return {
      wants: (sha256) => wants.has(sha256),
      all: () => wants,
      sizeOf: (sha256) => sizes.get(sha256),
      mayDelete: entry.keepUpTo === undefined || entry.generation > entry.keepUpTo,
    };
  }

  #healthy(): Disk[] {
    return this.#disks.filter((disk) => disk.failure() === undefined);
  }

  #judge(next: Next): Exclude<Judgement, { do: "refuse" }> {
    const judged = judgeConfig(this.#held(), next);
    if (judged.do !== "refuse") return judged;
    throw new Failure<ErrorCode>(judged.code, judged.detail as unknown as DetailOf<ErrorCode>);
  }

  #held(): Held {
    const ledger = this.#ledger;
    if (ledger.kind === "known") return { kind: "known", ...ledger.entry };
    if (ledger.kind === "none") return { kind: "none", hasFiles: this.#hasFiles, epoch: ledger.epoch };
    return { kind: "unreadable", path: ledger.path, epoch: ledger.epoch };
  }

  /** The same set, perhaps with other peers or more holds. Nothing else changed. */
  async #keep(peers: Peers, holds: Partial<LedgerEntry> = {}): Promise<false> {
    const { entry } = this.trusted();
    const next = { ...entry, ...holds, peers };
    const isSame = sameList(entry.peers, peers) && sameList(entry.held, next.held);
    if (!isSame || entry.heldDigest !== next.heldDigest) await this.#save(next);
    return false;
  }

  /** Durable on at least one disk before it counts. */
  async #save(entry: LedgerEntry): Promise<void> {
    const targets = this.#healthy();
    if (targets.length === 0) throw failure("depot_no_disk", undefined);
    const durable = await saveLedger(targets, entry);
    if (durable.length === 0) throw failure("depot_io", { message: "no disk took the configuration" });
    this.#behind = new Set(this.#disks.filter((disk) => !durable.includes(disk)));
    this.#publish(entry);
  }

  #publish(entry: LedgerEntry): void {
    this.#ledger = { kind: "known", entry };
    this.#holds = entry;
    const sizes = entry.artifacts.map((sha256, i) => [sha256, entry.sizes?.[i]] as const);
    this.#inForce = {
      entry,
      wants: new Set(entry.artifacts),
      sizes: new Map(sizes.flatMap(([sha256, size]) => (size === undefined ? [] : [[sha256, size] as const]))),
    };
  }
}

const sameList = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((item, i) => item === b[i]);

async function anyFiles(disks: readonly Disk[]): Promise<boolean> {
  for (const disk of disks) {
    const names = await disk.run("list", (fs) => fs.list(disk.artifacts));
    if (artifactNames(names).length > 0) return true;
  }
  return false;
}
