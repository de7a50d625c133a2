import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import type { RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { readDownloadToken } from "../../src/api/download-token.ts";
import { CHANNELS } from "../../src/domain/channels.ts";
import type { UpdateAttempt } from "../../src/domain/update/health-report.ts";
import { scenarioOfFlags } from "../../src/sim/command.ts";
import type { HostAccount } from "../../src/sim/account.ts";
import { parseFault } from "../../src/sim/fault.ts";
import { parseScenario, type Scenario } from "../../src/sim/scenario.ts";
import { startSimulation, type Simulation, type SimOptions } from "../../src/sim/run.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { eventually, silentLog, startOpamp, type OpampSetup } from "../support/opamp.ts";

const SIM = fileURLToPath(new URL("../../src/bin/myriarch-sim.ts", import.meta.url));
const sha256 = (bytes: string | Buffer): Buffer => createHash("sha256").update(bytes).digest();
const archiveOf = (version: string): Buffer => Buffer.alloc(50_000, version);

let db: TestDatabase;
let opamp: OpampSetup;
let token: string;
let folder: string;
/** Version by artifact id, and who downloaded what. */
const artifacts = new Map<string, string>();
const downloads: { artifact: string; agent: string }[] = [];
/** Bytes that are served in place of the right ones. */
const served = new Map<string, Buffer>();
const running: Simulation[] = [];

const serve: RequestListener = (request, response) => {
  const artifact = /^\/api\/v1\/artifacts\/([^/]+)\/content\//.exec(request.url ?? "")?.[1] ?? "";
  const claims = readDownloadToken([opamp.key], (request.headers.authorization ?? "").replace("Bearer ", ""));
  const version = artifacts.get(artifact);
  if (version === undefined || claims?.artifact !== artifact) return response.writeHead(403).end();
  downloads.push({ artifact, agent: claims.agent });
  return response.writeHead(200).end(served.get(artifact) ?? archiveOf(version));
};

beforeAll(async () => {
  db = await createTestDatabase();
  // Agents that poll are told to ask every second.
  opamp = await startOpamp(db, { onRequest: serve, heartbeatIntervalMs: 1_000 });
  ({ token } = await opamp.enroll("sims"));
  await db.pool.query(
    "insert into rollouts (fleet, n, kind, wanted_key, commit, policy, state) values ('f', 1, 'change', 'k', 'c', '{}', 'running')",
  );
  for (const version of ["0.159.0", "0.160.0", "0.161.0", "0.162.0"]) {
    const { rows } = await db.pool.query<{ id: string }>(
      `insert into artifacts (distribution, version, os, arch, file_name, sha256, bundle, source_url, state)
       values ('otelcol-contrib', $1, 'linux', 'amd64', 'a.tar.gz', $2, '{}', 'x', 'verified') returning id`,
      [version, sha256(archiveOf(version))],
    );
    artifacts.set(rows[0]?.id ?? "", version);
  }
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "myriarch-sim-test-"));
  downloads.length = 0;
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((simulation) => simulation.stop()));
  await db.pool.query("delete from offers");
  await db.pool.query("delete from agents");
  await rm(folder, { recursive: true });
});
afterAll(async () => {
  await opamp?.stop();
  await db?.drop();
});

type Flags = Parameters<typeof scenarioOfFlags>[0];
async function simulate(prefix: string, more: Partial<Flags & SimOptions> = {}): Promise<Simulation> {
  const simulation = await startSimulation({
    server: opamp.endpoint.replace("/v1/opamp", ""),
    token,
    scenario: scenarioOfFlags({
      seed: 1,
      hosts: 1,
      prefix,
      stepMs: 10,
      faults: [],
      initialVersion: "0.160.0",
      distribution: "otelcol-contrib",
      os: "linux",
      arch: "amd64",
      attributes: {},
      heartbeatMs: 30_000,
      connectPerSecond: 1_000,
      downloadsAtOnce: 8,
      ...more,
    }),
    log: silentLog,
    ...more,
  });
  running.push(simulation);
  await simulation.allConnected(AbortSignal.timeout(20_000));
  return simulation;
}

/** Opens a package offer for every linked updater of these hosts. */
async function offer(prefix: string, version: string, bundle = "a"): Promise<void> {
  await db.pool.query("update offers set closed_at = now() where closed_at is null");
  const artifact = Array.from(artifacts).find(([, it]) => it === version)?.[0];
  await db.pool.query(
    `with opened as (insert into offers (host, recipient, kind, direction, fleet, n, attempt, version, artifact, packages_hash)
       select collector_uid, uid, 'package', 'forward', 'f', 1, 1, $2, $3, $4 from agents
       where kind = 'updater' and link = 'linked' and host_name like $1 || '-%' returning recipient)
     select pg_notify('${CHANNELS.offers}', recipient::text) from opened`,
    [prefix, version, artifact, sha256(`${version} ${bundle}`)],
  );
}
const CONFIG =
  "receivers: {otlp: {}}\nservice: {pipelines: {traces: {receivers: [otlp]}, logs: {receivers: [otlp]}}}\n";
/** Opens a configuration offer for every collector of these hosts. */
async function configure(prefix: string, body: string): Promise<Buffer> {
  const hash = sha256(body);
  await db.pool.query("update offers set closed_at = now() where closed_at is null");
  await db.pool.query("insert into configs (hash, body) values ($1, $2) on conflict do nothing", [hash, body]);
  await db.pool.query(
    `with opened as (insert into offers (host, recipient, kind, direction, fleet, n, attempt, config_hash)
       select uid, uid, 'config', 'forward', 'f', 1, 1, $2 from agents
       where kind = 'collector' and host_name like $1 || '-%' returning recipient)
     select pg_notify('${CHANNELS.offers}', recipient::text) from opened`,
    [prefix, hash],
  );
  return hash;
}
const scenarioOf = (text: string): Scenario => {
  const read = parseScenario(text, "test.yaml");
  if (!read.ok) throw new Error(JSON.stringify(read.issues));
  return { ...read.scenario, connectPerSecond: 1_000 };
};

/** What the database says, in the words of the simulator's account. */
async function accountOfDatabase(): Promise<Omit<HostAccount, "group" | "attempts">[]> {
  const { rows } = await db.pool.query<{ host: Omit<HostAccount, "group" | "attempts"> }>(
    `select json_build_object('name', c.host_name,
       'collector', json_build_object('uid', c.uid, 'connected', c.connected, 'healthy', c.healthy, 'version', c.version,
         'config', case when c.remote_config_hash is not null and c.remote_config_hash <> '' then json_build_object(
           'hash', encode(c.remote_config_hash, 'hex'), 'error', c.remote_config_error,
           'status', (array['unset', 'applied', 'applying', 'failed'])[c.remote_config_status + 1]) end),
       'updater', json_build_object('uid', u.uid, 'connected', u.connected, 'attempt', u.update_attempt,
         'package', case when u.package_status is not null and u.package_status->>'offeredVersion' <> '' then json_build_object(
           'status', case u.package_status->>'status' when 'install_failed' then 'installFailed' else u.package_status->>'status' end,
           'offeredVersion', u.package_status->>'offeredVersion', 'error', u.package_status->>'error') end)) as host
     from agents c join agents u on u.collector_uid = c.uid and u.link = 'linked' order by c.host_name`,
  );
  return rows.map(({ host }) => host);
}
/** The account without what the database does not know. */
const comparable = (hosts: readonly HostAccount[]) =>
  hosts.map(({ name, collector, updater }) => ({ name, collector, updater }));
const agreed = (simulation: Simulation) =>
  eventually(
    "database and simulator to agree",
    async () => {
      const mine = JSON.parse(JSON.stringify(comparable(simulation.account()))) as unknown;
      const theirs = await accountOfDatabase();
      return (
        isDeepStrictEqual(theirs.map(plainVersion), (mine as ReturnType<typeof comparable>).map(plainVersion)) && theirs
      );
    },
    30_000,
  );
const plainVersion = <T extends Omit<HostAccount, "group" | "attempts">>(host: T): T => ({
  ...host,
  updater: {
    ...host.updater,
    package: host.updater.package && {
      ...host.updater.package,
      offeredVersion: host.updater.package.offeredVersion.replace(/^v/, ""),
    },
  },
});

type Seen = {
  version: string;
  healthy: boolean;
  connected: boolean;
  attempt: UpdateAttempt | null;
  status: { status: string; error: string } | null;
};
async function hostsOf(prefix: string): Promise<Seen[]> {
  const { rows } = await db.pool.query<Seen>(
    `select c.version, c.healthy, c.connected, u.update_attempt as attempt, u.package_status as status
     from agents u join agents c on c.uid = u.collector_uid where u.host_name like $1 || '-%' and u.link = 'linked'
     order by u.host_name`,
    [prefix],
  );
  return rows;
}
const allOf = (prefix: string, count: number, what: string, fits: (host: Seen) => boolean): Promise<Seen[]> =>
  eventually(
    what,
    async () => {
      const hosts = await hostsOf(prefix);
      return hosts.length === count && hosts.every(fits) && hosts;
    },
    30_000,
  );
const linked = (prefix: string, count = 1) => allOf(prefix, count, "linked, healthy hosts", (host) => host.healthy);

const MIXED = `
seed: 5
heartbeat: 1s
groups:
  - {name: mix-a, hosts: 8, step: 10ms, faults: [{kind: rolled_back, share: 25%}, {kind: fail, step: downloading, class: disk_full, share: 25%}]}
  - {name: mix-b, hosts: 6, step: {min: 5ms, max: 50ms}, transport: http, latency: {median: 5ms, p99: 40ms}, download: hash,
     faults: [{kind: config_failed, share: 34%}, {kind: unhealthy, version: 0.161.0, share: 20%}]}
  - {name: mix-c, hosts: 4, step: 10ms, versions: {0.160.0: 1, 0.159.0: 1}, components: [receivers/otlp, exporters/debug],
     faults: [{kind: config_rolled_back, skip: 1, share: 50%}]}
`;

describe("a scenario", () => {
  it("ends as it ended before, with the same seed; the database says what the simulator says of itself", async () => {
    const play = async () => {
      const simulation = await simulate("mix", { scenario: scenarioOf(MIXED) });
      await linked("mix", 18);
      await configure("mix", CONFIG);
      await eventually("a verdict of each", () =>
        simulation.account().every(({ collector }) => ["applied", "failed"].includes(collector.config?.status ?? "")),
      );
      const second = await configure("mix", `${CONFIG}# changed\n`);
      await eventually("a second verdict of each", () =>
        simulation
          .account()
          .every(({ name, collector: { config } }) =>
            config?.hash === second.toString("hex") ? config.status !== "applying" : name.startsWith("mix-c"),
          ),
      );
      await offer("mix", "0.161.0");
      await eventually("an outcome of each", () =>
        simulation
          .account()
          .every(({ attempts: { succeeded, failed, rolledBack } }) => succeeded + failed + rolledBack === 1),
      );
      await agreed(simulation);
      const account = simulation.account();
      await simulation.stop();
      running.splice(0);
      await db.pool.query("delete from offers");
      await db.pool.query("delete from agents");
      return account.map(({ name, collector, updater, attempts }) => ({
        name,
        uids: [collector.uid, updater.uid],
        runs: [collector.version, collector.healthy, collector.config?.status],
        attempts,
        error: updater.attempt?.error,
      }));
    };
    const first = await play();
    expect(await play()).toEqual(first);
    const count = (fits: (host: (typeof first)[number]) => boolean) => first.filter(fits).length;
    expect(count(({ attempts }) => attempts.rolledBack === 1)).toBe(2);
    expect(count(({ error }) => error?.startsWith("disk_full: ") ?? false)).toBe(2);
    expect(count(({ runs }) => runs[2] === "failed")).toBe(2);
  });

  it("takes a configuration back: FAILED, then the one before APPLIED again", async () => {
    const simulation = await simulate("back", {
      scenario: scenarioOf(
        "groups: [{name: back, hosts: 1, step: 10ms, start: 300ms, faults: [{kind: config_rolled_back, skip: 1}]}]",
      ),
    });
    await linked("back");
    const status = () => simulation.account()[0]?.collector.config;
    const first = await configure("back", CONFIG);
    await eventually("the first", () => status()?.status === "applied");
    const second = await configure("back", `${CONFIG}# worse\n`);
    await eventually("the failure", () => status()?.status === "failed" && status()?.hash === second.toString("hex"));
    await eventually("the way back", () => status()?.status === "applied" && status()?.hash === first.toString("hex"));
    await eventually("the collector up", () => simulation.account()[0]?.collector.healthy);
    await agreed(simulation);
  });

  it("makes clones: the server gives new names, links follow, and each is one host of its own", async () => {
    const simulation = await simulate("image", {
      scenario: scenarioOf("groups: [{name: image, hosts: 6, step: 10ms, faults: [{kind: clone, share: 50%}]}]"),
    });
    await linked("image", 6);
    const account = simulation.account();
    const uids = account.flatMap(({ collector, updater }) => [collector.uid, updater.uid]);
    expect(new Set(uids).size).toBe(12);
    await agreed(simulation);
  });

  it("takes hosts off the net and cuts every connection at once: they come back by themselves", async () => {
    const simulation = await simulate("net", {
      scenario: scenarioOf(
        `
groups:
  - {name: net-a, hosts: 5, step: 10ms}
  - {name: net-b, hosts: 5, step: 10ms, transport: http}
events:
  - {at: 10ms, do: offline, groups: [net-a], share: 40%, for: 1500ms}
  - {at: 2s, do: storm}
  - {at: 2500ms, do: restart, groups: [net-b]}
`,
      ),
    });
    await linked("net", 10);
    const events = simulation.runEvents();
    await eventually("two hosts away", () => simulation.counts().connected === 8);
    await eventually("the storm", () => simulation.counts().connected <= 5);
    await events;
    await eventually("all back", () => simulation.counts().connected === 10, 20_000);
    await linked("net", 10);
    await agreed(simulation);
  });

  it("flaps, and stays a while at APPLYING", async () => {
    const simulation = await simulate("flap", {
      scenario: scenarioOf(
        "groups: [{name: flap, hosts: 1, step: 10ms, faults: [{kind: flapping, every: 400ms, for: 200ms}, {kind: config_slow, for: 1s}]}]",
      ),
    });
    const healthy = () => simulation.account()[0]?.collector.healthy;
    for (const state of [true, false, true, false]) await eventually(`healthy ${state}`, () => healthy() === state);
    await eventually("health in the database", async () => (await hostsOf("flap")).some((host) => !host.healthy));
    await configure("flap", CONFIG);
    const status = () => simulation.account()[0]?.collector.config?.status;
    await eventually("APPLYING", () => status() === "applying");
    await eventually("APPLIED", () => status() === "applied");
  });

  it("is played by the program: checked first, with a line of state, and an account at the end", async () => {
    const file = join(folder, "scenario.yaml");
    const report = join(folder, "account.json");
    await writeFile(join(folder, "token"), token, { mode: 0o600 });
    await writeFile(
      file,
      "hosts: 4\nend: 2s\ngroups: [{name: prog-a, share: 50%, tokenFile: token}, {name: prog-b, share: 50%, transport: http}]\n",
    );
    const run = async (...args: string[]) => {
      const child = spawn(process.execPath, [SIM, ...args], { stdio: ["ignore", "pipe", "pipe"] });
      let [out, err] = ["", ""];
      child.stdout.on("data", (piece: Buffer) => (out += piece.toString()));
      child.stderr.on("data", (piece: Buffer) => (err += piece.toString()));
      const [code] = (await once(child, "close")) as [number];
      return { code, out, err };
    };
    expect(await run("check", file)).toMatchObject({ code: 0, err: "" });
    await writeFile(join(folder, "bad.yaml"), "groups: [{nmae: a}]\n");
    const bad = await run("check", join(folder, "bad.yaml"));
    expect(bad.code).toBe(1);
    expect(bad.err).toMatch(/bad\.yaml:1:11: error: groups\.0\.nmae: unknown key \(did you mean name\?\)/);
    const server = ["--server", opamp.endpoint, "--token-file", join(folder, "token"), "--table-seconds", "1"];
    const played = await run(...server, "--scenario", file, "--report", report);
    expect(played).toMatchObject({ code: 0 });
    expect(JSON.parse(played.out)).toEqual({ ready: true, hosts: 4, connected: 4 });
    expect(played.err).toMatch(/^4 hosts, \d connected, \d healthy, 0 updating; versions 0\.160\.0: 4; /m);
    const account = JSON.parse(await readFile(report, "utf8")) as {
      seed: number;
      connected: number;
      hosts: HostAccount[];
    };
    expect(account).toMatchObject({ seed: 1, connected: 4 });
    const mine = account.hosts.flatMap(({ collector, updater }) => [collector.uid, updater.uid]).toSorted();
    await eventually("goodbyes of all", async () => {
      const { rows } = await db.pool.query<{ uid: string }>("select uid from agents where not connected order by uid");
      return isDeepStrictEqual(
        rows.map(({ uid }) => uid),
        mine,
      );
    });
  });
});

describe("simulated hosts", () => {
  it("sixty of them connect, are linked, download with their own token, and report the contract's steps", async () => {
    const simulation = await simulate("many", { hosts: 60 });
    expect(simulation.counts()).toEqual({ hosts: 60, connected: 60 });
    await linked("many", 60);
    await offer("many", "0.161.0");
    const hosts = await allOf(
      "many",
      60,
      "sixty updated hosts",
      (host) => host.version === "0.161.0" && host.healthy && host.attempt?.status === "succeeded",
    );
    for (const { attempt, status } of hosts) {
      expect(attempt).toMatchObject({ version: "0.161.0", from: "0.160.0", error: "", healthy: true });
      expect(attempt?.steps.map(({ step, status: s }) => `${step} ${s}`)).toEqual([
        "downloading done",
        "verifying done",
        "installing done",
        "restarting done",
        "health_check done",
      ]);
      expect(status).toMatchObject({ status: "installed", error: "" });
    }
    expect(downloads).toHaveLength(60);
    expect(new Set(downloads.map(({ agent }) => agent)).size).toBe(60);
  });

  it("are the same after the simulator was started again with its state file", async () => {
    const stateFile = join(folder, "state.json");
    const first = await simulate("again", { stateFile });
    await linked("again");
    await offer("again", "0.161.0");
    await allOf("again", 1, "the update", (host) => host.version === "0.161.0" && host.attempt?.status === "succeeded");
    const uids = async () => (await db.pool.query("select uid from agents order by uid")).rows;
    const before = await uids();
    await first.stop();
    running.splice(0);
    await simulate("again", { stateFile });
    await allOf("again", 1, "the host back", (host) => host.connected && host.healthy && host.version === "0.161.0");
    expect(await uids()).toEqual(before);
  });

  it("that are renamed keep their new names over a restart, and their link follows", async () => {
    const stateFile = join(folder, "state.json");
    const uids = async () =>
      (await db.pool.query<{ uid: string }>("select uid from agents where connected order by uid")).rows.map(
        (row) => row.uid,
      );
    const first = await simulate("named", { stateFile });
    await linked("named");
    const before = await uids();
    await first.stop();
    running.splice(0);
    // The names belong to the first credential: with another one the server gives new ones.
    const other = await opamp.enroll("another");
    const second = await simulate("named", { stateFile, token: other.token });
    const renamed = await eventually("two new names, linked", async () => {
      const { rows } = await db.pool.query("select 1 from agents where connected and link = 'linked'");
      const now = await uids();
      return rows.length === 1 && now.length === 2 && now.every((uid) => !before.includes(uid)) && now;
    });
    await second.stop();
    running.splice(0);
    await simulate("named", { stateFile, token: other.token });
    await eventually("the same names", async () => (await uids()).join() === renamed.join());
  });

  it("refuse a downgrade without a request, and take the one-step return", async () => {
    await simulate("down");
    await linked("down");
    await offer("down", "0.161.0");
    await allOf("down", 1, "0.161.0", (host) => host.version === "0.161.0" && host.status?.status === "installed");
    downloads.length = 0;
    await offer("down", "0.159.0");
    const [refused] = await allOf("down", 1, "the refusal", (host) => host.status?.status === "install_failed");
    expect(refused?.status?.error).toMatch(/^policy_refused: /);
    expect(refused?.attempt?.steps.map(({ status }) => status)).toEqual([
      "failed",
      "skipped",
      "skipped",
      "skipped",
      "skipped",
    ]);
    expect(downloads).toHaveLength(0);
    await offer("down", "0.160.0");
    await allOf("down", 1, "the return", (host) => host.version === "0.160.0" && host.status?.status === "installed");
  });

  it.each([
    ["fail@downloading", "failed", "0.160.0", "download: "],
    ["fail@verifying", "failed", "0.160.0", "verification: "],
    ["rolled_back", "rolled_back", "0.160.0", "update to v0.161.0 failed: health: "],
    ["fail@restarting=0.161.0", "rolled_back", "0.160.0", "update to v0.161.0 failed: install: "],
    ["rollback_failed", "failed", "0.160.0", "rollback_failed: "],
  ])("with the fault %s end as %s on %s", async (fault, status, version, error) => {
    await simulate("fault", { faults: [parseFault(`fault-*:${fault}`)] });
    await linked("fault");
    await offer("fault", "0.161.0");
    const [host] = await allOf(
      "fault",
      1,
      status,
      (it) => it.attempt?.status === status && it.version === version && it.status?.status === "install_failed",
    );
    expect(host?.attempt?.error).toMatch(new RegExp(`^${error}`));
    expect(host?.attempt?.healthy).toBe(!fault.startsWith("rollback_failed"));
    if (status === "rolled_back") expect(host?.attempt?.error).toMatch(/; rolled back to v0\.160\.0$/);
    // The same content again: no attempt before the backoff is over.
    const before = host?.attempt?.startNanos;
    await offer("fault", "0.161.0", "b");
    const [again] = await allOf("fault", 1, "the backoff", (it) => it.status?.error.includes("not before ") ?? false);
    expect(again?.attempt?.startNanos).toBe(before);
  });

  it("refuse an archive whose bytes are not those of the offer", async () => {
    await simulate("bytes");
    await linked("bytes");
    const id = Array.from(artifacts).find(([, version]) => version === "0.162.0")?.[0] ?? "";
    served.set(id, archiveOf("0.161.0"));
    await offer("bytes", "0.162.0");
    const [host] = await allOf("bytes", 1, "the failure", (it) => it.attempt?.status === "failed");
    expect(host?.attempt?.error).toMatch(/^verification: the archive is /);
    expect(host?.version).toBe("0.160.0");
    served.delete(id);
  });

  it("vanish, stay offline or stay silent when told so", async () => {
    const faults = ["odd-0001:vanish", "odd-0002:silent", "odd-0003:offline"].map(parseFault);
    const simulation = await simulate("odd", { hosts: 4, faults });
    expect(simulation.counts()).toEqual({ hosts: 4, connected: 3 });
    await linked("odd", 3);
    await offer("odd", "0.161.0");
    const hosts = await eventually("the others to go on", async () => {
      const seen = await hostsOf("odd");
      return seen[2]?.version === "0.161.0" && seen[0]?.connected === false && seen;
    });
    expect(hosts.map(({ version }) => version)).toEqual(["0.160.0", "0.160.0", "0.161.0"]);
    expect(hosts[1]).toMatchObject({ connected: true, attempt: null });
  });

  it("apply a configuration: APPLYING, then APPLIED with the hash, or FAILED", async () => {
    await simulate("conf", { hosts: 2, faults: [parseFault("conf-0002:config_failed")] });
    await linked("conf", 2);
    const hash = sha256("receivers: {}\n");
    await db.pool.query("insert into configs (hash, body) values ($1, 'receivers: {}')", [hash]);
    await db.pool.query(
      `with opened as (insert into offers (host, recipient, kind, direction, fleet, n, attempt, config_hash)
         select uid, uid, 'config', 'forward', 'f', 1, 1, $1 from agents where kind = 'collector' returning recipient)
       select pg_notify('${CHANNELS.offers}', recipient::text) from opened`,
      [hash],
    );
    await eventually("both statuses", async () => {
      const { rows } = await db.pool.query<{ status: number; hash: Buffer | null }>(
        "select remote_config_status as status, remote_config_hash as hash from agents where kind = 'collector' order by host_name",
      );
      return rows[0]?.status === 1 && rows[1]?.status === 3 && rows.every((row) => row.hash?.equals(hash));
    });
  });

  it("the program says that it is ready, and ends by SIGTERM", async () => {
    const tokenFile = join(folder, "token");
    await writeFile(tokenFile, `${token}\n`, { mode: 0o600 });
    const args = ["--server", opamp.endpoint, "--token-file", tokenFile, "--hosts", "2", "--prefix", "cli"];
    const child = spawn(process.execPath, [SIM, ...args], { stdio: ["ignore", "pipe", "inherit"] });
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    expect(JSON.parse(line.toString())).toEqual({ ready: true, hosts: 2, connected: 2 });
    await linked("cli", 2);
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
    await eventually("goodbyes", async () => (await hostsOf("cli")).every((host) => !host.connected));
  });
});
