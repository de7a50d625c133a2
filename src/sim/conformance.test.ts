/** What a simulated host says on the wire, against a server that answers what the test says: over both transports. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocketServer } from "ws";
import { UPDATER_CAPABILITIES } from "../domain/brand.ts";
import { decodeAgentToServer, encodeServerToAgent } from "../protocol/codec.ts";
import { PACKAGE_STATUS, REMOTE_CONFIG_STATUS } from "../protocol/messages.ts";
import type { AgentToServer, PackagesAvailable, ServerToAgent } from "../protocol/messages.ts";
import { startSimulation, type Simulation } from "./run.ts";
import { parseScenario } from "./scenario.ts";

const UID = "0190a1b2-c3d4-7e8f-9a0b-1c2d3e4f5062";
const FULL_STATE = { flags: 1n };
type Transport = "websocket" | "http";

let http: Server;
let sockets: WebSocketServer;
let endpoint: string;
let simulation: Simulation | undefined;
/** By who speaks. */
let heard: { collector: AgentToServer[]; updater: AgentToServer[] };
/** What the next messages of each are answered with. */
let answers: { collector: Partial<ServerToAgent>[]; updater: Partial<ServerToAgent>[] };
/** Statuses that the next polls are answered with. */
let refusals: number[];
let polls: string[];

function answer(frame: Buffer): Buffer {
  const message = decodeAgentToServer(frame);
  const who = message.capabilities === BigInt(UPDATER_CAPABILITIES) ? "updater" : "collector";
  heard[who].push(message);
  const more = answers[who].shift();
  return Buffer.from(
    encodeServerToAgent({ instanceUid: message.instanceUid, flags: 0n, capabilities: 0x1fn, ...more }),
  );
}

beforeEach(async () => {
  heard = { collector: [], updater: [] };
  answers = { collector: [], updater: [] };
  refusals = [];
  polls = [];
  http = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const packed = Buffer.concat(parts);
      const body = request.headers["content-encoding"] === "gzip" ? gunzipSync(packed) : packed;
      polls.push(body.toString("hex"));
      const status = refusals.shift();
      if (status !== undefined) return response.writeHead(status).end();
      return response.end(answer(Buffer.concat([Buffer.of(0), body])).subarray(1));
    });
  });
  sockets = new WebSocketServer({ server: http });
  sockets.on("connection", (socket) => {
    socket.on("message", (data) => socket.send(answer(data as Buffer)));
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  endpoint = `ws://127.0.0.1:${(http.address() as AddressInfo).port}`;
});
afterEach(async () => {
  await simulation?.stop();
  simulation = undefined;
  http.closeAllConnections();
  await new Promise((resolve) => http.close(resolve));
});

async function start(transport: Transport, more = ""): Promise<Simulation> {
  const read = parseScenario(
    `heartbeat: 100ms\ngroups: [{name: h, hosts: 1, transport: ${transport}, step: 1ms, download: hash, components: [receivers/otlp]${more}}]`,
    "s.yaml",
  );
  if (!read.ok) throw new Error(JSON.stringify(read.issues));
  const log = { info: () => undefined, warn: () => undefined };
  simulation = await startSimulation({ server: endpoint, token: "t", scenario: read.scenario, log });
  return simulation;
}
async function until<T>(what: string, probe: () => T | undefined | false): Promise<T> {
  const deadline = performance.now() + 10_000;
  for (;;) {
    const found = probe();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > deadline) throw new Error(`waited for: ${what}`);
    await pause(5);
  }
}
const isHeartbeat = (message: AgentToServer): boolean =>
  Object.keys(message).toSorted().join() === "capabilities,flags,instanceUid,sequenceNum";
const parts = (message: AgentToServer | undefined): string[] => Object.keys(message ?? {});

describe.each(["websocket", "http"] as const)("a collector over %s", (transport) => {
  it("begins at 0 with everything, counts on by one, and falls silent but for heartbeats", async () => {
    await start(transport);
    await until("heartbeats", () => heard.collector.filter(isHeartbeat).length > 2);
    expect(parts(heard.collector[0])).toEqual(
      expect.arrayContaining([
        "agentDescription",
        "health",
        "effectiveConfig",
        "remoteConfigStatus",
        "availableComponents",
      ]),
    );
    expect(heard.collector.map(({ sequenceNum }) => Number(sequenceNum))).toEqual(heard.collector.map((_, i) => i));
    expect(heard.collector.filter(({ agentDescription }) => agentDescription !== undefined)).toHaveLength(1);
  });

  it("tells everything again when it is asked", async () => {
    await start(transport);
    await until("heartbeats", () => heard.collector.some(isHeartbeat));
    const before = heard.collector.length;
    answers.collector.push(FULL_STATE);
    const full = await until("full state", () => heard.collector.slice(before).find((it) => it.agentDescription));
    expect(parts(full)).toEqual(expect.arrayContaining(["health", "effectiveConfig", "remoteConfigStatus"]));
  });

  it("takes a new name at once, and goes on counting under it", async () => {
    answers.collector.push({ agentIdentification: { newInstanceUid: UID } });
    const it = await start(transport);
    const renamed = await until("the new name", () => heard.collector.find(({ instanceUid }) => instanceUid === UID));
    expect(renamed.sequenceNum).toBe(BigInt(heard.collector.indexOf(renamed)));
    expect(renamed.agentDescription).toBeDefined();
    expect(it.account()[0]?.collector.uid).toBe(UID);
    // Its updater names the collector by its new name.
    const attribute = "dev.myriarch.collector.instance_uid";
    await until("the link", () =>
      heard.updater.some(({ agentDescription: its }) => its?.nonIdentifyingAttributes.get(attribute) === UID),
    );
  });

  it("goes on counting after its connection was cut, and repeats nothing", async () => {
    const it = await start(transport);
    await until("heartbeats", () => heard.collector.filter(isHeartbeat).length > 1);
    const before = heard.collector.length;
    const socket = Array.from(sockets.clients);
    for (const one of socket) one.terminate();
    http.closeAllConnections();
    await until("the updater back", () => sockets.clients.size > 0 && !socket.some((one) => sockets.clients.has(one)));
    await until("more heartbeats", () => heard.collector.length > before + 2);
    expect(heard.collector.slice(before).every(isHeartbeat)).toBe(true);
    const numbers = heard.collector.map(({ sequenceNum }) => Number(sequenceNum));
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    expect(it.counts().hosts).toBe(1);
  });

  it("tells the hash of its components first, and all of them when it is asked", async () => {
    await start(transport);
    await until("heartbeats", () => heard.collector.some(isHeartbeat));
    expect(heard.collector[0]?.availableComponents?.components.size).toBe(0);
    answers.collector.push({ flags: 2n });
    const told = await until("components", () =>
      heard.collector.find((it) => (it.availableComponents?.components.size ?? 0) > 0),
    );
    expect(told.availableComponents?.hash).toEqual(heard.collector[0]?.availableComponents?.hash);
    expect(Array.from(told.availableComponents?.components.get("receivers")?.subComponentMap.keys() ?? [])).toEqual([
      "otlp",
    ]);
  });

  it("goes through APPLYING to APPLIED; the same bytes under a new hash need no restart; what it cannot read FAILED", async () => {
    await start(transport);
    const { applied, applying, failed } = REMOTE_CONFIG_STATUS;
    const statuses = () =>
      heard.collector.flatMap(({ remoteConfigStatus: its }) =>
        its ? [[Buffer.from(its.lastRemoteConfigHash).toString("hex"), its.status]] : [],
      );
    const offer = (hash: number, body: string) =>
      answers.collector.push({
        remoteConfig: {
          config: new Map([["", { body: Buffer.from(body), contentType: "text/yaml" }]]),
          configHash: Buffer.of(hash),
        },
      });
    await until("heartbeats", () => heard.collector.some(isHeartbeat));
    offer(1, "service: {pipelines: {logs: {}}}");
    await until("APPLIED", () => statuses().some(([hash, status]) => hash === "01" && status === applied));
    offer(2, "service: {pipelines: {logs: {}}}");
    await until("APPLIED again", () => statuses().some(([hash, status]) => hash === "02" && status === applied));
    expect(statuses()).not.toContainEqual(["02", applying]);
    offer(3, "a: [");
    await until("FAILED", () => statuses().some(([hash, status]) => hash === "03" && status === failed));
    await until("its pipelines", () =>
      heard.collector.some(({ health }) => health?.componentHealthMap.has("pipeline:logs")),
    );
  });

  it("says goodbye", async () => {
    const it = await start(transport);
    await until("heartbeats", () => heard.collector.some(isHeartbeat));
    await it.stop();
    simulation = undefined;
    expect(heard.collector.at(-1)?.agentDisconnect).toBe(true);
    expect(heard.updater.at(-1)?.agentDisconnect).toBe(true);
  });
});

describe("a collector that polls", () => {
  it.each([429, 503])("repeats the same message after %d", async (status) => {
    refusals = [status, status];
    await start("http");
    await until("an answer", () => heard.collector.length > 0);
    expect(polls.slice(0, 3)).toEqual([polls[0], polls[0], polls[0]]);
    expect(heard.collector[0]?.sequenceNum).toBe(0n);
  });

  it("loses a message that is refused otherwise: the gap shows it", async () => {
    await start("http");
    await until("heartbeats", () => heard.collector.some(isHeartbeat));
    const last = Number(heard.collector.at(-1)?.sequenceNum);
    refusals = [500];
    await until("the gap", () =>
      heard.collector.some(({ sequenceNum }, i) => Number(sequenceNum) > last && i !== Number(sequenceNum)),
    );
  });

  it("asks as often as the server says", async () => {
    answers.collector.push({
      connectionSettings: { hash: Buffer.of(1), opamp: { destinationEndpoint: "", heartbeatIntervalSeconds: 3_600n } },
    });
    await start("http");
    await until("the start", () => heard.collector.length >= 2);
    const before = heard.collector.length;
    await until("heartbeats of the updater", () => heard.updater.filter(isHeartbeat).length > 5);
    expect(heard.collector.filter(isHeartbeat).length).toBeLessThanOrEqual(1);
    expect(heard.collector.length).toBeLessThanOrEqual(before + 2);
  });
});

describe("an updater", () => {
  const offer = (hash: number, content: number, version: string): Partial<ServerToAgent> => ({
    packagesAvailable: {
      allPackagesHash: Buffer.of(hash),
      packages: new Map([
        [
          "",
          {
            type: 0,
            version,
            hash: Buffer.of(hash),
            file: {
              downloadUrl: `${endpoint.replace("ws", "http")}/api/v1/artifacts/x/content/a.tar.gz`,
              contentHash: Buffer.alloc(32, content),
              signature: Buffer.from("{}"),
              headers: [],
            },
          },
        ],
      ]),
    } satisfies PackagesAvailable,
  });
  const statuses = () =>
    heard.updater.flatMap(({ packageStatuses: its }) => {
      const one = its?.packages.get("");
      return one === undefined
        ? []
        : [{ hash: Buffer.from(its?.serverProvidedAllPackagesHash ?? []).toString("hex"), ...one }];
    });
  const installed = (hash: string) =>
    statuses().filter((it) => it.hash === hash && it.status === PACKAGE_STATUS.installed).length;

  it("confirms a set that it has, without a new attempt", async () => {
    const it = await start("websocket");
    answers.updater.push(offer(1, 1, "v0.161.0"));
    await until("the update", () => installed("01") > 0);
    await until("silence", () => it.account()[0]?.attempts.succeeded === 1);
    const before = installed("01");
    answers.updater.push(offer(1, 1, "v0.161.0"));
    await until("the confirmation", () => installed("01") > before);
    expect(it.account()[0]).toMatchObject({ collector: { version: "0.161.0" }, attempts: { begun: 1 } });
  });

  it("does not try the same content again before its backoff is over, and fails with the class that was scripted", async () => {
    const it = await start("websocket", ", faults: [{kind: fail, step: installing, class: disk_full, times: 1}]");
    answers.updater.push(offer(1, 1, "v0.161.0"));
    await until("the failure", () => statuses().some(({ status }) => status === PACKAGE_STATUS.installFailed));
    expect(it.account()[0]?.updater.attempt?.error).toMatch(
      /^update to v0\.161\.0 failed: disk_full: .*; rolled back to v0\.160\.0$/,
    );
    answers.updater.push(offer(2, 1, "v0.161.0"));
    await until("the refusal", () => statuses().some(({ errorMessage }) => errorMessage.includes("not before")));
    answers.updater.push(offer(3, 3, "v0.162.0"));
    await until("the other archive", () => installed("03") > 0);
    expect(it.account()[0]?.attempts).toEqual({ begun: 2, succeeded: 1, failed: 0, rolledBack: 1 });
  });

  it("reports its install method and the server's endpoint", async () => {
    await start("http");
    const { agentDescription } = await until("the description", () => heard.updater[0]);
    expect(agentDescription?.nonIdentifyingAttributes.get("dev.myriarch.updater.install_method")).toBe("binary");
    expect(agentDescription?.nonIdentifyingAttributes.get("dev.myriarch.updater.server_endpoint")).toBe(endpoint);
  });
});
