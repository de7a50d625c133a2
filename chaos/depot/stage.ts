/** Depot processes behind proxies that count and cut, and the controller that replicates to them, for many runs in turn. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { startDepotProxy, type DepotProxy, type Passed } from "../../test/support/depot-proxy.ts";
import { startDepots, type DepotProcess } from "../../test/support/depot-process.ts";
import {
  createReplicationWorld,
  sha256Of,
  type Executed,
  type ReplicationWorld,
} from "../../test/support/replication-world.ts";
import type { Pool } from "../../src/store/database.ts";

export type Servers = { pool: Pool; databaseUrl: string; temporalAddress: string };
export type Scale = { nodes: number; artifacts: number; bytes: number };
export type StageNode = { nodeId: string; depot: DepotProcess; control: DepotProxy; read: DepotProxy };

export const MIN_COPIES = 3;
/** What is unwanted goes soon, so that many runs fit on one disk. */
const SETTINGS = { trashGrace: "1s", reconcileInterval: "2s" };
const SETTLE_MS = 60_000;

export class Breach extends Error {
  override readonly name = "Breach";
}
export function demand(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Breach(otherwise);
}

export class Stage {
  readonly scale: Scale;
  readonly world: ReplicationWorld;
  readonly nodes: readonly StageNode[];
  /** Digests that are wanted now. */
  wanted: string[] = [];
  private readonly removeDepots: () => Promise<void>;

  private constructor(scale: Scale, world: ReplicationWorld, nodes: StageNode[], removeDepots: () => Promise<void>) {
    this.scale = scale;
    this.world = world;
    this.nodes = nodes;
    this.removeDepots = removeDepots;
  }

  static async open(servers: Servers, scale: Scale): Promise<Stage> {
    const group = await startDepots(scale.nodes, SETTINGS);
    const world = await createReplicationWorld({ ...servers, minCopies: MIN_COPIES });
    const nodes = await Promise.all(
      group.depots.map(async (depot): Promise<StageNode> => {
        const control = await startDepotProxy(() => depot.controlUrl);
        const read = await startDepotProxy(() => depot.readUrl);
        return { nodeId: depot.nodeId, depot, control, read };
      }),
    );
    const addresses = nodes.map(({ nodeId, control, read }) => ({
      nodeId,
      controlUrl: control.url,
      readUrl: read.url,
    }));
    await world.register(addresses);
    return new Stage(scale, world, nodes, () => group.remove());
  }

  async close(): Promise<void> {
    await this.world.close();
    await Promise.all(this.nodes.flatMap(({ control, read }) => [control.close(), read.close()]));
    await this.removeDepots();
  }

  /** Other artifacts than before are wanted, staged and nowhere else. Counting begins anew. */
  async fresh(name: string): Promise<void> {
    const { artifacts, bytes } = this.scale;
    const contents = Array.from({ length: artifacts }, (_, i) => Buffer.alloc(bytes, `${name}/${i}/`));
    await this.world.unwantAll();
    this.wanted = await this.world.want(contents);
    this.forget();
  }
  forget(): void {
    for (const { control, read } of this.nodes) for (const proxy of [control, read]) proxy.forget();
  }

  execute(): Promise<Executed> {
    return this.world.execute("chaos");
  }

  /** Bytes that the control plane sent. */
  sentBytes = (): number => sum(this.requests("control", "PUT", "/artifacts/").map(({ sent }) => sent));
  /** Bytes that nodes took from each other. */
  copiedBytes = (): number => sum(this.requests("read", "GET", "/artifact/").map(({ received }) => received));
  requests = (listener: "control" | "read", method: string, prefix: string): Passed[] =>
    this.nodes.flatMap((node) =>
      node[listener].passed.filter((it) => it.method === method && it.path.startsWith(prefix)),
    );

  /** Every wanted artifact on both disks of every node, with its own bytes. */
  async demandEverywhere(what: string): Promise<void> {
    for (const { nodeId, depot } of this.nodes)
      for (const disk of depot.disks) {
        const names = new Set(await readdir(join(disk, "artifacts")));
        const missing = this.wanted.filter((sha256) => !names.has(sha256));
        demand(missing.length === 0, `${what}: ${nodeId} lacks ${missing.length} artifacts on ${disk}`);
        await demandRight(disk, what);
      }
  }

  /** Waits until disks heal themselves. */
  async until(what: string, holds: () => Promise<boolean>): Promise<void> {
    for (const end = performance.now() + SETTLE_MS; performance.now() < end; await delay(100))
      if (await holds()) return;
    throw new Breach(`not within ${SETTLE_MS} ms: ${what}`);
  }
}

/** No name on this disk has other bytes. */
export async function demandRight(disk: string, what: string): Promise<void> {
  const wrong = await wrongOn(disk);
  demand(wrong.length === 0, `${what}: wrong bytes under ${wrong.join(", ")} on ${disk}`);
}

export async function wrongOn(disk: string): Promise<string[]> {
  const folder = join(disk, "artifacts");
  const wrong: string[] = [];
  for (const name of await readdir(folder)) {
    const bytes = await readFile(join(folder, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined; // just put aside
      throw error;
    });
    if (bytes !== undefined && sha256Of(bytes) !== name) wrong.push(name);
  }
  return wrong;
}

const sum = (all: readonly number[]): number => all.reduce((a, b) => a + b, 0);
