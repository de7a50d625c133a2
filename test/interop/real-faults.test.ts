/**
 * Updates that go wrong on a host with upstream's supervisor, a collector written in Go and a real `myriarch-updater`,
 * offered by the API process of `myriarchd`: releases that do not fit, releases that turn unhealthy, an updater that is
 * killed, a supervisor that cannot start again.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { METRICS_PORT } from "../../src/domain/update/listening-ports.ts";
import { InteropHost } from "../support/interop-host.ts";
import { startInteropServer, type InteropServer } from "../support/interop-server.ts";
import { savedRemoteConfig } from "../support/saved-config.ts";
import {
  ENDS_EARLY,
  NEW,
  OLD,
  openPeers,
  skipPeers,
  WITHOUT_BATCH,
  WITHOUT_OPAMP,
  type Peers,
} from "../support/peers.ts";

const MISNAMED = "0.154.0";

describe.skipIf(skipPeers() !== undefined)("with the real supervisor and collector", () => {
  let peers: Peers;
  let server: InteropServer;
  let host: InteropHost;
  const artifacts = new Map<string, string>();
  const offer = async (version: string) => await host.update(version, artifacts.get(version) ?? "");
  let n = 0;
  const newHost = async (collectorArgs?: readonly string[]): Promise<InteropHost> =>
    await InteropHost.prepare({
      server,
      peers,
      name: `faults-${++n}`,
      ...(collectorArgs === undefined ? {} : { collectorArgs }),
    });

  beforeAll(async () => {
    peers = await openPeers();
    server = await startInteropServer();
    const releases = [NEW, WITHOUT_BATCH, WITHOUT_OPAMP, ENDS_EARLY].map((version) => [version, version] as const);
    for (const [version, of] of [...releases, [MISNAMED, NEW] as const]) {
      const content = await readFile(peers.collector(of));
      const { artifact } = await server.release(version, [
        { name: "README.md", content: version, mode: 0o644 }, // no two archives are the same
        { name: "otelcol-contrib", content, mode: 0o755 },
      ]);
      artifacts.set(version, artifact);
    }
  });
  afterEach(async () => await host?.end());
  afterAll(async () => await server?.stop());

  describe("a release", () => {
    beforeEach(async () => {
      host = await newHost();
      await host.start();
      await host.runs(OLD);
      await host.configure(host.config());
    });

    it("that does not fit is refused before the stop, by what it lacks or says; one that fits is then installed", async () => {
      const before = await host.pair();
      const refusals = [
        [WITHOUT_BATCH, /^preflight: the new collector lacks processors\/batch: offer a build that has them/],
        [WITHOUT_OPAMP, /^preflight: the new collector lacks extensions\/opamp: no supervisor can run it/],
        [MISNAMED, /^preflight: the binary does not name version 0\.154\.0/],
      ] as const;
      for (const [version, error] of refusals) {
        const attempt = await offer(version);
        expect(attempt, version).toMatchObject({ status: "failed", error: expect.stringMatching(error) as string });
        expect(await host.pair(), version).toEqual(before);
        expect(await host.version()).toBe(OLD);
      }
      await host.runs(OLD);
      expect(await offer(NEW)).toMatchObject({ status: "succeeded", error: "" });
      await host.runs(NEW);
      expect(await host.version()).toBe(NEW);
    });

    it("that starts and turns unhealthy is rolled back, and the host is as it was", async () => {
      const { uid } = await host.runs(OLD);
      const attempt = await offer(ENDS_EARLY);
      expect(attempt.status).toBe("rolled_back");
      expect(attempt.error).toMatch(/^update to v0\.153\.0 failed: health: .*; rolled back to v0\.149\.0$/);
      expect(await host.runs(OLD)).toMatchObject({ uid });
      expect(await host.version()).toBe(OLD);
      expect((await host.pair()).collector.executable).toContain(`/versions/${OLD}/`);
    });
  });

  describe("an updater that is killed", () => {
    it.each([
      ["once the journal says so", "after rename <state>/journal.json#1", NEW, OLD],
      ["once the supervisor is stopped", "after stop#1", NEW, OLD],
      ["once the new version is active", "after rename <install>/current#1", NEW, NEW],
      ["once the supervisor was started", "after start#2", NEW, NEW],
      ["on the way back", "after rename <install>/current#2", ENDS_EARLY, OLD],
    ])("%s leaves a host that the next start brings to one version, healthy", async (_, at, version, expected) => {
      host = await newHost();
      await host.start({ MYRIARCH_FAULT: `kill:${at}` });
      await host.runs(OLD);
      const { uid } = await host.linked();
      const opened = await server.offerPackage(uid, version, artifacts.get(version) ?? "");
      expect(await host.updater.exited).toMatchObject({ signal: "SIGKILL" });
      await server.closeOffer(opened);
      await host.start();
      const attempt = await host.attempted(version);
      if (version === NEW) {
        expect(attempt.status).toBe("failed");
        expect(attempt.error).toContain("interrupted by a restart of the updater");
      } else {
        expect(attempt.status).toBe("rolled_back");
        expect(attempt.error).toMatch(/^update to v0\.153\.0 failed: health: .*; rolled back to v0\.149\.0$/);
      }
      await host.runs(expected);
      expect(await host.version()).toBe(expected);
      expect((await host.pair()).collector.executable).toContain(`/versions/${expected}/`);
      expect(existsSync(join(host.folder, "updater", "journal.json"))).toBe(false);
    });
  });

  it("a saved configuration that the supervisor cannot read is moved aside when it does not start", async () => {
    host = await newHost();
    await host.start({ MYRIARCH_FAULT: "kill:after stop#1" });
    await host.runs(OLD);
    const { uid } = await host.linked();
    const opened = await server.offerPackage(uid, NEW, artifacts.get(NEW) ?? "");
    await host.updater.exited;
    await server.closeOffer(opened);
    const bytes = savedRemoteConfig("receivers: {nop: {}}\nreceivers: {nop: {}}\n");
    await writeFile(join(host.supervisorStorage, "last_recv_remote_config.dat"), bytes);
    await host.start();
    await host.runs(OLD);
    await host.pair();
    const aside = readdirSync(host.supervisorStorage).filter((name) => name.startsWith("last_recv_remote_config.dat."));
    expect(aside).toHaveLength(1);
    expect(readFileSync(join(host.supervisorStorage, aside[0] ?? ""))).toEqual(Buffer.from(bytes));
    expect(readFileSync(host.updater.logFile, "utf8")).toContain(aside[0]);
  });

  it("a stranger on the port of the collector's metrics is told before the stop", async ({ skip }) => {
    if (!(await isFree(METRICS_PORT))) skip(`port ${METRICS_PORT} of this machine is taken`);
    host = await newHost([]);
    await host.start();
    await host.runs(OLD);
    await host.configure(host.config({ metrics: { level: "none" } }));
    const before = await host.pair();
    // a process of its own, since one that is older than the supervisor did not keep it from starting
    const code = `require("net").createServer().listen(${METRICS_PORT}, "127.0.0.1", () => console.log("up"))`;
    const stranger = spawn(process.execPath, ["-e", code], { stdio: ["ignore", "pipe", "inherit"] });
    try {
      await once(stranger.stdout, "data");
      const attempt = await offer(NEW);
      expect(attempt.status).toBe("failed");
      expect(attempt.error).toMatch(
        new RegExp(
          `^preflight: the supervisor could not start again: port ${METRICS_PORT} is held by process ${stranger.pid} `,
        ),
      );
      expect(await host.pair()).toEqual(before);
    } finally {
      stranger.kill("SIGKILL");
    }
  });
});

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  const free = await once(server, "listening").then(
    () => true,
    () => false,
  );
  if (free) await new Promise((resolve) => void server.close(resolve));
  return free;
}
