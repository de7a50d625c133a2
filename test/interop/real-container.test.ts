/**
 * Container mode with upstream's supervisor and a collector written in Go: the updater is the first process of a pid
 * namespace, a folder its volume, another the image; versions are offered by the API process of `myriarchd`.
 */
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { InteropHost } from "../support/interop-host.ts";
import { startInteropServer, type InteropServer } from "../support/interop-server.ts";
import { ENDS_EARLY, NEW, OLD, openPeers, skipPeers, type Peers } from "../support/peers.ts";
import { namespaceFlags } from "../support/updater-container.ts";

const flags = namespaceFlags;
if (flags === undefined) console.warn("skipped: container mode (unshare may not make a pid namespace here)");

describe.skipIf(skipPeers() !== undefined || flags === undefined)("a container with the real supervisor", () => {
  let peers: Peers;
  let server: InteropServer;
  let host: InteropHost;
  const artifacts = new Map<string, string>();
  const offer = async (version: string) => await host.update(version, artifacts.get(version) ?? "");

  beforeAll(async () => {
    peers = await openPeers();
    server = await startInteropServer();
    for (const version of [NEW, ENDS_EARLY]) {
      const content = await readFile(peers.collector(version));
      const { artifact } = await server.release(version, [{ name: "otelcol-contrib", content, mode: 0o755 }]);
      artifacts.set(version, artifact);
    }
    host = await InteropHost.prepare({ server, peers, name: "container-1" });
  });
  afterAll(async () => {
    await host?.end();
    await server?.stop();
  });

  it("takes its image's collector, is updated, is rolled back, ends cleanly, and keeps its version over a restart", async () => {
    await host.startContainer(OLD, flags ?? []);
    const { uid } = await host.runs(OLD);
    expect(await host.version()).toBe(OLD);
    await host.configure(host.config());

    expect(await offer(NEW)).toMatchObject({ from: OLD, status: "succeeded", error: "" });
    expect(await host.runs(NEW)).toMatchObject({ uid });
    const failed = await offer(ENDS_EARLY);
    expect(failed.status).toBe("rolled_back");
    expect(failed.error).toMatch(/^update to v0\.153\.0 failed: health: .*; rolled back to v0\.150\.0$/);
    await host.runs(NEW);
    await host.pair();

    expect(await host.stopContainer()).toEqual({ code: 0, signal: null });
    expect(await host.processes()).toEqual([]);
    await host.agent("collector", "gone", ({ connected }) => !connected);

    await host.startContainer(OLD, flags ?? []); // older than what the volume has
    expect(await host.runs(NEW)).toMatchObject({ uid });
    expect(await host.version()).toBe(NEW);
    await host.pair();
  });
});
