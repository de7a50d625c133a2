import { createHash } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { settleRollout } from "../../src/activities/settle.ts";
import { CHANNELS } from "../../src/domain/channels.ts";
import { beginReport, toComponentHealth, type UpdateAttempt } from "../../src/domain/update/health-report.ts";
import { PACKAGE_STATUS, type ServerToAgent } from "../../src/protocol/messages.ts";
import { scenarioOfFlags } from "../../src/sim/command.ts";
import { parseFault } from "../../src/sim/fault.ts";
import { startSimulation } from "../../src/sim/run.ts";
import { openOffers } from "../../src/store/offers.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { description, eventually, health, newUid, silentLog, startAgent, startOpamp } from "../support/opamp.ts";
import type { OpampSetup, TestAgent } from "../support/opamp.ts";

const UPDATER = 0x2819n;
const VERSION = "0.162.0";
const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest();
const SET = sha256("set");
const POLICY = {
  waves: [],
  healthWaitMs: 1_000,
  targetTimeoutMs: 600_000,
  targetMaxTimeMs: null,
  threshold: { wave: null, rollout: { percent: 100 } },
  onThreshold: "pause",
  windows: [],
};

let db: TestDatabase;
let opamp: OpampSetup;
let token: string;
let artifact: string;
let n = 0;
const agents: TestAgent[] = [];

beforeAll(async () => {
  db = await createTestDatabase();
  opamp = await startOpamp(db);
  ({ token } = await opamp.enroll("packages"));
  const { rows } = await db.pool.query<{ id: string }>(
    `insert into artifacts (distribution, version, os, arch, file_name, sha256, size_bytes, bundle, source_url, state)
     values ('otelcol-contrib', $1, 'linux', 'amd64', 'a.tar.gz', $2, 10, '{}', 'x', 'verified') returning id`,
    [VERSION, sha256("archive")],
  );
  artifact = rows[0]?.id ?? "";
});
beforeEach(() => {
  n++;
});
afterEach(async () => {
  await Promise.all(agents.splice(0).map((agent) => agent.stop()));
  await db.pool.query("delete from offers");
});
afterAll(async () => {
  await opamp?.stop();
  await db?.drop();
});

const common = { "host.name": "packages", "os.type": "linux", "host.arch": "amd64" };
function start(
  uid: string,
  capabilities: bigint,
  name: string,
  more: Record<string, string> = {},
  at = opamp,
): TestAgent {
  const agent = startAgent({
    endpoint: at.endpoint,
    token,
    uid,
    capabilities,
    state: {
      agentDescription: description({ "service.name": name, "service.version": "0.161.0" }, { ...common, ...more }),
      health: health(true, { componentHealthMap: new Map([["pipeline:traces", health(true)]]) }),
    },
  });
  agents.push(agent);
  return agent;
}

type Host = { collector: string; updater: TestAgent };
/** A collector and the updater that names it, linked. */
async function host(at = opamp): Promise<Host> {
  const collector = newUid();
  start(collector, 0x7807n, "otelcol-contrib", {}, at);
  const updater = startUpdater(collector, newUid(), at);
  await eventually("the link", async () => {
    const { rowCount } = await db.pool.query("select from agents where uid = $1 and link = 'linked'", [
      updater.client.instanceUid,
    ]);
    return rowCount === 1;
  });
  return { collector, updater };
}
const startUpdater = (collector: string, uid: string, at = opamp): TestAgent =>
  start(uid, UPDATER, "myriarch-updater", { "dev.myriarch.collector.instance_uid": collector }, at);

/** A rollout with this one target, its attempt offered and its offer open. */
async function open({ collector, updater }: Host, offeredAt = new Date()): Promise<string> {
  const fleet = `fleet-${n++}`;
  await db.pool.query(
    `insert into rollouts (fleet, n, kind, wanted_key, commit, distribution, version, policy, state, size)
     values ($1, 1, 'change', 'k', 'c', 'otelcol-contrib', $2, $3, 'running', 1)`,
    [fleet, VERSION, JSON.stringify(POLICY)],
  );
  await db.pool.query(
    "insert into targets (fleet, n, host, host_name, ord, from_version, to_version) values ($1, 1, $2, 'packages', 0, '0.161.0', $3)",
    [fleet, collector, VERSION],
  );
  await db.pool.query(
    `insert into attempts (fleet, n, host, attempt, direction, phase, part, since, offered_at, deadline_at)
     values ($1, 1, $2, 1, 'forward', 'offered', 'package', $3, $3, $3::timestamptz + interval '10 minutes')`,
    [fleet, collector, offeredAt],
  );
  await db.pool.query(
    `with o as (insert into offers (host, recipient, kind, direction, fleet, n, attempt, version, artifact, packages_hash, opened_at)
       values ($1, $2, 'package', 'forward', $3, 1, 1, $4, $5, $6, $7) returning 1)
     select pg_notify('${CHANNELS.offers}', $2::text) from o`,
    [collector, updater.client.instanceUid, fleet, VERSION, artifact, SET, offeredAt],
  );
  return fleet;
}
const offersIn = (agent: TestAgent): ServerToAgent[] => agent.received.filter((m) => m.packagesAvailable !== undefined);
const sent = (agent: TestAgent, count = 1) => eventually("the offer", () => offersIn(agent).length === count);

const failed = (errorMessage: string) => ({
  packageStatuses: {
    packages: new Map([
      [
        "",
        {
          name: "",
          agentHasVersion: "v0.161.0",
          agentHasHash: Buffer.of(1),
          serverOfferedVersion: `v${VERSION}`,
          serverOfferedHash: SET,
          status: PACKAGE_STATUS.installFailed,
          errorMessage,
        },
      ],
    ]),
    serverProvidedAllPackagesHash: SET,
    errorMessage: "",
  },
});
const statusOf = async (agent: TestAgent): Promise<string | null> =>
  (
    await db.pool.query<{ status: string | null }>(
      "select package_status->>'status' as status from agents where uid = $1",
      [agent.client.instanceUid],
    )
  ).rows[0]?.status ?? null;
const until = (agent: TestAgent, status: string | null) =>
  eventually(`status ${status}`, async () => (await statusOf(agent)) === status);
const attemptOf = async (fleet: string) =>
  (
    await db.pool.query<{ phase: string; failureClass: string | null; error: string; taken: string | null }>(
      `select phase, failure_class as "failureClass", error, host_attempt_nanos::text as taken from attempts where fleet = $1`,
      [fleet],
    )
  ).rows[0];

describe("an offer that ended INSTALL_FAILED", () => {
  it("is not sent again at a reconnect: the host's backoff decides", async () => {
    const it = await host();
    await open(it);
    await sent(it.updater);
    it.updater.report(failed("download: cut"));
    await until(it.updater, "install_failed");
    await it.updater.stop();
    const again = startUpdater(it.collector, it.updater.client.instanceUid);
    Object.assign(again.state, failed("download: cut"));
    // Another host's offer, opened after the reconnect, has arrived: this one was looked at.
    await eventually("the reconnect", async () => {
      const { rowCount } = await db.pool.query("select from agents where uid = $1 and connected", [
        again.client.instanceUid,
      ]);
      return rowCount === 1;
    });
    const witness = await host();
    await open(witness);
    await sent(witness.updater);
    expect(offersIn(again)).toHaveLength(0);
  });

  it("is sent again when half of its token's life is over", async () => {
    const quick = await startOpamp(db, { downloadTokenTtlMs: 4_000, sweepMs: 200 });
    try {
      const it = await host(quick);
      await open(it);
      await sent(it.updater);
      it.updater.report(failed("download: cut"));
      await until(it.updater, "install_failed");
      await it.updater.stop();
      const again = startUpdater(it.collector, it.updater.client.instanceUid, quick);
      Object.assign(again.state, failed("download: cut"));
      await sent(again);
      const { rows } = await db.pool.query<{ late: boolean }>(
        "select token_at - sent_at >= interval '2 seconds' as late from offers where recipient = $1",
        [again.client.instanceUid],
      );
      expect(rows).toEqual([{ late: true }]);
      await Promise.all(agents.splice(0).map((agent) => agent.stop()));
    } finally {
      await quick.stop();
    }
  });

  it("says nothing of the next offer of the same set", async () => {
    const it = await host();
    it.updater.report(failed("download: cut"));
    await until(it.updater, "install_failed");
    const fleet = await open(it);
    await sent(it.updater);
    await until(it.updater, null);
    await settleRollout(db.pool, fleet, 1, new Date());
    expect(await attemptOf(fleet)).toMatchObject({ phase: "offered" });
  });

  it("by an updater that reports no attempts ends the attempt at once, with its class and text", async () => {
    const it = await host();
    const fleet = await open(it);
    await sent(it.updater);
    it.updater.report(failed("verification: the digest differs"));
    await until(it.updater, "install_failed");
    await settleRollout(db.pool, fleet, 1, new Date());
    expect(await attemptOf(fleet)).toMatchObject({
      phase: "failed",
      failureClass: "verification",
      error: "verification: the digest differs",
    });
  });
});

describe("an attempt of the host", () => {
  const report = (startMs: number): UpdateAttempt =>
    beginReport({ version: VERSION, from: "0.161.0" }, BigInt(startMs) * 1_000_000n);
  const say = (agent: TestAgent, attempt: UpdateAttempt) =>
    agent.report({
      health: health(true, { componentHealthMap: new Map([["dev.myriarch.update", toComponentHealth(attempt)]]) }),
    });
  const stored = (agent: TestAgent, attempt: UpdateAttempt) =>
    eventually("the report", async () => {
      const { rowCount } = await db.pool.query(
        "select from agents where uid = $1 and update_attempt->>'startNanos' = $2",
        [agent.client.instanceUid, attempt.startNanos],
      );
      return rowCount === 1;
    });

  it.each([
    ["a minute before the offer fits: clocks differ", -60_000, "downloading"],
    ["three minutes before the offer does not", -180_000, "offered"],
    ["after the offer fits", 1_000, "downloading"],
  ])("begun %s", async (_, offsetMs, phase) => {
    const it = await host();
    const offeredAt = new Date();
    const fleet = await open(it, offeredAt);
    await sent(it.updater);
    const attempt = report(offeredAt.getTime() + offsetMs);
    say(it.updater, attempt);
    await stored(it.updater, attempt);
    await settleRollout(db.pool, fleet, 1, new Date());
    expect(await attemptOf(fleet)).toMatchObject({ phase });
  });

  it("is taken once: the next offer of the same version waits for another one", async () => {
    const it = await host();
    const first = await open(it);
    await sent(it.updater);
    const attempt = report(Date.now());
    say(it.updater, attempt);
    await stored(it.updater, attempt);
    await settleRollout(db.pool, first, 1, new Date());
    expect(await attemptOf(first)).toMatchObject({ phase: "downloading", taken: attempt.startNanos });
    await db.pool.query("update attempts set phase = 'failed', finished_at = now() where fleet = $1", [first]);
    await db.pool.query("update offers set closed_at = now() where fleet = $1", [first]);
    const second = await open(it);
    await sent(it.updater, 2);
    await settleRollout(db.pool, second, 1, new Date());
    expect(await attemptOf(second)).toMatchObject({ phase: "offered", taken: null });
  });

  it("of a simulated host, which reports endpoint and install method, is matched with its steps", async () => {
    const simulation = await startSimulation({
      server: opamp.endpoint.replace("/v1/opamp", ""),
      token,
      scenario: scenarioOfFlags({
        seed: 1,
        hosts: 1,
        prefix: "pack",
        stepMs: 5,
        faults: [parseFault("pack-*:fail@downloading")],
        initialVersion: "0.161.0",
        distribution: "otelcol-contrib",
        os: "linux",
        arch: "amd64",
        attributes: {},
        heartbeatMs: 30_000,
        connectPerSecond: 100,
        downloadsAtOnce: 1,
      }),
      log: silentLog,
    });
    try {
      const pair = await eventually("the linked pair", async () => {
        const { rows } = await db.pool.query<{ uid: string; collector: string }>(
          "select uid, collector_uid as collector from agents where link = 'linked' and host_name like 'pack-%'",
        );
        return rows[0];
      });
      const { rows } = await db.pool.query<{ attributes: Record<string, unknown> }>(
        "select attributes from agents where uid = $1",
        [pair.uid],
      );
      expect(rows[0]?.attributes).toMatchObject({
        "dev.myriarch.updater.server_endpoint": opamp.endpoint.replace("/v1/opamp", ""),
        "dev.myriarch.updater.install_method": "binary",
      });
      const updater = { client: { instanceUid: pair.uid } } as TestAgent;
      const fleet = await open({ collector: pair.collector, updater });
      await eventually("the end", async () => {
        await settleRollout(db.pool, fleet, 1, new Date());
        return (await attemptOf(fleet))?.phase === "failed";
      });
      expect(await attemptOf(fleet)).toMatchObject({ failureClass: "download" });
    } finally {
      await simulation.stop();
    }
  });
});

describe("packages", () => {
  it("are one: the archive of the host's platform", async () => {
    await db.pool.query(
      `insert into artifacts (distribution, version, os, arch, file_name, sha256, size_bytes, bundle, source_url, state)
       select distribution, version, o, a, o || a, decode(md5(o || a), 'hex'), 1, '{}', 'x', 'verified'
         from artifacts, (values ('linux', 'arm64'), ('windows', 'amd64')) as p(o, a) where id = $1`,
      [artifact],
    );
    const it = await host();
    const fleet = await open(it);
    await db.pool.query("delete from offers");
    const now = new Date();
    const change = { kind: "package", direction: "forward", version: VERSION, config: null } as const;
    await openOffers(db.pool, { fleet, n: 1, now }, [{ host: it.collector, attempt: 1, ...change }]);
    await eventually("the offer", () => offersIn(it.updater).length > 0);
    const packages = offersIn(it.updater).at(-1)?.packagesAvailable?.packages;
    expect(packages?.size).toBe(1);
    expect(Buffer.from(packages?.get("")?.file?.contentHash ?? [])).toEqual(sha256("archive"));
  });

  it("never go to a supervisor that reports AcceptsPackages", async () => {
    const it = await host();
    const supervisor = start(newUid(), 0x7807n | 0x18n, "otelcol-contrib");
    await eventually("its row", async () => {
      const { rowCount } = await db.pool.query("select from agents where uid = $1", [supervisor.client.instanceUid]);
      return rowCount === 1;
    });
    await open({ collector: it.collector, updater: supervisor });
    const witness = await host();
    await open(witness);
    await sent(witness.updater);
    expect(offersIn(supervisor)).toHaveLength(0);
  });
});
