/** What the server makes of a real collector's configuration, components and health; commands to a real supervisor. */
import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { startRealHost, type RealHost } from "../../src/embedded/stage/real-host.ts";
import { createApiToken } from "../../src/store/tokens.ts";
import { putConfigs } from "../../src/store/wanted.ts";
import { listProcesses } from "../../src/updater/host/processes.ts";
import { startInteropServer, type InteropServer } from "../support/interop-server.ts";
import { eventually } from "../support/opamp.ts";
import { OLD, openPeers, realSoftware, skipPeers } from "../support/peers.ts";

const START_MS = 90_000;

type Shown = {
  healthy: boolean;
  connected: boolean;
  version: string;
  why: string;
  health: { ok: boolean; because: string };
  remoteConfig: { hash: string | null; state: string; text: string; drift: string[] | null; missing: string[] };
};

describe.skipIf(skipPeers() !== undefined)("the real supervisor and collector", () => {
  let server: InteropServer;
  let host: RealHost;
  let authorization: string;
  let uid: string;
  let healthPort: number;

  beforeAll(async () => {
    const peers = await openPeers();
    server = await startInteropServer();
    const made = await createApiToken(server.pool, {
      name: "interop",
      owner: "interop",
      role: "operator",
      createdBy: "interop",
      expiresAt: null,
      at: new Date(),
    });
    authorization = `Bearer ${made?.token ?? ""}`;
    healthPort = await server.ports.take("collector");
    const folder = join(server.dataDir, "real-config");
    await mkdir(folder);
    host = await startRealHost({
      name: "real-config",
      folder,
      dataDir: server.dataDir,
      serverUrl: server.url,
      enrollmentTokenFile: server.enrollmentTokenFile,
      trustedRootFile: server.authority.trustedRootFile,
      ports: { supervisorHealth: await server.ports.take("supervisor"), collectorHealth: healthPort },
      attributes: {},
      software: realSoftware(peers),
    });
    uid = await eventually(
      "a healthy collector",
      async () => {
        const rows = await server.agents(host.name);
        return rows.find((row) => row.kind === "collector" && row.healthy && row.version === OLD)?.uid;
      },
      START_MS,
    );
  }, 1_800_000);
  afterAll(async () => {
    await host?.updater.stop();
    for (const { pid, args } of await listProcesses())
      if (host !== undefined && args.some((it) => it.startsWith(`${host.folder}/`))) process.kill(pid, "SIGKILL");
    await server?.stop();
  });

  const call = async (path: string, method = "GET"): Promise<{ status: number; body: unknown }> => {
    const answer = await fetch(`${server.url}/api/v1/agents/${uid}${path}`, { method, headers: { authorization } });
    return { status: answer.status, body: await answer.json() };
  };
  const shown = async (): Promise<Shown> => (await call("")).body as Shown;
  const until = (what: string, fits: (agent: Shown) => boolean): Promise<Shown> =>
    eventually(
      what,
      async () => {
        const agent = await shown();
        return fits(agent) && agent;
      },
      START_MS,
    );

  const configText = async (change: object = {}): Promise<string> =>
    stringify({
      extensions: { health_check: { endpoint: `127.0.0.1:${healthPort}` } },
      receivers: { otlp: { protocols: { grpc: { endpoint: `127.0.0.1:${await port()}` } } } },
      processors: { batch: { timeout: "90s" } },
      exporters: {
        debug: { verbosity: "detailed" },
        otlp_http: {
          endpoint: "http://user:${env:PATH}@127.0.0.1:9",
          headers: { "x-tenant": "${env:PATH}", Authorization: "Bearer ${env:PATH}" },
        },
      },
      service: {
        extensions: ["health_check"],
        telemetry: { metrics: { level: "none" } },
        pipelines: {
          traces: { receivers: ["otlp"], processors: ["batch"], exporters: ["debug", "otlp_http"] },
          "logs/2": { receivers: ["otlp"], exporters: ["debug"] },
        },
      },
      ...change,
    });
  let taken: number | undefined;
  const port = async (): Promise<number> => (taken ??= await server.ports.take("otlp"));

  async function apply(text: string): Promise<string> {
    const hash = createHash("sha256").update(text).digest("hex");
    await putConfigs(server.pool, new Map([[hash, Buffer.from(text)]]));
    const { offer } = await server.offerConfig(uid, text);
    await until("applied", ({ remoteConfig: it, health }) => it.hash === hash && it.state === "applied" && health.ok);
    await server.closeOffer(offer);
    return hash;
  }

  it("components of its build are known, so that a configuration it cannot run is seen before it is sent", async () => {
    const { rows } = await server.pool.query<{ names: string[] }>("select names from component_sets");
    expect(rows).toHaveLength(1);
    expect(rows[0]?.names).toEqual(expect.arrayContaining(["receivers/otlp", "exporters/debug", "extensions/opamp"]));
    const text = await configText({ receivers: { otlp: {}, kafka: {} } });
    const hash = createHash("sha256").update(text).digest();
    await putConfigs(server.pool, new Map([[hash.toString("hex"), Buffer.from(text)]]));
    await server.pool.query("insert into wanted (host, config_hash, commit) values ($1, $2, 'c')", [uid, hash]);
    const { remoteConfig } = await until("judged", (it) => it.remoteConfig.missing.length > 0);
    expect(remoteConfig.missing).toEqual(["receivers/kafka"]);
    await server.pool.query("delete from wanted");
  });

  it("what it runs is what it was sent, although its own dump looks different and holds secrets in clear", async () => {
    await apply(await configText());
    const agent = await until("judged", ({ remoteConfig: { drift } }) => drift !== null);
    expect(agent.remoteConfig.drift).toEqual([]);
    const { body } = await call("/config");
    const text = JSON.stringify(body);
    expect(text).not.toContain(process.env["PATH"]);
    expect(text).toContain("user:${env:PATH}@");
  });

  it("is restarted by a command, alone, and is healthy again", async () => {
    const before = await startTime();
    expect(await call("/restart", "POST")).toMatchObject({ status: 200 });
    await eventually("another start", async () => (await startTime()) !== before, START_MS);
    await until("healthy again", ({ health }) => health.ok);
  });
  const startTime = async (): Promise<string> =>
    (
      await server.pool.query<{ start: string }>("select start_time_nanos::text as start from agents where uid = $1", [
        uid,
      ])
    ).rows[0]?.start ?? "";

  it("takes its configuration again and says everything that it knows", async () => {
    const { status, body } = await call("/resync", "POST");
    expect(status).toBe(200);
    expect((body as { configHash: string }).configHash).toBe((await shown()).remoteConfig.hash);
    await until("applied as before", ({ remoteConfig, health }) => remoteConfig.state === "applied" && health.ok);
  });
});
