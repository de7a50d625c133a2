/**
 * The OpAMP side of one real `myriarchd --roles api` with a real PostgreSQL under 10,000 agents, a generator in Go that is
 * not the limit (bench/opamp-go): time to connect, memory, messages per CPU second of the server's process, and what happens
 * after kill -9. Beside it, under the same load in the same rounds: `ws` and protobufjs that decode and drop (the floor) and
 * the server of opamp-go. Both of them keep nothing; ours folds, and writes to the database within the figures.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { startServices } from "../src/embedded/services.ts";
import { openPool, type Pool } from "../src/store/database.ts";
import { migrate } from "../src/store/migrate.ts";
import { enroll, startReplicas, type Replica } from "../test/support/replicas.ts";
import { buildGo, collectGarbage, cpuSeconds, residentKib, talkTo, type Talking } from "./opamp-process.ts";
import { atLeastTimes, atMost } from "./report.ts";

const AGENTS = Number(process.env["BENCH_AGENTS"] ?? 10_000);
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 3);
const ROUND_S = 3;
/** Two of each host, at the default rate. */
const STORM_AGENTS = 2_000;
/** The default of 200 a second would be the limit: ten thousand would need 50 s. */
const ACCEPT_RATE = 1_000;
const INSPECT_PORT = 19_229;
const KINDS = ["beat", "same", "changing"] as const;
const NAMES = { beat: "heartbeats", same: "health reports, equal", changing: "health reports, changing" } as const;
const WANTED = { beat: 1, same: 2, changing: 2 } as const;

type Server = { name: string; pid: () => number; load: Talking };

const folder = await mkdtemp(join(tmpdir(), "myriarch-bench-"));
const ends: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
try {
  if (!(await buildGo(join(import.meta.dirname, "opamp-go"), join(folder, "load"))))
    throw new Error("no Go here to build the load generator: a generator in JavaScript would be the limit");
  await buildGo(join(import.meta.dirname, "../test/interop/peers/reference"), join(folder, "reference"));
  await measure();
} finally {
  for (const end of ends.toReversed()) await end();
}

async function measure(): Promise<void> {
  const services = await startServices({ dataDir: folder, log: () => undefined, env: {} });
  ends.push(() => services.stop());
  const pool = openPool(services.databaseUrl, () => undefined, 2);
  ends.push(() => pool.end());
  await migrate(pool);
  const token = await enroll(pool, "bench");
  const { databaseUrl, temporalAddress } = services;
  const replicas = await startReplicas({
    databaseUrl,
    temporalAddress,
    count: 1,
    agents: { acceptRate: ACCEPT_RATE, offlineAfter: "1h" },
    env: { NODE_OPTIONS: `--inspect-port=${INSPECT_PORT}` },
  });
  ends.push(() => replicas.stop());
  const [replica] = replicas.all;
  const ours = await connectOurs(pool, replica, token);
  const others = [await startOther("floor", process.execPath, [join(import.meta.dirname, "opamp-floor.ts")])];
  others.push(await startOther("opamp-go", join(folder, "reference"), ["server", "-listen", "127.0.0.1:0", "-quiet"]));
  await compare(ours, others);
  for (const other of others) await other.load.stop();
  await storm(pool, replica, ours.load, AGENTS, `at ${ACCEPT_RATE} per second`);
  await ours.load.stop();
  await replicas.stop();
  await stormAtDefault(pool, { databaseUrl, temporalAddress }, token);
  console.log(`Load average of the machine, this benchmark included: ${loadavg()[1]?.toFixed(1)}.`);
}

function pidOf(replica: Replica): number {
  return replica.pid() ?? 0;
}

async function startLoad(address: string, token: string, agents = AGENTS): Promise<Talking> {
  const load = talkTo(join(folder, "load"), [`-address=${address}`, `-token=${token}`, `-agents=${agents}`]);
  ends.push(() => load.stop());
  await load.next();
  return load;
}

async function command(load: Talking, line: string): Promise<Record<string, number>> {
  load.tell(line);
  return (await load.next()) as Record<string, number>;
}

/** All connect, and each has a row that says what it reported. */
async function connectOurs(pool: Pool, replica: Replica, token: string): Promise<Server> {
  const load = await startLoad(`127.0.0.1:${replica.port}`, token);
  await collectGarbage(pidOf(replica), INSPECT_PORT);
  const before = await residentKib(pidOf(replica));
  const startedAt = performance.now();
  const { refused = 0 } = await command(load, "connect");
  await allWritten(pool, AGENTS);
  const seconds = (performance.now() - startedAt) / 1000;
  await collectGarbage(pidOf(replica), INSPECT_PORT);
  const perAgent = ((await residentKib(pidOf(replica))) - before) / AGENTS;
  console.log(`${AGENTS} agents, acceptRate ${ACCEPT_RATE}; ${refused} times one was told to come again.`);
  console.log(JSON.stringify(atMost(`${AGENTS} agents connected and described`, seconds, 30, "s")));
  console.log(JSON.stringify(atMost("resident memory per agent, with 24 components", perAgent, 20, "KiB")));
  return { name: "ours", pid: () => pidOf(replica), load };
}

async function allWritten(pool: Pool, agents: number): Promise<void> {
  for (const deadline = performance.now() + 300_000; performance.now() < deadline; await delay(50)) {
    const { rows } = await pool.query<{ n: number }>(
      "select count(*)::int as n from agents where connected and healthy and service_name <> ''",
    );
    if (rows[0]?.n === agents) return;
  }
  throw new Error("not every agent has a row");
}

async function startOther(name: string, program: string, args: readonly string[]): Promise<Server> {
  const server = talkTo(program, args);
  ends.push(() => server.stop());
  const { address } = await server.next();
  const load = await startLoad(String(address), "none");
  await command(load, "connect");
  return { name, pid: () => server.pid, load };
}

/** Messages per CPU second; in each round one after the other, so that a busy machine meets all alike. */
async function compare(ours: Server, others: readonly Server[]): Promise<void> {
  for (const kind of KINDS) {
    const rounds: Record<string, number>[] = [];
    // The first round warms up.
    for (let round = 0; round <= ROUNDS; round++) {
      const rates: Record<string, number> = {};
      for (const { name, pid, load } of [ours, ...others]) {
        const before = await cpuSeconds(pid());
        const { messages = 0, askedForAll = 0 } = await command(load, `${kind} ${ROUND_S}`);
        if (askedForAll > 0) throw new Error(`${name} asked ${askedForAll} times for full state`);
        rates[name] = messages / ((await cpuSeconds(pid())) - before) / 1000;
      }
      if (round > 0) rounds.push(rates);
    }
    for (const { name } of others) {
      const pairs = rounds.map((rates) => ({ ours: rates["ours"] ?? 0, other: rates[name] ?? 0 }));
      const wanted = name === "floor" ? 1 : WANTED[kind];
      console.log(JSON.stringify(atLeastTimes(`${NAMES[kind]}, against ${name}`, pairs, wanted, "k per CPU s")));
    }
  }
}

/** kill -9, and a new start: from the first agent that is back until the last, all by themselves. */
async function storm(pool: Pool, replica: Replica, load: Talking, agents: number, how: string): Promise<void> {
  load.tell("storm");
  await replica.kill();
  await replica.start();
  const { ms = Number.NaN, askedForAll = 0, bytes = 0, refused = 0 } = (await load.next()) as Record<string, number>;
  await allWritten(pool, agents);
  console.log(
    `Storm of ${agents} ${how}: ${askedForAll} were asked for full state, ${bytes} bytes said in all, ${refused} times one was told to come again.`,
  );
  console.log(JSON.stringify(atMost(`${agents} agents back after kill -9, ${how}`, ms / 1000, 60, "s")));
  console.log(JSON.stringify(atMost(`of these asked for full state`, (100 * askedForAll) / agents, 10, "%")));
}

async function stormAtDefault(
  pool: Pool,
  services: { databaseUrl: string; temporalAddress: string },
  token: string,
): Promise<void> {
  await pool.query("delete from agents");
  const replicas = await startReplicas({ ...services, count: 1 });
  ends.push(() => replicas.stop());
  const [replica] = replicas.all;
  const load = await startLoad(`127.0.0.1:${replica.port}`, token, STORM_AGENTS);
  await command(load, "connect");
  await allWritten(pool, STORM_AGENTS);
  await storm(pool, replica, load, STORM_AGENTS, "at the default rate");
}
