/** A depot as a program: disks, node and both listeners from its settings. */
import { readFile } from "node:fs/promises";
import type { FastifyInstance } from "fastify";
import { failure } from "../domain/errors.ts";
import { createDepotReader } from "./client.ts";
import type { DepotSettings } from "./config.ts";
import { nodeFs } from "./files.ts";
import { createDepotNode } from "./node.ts";
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
