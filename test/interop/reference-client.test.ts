/** The reference library as an agent that accepts packages, against the API process of `myriarchd`. */
import { createHash, randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startInteropServer, type AgentRow, type InteropServer } from "../support/interop-server.ts";
import { eventually } from "../support/opamp.ts";
import { openPeers, skipPeers, type Peers } from "../support/peers.ts";
import { startReference, type ReferencePeer } from "../support/reference-peer.ts";

const UPDATER = 0x2819;
const VERSION = "0.150.0";

describe.skipIf(skipPeers() !== undefined)("the reference client", () => {
  let peers: Peers;
  let server: InteropServer;
  let artifact: { artifact: string; sha256: string };
  let folder: string;
  const running: ReferencePeer[] = [];

  beforeAll(async () => {
    peers = await openPeers();
    server = await startInteropServer();
    folder = await mkdtemp(join(tmpdir(), "myriarch-reference-"));
    artifact = await server.release(VERSION, [{ name: "otelcol", content: "a collector", mode: 0o755 }]);
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((peer) => peer.stop()));
  });
  afterAll(async () => {
    await server?.stop();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  async function connect(
    host: string,
    more: readonly string[] = [],
    token = server.token,
    endpoint = server.endpoint,
  ): Promise<ReferencePeer> {
    const where = ["-endpoint", endpoint, "-header", `Authorization=Bearer ${token}`];
    const who = ["-attr", `host.name=${host}`, "-attr", "os.type=linux", "-attr", "host.arch=amd64"];
    const peer = await startReference(peers.reference, ["client", ...where, ...who, ...more]);
    running.push(peer);
    return peer;
  }
  const row = (host: string, what: string, fits: (row: AgentRow) => boolean): Promise<AgentRow> =>
    eventually(what, async () => (await server.agents(host)).find(fits));

  it("is refused with a token that nobody issued", async () => {
    const peer = await connect("stranger", [], "myr_enroll_unknown");
    await eventually("a refusal", () => peer.heard("connectFailed").length > 1);
    expect(peer.heard("connected")).toEqual([]);
    expect(await server.agents("stranger")).toEqual([]);
  });

  it("registers with its whole state and says goodbye", async () => {
    const peer = await connect("whole");
    const seen = await row("whole", "a healthy row", ({ healthy }) => healthy);
    expect(seen).toMatchObject({
      kind: "updater",
      serviceName: "myriarch-updater",
      os: "linux",
      arch: "amd64",
      connected: true,
      capabilities: UPDATER,
      healthStatus: "StatusOK",
    });
    expect(peer.heard("ServerErrorResponse")).toEqual([]);
    expect(await peer.stop()).toBe(0);
    await row("whole", "disconnected", ({ connected }) => !connected);
  });

  it("reconnects to a server that was away: known, it sends what changed; forgotten, it is asked for everything", async () => {
    const uid = randomUUID();
    const peer = await connect("returns", ["-uid", uid]);
    const before = await row("returns", "a row", ({ healthy }) => healthy);
    const isBack = ({ connected, healthy }: AgentRow) => connected && healthy;
    await server.restart(async () => {
      expect(await server.agents("returns")).toMatchObject([{ connected: false, healthy: true }]);
    });
    expect(await row("returns", "back", isBack)).toEqual(before);
    await server.restart(() => server.pool.query("delete from agents where uid = $1", [uid]));
    expect(await row("returns", "back with everything", isBack)).toEqual(before);
    expect(peer.heard("AgentIdentification")).toEqual([]);
  });

  it("downloads what it is offered with the token of the offer, and reports it Installed", async () => {
    const dir = await mkdtemp(join(folder, "client-"));
    const peer = await connect("installs", ["-dir", dir]);
    const { uid } = await row("installs", "a row", ({ kind }) => kind === "updater");
    await server.offerPackage(uid, VERSION, artifact.artifact);
    const done = await row("installs", "Installed", ({ packageStatus }) => packageStatus?.status === "installed");
    expect(done.packageStatus).toMatchObject({ version: VERSION, error: "" });
    expect(peer.heard("UpdateContent")).toMatchObject([{ name: "", contentHash: artifact.sha256 }]);
    const bytes = await readFile(join(dir, "package.bin"));
    expect(createHash("sha256").update(bytes).digest("hex")).toBe(artifact.sha256);
    expect(peer.heard("syncError")).toEqual([]);
  });

  it("that fails shows it once and is not offered the same again while it stays", async () => {
    const host = "fails";
    const uid = randomUUID();
    const peer = await connect(host, ["-uid", uid, "-fail"]);
    await row(host, "a row", ({ kind }) => kind === "updater");
    const offer = await server.offerPackage(uid, VERSION, artifact.artifact);
    const failed = await row(host, "InstallFailed", ({ packageStatus }) => packageStatus?.status === "install_failed");
    expect(failed.packageStatus?.error).toMatch(/peer was told to fail/);
    // Whatever makes the server look again brings nothing: the next thing that this agent hears is another offer.
    for (let i = 0; i < 5; i++) await server.nudge(uid);
    await server.closeOffer(offer);
    const other = await server.release("0.151.0", [{ name: "otelcol", content: "another", mode: 0o755 }]);
    await server.offerPackage(uid, "0.151.0", other.artifact);
    await row(
      host,
      "the other failure",
      ({ packageStatus }) =>
        packageStatus?.offeredVersion.endsWith("0.151.0") === true && packageStatus.status === "install_failed",
    );
    const offered = peer.heard("PackagesAvailable").map(({ msg }) => JSON.stringify(msg).match(/v0\.15\d\.0/)?.[0]);
    expect(offered).toEqual(["v0.150.0", "v0.151.0"]);
    expect(peer.heard("UpdateContent")).toHaveLength(2);
  });

  it("over plain HTTP: is refused, registers, installs, fails once, comes back after a restart", async () => {
    const polled = server.endpoint.replace(/^ws/, "http");
    const often = ["-heartbeat", "1s"];
    const refused = await connect("polls-refused", often, "myr_enroll_unknown", polled);
    const uid = randomUUID();
    const peer = await connect("polls", ["-uid", uid, ...often], server.token, polled);
    await row("polls", "a healthy row", ({ healthy, connected }) => healthy && connected);
    await server.offerPackage(uid, VERSION, artifact.artifact);
    const done = await row("polls", "Installed", ({ packageStatus }) => packageStatus?.status === "installed");
    expect(done.packageStatus).toMatchObject({ version: VERSION, error: "" });
    expect(peer.heard("UpdateContent")).toMatchObject([{ name: "", contentHash: artifact.sha256 }]);

    const failing = randomUUID();
    const fails = await connect("polls-fails", ["-uid", failing, "-fail", ...often], server.token, polled);
    await row("polls-fails", "a row", ({ kind }) => kind === "updater");
    await server.offerPackage(failing, VERSION, artifact.artifact);
    await row("polls-fails", "InstallFailed", ({ packageStatus }) => packageStatus?.status === "install_failed");

    await server.restart(() => server.pool.query("update agents set connected = false"));
    expect(await row("polls", "back", ({ connected }) => connected)).toMatchObject({ uid, healthy: true });
    await row("polls-fails", "back", ({ connected }) => connected);
    expect(fails.heard("PackagesAvailable")).toHaveLength(1);
    expect(peer.heard("AgentIdentification")).toEqual([]);
    expect(await server.agents("polls-refused")).toEqual([]);
    expect(refused.heard("connected")).toEqual([]);
  });
});
