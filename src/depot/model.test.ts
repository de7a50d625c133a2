/**
 * A small model of one node, one artifact and two controllers, searched breadth-first with every step interleaved
 * (depot-anchors 0.1). It shows that the design holds where tests of the code can only try: re-check and unlink in one
 * step, and a configuration that outlives a restart. Whether a node takes a configuration is asked of the node's own rule.
 */
import { expect, test } from "vitest";
import { judgeConfig } from "../domain/depot/judge-config.ts";

type Variant = { isAtomic: boolean; isPersisted: boolean };
type Bounds = { generations: number; deletions: number; restarts: number };
type Controller = {
  /** Generation of the upload that it stages; 0: none. */
  staged: number;
  at: "idle" | "planned" | "accepted" | "listed";
  known: number;
  /** What was staged before it read the configuration (contract: local list first). */
  had: number;
  isPresent: boolean;
};
type State = {
  /** Of the database; the artifact is wanted at odd ones. */
  generation: number;
  deletions: number;
  restarts: number;
  controllers: [Controller, Controller];
  /** In force at the node; -1: none. */
  config: number;
  onDisk: number;
  hasFile: boolean;
  /** The reconciler has decided to unlink and has not done it yet. */
  isUnlinking: boolean;
  /** Generations at which writers were admitted that have not landed; 0: none. */
  writers: [number, number];
};
const EPOCH = "018f0000-0000-4000-8000-000000000001";
const wants = (generation: number): boolean => generation % 2 === 1;
const held = (generation: number) =>
  ({ kind: "known", epoch: EPOCH, generation, digest: String(wants(generation)) }) as const;
const none = { kind: "none", hasFiles: false } as const;

const VERDICTS = new Map<string, boolean>();
/** Asked once for each pair. */
function takes(config: number, next: number): boolean {
  const key = `${config} ${next}`;
  const known = VERDICTS.get(key);
  if (known !== undefined) return known;
  const judged = judgeConfig(config < 0 ? none : held(config), {
    epoch: EPOCH,
    generation: next,
    digest: String(wants(next)),
  });
  VERDICTS.set(key, judged.do !== "refuse");
  return judged.do !== "refuse";
}

const idle: Controller = { staged: 0, at: "idle", known: 0, had: 0, isPresent: false };
const START: State = {
  generation: 0,
  deletions: 0,
  restarts: 0,
  controllers: [idle, idle],
  config: -1,
  onDisk: -1,
  hasFile: false,
  isUnlinking: false,
  writers: [0, 0],
};
const isLost = ({ generation, hasFile, controllers }: State): boolean =>
  wants(generation) && !hasFile && controllers.every(({ staged }) => staged === 0);

function keyOf(s: State): string {
  const of = ({ staged, at, known, had, isPresent }: Controller): string =>
    `${staged}${at[0]}${at[1]}${known}${had}${isPresent ? 1 : 0}`;
  return `${s.generation}${s.deletions}${s.restarts}|${of(s.controllers[0])}|${of(s.controllers[1])}|${s.config}|${s.onDisk}|${s.hasFile ? 1 : 0}${s.isUnlinking ? 1 : 0}|${s.writers.join("")}`;
}

function nextStates(s: State, variant: Variant, bounds: Bounds): State[] {
  return [...ofDatabase(s, bounds), ...ofNode(s, variant, bounds), ...ofController(s, 0), ...ofController(s, 1)];
}

function ofDatabase(s: State, bounds: Bounds): State[] {
  const generation = s.generation + 1;
  if (generation > bounds.generations) return [];
  if (wants(generation)) return [0, 1].map((i) => withController({ ...s, generation }, i, { staged: generation }));
  return s.deletions < bounds.deletions ? [{ ...s, generation, deletions: s.deletions + 1 }] : [];
}

function ofNode(s: State, { isAtomic, isPersisted }: Variant, bounds: Bounds): State[] {
  const next: State[] = [];
  const unwanted = s.config >= 0 && !wants(s.config) && s.hasFile;
  if (isAtomic && unwanted) next.push({ ...s, hasFile: false });
  if (!isAtomic && unwanted && !s.isUnlinking) next.push({ ...s, isUnlinking: true });
  if (s.isUnlinking) next.push({ ...s, isUnlinking: false, hasFile: false });
  for (const i of [0, 1] as const) {
    const admitted = s.writers[i];
    if (admitted === 0) continue;
    const writers: State["writers"] = i === 0 ? [0, s.writers[1]] : [s.writers[0], 0];
    const lands = !isAtomic || s.config === admitted; // asked again at the moment it lands
    next.push({ ...s, writers, hasFile: s.hasFile || lands });
  }
  if (s.restarts < bounds.restarts)
    next.push({
      ...s,
      restarts: s.restarts + 1,
      config: isPersisted ? s.onDisk : -1,
      isUnlinking: false,
      writers: [0, 0],
    });
  return next;
}

function withController(s: State, i: number, change: Partial<Controller>): State {
  const [first, second] = s.controllers;
  return { ...s, controllers: i === 0 ? [{ ...first, ...change }, second] : [first, { ...second, ...change }] };
}

/** The contract's steps: take the configuration, put it, list, release what is confirmed, put what is missing. */
function ofController(s: State, i: 0 | 1): State[] {
  const me = s.controllers[i];
  const give = (change: Partial<Controller>): State => withController(s, i, change);
  const stop: Partial<Controller> = { at: "idle", known: 0, had: 0, isPresent: false };
  if (me.at === "idle") return [give({ at: "planned", known: s.generation, had: me.staged })];
  if (me.at === "planned") {
    if (!takes(s.config, me.known)) return [give(stop)];
    return [{ ...give({ at: "accepted" }), config: me.known, onDisk: me.known }];
  }
  if (me.at === "accepted") {
    if (s.config !== me.known) return [give(stop)];
    return [give({ at: "listed", isPresent: wants(me.known) && s.hasFile })];
  }
  const isConfirmed = me.isPresent || !wants(me.known);
  if (isConfirmed) return [give({ ...stop, ...(me.had !== 0 && me.staged === me.had && { staged: 0 }) })];
  const isAdmitted = me.had !== 0 && me.staged !== 0 && s.config === me.known;
  const writers: State["writers"] = i === 0 ? [me.known, s.writers[1]] : [s.writers[0], me.known];
  return [isAdmitted ? { ...give(stop), writers } : give(stop)];
}

/** Steps to the first loss; `exhausted` when no state is left to look at. */
function search(variant: Variant, bounds: Bounds): { lossAfter: number | undefined; states: number } {
  const seen = new Set([keyOf(START)]);
  let front: State[] = [START];
  for (let depth = 1; front.length > 0; depth++) {
    const next: State[] = [];
    for (const state of front)
      for (const following of nextStates(state, variant, bounds)) {
        const key = keyOf(following);
        if (seen.has(key)) continue;
        if (isLost(following)) return { lossAfter: depth, states: seen.size };
        seen.add(key);
        next.push(following);
      }
    front = next;
  }
  return { lossAfter: undefined, states: seen.size };
}

const CALM: Bounds = { generations: 3, deletions: 1, restarts: 0 };
const RESTARTS: Bounds = { generations: 3, deletions: 1, restarts: 1 };

test("atomic and persisted: no interleaving up to the bound loses the artifact, and all of them were looked at", () => {
  const { lossAfter, states } = search({ isAtomic: true, isPersisted: true }, RESTARTS);
  expect(lossAfter).toBeUndefined();
  expect(states).toBeGreaterThan(10_000);
});

test("check, then unlink: the artifact is lost without any fault", () => {
  expect(search({ isAtomic: false, isPersisted: true }, CALM).lossAfter).toBeGreaterThan(10);
});

test("a configuration that is only in memory: a restart and a controller that is behind lose it", () => {
  expect(search({ isAtomic: true, isPersisted: false }, RESTARTS).lossAfter).toBeGreaterThan(10);
});
