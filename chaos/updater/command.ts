/** `chaos updater`: lists the points of each scenario, then one run for each of them; says how they ended. */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { recordCounts } from "../../scripts/counts.ts";
import { seededChance } from "../../test/support/seeded-chance.ts";
import { casesOf, Tally } from "./cases.ts";
import { FAULTS, OFFERED, SCENARIOS, Stage, type Case, type ChaosWorld, type Scenario } from "./scenario.ts";
import { World } from "./world.ts";

export const UPDATER_USAGE = `chaos updater [--scenario NAME] [--fault kill|fail|full] [--point N] [--seed N --seconds S] [--jobs N]
  without --seconds every point runs; with it, a sample drawn by the seed, until the time is over
  scenarios: ${SCENARIOS.map(({ name }) => name).join(", ")}`;

const OPTIONS = {
  scenario: { type: "string" },
  fault: { type: "string" },
  point: { type: "string" },
  seed: { type: "string", default: "1" },
  seconds: { type: "string" },
  jobs: { type: "string", default: String(availableParallelism()) },
} as const;
type Options = ReturnType<typeof read>;
const read = (args: readonly string[]) => parseArgs({ args: [...args], options: OPTIONS }).values;

/** The exit code: 0 when every run ended as it may, 1 at the first that did not, 2 when it was asked wrongly. */
export async function chaosUpdater(args: readonly string[]): Promise<number> {
  let options: Options;
  try {
    options = read(args);
  } catch (error) {
    console.error(`${(error as Error).message}\n${UPDATER_USAGE}`);
    return 2;
  }
  const scenarios = SCENARIOS.filter(({ name }) => options.scenario === undefined || name === options.scenario);
  const problem = problemOf(options, scenarios);
  if (problem !== undefined) {
    console.error(`${problem}\n${UPDATER_USAGE}`);
    return 2;
  }
  const until = performance.now() + Number(options.seconds ?? Infinity) * 1_000;
  const world = await World.open(OFFERED);
  try {
    return await runAll(scenarios, options, until, world);
  } finally {
    await world.close();
  }
}

function problemOf(options: Options, scenarios: readonly Scenario[]): string | undefined {
  const { scenario, fault } = options;
  if (scenarios.length === 0) return `there is no scenario ${scenario}`;
  if (fault !== undefined && !FAULTS.some((known) => known === fault)) return `there is no fault ${fault}`;
  const wrong = (["point", "seed", "seconds", "jobs"] as const).find(
    (name) => !/^[1-9]\d*$/.test(options[name] ?? "1"),
  );
  return wrong === undefined ? undefined : `--${wrong} must be a whole number above 0`;
}

async function runAll(scenarios: readonly Scenario[], options: Options, until: number, world: ChaosWorld) {
  const jobs = Number(options.jobs);
  const tally = new Tally();
  const stages = new Map<string, Stage>();
  const cases: Case[] = [];
  await inParallel(jobs, scenarios.values(), async (scenario) => {
    const stage = await Stage.open(scenario, world);
    stages.set(scenario.name, stage);
    const points = await stage.record();
    console.log(`${scenario.name}: ${points.length} points enumerated`);
    tally.enumerated(points.length);
    cases.push(...casesOf(scenario, points, options));
  });
  const queue = options.seconds === undefined ? cases : shuffled(cases, Number(options.seed));
  const started = performance.now();
  let breach: string | undefined;
  // runs that have begun clean up after themselves
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => (breach ??= `ended by ${signal}`));
  const due = takeWhile(queue, () => breach === undefined && performance.now() < until);
  await inParallel(jobs, due, async (it) => {
    const { scenario, fault, point } = it;
    try {
      const stage = stages.get(scenario.name);
      if (stage === undefined) throw new Error(`${scenario.name} was not prepared`);
      tally.ran(it, await stage.run(fault, point.n));
    } catch (error) {
      const again = `npm run chaos -- updater --scenario ${scenario.name} --fault ${fault} --point ${point.n}`;
      breach ??= `BREACH at ${point.label} (${fault})\n${String(error)}\nagain: ${again}`;
    }
  });
  console.log(tally.text((performance.now() - started) / 1_000, cases.length));
  if (breach !== undefined) console.error(breach);
  recordCounts({ passed: tally.runs, failed: breach === undefined ? 0 : 1, skipped: 0 });
  return breach === undefined ? 0 : 1;
}

function* takeWhile<T>(all: readonly T[], more: () => boolean): Generator<T> {
  for (const one of all) {
    if (!more()) return;
    yield one;
  }
}

/** `jobs` at a time. The first error ends it once the others are done. */
async function inParallel<T>(jobs: number, all: Iterator<T>, work: (one: T) => Promise<void>): Promise<void> {
  const take = async (): Promise<void> => {
    for (let next = all.next(); next.done !== true; next = all.next()) await work(next.value);
  };
  const ends = await Promise.allSettled(Array.from({ length: jobs }, take));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

function shuffled<T>(all: readonly T[], seed: number): T[] {
  const chance = seededChance(seed);
  return all
    .map((one) => ({ one, at: chance() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ one }) => one);
}
