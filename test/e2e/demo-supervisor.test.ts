/**
 * The stand-in supervisor as a process, against a server that records what arrives: it must be as unkind as the real one,
 * or hosts are only ever tested against a friend.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { WebSocketServer, type WebSocket } from "ws";
import { parse, stringify } from "yaml";
import { decodeAgentToServer, encodeServerToAgent } from "../../src/protocol/codec.ts";
import { REMOTE_CONFIG_STATUS, type AgentToServer, type ServerToAgent } from "../../src/protocol/messages.ts";
import { writeDemoBinary } from "../../src/embedded/demo/binary.ts";

const PROGRAM = join(import.meta.dirname, "../../src/embedded/demo/supervisor.ts");
const DEADLINE_MS = 30_000;
const { applied, applying, failed } = REMOTE_CONFIG_STATUS;

let folder: string;
let server: RecordingServer;
const children: ChildProcess[] = [];
const orphans: number[] = [];

/** Answers every message, and remembers them all. */
class RecordingServer {
  readonly messages: AgentToServer[] = [];
  readonly closes: number[] = [];
  readonly port: number;
  private readonly changed = new EventEmitter().setMaxListeners(0);
  private readonly listener: WebSocketServer;
  private socket: WebSocket | undefined;

  private constructor(listener: WebSocketServer) {
    this.listener = listener;
    this.port = (listener.address() as AddressInfo).port;
    listener.on("connection", (socket) => {
      this.socket = socket;
      socket.on("message", (data) => {
        const message = decodeAgentToServer(data as Buffer);
        this.messages.push(message);
        this.send({}, message.instanceUid);
        this.changed.emit("change");
      });
      socket.on("close", (code) => {
        this.closes.push(code);
        this.changed.emit("change");
      });
    });
  }

  static async start(): Promise<RecordingServer> {
    const listener = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    await once(listener, "listening");
    return new RecordingServer(listener);
  }

  send(message: Partial<ServerToAgent>, instanceUid = this.messages.at(-1)?.instanceUid ?? ""): void {
    this.socket?.send(encodeServerToAgent({ instanceUid, flags: 0n, capabilities: 0x1fn, ...message }));
  }

  offer(body: string | undefined, hash: string): void {
    const files = body === undefined ? [] : ([["", { body: Buffer.from(body), contentType: "text/yaml" }]] as const);
    this.send({ remoteConfig: { config: new Map(files), configHash: Buffer.from(hash) } });
  }

  /** The first message from `since` on that the test accepts; waits for it, bounded. */
  async message(accepts: (message: AgentToServer) => boolean, since = 0): Promise<AgentToServer> {
    await this.until(() => this.messages.slice(since).some(accepts));
    const found = this.messages.slice(since).find(accepts);
    if (found === undefined) throw new Error("cannot happen: it was there");
    return found;
  }

  async until(holds: () => boolean): Promise<void> {
    const signal = AbortSignal.timeout(DEADLINE_MS);
    while (!holds()) await once(this.changed, "change", { signal });
  }

  async close(): Promise<void> {
    for (const client of this.listener.clients) client.terminate();
    this.listener.close();
    await once(this.listener, "close");
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}

let collectorPort: number;
let healthPort: number;

const collectorConfig = (extra: object = {}) => ({
  receivers: { nop: null },
  exporters: { debug: null },
  extensions: { health_check: { endpoint: `127.0.0.1:${collectorPort}` } },
  service: { extensions: ["health_check"], pipelines: { traces: { receivers: ["nop"], exporters: ["debug"] } } },
  ...extra,
});

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "myriarch-supervisor-"));
  server = await RecordingServer.start();
  collectorPort = await freePort();
  healthPort = await freePort();
  await writeDemoBinary(join(folder, "versions", "0.161.0", "otelcol-contrib"), "0.161.0");
  await symlink("versions/0.161.0", join(folder, "current"));
  await writeFile(join(folder, "base.yaml"), stringify(collectorConfig()));
  await writeFile(
    join(folder, "supervisor.yaml"),
    stringify({
      server: { endpoint: `ws://127.0.0.1:${server.port}/v1/opamp`, headers: { Authorization: "Bearer ${env:TOKEN}" } },
      capabilities: { accepts_remote_config: true, reports_remote_config: true, accepts_restart_command: true },
      storage: { directory: join(folder, "storage") },
      agent: {
        executable: join(folder, "current", "otelcol-contrib"),
        config_files: [join(folder, "base.yaml"), "$REMOTE_CONFIG"],
        description: { non_identifying_attributes: { "demo.real": "true" } },
        config_apply_timeout: "1500ms",
        bootstrap_timeout: "20s",
      },
      healthcheck: { endpoint: `127.0.0.1:${healthPort}` },
    }),
  );
});

afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGINT");
    await once(child, "exit");
  }
  for (const pid of orphans.splice(0)) if (alive(pid)) process.kill(pid, "SIGKILL");
  await server.close();
  await rm(folder, { recursive: true });
});

function start(): ChildProcess {
  const child = spawn(process.execPath, [PROGRAM, "--config", join(folder, "supervisor.yaml")], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, TOKEN: "t" },
  });
  children.push(child);
  return child;
}

const storage = (name: string) => join(folder, "storage", name);
const state = async () => parse(await readFile(storage("persistent_state.yaml"), "utf8")) as Record<string, unknown>;
const healthy = (message: AgentToServer) => message.health?.healthy === true;
const status = (value: number) => (message: AgentToServer) => message.remoteConfigStatus?.status === value;

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}

/** The collector that serves the health endpoint. */
async function collectorPid(): Promise<number> {
  const answer = (await (await fetch(`http://127.0.0.1:${collectorPort}/`)).json()) as { pid: number };
  return answer.pid;
}

describe("the stand-in supervisor", () => {
  it("reports the version and health of the collector that it started, and its description once", async () => {
    start();
    const first = await server.message(() => true);
    expect(first.sequenceNum).toBe(0n);
    expect(first.capabilities).toBe(0x2845n | 0x2n | 0x1000n | 0x400n);
    expect(first.health?.healthy).toBe(false);
    expect(Object.fromEntries(first.agentDescription?.identifyingAttributes ?? [])).toEqual({
      "service.instance.id": first.instanceUid,
      "service.name": "otelcol-contrib",
      "service.version": "0.161.0",
    });
    expect(first.agentDescription?.nonIdentifyingAttributes.get("demo.real")).toBe("true");
    const up = await server.message(healthy);
    expect(up.health).toMatchObject({ status: "StatusOK", lastError: "" });
    expect([...(up.health?.componentHealthMap.keys() ?? [])]).toEqual(["extensions", "pipeline:traces"]);
    expect((await state())["instance_id"]).toBe(first.instanceUid);
    expect((await fetch(`http://127.0.0.1:${healthPort}/health`)).status).toBe(200);
  });

  it("stops collector and connection cleanly on SIGINT", async () => {
    const child = start();
    await server.message(healthy);
    const pid = await collectorPid();
    child.kill("SIGINT");
    expect(await once(child, "exit")).toEqual([0, null]);
    expect(alive(pid)).toBe(false);
    await server.until(() => server.closes.length > 0);
    expect(server.closes).toEqual([1000]);
    expect(server.messages.at(-1)?.agentDisconnect).toBe(true);
    expect(server.messages.some((message) => message.health?.lastError === "Supervisor is shutdown")).toBe(true);
  });

  it("dies alone on SIGTERM: the collector lives on and keeps the next one from starting", async () => {
    const child = start();
    await server.message(healthy);
    const pid = await collectorPid();
    orphans.push(pid);
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([null, "SIGTERM"]);
    await server.until(() => server.closes.length > 0);
    expect(server.closes).toEqual([1006]);
    expect(server.messages.at(-1)?.agentDisconnect).toBeUndefined();
    expect(alive(pid)).toBe(true);

    const since = server.messages.length;
    start();
    const crashed = await server.message(
      (message) => message.health?.lastError.includes("exit code 1") === true,
      since,
    );
    expect(crashed.health?.healthy).toBe(false);
    expect(server.messages.slice(since).some(healthy)).toBe(false);
    expect(await collectorPid()).toBe(pid);
    expect(await readFile(storage("agent.log"), "utf8")).toContain("EADDRINUSE");
  });

  it("says APPLYING at once and APPLIED after the apply timeout, and keeps that over a restart", async () => {
    const child = start();
    await server.message(healthy);
    const before = await collectorPid();
    server.offer(stringify({ exporters: { debug: { verbosity: "detailed" } } }), "hash-1");
    const began = performance.now();
    await server.message(status(applying));
    const done = await server.message(status(applied));
    expect(performance.now() - began).toBeGreaterThan(1_000);
    expect(Buffer.from(done.remoteConfigStatus?.lastRemoteConfigHash ?? []).toString()).toBe("hash-1");
    expect(await collectorPid()).not.toBe(before);
    await server.message((message) =>
      Buffer.from(message.effectiveConfig?.configMap.get("")?.body ?? []).includes("detailed"),
    );
    expect(parse(await readFile(storage("effective.yaml"), "utf8"))).toEqual(
      collectorConfig({ exporters: { debug: { verbosity: "detailed" } } }),
    );

    const since = server.messages.length;
    server.offer(stringify({ exporters: { debug: { verbosity: "detailed" } } }), "hash-2");
    await server.message(status(applied), since);
    expect(server.messages.slice(since).some(status(applying))).toBe(false);

    child.kill("SIGINT");
    await once(child, "exit");
    const restarted = server.messages.length;
    start();
    const first = await server.message(() => true, restarted);
    expect(first).toMatchObject({ sequenceNum: 0n, remoteConfigStatus: { status: applied } });
    await server.message(healthy, restarted);
    expect(await readFile(storage("effective.yaml"), "utf8")).toContain("detailed");
  });

  it("says FAILED at once when the collector exits, without a way back", async () => {
    start();
    await server.message(healthy);
    server.offer(stringify({ service: { pipelines: { traces: { exporters: ["absent"] } } } }), "bad");
    const refused = await server.message(status(failed));
    expect(refused.remoteConfigStatus?.errorMessage).toBe("Agent exited unexpectedly with exit code 1");
    expect(await readFile(storage("effective.yaml"), "utf8")).toContain("absent");
    await expect(fetch(`http://127.0.0.1:${collectorPort}/`)).rejects.toThrow();
  });

  it("saves before it checks: text that is no YAML leaves the old collector running and breaks the next start", async () => {
    const child = start();
    await server.message(healthy);
    const pid = await collectorPid();
    server.offer("a: 1\na: 2\n", "broken");
    const refused = await server.message(status(failed));
    expect(refused.remoteConfigStatus?.errorMessage).toMatch(/unique/i);
    expect(await collectorPid()).toBe(pid);
    child.kill("SIGINT");
    await once(child, "exit");
    for (let time = 0; time < 2; time += 1) {
      const again = start();
      let said = "";
      again.stderr?.on("data", (chunk) => (said += String(chunk)));
      expect(await once(again, "exit")).toEqual([1, null]);
      expect(said).toContain("failed loading initial config");
    }
    await rm(storage("last_recv_remote_config.dat"));
    const since = server.messages.length;
    start();
    await server.message(healthy, since);
  });

  it("stops the collector for an empty configuration and calls that applied and healthy", async () => {
    start();
    await server.message(healthy);
    const pid = await collectorPid();
    const since = server.messages.length;
    server.offer(undefined, "empty");
    await server.message(status(applied), since);
    await server.message(healthy, since);
    expect(alive(pid)).toBe(false);
  });

  it("describes the collector only at its own start: a swap needs a restart of the service", async () => {
    const child = start();
    await server.message(healthy);
    const pid = await collectorPid();
    await writeDemoBinary(join(folder, "versions", "0.162.0", "otelcol-contrib"), "0.162.0");
    await rm(join(folder, "current"));
    await symlink("versions/0.162.0", join(folder, "current"));
    const since = server.messages.length;
    server.send({ command: { type: 0 } });
    await server.message(healthy, since);
    expect(await collectorPid()).not.toBe(pid);
    server.send({ flags: 1n });
    const described = await server.message((message) => message.agentDescription !== undefined, since);
    expect(described.agentDescription?.identifyingAttributes.get("service.version")).toBe("0.161.0");
    child.kill("SIGINT");
    await once(child, "exit");
    const restarted = server.messages.length;
    start();
    const first = await server.message(() => true, restarted);
    expect(first.agentDescription?.identifyingAttributes.get("service.version")).toBe("0.162.0");
  });

  it("keeps a new instance id, on the same connection and in its state", async () => {
    start();
    await server.message(healthy);
    const uid = "0190a1b2-c3d4-7e8f-9a0b-1c2d3e4f5061";
    const since = server.messages.length;
    server.send({ agentIdentification: { newInstanceUid: uid } });
    await server.message((message) => message.instanceUid === uid && healthy(message), since);
    // The file is written in place, as the real one writes it: a reader may meet it empty, or a moment too early.
    await vi.waitFor(async () => expect((await state())["instance_id"]).toBe(uid), { timeout: 10_000 });
    expect(server.closes).toEqual([]);
  });

  it("ends with a reason when the executable does not run", async () => {
    await writeFile(join(folder, "versions", "0.161.0", "otelcol-contrib"), "#!/bin/sh\nexit 3\n", { mode: 0o755 });
    const child = start();
    expect(await once(child, "exit")).toEqual([1, null]);
    expect(server.messages).toEqual([]);
  });
});
