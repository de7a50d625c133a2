/** `chaos depot`: rounds of scenarios over real depot processes; says what it counted. */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { DefaultLogger, Runtime } from "@temporalio/worker";
import { recordCounts } from "../../scripts/counts.ts";
import { startServices } from "../../src/embedded/services.ts";
import { openPool } from "../../src/store/database.ts";
import { migrate } from "../../src/store/migrate.ts";
import { SCENARIOS, type Counted, type Scenario } from "./scenarios.ts";
import { Stage } from "./stage.ts";

export const DEPOT_USAGE = `chaos depot [--scenario NAME] [--seed N --seconds S] [--runs N] [--nodes N] [--artifacts N] [--kib N]
  without --seconds every scenario has all its runs; with it, rounds of all scenarios until the time is over
  scenarios: ${SCENARIOS.map(({ name, runs }) => `${name} (${runs})`).join(", ")}`;

const OPTIONS = {
  scenario: { type: "string" },
  seed: { type: "string", default: "1" },
  seconds: { type: "string" },
  runs: { type: "string" },
  nodes: { type: "string", default: "12" },
  artifacts: { type: "string", default: "120" },
  kib: { type: "string", default: "256" },
} as const;
const NUMBERS = ["seed", "seconds", "runs", "nodes", "artifacts", "kib"] as const;
type Options = ReturnType<typeof read>;
type Run = { scenario: Scenario; seed: number };
const read = (args: readonly string[]) => parseArgs({ args: [...args], options: OPTIONS }).values;

/** The exit code: 0 when every run ended as it may, 1 at the first that did not, 2 when it was asked wrongly. */
export async function chaosDepot(args: readonly string[]): Promise<number> {
  let options: Options;
  try {
    options = read(args);
  } catch (error) {
    console.error(`${(error as Error).message}\n${DEPOT_USAGE}`);
    return 2;
  }
  const problem = problemOf(options);
  if (problem !== undefined) {
    console.error(`${problem}\n${DEPOT_USAGE}`);
    return 2;
  }
  Runtime.install({ logger: new DefaultLogger("ERROR") });
  return await onServers(async (servers) => {
    const { nodes, artifacts, kib } = options;
    const scale = { nodes: Number(nodes), artifacts: Number(artifacts), bytes: Number(kib) * 1_024 };
    const stage = await Stage.open(servers, scale);
    try {
      return await runAll(stage, options);
    } finally {
      await stage.close();
    }
  });
}

function problemOf(options: Options): string | undefined {
  const { scenario } = options;
  if (scenario !== undefined && !SCENARIOS.some(({ name }) => name === scenario))
    return `there is no scenario ${scenario}`;
  const wrong = NUMBERS.find((name) => !/^[1-9]\d*$/.test(options[name] ?? "1"));
  if (wrong !== undefined) return `--${wrong} must be a whole number above 0`;
  return Number(options.nodes) < 4 ? "--nodes must be at least 4: three copies, and one more" : undefined;
}

/** PostgreSQL and Temporal of its own, ended and removed after. */
async function onServers(work: (servers: Parameters<typeof Stage.open>[0]) => Promise<number>): Promise<number> {
  const dataDir = await mkdtemp(join(tmpdir(), "myriarch-chaos-"));
  await chmod(dataDir, 0o711); // the database's account passes through
  const log = (line: string): void => console.error(line);
  const services = await startServices({ dataDir, log, env: {}, postgresSettings: { fsync: "off" } });
  try {
    const { databaseUrl, temporalAddress } = services;
    const pool = openPool(databaseUrl, () => undefined);
    try {
      await migrate(pool);
      return await work({ pool, databaseUrl, temporalAddress });
    } finally {
      await pool.end();
    }
  } finally {
    await services.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** Round by round while there is time, else scenario by scenario. */
function* planOf(options: Options): Generator<Run> {
  const first = Number(options.seed);
  const all = SCENARIOS.filter(({ name }) => options.scenario === undefined || name === options.scenario);
  if (options.seconds !== undefined) {
    for (let seed = first; ; seed++) for (const scenario of all) yield { scenario, seed };
  }
  for (const scenario of all) {
    const runs = Number(options.runs ?? scenario.runs);
    for (let i = 0; i < runs; i++) yield { scenario, seed: first + i };
  }
}

async function runAll(stage: Stage, options: Options): Promise<number> {
  const until = performance.now() + Number(options.seconds ?? Infinity) * 1_000;
  const tally = new Tally();
  let breach: string | undefined;
  let stopped: string | undefined;
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => (stopped ??= `ended by ${signal}`));
  for (const { scenario, seed } of planOf(options)) {
    if (stopped !== undefined || performance.now() >= until) break;
    const startedAt = performance.now();
    try {
      tally.ran(scenario.name, await scenario.run(stage, seed), performance.now() - startedAt);
    } catch (error) {
      const { nodes, artifacts, kib } = options;
      const scale = `--nodes ${nodes} --artifacts ${artifacts} --kib ${kib}`;
      breach = `BREACH in ${scenario.name}, seed ${seed}\n${String(error)}\nagain: npm run chaos -- depot --scenario ${scenario.name} --seed ${seed} --runs 1 ${scale}`;
      break;
    }
  }
  console.log(tally.text(stage));
  if (breach !== undefined) console.error(breach);
  if (stopped !== undefined) console.error(stopped);
  recordCounts({ passed: tally.runs, failed: breach === undefined ? 0 : 1, skipped: 0 });
  return breach === undefined && stopped === undefined ? 0 : 1;
}

class Tally {
  runs = 0;
  private readonly of = new Map<string, { runs: number; ms: number; counted: Map<string, number> }>();

  ran(scenario: string, counted: Counted, ms: number): void {
    this.runs++;
    const it = this.of.get(scenario) ?? { runs: 0, ms: 0, counted: new Map<string, number>() };
    this.of.set(scenario, it);
    it.runs++;
    it.ms += ms;
    for (const [what, count] of Object.entries(counted)) it.counted.set(what, (it.counted.get(what) ?? 0) + count);
  }

  text({ scale }: Stage): string {
    const lines = Array.from(this.of, ([name, { runs, ms, counted }]) => {
      const counts = Array.from(counted, ([what, count]) => `${count} ${what}`).join(", ");
      return `  ${name}: ${runs} runs, ${counts} (${(ms / runs / 1_000).toFixed(1)} s per run)`;
    });
    const size = `${scale.nodes} nodes × 2 disks, ${scale.artifacts} artifacts of ${scale.bytes / 1_024} KiB`;
    return [`${size}: ${this.runs} runs made`, ...lines].join("\n");
  }
}
