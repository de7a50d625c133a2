/**
 * The whole way with nothing stood in for: a commit in Git, the server's API and worker, depots, a real updater, upstream's
 * supervisor and a collector written in Go.
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { assetName } from "../../src/domain/artifact/asset.ts";
import { runningPlatform } from "../../src/embedded/demo/binary.ts";
import { binaryPath, currentVersion, startRealHost, type RealHost } from "../../src/embedded/stage/real-host.ts";
import { editYaml } from "../../src/embedded/stage/repository.ts";
import { openStage, type Stage } from "../../src/embedded/stage/stage.ts";
import { createTourApi, type Agent, type TourApi } from "../../src/embedded/tour/api.ts";
import { createFacts } from "../../src/embedded/tour/facts.ts";
import type { GitopsStatus } from "../../src/domain/rest/gitops.ts";
import { openSigningAuthority } from "../../src/signing/authority.ts";
import { packArchive, publishRelease } from "../../src/signing/release.ts";
import { NEW, OLD, openPeers, realSoftware, skipPeers, type Peers } from "../support/peers.ts";

const DISTRIBUTION = "otelcol-interop";
const NAME = "real-1";
const { until } = createFacts(
  () => undefined,
  () => performance.now(),
);

describe.skipIf(skipPeers() !== undefined)("a commit", () => {
  let peers: Peers;
  let dataDir: string;
  let stage: Stage;
  let api: TourApi;
  let host: RealHost;
  let collectorHealth: number;

  beforeAll(async () => {
    peers = await openPeers();
    dataDir = await mkdtemp(join(tmpdir(), "myriarch-interop-"));
    stage = await openStage({ dataDir, log: () => undefined, simulated: 0 });
    api = createTourApi(stage.server.url, stage.credentials.adminToken);
    await publishCollector();
    const { path, ports } = stage.services.folder;
    const folder = join(path, NAME);
    await mkdir(folder);
    collectorHealth = await ports.take("collector");
    host = await startRealHost({
      name: NAME,
      folder,
      dataDir: path,
      serverUrl: stage.server.url,
      enrollmentTokenFile: stage.credentials.enrollmentTokenFile,
      trustedRootFile: join(path, "authority", "trusted_root.json"),
      ports: { supervisorHealth: await ports.take("supervisor"), collectorHealth },
      attributes: {},
      software: realSoftware(peers),
    });
    stage.hosts.push(host);
    await until("the updater is linked", async () => (await api.agents()).find(({ link }) => link.state === "linked"));
    await collector((it) => it.healthy && it.version === OLD);
  });
  afterAll(async () => {
    await stage?.stop();
    if (dataDir !== undefined) await rm(dataDir, { recursive: true, force: true });
  });

  /** The release as upstream publishes one, signed by the stage's authority. */
  async function publishCollector(): Promise<void> {
    const { path } = stage.services.folder;
    const [os, arch] = runningPlatform().split("_") as [string, string];
    const content = await packArchive([
      { name: "otelcol-contrib", content: await readFile(peers.collector(NEW)), mode: 0o755 },
    ]);
    const name = assetName({ distribution: DISTRIBUTION, version: NEW, os, arch });
    const authority = await openSigningAuthority(join(path, "authority"));
    await publishRelease(join(path, "mirror"), authority, [{ name, content }], { tag: `v${NEW}` });
  }

  const blueprint = (exporter: string, settings: object): string =>
    stringify({
      apiVersion: "myriarch.dev/v1alpha1",
      kind: "Blueprint",
      metadata: { name: "interop" },
      spec: {
        config: {
          extensions: { health_check: { endpoint: `127.0.0.1:${collectorHealth}` } },
          receivers: { nop: {} },
          exporters: { [exporter]: settings },
          service: {
            extensions: ["health_check"],
            pipelines: { traces: { receivers: ["nop"], exporters: [exporter] } },
          },
        },
      },
    });
  const exportTo = (work: string, exporter: string, settings: object = {}): Promise<void> =>
    writeFile(join(work, "blueprints", "interop.yaml"), blueprint(exporter, settings));
  const collector = (fits: (it: Agent) => boolean): Promise<Agent> =>
    until("the collector", async () => (await api.collectors()).find((it) => it.connected && fits(it)));
  const rolloutIs = (n: number, state: string): Promise<unknown> =>
    until(`rollout ${n} ${state}`, async () => (await api.rollout("demo", n)).state === state, {
      withinMs: 180_000,
      seen: async () => JSON.stringify([await api.rollout("demo", n), await api.targets("demo", n)]),
    });
  const effective = (): Promise<string> => readFile(join(host.folder, "supervisor", "effective.yaml"), "utf8");

  it("brings version and configuration to the host: the collector itself says so", async () => {
    await stage.repository.commit(`The fleet runs ${NEW}`, async (work) => {
      await exportTo(work, "debug");
      const fleet = join(work, "fleets", "demo.yaml");
      await editYaml(fleet, ["spec", "blueprint"], "interop");
      await editYaml(fleet, ["spec", "rolloutPolicy"], "at-once");
      await editYaml(fleet, ["spec", "version"], { distribution: DISTRIBUTION, target: NEW });
    });
    await rolloutIs(1, "succeeded");
    expect(await collector(({ version }) => version === NEW)).toMatchObject({ healthy: true });
    expect(await currentVersion(host)).toBe(NEW);
    const { stdout } = await promisify(execFile)(binaryPath(host), ["--version"]);
    expect(stdout.trim()).toBe(`${DISTRIBUTION} version ${NEW}`);
    expect(await effective()).toMatch(/debug/);
  });

  it("that names a component which the build has not is not even sent: incompatible", async () => {
    const before = await effective();
    await stage.repository.commit("An exporter that this build does not have", (work) => exportTo(work, "kafka"));
    await rolloutIs(2, "failed");
    const [target] = await api.targets("demo", 2);
    expect(target).toMatchObject({ phase: "cancelled", attempts: [{ failureClass: "incompatible", offeredAt: null }] });
    expect(await effective()).toBe(before);
    await collector((it) => it.healthy && it.version === NEW);
  });

  it("whose configuration the collector refuses pauses its rollout, and the host gets back what it had", async () => {
    await stage.repository.commit("A level of detail that does not exist", (work) =>
      exportTo(work, "debug", { verbosity: "loud" }),
    );
    await rolloutIs(3, "paused");
    const [target] = await api.targets("demo", 3);
    expect(target?.attempts).toMatchObject([{ failureClass: "configuration" }]);
    expect(target?.phase).toBe("rolled_back");
    await collector((it) => it.healthy && it.version === NEW);
    expect(await effective()).toMatch(/debug/);
    expect(await effective()).not.toMatch(/loud/);
  });

  it.each([
    ["is cut in the middle", "spec: {config: {receivers: {nop: "],
    ["has a key twice", "spec:\n  config:\n    receivers: {nop: {}}\n    receivers: {otlp: {}}\n"],
    ["holds two documents", "receivers: {nop: {}}\n---\nreceivers: {otlp: {}}\n"],
  ])("whose blueprint %s never leaves the server", async (_, text) => {
    const { uid } = await collector(() => true);
    const state = async () => [(await api.agent(uid)).remoteConfig.hash, await effective()];
    const before = await state();
    const status = () => api.get<GitopsStatus>("/api/v1/gitops/status");
    const commit = await stage.repository.commit("A blueprint that is no YAML", (work) =>
      writeFile(
        join(work, "blueprints", "interop.yaml"),
        `apiVersion: myriarch.dev/v1alpha1\nkind: Blueprint\nmetadata: {name: interop}\n${text}`,
      ),
    );
    await until("the refusal", async () => {
      const { state: now, issuesCommit, issues } = await status();
      return (
        now === "error" && issuesCommit === commit && issues.some(({ file }) => file === "blueprints/interop.yaml")
      );
    });
    expect(await state()).toEqual(before);
    const good = await stage.repository.revert(1);
    await until("the way back", async () => (await status()).appliedCommit === good);
    expect(await state()).toEqual(before);
  });
});
