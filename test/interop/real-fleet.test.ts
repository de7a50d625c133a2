/**
 * What happens to real supervisors over their life, beyond one host that behaves: another transport, a server that goes and
 * comes back, machines cloned with everything on them, a token that is revoked and replaced.
 */
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { startRealHost, type HostSoftware, type RealHost } from "../../src/embedded/stage/real-host.ts";
import { createApiToken } from "../../src/store/tokens.ts";
import { listProcesses } from "../../src/updater/host/processes.ts";
import { startInteropServer, type AgentRow, type InteropServer } from "../support/interop-server.ts";
import { eventually } from "../support/opamp.ts";
import { OLD, openPeers, realSoftware, skipPeers, type Peers } from "../support/peers.ts";

const APPLIED = 1;
const START_MS = 90_000;

type Started = RealHost & { healthPort: number };
type Options = { transport?: HostSoftware["transport"]; hostName?: string; tokenFile?: string };

describe.skipIf(skipPeers() !== undefined)("real supervisors", () => {
  let peers: Peers;
  let server: InteropServer;
  const hosts: RealHost[] = [];

  beforeAll(async () => {
    peers = await openPeers();
    // An agent over HTTP hears what it is offered when it polls: told to do so more often, it keeps this file short.
    server = await startInteropServer({ agents: { heartbeatInterval: "5s" } });
  });
  afterEach(async () => {
    for (const host of hosts.splice(0)) {
      await host.updater.stop();
      for (const { pid, args } of await listProcesses())
        if (args.some((it) => it.startsWith(`${host.folder}/`))) process.kill(pid, "SIGKILL");
    }
  });
  afterAll(async () => {
    await server?.stop();
  });

  const folderOf = (name: string): string => join(server.dataDir, name);
  async function start(name: string, { transport, hostName = name, tokenFile }: Options = {}): Promise<Started> {
    const folder = folderOf(name);
    await mkdir(folder, { recursive: true });
    const healthPort = await server.ports.take(`${name}-collector`);
    const host = await startRealHost({
      name: hostName,
      folder,
      dataDir: folder,
      serverUrl: server.url,
      enrollmentTokenFile: tokenFile ?? server.enrollmentTokenFile,
      trustedRootFile: server.authority.trustedRootFile,
      ports: { supervisorHealth: await server.ports.take(`${name}-supervisor`), collectorHealth: healthPort },
      attributes: {},
      software: realSoftware(peers, transport),
    });
    hosts.push(host);
    return { ...host, healthPort };
  }
  const collectors = async (host: string): Promise<AgentRow[]> =>
    (await server.agents(host)).filter(({ kind }) => kind === "collector");
  const isWell = (row: AgentRow): boolean => row.connected && row.healthy && row.version === OLD;
  const collector = (host: string, what: string, fits: (row: AgentRow) => boolean): Promise<AgentRow> =>
    eventually(what, async () => (await collectors(host)).find(fits), START_MS);
  const linked = (host: string, collectorUid: string): Promise<AgentRow> =>
    eventually(
      `the updater of ${host} is linked`,
      async () => (await server.agents(host)).find((row) => row.link === "linked" && row.collectorUid === collectorUid),
      START_MS,
    );
  const config = ({ healthPort }: Started, exporter: string): string =>
    stringify({
      extensions: { health_check: { endpoint: `127.0.0.1:${healthPort}` } },
      receivers: { nop: {} },
      exporters: { [exporter]: {} },
      service: { extensions: ["health_check"], pipelines: { traces: { receivers: ["nop"], exporters: [exporter] } } },
    });
  /** The supervisor's own file says who it is. */
  const savedUid = async (name: string): Promise<string> =>
    /instance_id: (\S+)/.exec(
      await readFile(join(folderOf(name), "supervisor", "persistent_state.yaml"), "utf8"),
    )?.[1] ?? "";
  const collectorPid = async ({ folder }: RealHost): Promise<number | undefined> =>
    (await listProcesses()).find(({ executable }) => executable.startsWith(join(folder, "install")))?.pid;

  it.each(["websocket", "http"] as const)(
    "over %s: enrols, is APPLIED and healthy, and after a restart of the server goes on with what it had",
    async (transport) => {
      const host = await start(`by-${transport}`, { transport });
      const { uid } = await collector(host.name, "a healthy collector", isWell);
      await linked(host.name, uid);
      const first = await server.offerConfig(uid, config(host, "debug"));
      const isApplied = (hash: string) => (row: AgentRow) =>
        row.configHash === hash && row.configStatus === APPLIED && isWell(row);
      await collector(host.name, "APPLIED", isApplied(first.hash));
      await server.closeOffer(first.offer);
      const pid = await collectorPid(host);
      expect(pid).toBeDefined();

      await server.restart(async () => {
        await server.pool.query("update agents set connected = false");
      });
      expect(await collector(host.name, "back", isApplied(first.hash))).toMatchObject({ uid });
      expect(await collectorPid(host)).toBe(pid);
      const second = await server.offerConfig(uid, config(host, "nop"));
      await collector(host.name, "APPLIED again", isApplied(second.hash));
      await server.closeOffer(second.offer);
      expect((await collectors(host.name)).map((row) => row.uid)).toEqual([uid]);
    },
  );

  it.each([
    ["another name", "clone-a2"],
    ["the same name", "clone-b"],
  ])(
    "of machines cloned with their storage, under %s, each gets a UID of its own and keeps it",
    async (_, hostName) => {
      const original = hostName === "clone-b" ? "clone-b" : "clone-a";
      const copy = `${original}-copy`;
      const first = await start(original);
      const { uid } = await collector(original, "the original", isWell);
      const storage = join(folderOf(copy), "supervisor");
      await mkdir(storage, { recursive: true, mode: 0o700 });
      await copyFile(join(first.folder, "supervisor", "persistent_state.yaml"), join(storage, "persistent_state.yaml"));
      await start(copy, { hostName });
      const two = await eventually(
        "two healthy collectors with a UID each",
        async () => {
          const [a, b] = [await savedUid(original), await savedUid(copy)];
          if (a === b) return false;
          const rows = [...(await collectors(original)), ...(hostName === original ? [] : await collectors(hostName))];
          const well = rows.filter(isWell).map((row) => row.uid);
          return well.length === 2 && well.includes(a) && well.includes(b) && well;
        },
        START_MS,
      );
      expect(two).toContain(uid);
    },
  );

  it("whose token is revoked lose their connection, and come back as who they were with its successor", async () => {
    const admin = await createApiToken(server.pool, {
      name: "interop-admin",
      owner: "interop",
      role: "admin",
      createdBy: "interop",
      expiresAt: null,
      at: new Date(),
    });
    const api = async (method: string, path: string, body?: object): Promise<Record<string, string>> => {
      const headers = {
        authorization: `Bearer ${admin?.token ?? ""}`,
        ...(body !== undefined && { "content-type": "application/json" }),
      };
      const url = `${server.url}/api/v1/tokens/enrollment${path}`;
      const answer = await fetch(url, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
      expect(answer.ok, await answer.clone().text()).toBe(true);
      return (await answer.json()) as Record<string, string>;
    };
    const old = await api("POST", "", { name: "first" });
    const tokenFile = join(server.dataDir, "first-token");
    await writeFile(tokenFile, old["token"] ?? "", { mode: 0o600 });
    const host = await start("rotated", { tokenFile });
    const { uid } = await collector("rotated", "the collector", isWell);
    await linked("rotated", uid);

    const successor = await api("POST", `/${old["id"]}/rotate`, {});
    await api("DELETE", `/${old["id"]}`);
    await eventually(
      "nobody is connected",
      async () => (await server.agents("rotated")).every((row) => !row.connected),
      5_000,
    );
    const pid = await collectorPid(host);
    expect(pid, "a collector without a server runs on").toBeDefined();

    await host.updater.stop();
    await writeFile(tokenFile, successor["token"] ?? "", { mode: 0o600 });
    await start("rotated", { tokenFile });
    expect(await collector("rotated", "back", isWell)).toMatchObject({ uid });
    await linked("rotated", uid);
    expect(await server.agents("rotated")).toHaveLength(2);
  });
});
