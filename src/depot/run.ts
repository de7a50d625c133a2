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
import { createPace, type Sleep } from "./pace.ts";
import type { ScrubOptions } from "./scrub.ts";
import { buildControlServer, buildReadServer } from "./server.ts";

export type RunningDepot = {
  controlUrl: string;
  readUrl: string;
  /** Takes nothing new, ends what runs, closes the listeners. */
  close(): Promise<void>;
};
type Log = (message: string, fields: object) => void;
type Listener = DepotSettings["control"];

/** Resolves when both listeners answer. */
export async function runDepot(settings: DepotSettings, log: Log): Promise<RunningDepot> {
  const [controlToken, readToken] = await Promise.all([tokenOf(settings.control), tokenOf(settings.read)]);
  const reader = createDepotReader({ token: readToken });
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
    scrub: scrubOptions(settings.scrub),
  });
  await node.start();
  const control = buildControlServer(node, { token: controlToken, tls: await readTls(settings.control), log });
  const read = buildReadServer(node, { token: readToken, tls: await readTls(settings.read), log });
  const controlUrl = await listenOn(control, settings.control);
  const readUrl = await listenOn(read, settings.read);
  return {
    controlUrl,
    readUrl,
    close: async () => {
      await node.close();
      await Promise.all([control.close(), read.close()]);
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

function scrubOptions({ lightEvery: light, deepEvery: deep, bytesPerSecond }: DepotSettings["scrub"]): ScrubOptions {
  const sleep: Sleep = (ms, signal) => setTimeout(ms, undefined, { signal, ref: false });
  const pace = createPace(bytesPerSecond, () => performance.now(), sleep);
  return { every: { light, deep }, lookEveryMs: LOOK_EVERY_MS, nowMs: Date.now, sleep, pace };
}

async function listenOn(app: FastifyInstance, { listen, tls }: Listener): Promise<string> {
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
