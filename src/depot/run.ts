/** A depot as a program: disks, node and both listeners from its settings. */
import { readFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import type { NodeStatus } from "../domain/depot/node-status.ts";
import { failure } from "../domain/errors.ts";
import { createDepotClient, createDepotReader } from "./client.ts";
import type { DepotSettings } from "./config.ts";
import { nodeFs } from "./files.ts";
import { createDepotNode } from "./node.ts";
import { buildMetricsServer } from "./metrics.ts";
import { createMeter } from "./meter.ts";
import { createBandwidth, UNLIMITED, type Bandwidth, type Sleep } from "./pace.ts";
import { buildReadServer } from "./read-server.ts";
import type { ScrubOptions } from "./scrub.ts";
import { buildControlServer } from "./server.ts";

export type RunningDepot = {
  controlUrl: string;
  readUrl: string;
  /** Of the listener for metrics alone, where there is one. */
  metricsUrl: string | undefined;
  /** Takes nothing new, ends what runs, closes the listeners. */
  close(): Promise<void>;
};
type Log = (message: string, fields: object) => void;
type Listener = DepotSettings["control"];

/** Resolves when both listeners answer. */
export async function runDepot(settings: DepotSettings, log: Log): Promise<RunningDepot> {
  const [controlToken, readToken] = await Promise.all([tokenOf(settings.control), tokenOf(settings.read)]);
  const reader = createDepotReader({ token: readToken });
  const { idleTimeout: idleTimeoutMs } = settings;
  const scrubbing = bandwidthOf(settings.scrub.bytesPerSecond);
  const node = createDepotNode({
    disks: settings.disks,
    fs: nodeFs,
    readFrom: (origin) => (sha256, offset, signal) => reader.read(origin, sha256, offset, signal),
    log,
    monotonicMs: () => performance.now(),
    trashGraceMs: settings.trashGrace,
    reconcileEveryMs: settings.reconcileInterval,
    diskTimeoutMs: settings.diskTimeout,
    slots: settings.slots,
    queue: settings.slots,
    intake: bandwidthOf(settings.bandwidth.in),
    // a scrub gives way to what is being sent and taken
    meter: createMeter((bytes) => scrubbing.charge(bytes)),
    scrub: scrubOptions(settings.scrub, scrubbing),
  });
  await node.start();
  const common = { idleTimeoutMs, log };
  const control = buildControlServer(node, { token: controlToken, tls: await readTls(settings.control), ...common });
  const read = buildReadServer(node, {
    token: readToken,
    tls: await readTls(settings.read),
    slots: settings.readSlots,
    outlet: bandwidthOf(settings.bandwidth.out),
    ...common,
  });
  const metrics = buildMetricsServer(node, { log });
  const controlUrl = await listenOn(control, settings.control);
  const readUrl = await listenOn(read, settings.read);
  const metricsUrl = settings.metrics && (await listenOn(metrics, settings.metrics));
  return {
    controlUrl,
    readUrl,
    metricsUrl,
    close: async () => {
      await node.close();
      await Promise.all([control.close(), read.close(), metrics.close()]);
      await reader.close();
    },
  };
}

/** Asks the node that runs with these settings on this machine. Fails with `depot_unreachable` when there is none. */
export async function askStatus({ control, read }: DepotSettings): Promise<NodeStatus> {
  const tokens = { control: await tokenOf(control), read: await tokenOf(read) };
  const client = createDepotClient({ controlUrl: addressOf(control), readUrl: addressOf(read) }, { tokens });
  try {
    return await client.status();
  } finally {
    await client.close();
  }
}

/** Where the listener is reached from its own machine. */
function addressOf({ listen: { host, port }, tls }: Listener): string {
  const reached = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `${tls ? "https" : "http"}://${reached.includes(":") ? `[${reached}]` : reached}:${port}`;
}

const LOOK_EVERY_MS = 60_000;

const sleep: Sleep = (ms, signal) => setTimeout(ms, undefined, { signal, ref: false });

const bandwidthOf = (bytesPerSecond: number | undefined): Bandwidth =>
  bytesPerSecond === undefined ? UNLIMITED : createBandwidth(bytesPerSecond, () => performance.now(), sleep);

function scrubOptions({ lightEvery, deepEvery }: DepotSettings["scrub"], { take: pace }: Bandwidth): ScrubOptions {
  const every = { light: lightEvery, deep: deepEvery };
  return { every, lookEveryMs: LOOK_EVERY_MS, nowMs: Date.now, sleep, pace };
}

async function listenOn(app: FastifyInstance, { listen, tls }: Pick<Listener, "listen" | "tls">): Promise<string> {
  await app.listen({ host: listen.host, port: listen.port });
  const address = app.server.address();
  if (address === null || typeof address === "string") throw new Error("the listener has no port");
  const host = listen.host.includes(":") ? `[${listen.host}]` : listen.host;
  return `${tls ? "https" : "http"}://${host}:${address.port}`;
}

async function tokenOf({ tokenFile }: Listener): Promise<string> {
  const token = (await readSecretFile(tokenFile)).toString("utf8").trim();
  if (token.length < 16)
    throw failure("config_invalid", { issues: `${tokenFile}: a token has at least 16 characters` });
  return token;
}

async function readTls({ tls }: Listener): Promise<{ cert: Buffer; key: Buffer } | undefined> {
  if (tls === undefined) return undefined;
  return { cert: await readSecretFile(tls.certFile), key: await readSecretFile(tls.keyFile) };
}

async function readSecretFile(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    throw failure("config_invalid", { issues: `${path} cannot be read` }, error);
  }
}
