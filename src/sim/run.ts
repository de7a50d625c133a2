/** The simulated fleet: pairs of collector and updater over real OpAMP connections, in one process. */
import { setTimeout as wait } from "node:timers/promises";
import { BRAND, CONTRACT_DEFAULTS } from "../domain/brand.ts";
import { defaultPrefixes } from "../domain/update/allowed-url.ts";
import type { AgentLog } from "../protocol/agent-client.ts";
import type { SimContext } from "./context.ts";
import { createDownload } from "./download.ts";
import { faultFor, type Fault } from "./fault.ts";
import { openMemory } from "./memory.ts";
import { SimCollector } from "./sim-collector.ts";
import { SimUpdater } from "./sim-updater.ts";

export type SimOptions = {
  /** ws:// or wss:// URL of the server; without a path the OpAMP path is meant. */
  server: string;
  token: string;
  /** PEM of the CA that signed the server's certificate. */
  ca?: Buffer;
  hosts: number;
  prefix: string;
  stepMs: number;
  faults: readonly Fault[];
  stateFile?: string;
  /** What a host runs that is simulated for the first time. */
  initialVersion: string;
  distribution: string;
  os: string;
  arch: string;
  attributes: Record<string, string>;
  heartbeatMs: number;
  failedRetryBackoffMs?: number;
  allowedUrlPrefixes?: readonly string[];
  connectPerSecond: number;
  downloadsAtOnce: number;
  log: AgentLog;
};
export type Simulation = {
  counts(): { hosts: number; connected: number };
  /** Resolves when every host that is to connect has done so once; rejects when `signal` is aborted first. */
  allConnected(signal: AbortSignal): Promise<void>;
  /** Says goodbye for all, writes the state. */
  stop(): Promise<void>;
};

type Host = { collector: SimCollector; updater: SimUpdater };
const WATCH_MS = 100;

/** Starts connecting the hosts, `connectPerSecond` of them a second. */
export async function startSimulation(options: SimOptions): Promise<Simulation> {
  const ending = new AbortController();
  const memory = await openMemory(options.stateFile, options.initialVersion);
  const download = createDownload(options.downloadsAtOnce, Math.random);
  const endpoint = endpointOf(options.server);
  const context: SimContext = {
    ...options,
    endpoint,
    headers: { Authorization: `Bearer ${options.token}` },
    tls: options.ca === undefined ? {} : { ca: options.ca },
    allowedUrlPrefixes: options.allowedUrlPrefixes ?? defaultPrefixes(endpoint),
    failedRetryBackoffMs: options.failedRetryBackoffMs ?? CONTRACT_DEFAULTS.failedRetryBackoffMs,
    memory,
    download,
    signal: ending.signal,
  };
  const hosts: Host[] = Array.from({ length: options.hosts }, (_, i) => {
    const host = memory.host(`${options.prefix}-${String(i + 1).padStart(4, "0")}`);
    const collector = new SimCollector(host, context);
    return { collector, updater: new SimUpdater(host, context, collector), name: host.name };
  }).filter(({ name }) => faultFor(options.faults, name)?.kind !== "offline");
  memory.changed();
  const starting = startAll(hosts, options.connectPerSecond, ending.signal);
  const connected = (): number => hosts.filter((host) => host.collector.connected && host.updater.connected).length;
  return {
    counts: () => ({ hosts: options.hosts, connected: connected() }),
    async allConnected(signal) {
      await starting;
      while (connected() < hosts.length) await wait(WATCH_MS, undefined, { signal });
    },
    async stop() {
      ending.abort();
      await starting;
      await Promise.all(hosts.flatMap(({ collector, updater }) => [collector.stop(), updater.stop()]));
      await download.close();
      await memory.save();
    },
  };
}

/** Spread in time, like hosts that are switched on; ends early when the simulator ends. */
async function startAll(hosts: readonly Host[], perSecond: number, signal: AbortSignal): Promise<void> {
  for (const { collector, updater } of hosts) {
    if (signal.aborted) return;
    collector.start();
    updater.start();
    await wait(1_000 / perSecond, undefined, { signal }).catch(() => undefined);
  }
}

function endpointOf(server: string): string {
  const url = new URL(server);
  if (url.pathname === "/") url.pathname = BRAND.opampPath;
  return url.href;
}
