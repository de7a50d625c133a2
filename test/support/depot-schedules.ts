/**
 * Random schedules of all that meets at one node (depot-anchors, section 2): two controllers with their own knowledge,
 * late and cut writers, copies, readers, scrubs, the reconciler, kills and power cuts, disks that are pulled, replaced,
 * full, failing or rotten, damaged configurations, foreign installations. The oracle is told acknowledged answers only,
 * and compares with a raw walk of the disks, never with what the node says of itself.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { createDepotNode, type DepotNode } from "../../src/depot/node.ts";
import { failure, isFailure } from "../../src/domain/errors.ts";
import { seededChoose, type Choose } from "../../src/domain/depot/plan-replication.ts";
import { bytesOf, configOf, digest, fence, served, stream, THEIRS, unlocked } from "./depot.ts";
import { createForgetfulDisks, type ForgetfulDisks } from "./forgetful-disks.ts";

export type ScheduleOptions = {
  /** A store that checks and unlinks in two steps: what the schedules must notice. */
  unlocked?: boolean;
  /** No fault of disks and processes: more of what controllers, writers and the reconciler do to each other. */
  calm?: boolean;
  /** Default 40. */
  steps?: number;
};
export type Broken = { seed: number; broken: string[] };

/** Runs one schedule per seed, from `first` on. The same seed is the same schedule. Those that broke a rule. */
export async function runSchedules(first: number, count: number, options: ScheduleOptions = {}): Promise<Broken[]> {
  const failed: Broken[] = [];
  for (let seed = first; seed < first + count; seed++) {
    const broken = await runSchedule(seed, options);
    if (broken.length > 0) failed.push({ seed, broken });
  }
  return failed;
}

const CONTENTS = ["a", "b"].map((text) => bytesOf(text, 120));
const DIGESTS = CONTENTS.map(digest);
const BYTES = new Map(CONTENTS.map((bytes) => [digest(bytes), bytes]));
const PEER = "http://127.0.0.1:7001";
const GRACE_MS = 600_000;
const FOREVER_MS = 1_000_000_000;

type Snapshot = {
  generation: number;
  wanted: string[];
  held: string[];
  released: string[];
  staged: Map<string, number>;
};
/** A worker with a staging folder of its own: digest → number of the upload that it is from. */
type Controller = { staged: Map<string, number>; old: Snapshot | undefined };

const untilAborted = (_ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    else signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });

/** What one schedule is: the node, what is true in the database, and what the node owes to whom it answered. */
class World {
  readonly choose: Choose;
  readonly disks: ForgetfulDisks;
  readonly isUnlocked: boolean;
  readonly clock = { ms: 0 };
  readonly broken: string[] = [];
  readonly running = new Set<Promise<void>>();
  readonly controllers: Controller[] = [0, 1].map(() => ({ staged: new Map(), old: undefined }));
  readonly database = {
    generation: 0,
    wanted: new Set<string>(),
    held: new Set<string>(),
    released: new Set<string>(),
  };
  /** Each configuration that was sent, whether answered or not. */
  readonly sent: { generation: number; wants: ReadonlySet<string> }[] = [];
  /** What was listed, and since when no configuration without it was sent. */
  readonly kept = new Set<string>();
  /** Copies that rot: `disk/digest`. */
  readonly rotten = new Set<string>();
  acknowledged = 0;
  uploads = 0;
  life = 0;
  when = "";
  node: DepotNode;

  constructor(seed: number, isUnlocked: boolean) {
    this.choose = seededChoose(seed);
    this.isUnlocked = isUnlocked;
    this.disks = createForgetfulDisks(1 + this.choose(2), (operation, path) => this.turn(operation, path));
    this.node = this.build();
  }

  /** Others come in between; most often while a file is on its way out, which is what much of this is about. */
  async turn(operation: string, path: string): Promise<void> {
    const slow = operation === "rename" && path.includes("/artifacts/");
    const turns = slow && this.choose(3) === 0 ? this.choose(120) : this.choose(2);
    for (let i = turns; i > 0; i--) await nextTurn();
  }

  build(): DepotNode {
    return createDepotNode({
      disks: this.disks.paths,
      fs: this.disks.boot(),
      readFrom: () => async (sha256, offset) => this.peer(sha256, offset),
      log: () => undefined,
      monotonicMs: () => this.clock.ms,
      trashGraceMs: GRACE_MS,
      reconcileEveryMs: FOREVER_MS,
      diskTimeoutMs: 60_000,
      slots: 16,
      scrub: {
        every: { light: FOREVER_MS, deep: FOREVER_MS },
        lookEveryMs: FOREVER_MS,
        nowMs: () => this.clock.ms,
        sleep: untilAborted,
        pace: async () => {
          await nextTurn();
        },
      },
      ...(this.isUnlocked && { locking: unlocked() }),
    });
  }

  /** What another node sends: whole, cut, or wrong. */
  private peer(sha256: string, offset: number) {
    const bytes = BYTES.get(sha256) ?? Buffer.alloc(0);
    const kind = this.choose(8);
    if (kind === 0) throw failure("depot_unreachable", { url: PEER, message: "away" });
    const sent = kind === 1 ? Buffer.from(bytes).fill("x") : bytes;
    const body = served(sent, kind === 2 ? offset + this.choose(bytes.length - offset + 1) : Infinity)(offset);
    return { size: bytes.length, offset, body };
  }

  /** Work that goes on beside the others. Answers of a process that is gone meanwhile reach nobody. */
  begin(work: () => Promise<void>): void {
    const running: Promise<void> = work()
      .catch((error: unknown) => {
        if (!isFailure(error)) this.tell(`an error that is none of the catalogue: ${String(error)}`);
      })
      .finally(() => this.running.delete(running));
    this.running.add(running);
  }

  async quiet(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running);
  }

  /** Resolves with the answer only while the process that gives it is the one that was asked. */
  async ask<T>(work: (node: DepotNode) => Promise<T>): Promise<T> {
    const { life } = this;
    const answer = await work(this.node);
    if (life === this.life) return answer;
    throw failure("depot_unreachable", { url: "", message: "the process is gone" });
  }

  tell(what: string): void {
    if (this.broken.length < 5) this.broken.push(`${this.when}: ${what}`);
  }

  isRight(disk: number, sha256: string, which: "now" | "lasting" = "now"): boolean {
    const bytes = this.disks.read(disk, `artifacts/${sha256}`, which);
    return bytes !== undefined && digest(bytes) === sha256;
  }

  numbers(): number[] {
    return this.disks.paths.map((_, i) => i);
  }
}

async function runSchedule(seed: number, options: ScheduleOptions): Promise<string[]> {
  const world = new World(seed, options.unlocked === true);
  await world.node.start();
  try {
    for (let step = 0; step < (options.steps ?? 40); step++) {
      world.when = `step ${step}`;
      await oneStep(world, options.calm === true);
      for (let i = world.choose(10); i > 0; i--) await nextTurn();
      if (world.running.size > 4) await Promise.race(world.running);
      check(world);
      if (world.broken.length > 0) return world.broken;
    }
    await settle(world);
    return world.broken;
  } finally {
    world.disks.kill();
    await world.node.close();
    await world.quiet();
  }
}

async function oneStep(world: World, isCalm: boolean): Promise<void> {
  const { choose } = world;
  const kind = choose(isCalm ? 20 : 30);
  if (kind < 5) changeSet(world);
  else if (kind < 13) world.begin(() => execution(world, choose(2), choose(4) === 0));
  else if (kind < 16) world.begin(() => write(world));
  else if (kind < 18) world.begin(() => copy(world));
  else if (kind < 20) world.begin(() => world.ask((node) => node.reconcile()));
  else if (kind < 22) world.begin(() => readOne(world));
  else if (kind < 23) world.node.scrub.begin(choose(2) === 0 ? "deep" : "light");
  else if (kind < 24) world.clock.ms += GRACE_MS;
  else if (kind < 25) world.begin(() => foreigner(world));
  else if (kind < 26) await mistake(world);
  else if (kind < 28) hurt(world);
  else await restart(world);
}

/** The database changes: an upload, a deletion, a pin, and the generation with it. */
function changeSet(world: World): void {
  const { choose, database, controllers } = world;
  const sha256 = DIGESTS[choose(DIGESTS.length)] ?? "";
  database.generation++;
  if (!database.wanted.has(sha256)) {
    database.wanted.add(sha256);
    database.released.delete(sha256);
    controllers[choose(2)]?.staged.set(sha256, ++world.uploads);
  } else if (choose(3) === 0) database.held.add(sha256);
  else {
    database.held.delete(sha256);
    database.released.add(sha256); // also when it was not held any more: the node may not have heard of that
    database.wanted.delete(sha256);
  }
}

function snapshot({ database }: World, { staged }: Controller): Snapshot {
  const { generation, wanted, held, released } = database;
  return { generation, wanted: [...wanted], held: [...held], released: [...released], staged: new Map(staged) };
}

/** One execution of the contract's six steps by one controller, perhaps with what it knew before it was paused. */
async function execution(world: World, which: number, isStale: boolean): Promise<void> {
  const me = world.controllers[which] as Controller;
  const now = snapshot(world, me);
  const known = isStale && me.old !== undefined ? me.old : now;
  me.old = now;
  const contents = CONTENTS.filter((bytes) => known.wanted.includes(digest(bytes)));
  send(world, known.generation, known.wanted);
  const { held, released } = known;
  await world.ask((node) => node.putConfig({ ...configOf(known.generation, contents), held, released }, [PEER]));
  world.acknowledged = Math.max(world.acknowledged, known.generation);
  const listed = await list(world);
  if (listed === undefined || listed.generation !== known.generation) return;
  release(world, me, known, listed.list);
  for (const sha256 of known.wanted) {
    if (listed.list[sha256] !== undefined || !me.staged.has(sha256)) continue;
    await put(world, sha256, known.generation, BYTES.get(sha256) ?? Buffer.alloc(0));
  }
}

function send(world: World, generation: number, wanted: readonly string[]): void {
  world.sent.push({ generation, wants: new Set(wanted) });
  for (const sha256 of world.kept)
    if (!wanted.includes(sha256) && generation > world.acknowledged) world.kept.delete(sha256);
}

/** Invariant 6, and what invariant 7 promises from now on. */
async function list(world: World) {
  const { generation, list: found } = await world.ask((node) => node.list());
  const config = world.sent.find((sent) => sent.generation === generation);
  const later = world.sent.filter((sent) => sent.generation > generation);
  for (const sha256 of Object.keys(found)) {
    if (config?.wants.has(sha256) !== true) world.tell(`listed ${name(sha256)}, which ${generation} does not want`);
    if (later.every((sent) => sent.wants.has(sha256))) world.kept.add(sha256);
  }
  return { generation, list: found };
}

/** K is 1 here: what the list of this generation confirms need not be staged any more (contract, step 4). */
function release({ database }: World, me: Controller, known: Snapshot, found: Record<string, number>): void {
  if (database.generation !== known.generation) return;
  for (const [sha256, upload] of known.staged) {
    const isSafe = !known.wanted.includes(sha256) || found[sha256] !== undefined;
    if (isSafe && me.staged.get(sha256) === upload) me.staged.delete(sha256);
  }
}

async function put(world: World, sha256: string, generation: number, bytes: Uint8Array): Promise<void> {
  await world.ask((node) => node.put(sha256, fence(generation), 120, stream(bytes)));
}

/** Some writer: late, cut, or with other bytes. */
async function write(world: World): Promise<void> {
  const sha256 = DIGESTS[world.choose(DIGESTS.length)] ?? "";
  const bytes = BYTES.get(sha256) ?? Buffer.alloc(0);
  const kinds = [bytes, bytes, bytes.subarray(0, world.choose(120)), Buffer.alloc(120, "z")];
  const generation = Math.max(1, world.database.generation - world.choose(2));
  await put(world, sha256, generation, kinds[world.choose(kinds.length)] ?? bytes);
}

async function copy(world: World): Promise<void> {
  const sha256 = DIGESTS[world.choose(DIGESTS.length)] ?? "";
  const job = await world.ask((node) => node.copyFromDepot(sha256, fence(world.database.generation), PEER));
  await world.ask((node) => node.job(job.id, 60_000));
}

/** A whole answer is the right one (invariant 14). */
async function readOne(world: World): Promise<void> {
  const sha256 = DIGESTS[world.choose(DIGESTS.length)] ?? "";
  const opened = await world.ask((node) => node.open(sha256));
  if (opened === undefined) return;
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of opened.read(0, opened.size)) pieces.push(piece);
  } catch {
    return; // it ends early rather than wrong
  }
  if (digest(Buffer.concat(pieces)) !== sha256) world.tell(`a reader of ${name(sha256)} got other bytes`);
}

/** Invariant 17. */
async function foreigner(world: World): Promise<void> {
  if (world.acknowledged === 0) return;
  await world.ask((node) => node.putConfig(configOf(1_000_000, CONTENTS, THEIRS), []));
  world.tell("a configuration of another installation was taken");
}

/** Somebody's mistake drops what is held without saying so (invariant 15). */
async function mistake(world: World): Promise<void> {
  await world.quiet();
  const held = configured(world)?.held ?? [];
  if (held.length === 0) return;
  const contents = CONTENTS.filter((bytes) => !held.includes(digest(bytes)));
  const generation = ++world.database.generation;
  const answer = await world
    .ask((node) => node.putConfig(configOf(generation, contents), []))
    .then(
      () => "taken",
      (error: unknown) => (isFailure(error) ? error.code : String(error)),
    );
  if (!["depot_held", "depot_no_disk", "depot_config_unreadable"].includes(answer))
    world.tell(`a configuration that drops what is held was answered ${answer}`);
}

/** A disk fails or rots, if the other one has everything that counts. */
function hurt(world: World): void {
  const { choose, disks } = world;
  const disk = choose(disks.paths.length);
  if (disks.state(disk) !== "well") return disks.setState(disk, "well");
  const sha256 = DIGESTS[choose(DIGESTS.length)] ?? "";
  if (!isSpare(world, disk)) return;
  const kind = choose(6);
  if (kind === 0) disks.setState(disk, "pulled");
  else if (kind === 1) disks.setState(disk, "failing");
  else if (kind === 2) disks.setState(disk, "full");
  else if (kind === 3) {
    disks.replace(disk);
    for (const rotten of world.rotten) if (rotten.startsWith(`${disk}/`)) world.rotten.delete(rotten);
  } else if (kind === 4) rot(world, disk, sha256);
  else disks.damage(disk, "artifact-config.json", (bytes) => bytes.subarray(0, choose(bytes.length)));
}

function rot(world: World, disk: number, sha256: string): void {
  const { choose } = world;
  world.rotten.add(`${disk}/${sha256}`);
  const flip = (bytes: Buffer): Buffer => Buffer.from(bytes.map((byte, i) => (i === 7 ? byte ^ 1 : byte)));
  const cut = (bytes: Buffer): Buffer => bytes.subarray(0, choose(bytes.length));
  world.disks.damage(disk, `artifacts/${sha256}`, choose(2) === 0 ? flip : cut);
}

/** Whether all that the node owes lies on another disk too, and would outlast a power cut. */
function isSpare(world: World, disk: number): boolean {
  return world.numbers().some((other) => {
    if (other === disk || world.disks.state(other) !== "well") return false;
    const ledger = ledgerOn(world, other);
    if (ledger === undefined || ledger.generation < world.acknowledged) return false;
    return DIGESTS.every((sha256) => !hasAnywhere(world, sha256) || world.isRight(other, sha256, "lasting"));
  });
}

const hasAnywhere = (world: World, sha256: string): boolean =>
  world.numbers().some((disk) => world.disks.read(disk, `artifacts/${sha256}`) !== undefined);

function ledgerOn(world: World, disk: number): { generation: number } | undefined {
  try {
    const bytes = world.disks.read(disk, "artifact-config.json", "lasting");
    return bytes && (JSON.parse(bytes.toString()) as { generation: number });
  } catch {
    return undefined;
  }
}

/** The process dies, alone or with the machine, and comes back. */
async function restart(world: World): Promise<void> {
  world.life++;
  if (world.choose(2) === 0) world.disks.kill();
  else world.disks.cutPower(world.choose);
  await Promise.all([world.node.close(), world.quiet()]);
  world.node = world.build();
  await world.node.start();
}

/** Invariants 1, 3, 7 and 11 by a raw walk. */
function check(world: World): void {
  for (const disk of world.numbers())
    for (const sha256 of world.disks.names(disk, "artifacts"))
      if (!world.isRight(disk, sha256) && !world.rotten.has(`${disk}/${sha256}`))
        world.tell(`${disk}/artifacts/${name(sha256)} has other bytes`);
  const isThere = (sha256: string): boolean => world.numbers().some((disk) => world.isRight(disk, sha256));
  for (const sha256 of world.kept) if (!isThere(sha256)) world.tell(`${name(sha256)} was listed and is gone`);
  for (const sha256 of world.database.wanted) {
    const isStaged = world.controllers.some(({ staged }) => staged.has(sha256));
    if (!isStaged && !isThere(sha256)) world.tell(`${name(sha256)} is wanted and LOST`);
  }
  const held = configured(world)?.generation ?? 0;
  if (held < world.acknowledged) world.tell(`it is at generation ${held} after it acknowledged ${world.acknowledged}`);
}

function configured(world: World): ReturnType<DepotNode["config"]> {
  try {
    return world.node.config();
  } catch {
    world.tell("its configuration is unreadable, although one disk has it");
    return undefined;
  }
}

/** Faults stop. Then everything wanted is everywhere, nothing else is anywhere, and staging is empty (19, 22, 24). */
async function settle(world: World): Promise<void> {
  await world.quiet();
  for (const disk of world.numbers()) world.disks.setState(disk, "well");
  world.database.generation++;
  for (const round of [1, 2, 3]) {
    world.when = `settling ${round}`;
    for (const which of [0, 1]) world.begin(() => execution(world, which, false));
    await world.quiet();
    world.node.scrub.begin("deep");
    await world.node.scrub.idle();
    await world.node.reconcile();
    check(world);
    world.clock.ms += GRACE_MS;
  }
  await world.node.reconcile();
  world.when = "at rest";
  const wanted = [...world.database.wanted].toSorted();
  for (const disk of world.numbers()) {
    const there = world.disks.names(disk, "artifacts").toSorted();
    if (there.join() !== wanted.join())
      world.tell(`disk ${disk} has ${there.map(name).join()} of ${wanted.map(name).join()}`);
    for (const folder of ["tmp", "trash"]) {
      const left = world.disks.names(disk, folder);
      if (left.length > 0) world.tell(`disk ${disk} keeps ${folder}/${left.join()}`);
    }
  }
  for (const { staged } of world.controllers) if (staged.size > 0) world.tell("staging is not released");
}

const name = (sha256: string): string => "abc"[DIGESTS.indexOf(sha256)] ?? sha256.slice(0, 8);
