/**
 * Two API processes on one database, killed and started again under simulated hosts; the database restarted under them. At
 * the end the rows say what the simulator says of itself. MYRIARCH_FULL=1: 1,000 agents and ten kills, some minutes.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import { CHANNELS } from "../../src/domain/channels.ts";
import { REMOTE_CONFIG_STATUS } from "../../src/protocol/messages.ts";
import type { HostAccount } from "../../src/sim/account.ts";
import { startSimulation, type Simulation } from "../../src/sim/run.ts";
import { parseScenario } from "../../src/sim/scenario.ts";
import { transaction } from "../../src/store/database.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { startFront, type Front } from "../support/front.ts";
import { eventually, silentLog } from "../support/opamp.ts";
import { enroll, startReplicas, type Replica, type Replicas } from "../support/replicas.ts";
import { seededChance } from "../support/seeded-chance.ts";

const FULL = process.env["MYRIARCH_FULL"] === "1";
const SEED = Number(process.env["MYRIARCH_SEED"] ?? 20_261_130);
const HOSTS = FULL ? 500 : 100;
const KILLS = FULL ? 10 : 3;
const BACK_MS = 60_000;
const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest();

const scenario = (name: string, hosts: number): string => `
seed: ${SEED % 1_000_000}
hosts: ${hosts}
connectPerSecond: 80
failedRetryBackoff: 1s
groups:
  - {name: ${name}, share: 90%, step: {min: 50ms, max: 300ms}, download: hash}
  - name: ${name}-odd
    share: 10%
    step: {min: 50ms, max: 300ms}
    download: hash
    faults:
      - {kind: config_failed, share: 30%}
      - {kind: fail, step: verifying, share: 40%}
      - {kind: rolled_back, share: 30%, version: 0.162.0}
`;

let db: TestDatabase;
let token: string;
let replicas: Replicas | undefined;
let front: Front | undefined;
let simulation: Simulation | undefined;
const artifacts = new Map<string, string>();

beforeAll(async () => {
  db = await createTestDatabase();
  token = await enroll(db.pool, "replicas");
  await db.pool.query(
    `insert into rollouts (fleet, n, kind, wanted_key, commit, policy, state)
     values ('f', 1, 'change', 'k', 'c', '{}', 'running')`,
  );
  for (const version of ["0.160.0", "0.161.0", "0.162.0"]) {
    const { rows } = await db.pool.query<{ id: string }>(
      `insert into artifacts (distribution, version, os, arch, file_name, sha256, bundle, source_url, state)
       values ('otelcol-contrib', $1, 'linux', 'amd64', 'a.tar.gz', $2, '{}', 'x', 'verified') returning id`,
      [version, sha256(version)],
    );
    artifacts.set(version, rows[0]?.id ?? "");
  }
});
afterEach(async () => {
  await simulation?.stop();
  await front?.stop();
  await replicas?.stop();
  simulation = front = replicas = undefined;
  await db.pool.query("delete from offers");
  await db.pool.query("delete from agents");
});
afterAll(() => db?.drop());

/** Replicas behind a front, and hosts that are all connected and linked. */
async function begin(name: string, hosts: number, count: number, agents: { acceptRate?: number } = {}) {
  const chance = seededChance(SEED);
  replicas = await startReplicas({
    databaseUrl: db.url,
    temporalAddress: inject("temporalAddress"),
    count,
    agents,
  });
  const ports = replicas.all.map(({ port }) => port);
  front = await startFront(ports, chance);
  const read = parseScenario(scenario(name, hosts), "scenario.yaml");
  if (!read.ok) throw new Error(JSON.stringify(read.issues));
  simulation = await startSimulation({
    server: `ws://127.0.0.1:${front.port}`,
    token,
    scenario: read.scenario,
    // Offers name the replica that sent them, not the front.
    allowedUrlPrefixes: ports.map((port) => `http://127.0.0.1:${port}/api/v1/artifacts/`),
    log: silentLog,
  });
  await simulation.allConnected(AbortSignal.timeout(90_000));
  await eventually("linked hosts", async () => (await linked()) === hosts, 60_000);
  return { replicas, front, simulation, chance };
}

async function linked(): Promise<number> {
  const { rowCount } = await db.pool.query("select 1 from agents where kind = 'updater' and link = 'linked'");
  return rowCount ?? 0;
}

type Wanted = { config: Map<string, string>; version: Map<string, string> };
const nothingWanted = (): Wanted => ({ config: new Map(), version: new Map() });

/** Opens offers as the rollout engine does, for a part of the hosts: the one before is over. */
async function offer(hosts: readonly HostAccount[], wanted: Wanted, round: number): Promise<void> {
  const body = `receivers: {otlp: {}}
exporters: {debug: {}}
service: {pipelines: {traces: {receivers: [otlp], exporters: [debug]}}}
# ${round}
`;
  const hash = sha256(body);
  await db.pool.query("insert into configs (hash, body) values ($1, $2) on conflict do nothing", [
    hash,
    Buffer.from(body),
  ]);
  // Up, up, one step back, and up again: all of that is allowed.
  const version = round % 2 === 1 ? "0.161.0" : "0.162.0";
  for (const [i, { collector, updater }] of hosts.entries()) {
    const isConfig = (i + round) % 2 === 0;
    if (isConfig) wanted.config.set(collector.uid, hash.toString("hex"));
    else wanted.version.set(updater.uid, version);
  }
  const uids = hosts.map(({ collector, updater }, i) => ({
    host: collector.uid,
    config: (i + round) % 2 === 0,
    recipient: (i + round) % 2 === 0 ? collector.uid : updater.uid,
  }));
  const recipients = uids.map(({ recipient }) => recipient);
  await db.pool.query("update offers set closed_at = now() where closed_at is null and host = any($1::uuid[])", [
    uids.map(({ host }) => host),
  ]);
  await db.pool.query(
    `with opened as (insert into offers (host, recipient, kind, direction, fleet, n, attempt, config_hash, version,
         artifact, packages_hash)
       select o.host, o.recipient, case when o.config then 'config' else 'package' end, 'forward', 'f', 1, $8,
         case when o.config then $4::bytea end, case when not o.config then $5 end,
         case when not o.config then $6::uuid end, case when not o.config then $7::bytea end
       from unnest($1::uuid[], $2::uuid[], $3::boolean[]) as o(host, recipient, config) returning recipient)
     select pg_notify('${CHANNELS.offers}', recipient::text) from opened`,
    [
      uids.map(({ host }) => host),
      recipients,
      uids.map(({ config }) => config),
      hash,
      version,
      artifacts.get(version),
      sha256(`set ${version} ${round}`),
      round,
    ],
  );
}

const unsent = async (): Promise<number> =>
  (await db.pool.query("select 1 from offers where closed_at is null and sent_at is null")).rowCount ?? 0;

type Row = {
  uid: string;
  connected: boolean;
  healthy: boolean;
  version: string;
  config: string | null;
  configStatus: number;
  package: { status: string; offeredVersion: string; error: string } | null;
  attempt: { status: string; version: string; startNanos: string } | null;
};
/** What rows say and what the simulator says, in the same words. */
async function rowsOf(): Promise<Map<string, unknown>> {
  const { rows } = await db.pool.query<Row & { kind: string }>(
    `select uid, kind, connected, healthy, version, encode(remote_config_hash, 'hex') as config,
       remote_config_status as "configStatus", package_status as package, update_attempt as attempt from agents`,
  );
  return new Map(
    rows.map(({ uid, kind, connected, healthy, version, config, configStatus, package: its, attempt }) => [
      uid,
      kind === "collector"
        ? { connected, healthy, version, config: config === "" ? null : config, configStatus }
        : {
            connected,
            package: its && { status: its.status, version: its.offeredVersion, error: its.error },
            attempt: attempt && { status: attempt.status, version: attempt.version, startNanos: attempt.startNanos },
          },
    ]),
  );
}
const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
function saidOf(hosts: readonly HostAccount[]): Map<string, unknown> {
  return new Map(
    hosts.flatMap(({ collector, updater }): [string, unknown][] => {
      const { uid, connected, healthy, version, config } = collector;
      const status = REMOTE_CONFIG_STATUS[config?.status ?? "unset"];
      const its = updater.package;
      const { attempt } = updater;
      return [
        [uid, { connected, healthy, version, config: config?.hash ?? null, configStatus: status }],
        [
          updater.uid,
          {
            connected: updater.connected,
            package: its && {
              status: snake(its.status),
              version: its.offeredVersion.replace(/^v/, ""),
              error: its.error,
            },
            attempt: attempt && { status: attempt.status, version: attempt.version, startNanos: attempt.startNanos },
          },
        ],
      ];
    }),
  );
}

/** Everything that was wanted has arrived and ended, and the database says of every agent what the simulator says. */
async function everythingArrived(simulated: Simulation, wanted: Wanted): Promise<void> {
  let open: HostAccount[] = [];
  let rows = new Map<string, unknown>();
  let said = new Map<string, unknown>();
  const settled = async (): Promise<boolean> => {
    const hosts = simulated.account();
    open = hosts.filter(({ collector, updater }) => {
      const config = wanted.config.get(collector.uid);
      const version = wanted.version.get(updater.uid);
      const failed = collector.config?.status === "failed";
      return !(
        collector.connected &&
        updater.connected &&
        (config === undefined ||
          failed ||
          (collector.config?.hash === config && collector.config.status === "applied")) &&
        (version === undefined || updater.package?.offeredVersion === `v${version}`) &&
        ["installed", "installFailed", undefined].includes(updater.package?.status)
      );
    });
    if (open.length > 0) return false;
    said = saidOf(hosts);
    rows = await rowsOf();
    return rows.size === said.size && Array.from(said).every(([uid, it]) => same(rows.get(uid), it));
  };
  try {
    await eventually("rows like the account", settled, 60_000);
  } catch (error) {
    // Which hosts are not where they should be, or which agents differ, says more than that some do.
    const uids = open.flatMap(({ collector, updater }) => [collector.uid, updater.uid]);
    const { rows: offers } = await db.pool.query("select * from offers where recipient = any($1::uuid[])", [uids]);
    expect({ open, offers }).toEqual({ open: [], offers: [] });
    const differ = Array.from(said).filter(([uid, it]) => !same(rows.get(uid), it));
    expect(Object.fromEntries(differ.map(([uid]) => [uid, rows.get(uid)]))).toEqual(Object.fromEntries(differ));
    throw error;
  }
}
const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

const allBack = (simulated: Simulation, hosts: number): boolean => simulated.counts().connected === hosts;
async function replicasInRows(): Promise<number | undefined> {
  const { rows } = await db.pool.query<{ n: number }>("select count(distinct replica)::int as n from agents");
  return rows[0]?.n;
}

it("a transaction whose connection ends between two statements fails, and nothing else does (O1)", async () => {
  const cut = transaction(db.pool, async (tx) => {
    const { rows } = await tx.query<{ pid: number }>("select pg_backend_pid() as pid");
    const ended = once(tx, "end");
    await db.pool.query("select pg_terminate_backend($1)", [rows[0]?.pid]);
    await ended;
    await tx.query("select 1");
  });
  await expect(cut).rejects.toThrow();
  expect((await transaction(db.pool, (tx) => tx.query("select 1"))).rowCount).toBe(1);
});

describe("two replicas of one database", () => {
  it(
    `${2 * HOSTS} agents on both get their offers wherever they are; one of the two is killed ${KILLS} times at random, and nothing is lost`,
    async () => {
      const hosts = HOSTS;
      const at = await begin("pair", hosts, 2);
      const [one, two] = at.replicas.all as [Replica, Replica];
      for (const count of at.front.open().values()) expect(count).toBeGreaterThan(hosts / 4);
      const wanted = nothingWanted();
      for (let round = 1; round <= KILLS; round++) {
        const chosen = at.simulation.account().filter(() => at.chance() < 0.6);
        await offer(chosen, wanted, round);
        const left = Math.floor(at.chance() * chosen.length);
        await eventually("a part of the offers sent", async () => (await unsent()) <= left);
        const victim = at.chance() < 0.5 ? one : two;
        const survivor = victim === one ? two : one;
        await victim.kill();
        const onOther = (): boolean => at.front.open().get(survivor.port) === 2 * hosts;
        await eventually("all of them on the other one", () => onOther() && allBack(at.simulation, hosts), BACK_MS);
        await victim.start();
        // The network breaks for half of them: they come back to both.
        at.front.cut(0.5);
        const onBoth = (): boolean => Array.from(at.front.open().values()).every((count) => count > hosts / 8);
        const isWhole = (): boolean => onBoth() && at.front.connections() === 2 * hosts;
        await eventually("all of them, on both", () => isWhole() && allBack(at.simulation, hosts), BACK_MS);
        // Before the next offers take the place of these: what is closed before it arrived is not sent any more.
        await everythingArrived(at.simulation, wanted);
      }
      await eventually("rows of both", async () => (await replicasInRows()) === 2);
      expect(at.simulation.account()).toHaveLength(hosts);
    },
    FULL ? 1_200_000 : 240_000,
  );
});

describe("one replica", () => {
  it("after a kill -9 its agents are back in turn, say what is new and not everything, and nothing is lost (O3)", async () => {
    const hosts = HOSTS;
    // Fewer hosts before a narrower door: the same crowd.
    const at = await begin("storm", hosts, 1, FULL ? {} : { acceptRate: 100 });
    const [only] = at.replicas.all;
    const again = async (): Promise<void> => {
      await only.kill();
      at.front.forget();
      await only.start();
      const came = (): boolean => at.front.said().connections >= 2 * hosts;
      await eventually("every host back", () => came() && allBack(at.simulation, hosts), BACK_MS);
    };
    const wanted = nothingWanted();
    await everythingArrived(at.simulation, wanted);
    await again();
    await everythingArrived(at.simulation, wanted);
    // What is new is nothing: some 30 bytes. Full state would be about a thousand.
    expect(at.front.said().bytes / (2 * hosts)).toBeLessThan(150);
    await offer(at.simulation.account(), wanted, 1);
    await eventually("half of the offers sent", async () => (await unsent()) <= hosts / 2);
    await again();
    await everythingArrived(at.simulation, wanted);
    const { rows } = await db.pool.query<{ n: number }>(
      "select count(*)::int as n from agents where package_status is not null group by package_status->>'status'",
    );
    expect(rows.reduce((sum, { n }) => sum + n, 0)).toBe(wanted.version.size);
  });

  it("outlives a restart of the database: not ready, then ready, its agents stay connected, offers go on (O1)", async () => {
    const hosts = 20;
    const at = await begin("database", hosts, 1);
    const [only] = at.replicas.all;
    const pid = only.pid();
    const connections = at.front.said().connections;
    const ready = async (): Promise<number> => {
      const answer = await fetch(`http://127.0.0.1:${only.port}/readyz`, { signal: AbortSignal.timeout(10_000) });
      await answer.body?.cancel();
      return answer.status;
    };
    expect(await ready()).toBe(200);
    // PostgreSQL itself ends, for all; whoever keeps it running starts it again.
    const { rows } = await db.pool.query<{ file: string }>("select pg_read_file('postmaster.pid') as file");
    process.kill(Number(rows[0]?.file.split("\n")[0]), "SIGINT");
    await eventually("not ready", async () => (await ready()) === 503, 30_000);
    await eventually("ready again", async () => (await ready()) === 200, 60_000);
    const wanted = nothingWanted();
    await offer(at.simulation.account(), wanted, 1);
    await everythingArrived(at.simulation, wanted);
    expect(only.pid()).toBe(pid);
    expect(at.simulation.counts().connected).toBe(hosts);
    // The only new connections are those of collectors whose service an update restarted.
    expect(at.front.said().connections - connections).toBeLessThanOrEqual(hosts);
  });
});
