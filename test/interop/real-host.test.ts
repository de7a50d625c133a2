/**
 * Upstream's supervisor and a collector written in Go, managed by a real `myriarch-updater`, against the API process of
 * `myriarchd`: everything that the stand-ins of the quickstart stand in for.
 */
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { currentVersion, startRealHost, type RealHost } from "../../src/embedded/stage/real-host.ts";
import { listProcesses, type HostProcess } from "../../src/updater/host/processes.ts";
import { startInteropServer, type AgentRow, type InteropServer } from "../support/interop-server.ts";
import { eventually } from "../support/opamp.ts";
import { NEW, OLD, openPeers, realSoftware, skipPeers, type Peers } from "../support/peers.ts";

const APPLIED = 1;
const FAILED = 3;
const START_MS = 60_000;
const UPDATE_MS = 90_000;
/** Status, accepts and reports remote configuration, effective configuration, own metrics, health, restart, heartbeat, components. */
const CAPABILITIES = 0x1 | 0x2 | 0x4 | 0x40 | 0x400 | 0x800 | 0x1000 | 0x2000 | 0x4000;

describe.skipIf(skipPeers() !== undefined)("a host with the real supervisor and collector", () => {
  let peers: Peers;
  let server: InteropServer;
  let artifact: string;
  let host: RealHost;
  let healthPort: number;
  let n = 0;

  beforeAll(async () => {
    peers = await openPeers();
    server = await startInteropServer();
    const content = await readFile(peers.collector(NEW));
    ({ artifact } = await server.release(NEW, [{ name: "otelcol-contrib", content, mode: 0o755 }]));
  });
  beforeEach(async () => {
    const name = `real-${++n}`;
    const folder = join(server.dataDir, name);
    await mkdir(folder);
    healthPort = await server.ports.take(`${name}-collector`);
    host = await startHost(name, folder, await server.ports.take(`${name}-supervisor`));
  });
  afterEach(async () => {
    await host?.updater.stop();
    for (const { pid } of await processes()) process.kill(pid, "SIGKILL");
  });
  afterAll(async () => {
    await server?.stop();
  });

  const startHost = (name: string, folder: string, supervisorHealth: number): Promise<RealHost> =>
    startRealHost({
      name,
      folder,
      dataDir: server.dataDir,
      serverUrl: server.url,
      enrollmentTokenFile: server.enrollmentTokenFile,
      trustedRootFile: server.authority.trustedRootFile,
      ports: { supervisorHealth, collectorHealth: healthPort },
      attributes: { site: "interop" },
      software: realSoftware(peers),
    });
  const agent = (
    kind: string,
    what: string,
    fits: (row: AgentRow) => boolean,
    deadlineMs = START_MS,
  ): Promise<AgentRow> =>
    eventually(
      what,
      async () => (await server.agents(host.name)).find((row) => row.kind === kind && fits(row)),
      deadlineMs,
    );
  const runs = (version: string, deadlineMs = START_MS): Promise<AgentRow> =>
    agent(
      "collector",
      `a healthy collector ${version}`,
      (row) => row.connected && row.healthy && row.version === version,
      deadlineMs,
    );
  const linked = (): Promise<AgentRow> => agent("updater", "a linked updater", ({ link }) => link === "linked");
  const answers = async (status: number): Promise<void> =>
    void (await eventually(
      `health endpoint ${status}`,
      () =>
        fetch(host.collectorHealthUrl).then(
          (it) => it.status === status,
          () => false,
        ),
      START_MS,
    ));

  /** Supervisor and collector of this host. */
  async function processes(): Promise<HostProcess[]> {
    if (host === undefined) return [];
    return (await listProcesses()).filter(
      ({ pid, args }) => pid !== host.updater.pid && args.some((it) => it.startsWith(`${host.folder}/`)),
    );
  }
  const isSupervisor = ({ executable }: HostProcess): boolean => executable === peers.supervisor;
  const pair = () =>
    eventually(
      "one supervisor and one collector",
      async () => {
        const all = await processes();
        const [supervisor, collector] = [all.filter(isSupervisor), all.filter((it) => !isSupervisor(it))];
        return (
          supervisor.length === 1 &&
          collector.length === 1 && { supervisor: supervisor[0] as HostProcess, collector: collector[0] as HostProcess }
        );
      },
      START_MS,
    );

  const config = (exporter: string) =>
    stringify({
      extensions: { health_check: { endpoint: `127.0.0.1:${healthPort}` } },
      receivers: { nop: {} },
      processors: { batch: {} },
      exporters: { [exporter]: {} },
      service: {
        extensions: ["health_check"],
        pipelines: { traces: { receivers: ["nop"], processors: ["batch"], exporters: [exporter] } },
      },
    });

  it("enrols as a collector, is linked, and is APPLIED and healthy within 15 s of a configuration", async () => {
    const collector = await runs(OLD);
    expect(collector).toMatchObject({
      serviceName: "otelcol-interop",
      os: "linux",
      capabilities: CAPABILITIES,
      hasEffectiveConfig: true,
    });
    expect(await linked()).toMatchObject({ collectorUid: collector.uid, healthy: true });
    await answers(200);

    const began = performance.now();
    const { hash } = await server.offerConfig(collector.uid, config("debug"));
    const applied = await agent(
      "collector",
      "APPLIED and healthy",
      (row) => row.configHash === hash && row.configStatus === APPLIED && row.healthy,
      15_000,
    );
    expect(performance.now() - began).toBeLessThan(15_000);
    expect(applied).toMatchObject({
      configError: "",
      unhealthyComponents: [],
      healthStatus: "StatusOK",
      uid: collector.uid,
    });
    expect(await readFile(join(host.folder, "supervisor", "effective.yaml"), "utf8")).toMatch(/debug/);
  });

  it("says FAILED of a configuration that its collector refuses, and is APPLIED again with a good one", async () => {
    const { uid } = await runs(OLD);
    const bad = await server.offerConfig(uid, config("no_such_exporter"));
    const failed = await agent(
      "collector",
      "FAILED",
      (row) => row.configHash === bad.hash && row.configStatus === FAILED,
    );
    expect(failed.configError).not.toBe("");
    await server.closeOffer(bad.offer);
    const good = await server.offerConfig(uid, config("nop"));
    await agent(
      "collector",
      "APPLIED",
      (row) => row.configHash === good.hash && row.configStatus === APPLIED && row.healthy,
    );
  });

  it("installs the version it is offered; the collector itself reports it, with the configuration it had", async () => {
    const { uid } = await runs(OLD);
    const updater = await linked();
    const { hash, offer } = await server.offerConfig(uid, config("debug"));
    await agent(
      "collector",
      "APPLIED",
      (row) => row.configHash === hash && row.configStatus === APPLIED && row.healthy,
    );
    await server.closeOffer(offer);
    await server.offerPackage(updater.uid, NEW, artifact);
    const done = await agent(
      "updater",
      "the end of the attempt",
      ({ attempt }) => ["succeeded", "failed", "rolled_back"].includes(attempt?.status ?? ""),
      UPDATE_MS,
    );
    expect(done.attempt).toMatchObject({ version: NEW, status: "succeeded", error: "" });
    expect(done.attempt?.steps.map(({ step, status }) => `${step} ${status}`)).toEqual([
      "downloading done",
      "verifying done",
      "installing done",
      "restarting done",
      "health_check done",
    ]);
    expect(done.packageStatus).toMatchObject({ status: "installed", error: "" });
    expect(await runs(NEW)).toMatchObject({ uid, configHash: hash, configStatus: APPLIED });
    expect(await currentVersion(host)).toBe(NEW);
    expect((await pair()).collector.executable).toBe(join(host.installDir, "versions", NEW, "otelcol-contrib"));
    await answers(200);
  });

  it("is not touched by an update while its supervisor could not start again on what it saved", async () => {
    const { uid } = await runs(OLD);
    const updater = await linked();
    const before = await pair();
    const { hash } = await server.offerConfig(uid, "receivers: {nop: {}\n\tnot: [yaml");
    await agent("collector", "FAILED", (row) => row.configHash === hash && row.configStatus === FAILED);
    await server.offerPackage(updater.uid, NEW, artifact);
    const ended = await agent("updater", "failed", ({ attempt }) => attempt?.status === "failed", UPDATE_MS);
    expect(ended.attempt?.error).toMatch(/^preflight: .*saved remote configuration is not valid YAML/);
    expect(await pair()).toEqual(before);
    expect(await currentVersion(host)).toBe(OLD);
    await runs(OLD);
  });

  it("goes on under the UID that it is given, and its updater's link follows", async () => {
    const { uid } = await runs(OLD);
    expect(await linked()).toMatchObject({ collectorUid: uid });
    await server.restart(() => server.pool.query("update agents set credential = 'token:other' where uid = $1", [uid]));
    const renamed = await agent(
      "collector",
      "the collector under another UID",
      (row) => row.uid !== uid && row.connected && row.healthy && row.version === OLD,
    );
    await agent("updater", "the link to it", (row) => row.collectorUid === renamed.uid && row.link === "linked");
    const saved = await readFile(join(host.folder, "supervisor", "persistent_state.yaml"), "utf8");
    expect(saved).toContain(renamed.uid);
    const connected = (await server.agents(host.name)).filter((row) => row.kind === "collector" && row.connected);
    expect(connected.map((row) => row.uid)).toEqual([renamed.uid]);
    await pair();
  });

  it("ends with its updater and leaves nobody behind", async () => {
    await runs(OLD);
    await pair();
    expect(await host.updater.stop()).toEqual({ code: 0, signal: null });
    expect(await processes()).toEqual([]);
    await agent("collector", "disconnected", ({ connected }) => !connected);
  });

  it("is brought back when its supervisor was ended by SIGTERM, which leaves the collector on its ports", async () => {
    const { uid } = await runs(OLD);
    await linked();
    const before = await pair();
    host.updater.signal("SIGKILL");
    await host.updater.exited;
    process.kill(before.supervisor.pid, "SIGTERM");
    await eventually("the supervisor is gone", async () => !(await processes()).some(isSupervisor));
    expect((await processes()).map(({ pid }) => pid)).toEqual([before.collector.pid]);
    await answers(200);

    host = await startHost(host.name, host.folder, await server.ports.take(`${host.name}-supervisor`));
    await eventually(
      "the orphan is gone",
      async () => !(await processes()).some(({ pid }) => pid === before.collector.pid),
      START_MS,
    );
    expect(await runs(OLD)).toMatchObject({ uid });
    const after = await pair();
    expect(after.collector.pid).not.toBe(before.collector.pid);

    // The same under a running updater, which is told by nobody but its child's end.
    process.kill(after.supervisor.pid, "SIGTERM");
    const again = await eventually(
      "another supervisor",
      async () => {
        const found = (await processes()).find(isSupervisor);
        return found !== undefined && found.pid !== after.supervisor.pid && found;
      },
      START_MS,
    );
    await eventually(
      "the second orphan is gone",
      async () => !(await processes()).some(({ pid }) => pid === after.collector.pid),
    );
    expect(await runs(OLD)).toMatchObject({ uid });
    expect((await pair()).supervisor.pid).toBe(again.pid);
    await answers(200);
  });
});
