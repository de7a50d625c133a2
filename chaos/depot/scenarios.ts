/** What a run does to the depots, and what may not happen (design/artifacts, "Accept by"). Each seed is another run. */
import { open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { createDepotClient } from "../../src/depot/client.ts";
import { runSchedules } from "../../test/support/depot-schedules.ts";
import { TOKENS } from "../../test/support/depot-process.ts";
import { seededChance } from "../../test/support/seeded-chance.ts";
import { demand, demandRight, MIN_COPIES, wrongOn, type Stage, type StageNode } from "./stage.ts";

/** What a run counted, in words. */
export type Counted = Readonly<Record<string, number>>;
export type Scenario = {
  name: string;
  /** Runs of the whole. */
  runs: number;
  run(stage: Stage, seed: number): Promise<Counted>;
};

const MORE_WITH_CUTS = 1.05;
const MORE_WITH_DEAD_MS = 5_000;
const FLIPS_PER_RUN = 10;
const KILLS_PER_RUN = 4;
const SCHEDULES_PER_RUN = 10;

type Dice = (count: number) => number;
const diceOf = (seed: number): Dice => {
  const chance = seededChance(seed);
  for (let i = 0; i < 8; i++) chance(); // neighbours among the seeds begin alike
  return (count) => Math.floor(chance() * count);
};

/** Everything everywhere in one execution, and what was staged goes in the second. */
async function replicate(stage: Stage, seed: number): Promise<Counted> {
  const { scale } = stage;
  await stage.fresh(`replicate ${seed}`);
  const first = await stage.execute();
  const size = scale.artifacts * scale.bytes;
  const { puts, copies, failed, lost } = first.did;
  demand(failed === 0 && lost === 0, `${failed} transfers failed, ${lost} lost`);
  demand(puts === MIN_COPIES * scale.artifacts, `${puts} puts`);
  demand(copies === (scale.nodes - MIN_COPIES) * scale.artifacts, `${copies} copies`);
  demand(stage.sentBytes() === MIN_COPIES * size, `the control plane sent ${stage.sentBytes() / size} × size`);
  demand(stage.copiedBytes() === (scale.nodes - MIN_COPIES) * size, `nodes read ${stage.copiedBytes() / size} × size`);
  demand(first.did.bytes === scale.nodes * size, `nodes took ${first.did.bytes / size} × size`);
  demandPutOnce(stage);
  await stage.demandEverywhere("after one execution");
  demand((await stage.world.staged()).length === scale.artifacts, "staged copies went before they were listed");
  const second = await stage.execute();
  demand(second.did.puts + second.did.copies + second.did.failed === 0, "the second execution moved something");
  demand(second.released === scale.artifacts, `${second.released} of ${scale.artifacts} staged copies were released`);
  demand((await stage.world.staged()).length === 0, "staged copies remain");
  return { "copies made": scale.artifacts * scale.nodes };
}

/** A copy may be asked for again when its source is busy, which moves no bytes; what moved is counted above. */
function demandPutOnce(stage: Stage): void {
  for (const { nodeId, control } of stage.nodes) {
    const puts = control.passed.flatMap(({ method, path, sent }) =>
      method === "PUT" && sent > 0 ? (/^\/artifacts\/([0-9a-f]{64})/.exec(path)?.[1] ?? []) : [],
    );
    demand(new Set(puts).size === puts.length, `${nodeId} was put an artifact twice`);
  }
}

/** One put of each artifact is cut at a random byte. */
async function cuts(stage: Stage, seed: number): Promise<Counted> {
  const dice = diceOf(seed);
  await stage.fresh(`cuts ${seed}`);
  const left = new Set(stage.wanted);
  for (const { control } of stage.nodes)
    control.cutAfter = (method, path) => {
      const sha256 = /^\/artifacts\/([0-9a-f]{64})\?/.exec(path)?.[1];
      return method === "PUT" && sha256 !== undefined && left.delete(sha256)
        ? 1 + dice(stage.scale.bytes - 1)
        : undefined;
    };
  try {
    const { did } = await stage.execute();
    demand(did.failed === 0, `${did.failed} transfers failed`);
  } finally {
    for (const { control } of stage.nodes) control.cutAfter = () => undefined;
  }
  demand(left.size === 0, `${left.size} artifacts were not cut`);
  const share = stage.sentBytes() / (MIN_COPIES * stage.scale.artifacts * stage.scale.bytes);
  demand(share <= MORE_WITH_CUTS, `the control plane sent ${share.toFixed(3)} of what it had to`);
  await stage.demandEverywhere("after cuts");
  return {
    cuts: stage.scale.artifacts,
    "bytes sent again": stage.sentBytes() - MIN_COPIES * stage.scale.artifacts * stage.scale.bytes,
  };
}

/** A disk is replaced by an empty one: its sibling fills it. */
async function disk(stage: Stage, seed: number): Promise<Counted> {
  await settled(stage, seed);
  const dice = diceOf(seed);
  const { depot } = picked(stage, dice);
  const replaced = depot.disks[dice(2)] ?? "";
  await depot.kill();
  await rm(replaced, { recursive: true });
  stage.forget();
  await depot.start();
  await stage.until(
    "the new disk is filled",
    async () => (await readdir(join(replaced, "artifacts"))).length >= stage.wanted.length,
  );
  const { did } = await stage.execute();
  demand(did.puts + did.copies + did.failed === 0, "an execution moved something for a replaced disk");
  demand(stage.sentBytes() + stage.copiedBytes() === 0, "a replaced disk cost network bytes");
  await stage.demandEverywhere("with a new disk");
  return { "disks replaced": 1 };
}

/** Nodes that refuse and nodes that hang cost an execution one probe. */
async function dead(stage: Stage, seed: number): Promise<Counted> {
  const dice = diceOf(seed);
  await stage.fresh(`all there ${seed}`);
  const without = await stage.execute();
  await stage.fresh(`dead ${seed}`);
  const count = 1 + dice(Math.max(1, Math.floor(stage.scale.nodes / 3)));
  const away = shuffled(stage.nodes, dice).slice(0, count);
  for (const [i, node] of away.entries()) {
    if (i % 2 === 0) await node.depot.kill();
    else node.control.hang(true);
  }
  try {
    const { did, ms } = await stage.execute();
    demand(did.skipped.length === count, `${did.skipped.length} of ${count} dead nodes were skipped`);
    demand(did.failed === 0, `${did.failed} transfers failed`);
    demand(ms <= without.ms + MORE_WITH_DEAD_MS, `${ms.toFixed(0)} ms instead of ${without.ms.toFixed(0)}`);
    for (const { nodeId, control, read } of away)
      demand(control.passed.length + read.passed.length <= 1, `${nodeId} got more than its probe`);
  } finally {
    for (const { control } of away) control.hang(false);
    for (const [i, { depot }] of away.entries()) if (i % 2 === 0) await depot.start();
  }
  const { did } = await stage.execute();
  demand(did.failed === 0 && did.skipped.length === 0, "nodes that are back were not served");
  await stage.demandEverywhere("after dead nodes came back");
  return { "dead nodes": count };
}

/** Nodes are killed at random points of an execution. */
async function kill(stage: Stage, seed: number): Promise<Counted> {
  const dice = diceOf(seed);
  await stage.fresh(`kill ${seed}`);
  // one after the other at each node: one that is just starting is killed when it is there
  const restarts = new Map<StageNode, Promise<void>>();
  let kills = 0;
  const strike = async (node: StageNode): Promise<void> => {
    await node.depot.kill();
    for (const path of node.depot.disks) await demandRight(path, `${node.nodeId} killed`);
    await node.depot.start();
  };
  const requests = stage.scale.artifacts * stage.scale.nodes;
  const points = new Map(Array.from({ length: KILLS_PER_RUN }, () => [dice(requests), dice(30)]));
  let arrived = 0;
  for (const node of stage.nodes)
    for (const proxy of [node.control, node.read])
      proxy.arriving = () => {
        const delayMs = points.get(arrived++);
        if (delayMs === undefined) return;
        kills++;
        const soon = new Promise((done) => setTimeout(done, delayMs));
        const struck = Promise.all([soon, restarts.get(node)]).then(() => strike(node));
        struck.catch(() => undefined); // awaited below
        restarts.set(node, struck);
      };
  try {
    await stage.execute();
  } finally {
    for (const { control, read } of stage.nodes) for (const proxy of [control, read]) proxy.arriving = () => undefined;
    await Promise.allSettled(restarts.values());
  }
  await Promise.all(restarts.values());
  await settle(stage);
  await stage.until("both disks of each node", async () => {
    const files = (await Promise.all(stage.nodes.map(({ depot }) => depot.files()))).flat();
    return files.every((names) => stage.wanted.every((sha256) => names.includes(sha256)));
  });
  await stage.demandEverywhere("after kills");
  return { kills };
}

/** Bits rot: each is found by a scrub, put aside and replaced; two copies of one artifact on one node come from a peer. */
async function flips(stage: Stage, seed: number): Promise<Counted> {
  await settled(stage, seed);
  const dice = diceOf(seed);
  const hit = new Map<string, StageNode>();
  const flipOn = async (node: StageNode, path: string, sha256: string): Promise<void> => {
    const key = join(path, "artifacts", sha256);
    if (hit.has(key)) return;
    await flip(key, dice);
    hit.set(key, node);
  };
  while (hit.size < FLIPS_PER_RUN) {
    const node = picked(stage, dice);
    const sha256 = stage.wanted[dice(stage.wanted.length)] ?? "";
    const both = dice(5) === 0;
    for (const path of both ? node.depot.disks : [node.depot.disks[dice(2)] ?? ""]) await flipOn(node, path, sha256);
  }
  const found = await Promise.all([...new Set(hit.values())].map((node) => scrubbed(stage, node)));
  demand(found.reduce((a, b) => a + b, 0) >= hit.size, `${found.join("+")} wrong copies found of ${hit.size}`);
  await stage.execute(); // a node without any right copy takes one from a peer
  await stage.until("all copies are back", async () => {
    const files = (await Promise.all(stage.nodes.map(({ depot }) => depot.files()))).flat();
    return files.every((names) => stage.wanted.every((sha256) => names.includes(sha256)));
  });
  await stage.demandEverywhere("after bit flips");
  return { "bit flips healed": hit.size };
}

async function flip(path: string, dice: Dice): Promise<void> {
  const file = await open(path, "r+");
  try {
    const at = dice((await stat(path)).size);
    const byte = Buffer.alloc(1);
    await file.read(byte, 0, 1, at);
    byte[0] = (byte[0] ?? 0) ^ (1 << dice(8));
    await file.write(byte, 0, 1, at);
  } finally {
    await file.close();
  }
}

/** A deep scrub of the node, to its end. How many wrong copies it found. */
async function scrubbed(stage: Stage, { nodeId, depot }: StageNode): Promise<number> {
  const client = createDepotClient(depot, { tokens: TOKENS });
  try {
    const before = (await client.status()).scrub.found.wrong;
    await client.scrub("deep");
    await stage.until(`the scrub of ${nodeId}`, async () => (await client.status()).scrub.running === null);
    for (const path of depot.disks) demand((await wrongOn(path)).length === 0, `${nodeId}: a scrub passed wrong bytes`);
    return (await client.status()).scrub.found.wrong - before;
  } finally {
    await client.close();
  }
}

/** Two controllers, one behind the other, and all faults of a node's disks and processes. */
async function controllers(_stage: Stage, seed: number): Promise<Counted> {
  const broken = await runSchedules(seed * SCHEDULES_PER_RUN, SCHEDULES_PER_RUN);
  demand(broken.length === 0, JSON.stringify(broken[0]));
  return { schedules: SCHEDULES_PER_RUN };
}

/** Something is wanted and everywhere, left by an earlier run or made now. */
async function settled(stage: Stage, seed: number): Promise<void> {
  if (stage.wanted.length === 0) await stage.fresh(`settled ${seed}`);
  await settle(stage);
}
async function settle(stage: Stage): Promise<void> {
  for (let tries = 1; ; tries++) {
    const { did } = await stage.execute();
    demand(did.lost === 0, `${did.lost} wanted artifacts are lost`);
    if (did.puts + did.copies + did.failed === 0 && did.skipped.length === 0) return;
    demand(tries < 5, `still ${did.failed} failed, ${did.skipped.length} skipped after ${tries} executions`);
  }
}

const picked = (stage: Stage, dice: Dice): StageNode => {
  const node = stage.nodes[dice(stage.nodes.length)];
  if (node === undefined) throw new Error("there are no nodes");
  return node;
};
const shuffled = <T>(all: readonly T[], dice: Dice): T[] =>
  all
    .map((one) => ({ one, at: dice(1_000_000) }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ one }) => one);

/** In the order of one round; `runs` are those of the whole. */
export const SCENARIOS: readonly Scenario[] = [
  { name: "replicate", runs: 100, run: replicate },
  { name: "cuts", runs: 20, run: cuts },
  { name: "disk", runs: 24, run: disk },
  { name: "flips", runs: 10, run: flips },
  { name: "dead", runs: 12, run: dead },
  { name: "kill", runs: 250, run: kill },
  { name: "controllers", runs: 1_000, run: controllers },
];
