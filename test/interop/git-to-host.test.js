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
import { binaryPath, currentVersion, startRealHost } from "../../src/embedded/stage/real-host.ts";
import { editYaml } from "../../src/embedded/stage/repository.ts";
import { openStage } from "../../src/embedded/stage/stage.ts";
import { createTourApi } from "../../src/embedded/tour/api.ts";
import { createFacts } from "../../src/embedded/tour/facts.ts";
import { openSigningAuthority } from "../../src/signing/authority.ts";
import { packArchive, publishRelease } from "../../src/signing/release.ts";
import { NEW, OLD, openPeers, realSoftware, skipPeers } from "../support/peers.ts";
const DISTRIBUTION = "otelcol-interop";
const NAME = "real-1";
const { until } = createFacts(() => undefined, () => performance.now());
describe.skipIf(skipPeers() !== undefined)("a commit", () => {
    let peers;
    let dataDir;
    let stage;
    let api;
    let host;
    let collectorHealth;
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
        if (dataDir !== undefined)
            await rm(dataDir, { recursive: true, force: true });
    });
    /** The release as upstream publishes one, signed by the stage's authority. */
    async function publishCollector() {
        const { path } = stage.services.folder;
        const [os, arch] = runningPlatform().split("_");
        const content = await packArchive([
            { name: "otelcol-contrib", content: await readFile(peers.collector(NEW)), mode: 0o755 },
        ]);
        const name = assetName({ distribution: DISTRIBUTION, version: NEW, os, arch });
        const authority = await openSigningAuthority(join(path, "authority"));
        await publishRelease(join(path, "mirror"), authority, [{ name, content }], { tag: `v${NEW}` });
    }
    const blueprint = (exporter) => stringify({
        apiVersion: "myriarch.dev/v1alpha1",
        kind: "Blueprint",
        metadata: { name: "interop" },
        spec: {
            config: {
                extensions: { health_check: { endpoint: `127.0.0.1:${collectorHealth}` } },
                receivers: { nop: {} },
                exporters: { [exporter]: {} },
                service: {
                    extensions: ["health_check"],
                    pipelines: { traces: { receivers: ["nop"], exporters: [exporter] } },
                },
            },
        },
    });
    const exportTo = (work, exporter) => writeFile(join(work, "blueprints", "interop.yaml"), blueprint(exporter));
    const collector = (fits) => until("the collector", async () => (await api.collectors()).find((it) => it.connected && fits(it)));
    const rolloutIs = (n, state) => until(`rollout ${n} ${state}`, async () => (await api.rollout("demo", n)).state === state, {
        withinMs: 180000,
        seen: async () => JSON.stringify([await api.rollout("demo", n), await api.targets("demo", n)]),
    });
    const effective = () => readFile(join(host.folder, "supervisor", "effective.yaml"), "utf8");
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
    it("whose configuration the collector refuses pauses its rollout, and the host gets back what it had", async () => {
        await stage.repository.commit("An exporter that this build does not have", (work) => exportTo(work, "kafka"));
        await rolloutIs(2, "paused");
        const [target] = await api.targets("demo", 2);
        expect(target?.attempts).toMatchObject([{ failureClass: "configuration" }]);
        expect(target?.phase).toBe("rolled_back");
        await collector((it) => it.healthy && it.version === NEW);
        expect(await effective()).toMatch(/debug/);
        expect(await effective()).not.toMatch(/kafka/);
    });
});
