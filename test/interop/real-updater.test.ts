/** Our host program against the reference library's server: it is a client that others understand. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { UPDATER_CAPABILITIES } from "../../src/domain/brand.ts";
import { freePort } from "../../src/embedded/ports.ts";
import { startRealHost, type RealHost } from "../../src/embedded/stage/real-host.ts";
import { openSigningAuthority } from "../../src/signing/authority.ts";
import { eventually } from "../support/opamp.ts";
import { openPeers, skipPeers } from "../support/peers.ts";
import { startReference, type ReferencePeer, type Said } from "../support/reference-peer.ts";

const TOKEN = "reference-token";
const WITHIN_MS = 60_000;
type Attribute = { key: string; value: { stringValue?: string } };
type Description = { identifyingAttributes: Attribute[]; nonIdentifyingAttributes: Attribute[] };

describe.skipIf(skipPeers() !== undefined)("the updater and the reference server", () => {
  let folder: string;
  let server: ReferencePeer;
  let host: RealHost;
  let control: string;

  beforeAll(async () => {
    const peers = await openPeers();
    folder = await mkdtemp(join(tmpdir(), "myriarch-updater-"));
    const [port, controlPort] = [await freePort(), await freePort()];
    control = `http://127.0.0.1:${controlPort}/send`;
    const listen = ["-listen", `127.0.0.1:${port}`, "-ctl", `127.0.0.1:${controlPort}`];
    server = await startReference(peers.reference, ["server", ...listen, "-token", TOKEN]);
    await eventually("the server listens", () => server.heard("listening").length > 0);
    await writeFile(join(folder, "token"), `${TOKEN}\n`, { mode: 0o600 });
    await mkdir(join(folder, "host"));
    const authority = await openSigningAuthority(join(folder, "authority"));
    host = await startRealHost({
      name: "reference-host",
      folder: join(folder, "host"),
      dataDir: folder,
      serverUrl: `http://127.0.0.1:${port}`,
      enrollmentTokenFile: join(folder, "token"),
      trustedRootFile: authority.trustedRootFile,
      ports: { supervisorHealth: await freePort(), collectorHealth: await freePort() },
      attributes: {},
    });
  });
  afterAll(async () => {
    await host?.updater.stop();
    await server?.stop();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  const nameOf = (msg: Said["msg"]): string | undefined =>
    (msg?.["agentDescription"] as Description | undefined)?.identifyingAttributes.find(
      ({ key }) => key === "service.name",
    )?.value.stringValue;
  const messages = (): Said["msg"][] => {
    const all = server.heard("AgentToServer").map(({ msg }) => msg);
    const uid = all.find((msg) => nameOf(msg) === "myriarch-updater")?.["instanceUid"];
    return uid === undefined ? [] : all.filter((msg) => msg?.["instanceUid"] === uid);
  };
  const said = (what: string, fits: (msg: NonNullable<Said["msg"]>) => boolean) =>
    eventually(what, () => messages().find((msg) => msg !== undefined && fits(msg)), WITHIN_MS);
  async function send(message: object): Promise<void> {
    const uid = Buffer.from(messages()[0]?.["instanceUid"] as string, "base64").toString("hex");
    const answer = await fetch(`${control}?uid=${uid}`, { method: "POST", body: JSON.stringify(message) });
    expect(await answer.json()).toEqual({ sent: 1 });
  }

  it("begins with everything: capabilities, description, health", async () => {
    const first = await said("the first message", () => true);
    expect(first).toMatchObject({ capabilities: String(UPDATER_CAPABILITIES), health: expect.anything() });
    expect(first).not.toHaveProperty("sequenceNum");
    const { nonIdentifyingAttributes } = first["agentDescription"] as Description;
    const keys = nonIdentifyingAttributes.map(({ key }) => key);
    expect(keys).toEqual(expect.arrayContaining(["os.type", "host.arch", "host.name"]));
    await said("whose updater it is", (msg) =>
      JSON.stringify(msg["agentDescription"] ?? {}).includes("dev.myriarch.collector.instance_uid"),
    );
  });

  it("answers ReportFullState with everything", async () => {
    const before = messages().length;
    await send({ flags: "1" });
    const whole = await eventually("everything", () =>
      messages()
        .slice(before)
        .find((msg) => msg?.["agentDescription"] !== undefined && msg["health"] !== undefined),
    );
    expect(nameOf(whole)).toBe("myriarch-updater");
  });

  it("refuses a package that is not the collector, before any download, and says so", async () => {
    const base64 = (text: string): string => Buffer.from(text).toString("base64");
    await send({
      packagesAvailable: {
        packages: { plugin: { version: "v1.0.0", hash: base64("p"), file: { downloadUrl: "http://127.0.0.1:9/x" } } },
        allPackagesHash: base64("all"),
      },
    });
    const refusal = await said("the refusal", (msg) => JSON.stringify(msg["packageStatuses"] ?? "").includes("plugin"));
    expect(JSON.stringify(refusal["packageStatuses"])).toMatch(
      /PackageStatusEnum_InstallFailed.*unsupported package|unsupported package.*PackageStatusEnum_InstallFailed/,
    );
  });

  it("says goodbye", async () => {
    expect(await host.updater.stop()).toEqual({ code: 0, signal: null });
    await said("goodbye", (msg) => msg["agentDisconnect"] !== undefined);
  });
});
