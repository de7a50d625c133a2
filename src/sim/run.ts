/** The simulated fleet: pairs of collector and updater over real OpAMP connections, in one process. */
import { setImmediate as nextTurn, setTimeout as wait } from "node:timers/promises";
import { Agent } from "undici";
import { BRAND } from "../domain/brand.ts";
import { defaultPrefixes } from "../domain/update/allowed-url.ts";
import type { AgentLog } from "../protocol/agent-client.ts";
import { DEFAULT_MAX_MESSAGE_BYTES } from "../protocol/codec.ts";
import { accountOf, type HostAccount } from "./account.ts";
import { neverConnects } from "./behaviour.ts";
import { localAddresses } from "./connect.ts";
import type { SimContext } from "./context.ts";
import { createDownload } from "./download.ts";
import { hitBy, occurrencesOf, type Occurrence } from "./events.ts";
import { openMemory, type HostMemory } from "./memory.ts";
import { judgeOpenFiles } from "./open-files.ts";
import { planHosts, type HostProfile } from "./plan.ts";
import type { Scenario } from "./scenario.ts";
import { SimCollector } from "./sim-collector.ts";
import { SimUpdater } from "./sim-updater.ts";

export type SimOptions = {
  /** ws:// or wss:// URL of the server; without a path the OpAMP path is meant. */
  server: string;
  token: string;
  /** Of groups that have their own, by name. */
  groupTokens?: ReadonlyMap<string, string>;
  /** PEM of the CA that signed the server's certificate. */
  ca?: Buffer;
  stateFile?: string;
  scenario: Scenario;
  allowedUrlPrefixes?: readonly string[];
  /** Of this machine: hosts are spread over them. */
  localAddresses?: readonly string[];
  /** Of this process; default: no limit. Hosts that would need more are an error, before the first one connects. */
  maxOpenFiles?: number;
  log: AgentLog;
};
export type Simulation = {
  counts(): { hosts: number; connected: number };
  /** Resolves when every host that is to connect has done so once; rejects when `signal` is aborted first. */
  allConnected(signal: AbortSignal): Promise<void>;
  /** The scenario's events, from now on. Resolves after the last one; rejects when the simulation ends first. */
  runEvents(): Promise<void>;
  account(): HostAccount[];
  /** Step by host name, of those that are at one. */
  steps(): Map<string, string>;
  /** Messages since the start. */
  traffic(): { sent: number; received: number };
  /** Says goodbye for all, writes the state. */
  stop(): Promise<void>;
};

type Host = { profile: HostProfile; memory: HostMemory; collector: SimCollector; updater: SimUpdater };
const WATCH_MS = 100;

/** Starts connecting the hosts, as many of them a second as the scenario says. */
export async function startSimulation(options: SimOptions): Promise<Simulation> {
  const { scenario } = options;
  const profiles = planHosts(scenario);
  const connecting = profiles.filter((profile) => !neverConnects(profile));
  const limit = options.maxOpenFiles ?? Number.POSITIVE_INFINITY;
  const tooFew = judgeOpenFiles(connecting, scenario.downloadsAtOnce, limit);
  if (tooFew !== undefined) throw new Error(tooFew);
  const ending = new AbortController();
  const memory = await openMemory(options.stateFile);
  const download = createDownload(scenario.downloadsAtOnce, Math.random);
  const http = new Agent({
    maxResponseSize: DEFAULT_MAX_MESSAGE_BYTES,
    ...(options.ca !== undefined && { connect: { ca: options.ca } }),
  });
  const context = contextOf(options, { memory, download, http, signal: ending.signal });
  const hosts = profiles.map((profile): Host => {
    const known = memory.host(profile);
    const collector = new SimCollector(profile, known, context);
    return { profile, memory: known, collector, updater: new SimUpdater(profile, known, context, collector) };
  });
  const present = hosts.filter(({ profile }) => !neverConnects(profile));
  memory.changed();
  let isStarted = false;
  const starting = startAll(present, scenario.connectPerSecond, ending.signal).then(() => (isStarted = true));
  const connected = (): number =>
    present.filter(({ collector, updater }) => collector.connected && updater.connected).length;
  return {
    counts: () => ({ hosts: hosts.length, connected: connected() }),
    async allConnected(signal) {
      // Many hosts take minutes to start: the end may come before.
      while (!isStarted || connected() < present.length) await wait(WATCH_MS, undefined, { signal });
    },
    runEvents: () => runEvents(scenario, present, ending.signal, options.log),
    account: () => hosts.map(accountOfHost),
    steps: () =>
      new Map(hosts.flatMap(({ profile, updater: { step } }) => (step === undefined ? [] : [[profile.name, step]]))),
    traffic: () => ({ ...context.traffic }),
    async stop() {
      ending.abort();
      await starting;
      await Promise.all(present.flatMap(({ collector, updater }) => [collector.stop(), updater.stop()]));
      await Promise.all([download.close(), http.close()]);
      await memory.save();
    },
  };
}

function contextOf(
  options: SimOptions,
  opened: Pick<SimContext, "memory" | "download" | "http" | "signal">,
): SimContext {
  const { scenario, token, groupTokens, ca, log } = options;
  const endpoint = endpointOf(options.server);
  return {
    ...opened,
    endpoint,
    headersOf: (group) => ({ Authorization: `Bearer ${groupTokens?.get(group) ?? token}` }),
    localAddressOf: localAddresses(endpoint, options.localAddresses ?? [], process.platform),
    tls: ca === undefined ? {} : { ca },
    allowedUrlPrefixes: options.allowedUrlPrefixes ?? defaultPrefixes(endpoint),
    heartbeatMs: scenario.heartbeatMs,
    failedRetryBackoffMs: scenario.failedRetryBackoffMs,
    traffic: { sent: 0, received: 0 },
    log,
  };
}

const accountOfHost = ({ profile, memory, collector, updater }: Host): HostAccount =>
  accountOf(memory, {
    group: profile.group,
    collectorConnected: collector.connected,
    updaterConnected: updater.connected,
    healthy: collector.healthy,
  });

/** What was missed while the process was busy is caught up with only if it is less than this: else it would be a burst. */
const CATCH_UP_MS = 100;

/** Spread in time, like hosts that are switched on; ends early when the simulator ends. */
async function startAll(hosts: readonly Host[], perSecond: number, signal: AbortSignal): Promise<void> {
  let due = performance.now();
  for (const { collector, updater } of hosts) {
    const earlyMs = due - performance.now();
    // Those that are connected have a turn in any case.
    if (earlyMs > 0) await wait(earlyMs, undefined, { signal }).catch(() => undefined);
    else await nextTurn();
    if (signal.aborted) return;
    collector.start();
    updater.start();
    due = Math.max(due, performance.now() - CATCH_UP_MS) + 1_000 / perSecond;
  }
}

async function runEvents(
  scenario: Scenario,
  hosts: readonly Host[],
  signal: AbortSignal,
  log: AgentLog,
): Promise<void> {
  const startedAt = performance.now();
  for (const occurrence of occurrencesOf(scenario.events)) {
    const leftMs = occurrence.atMs - (performance.now() - startedAt);
    if (leftMs > 0) await wait(leftMs, undefined, { signal });
    happen(occurrence, scenario.seed, hosts, log);
  }
}

function happen(occurrence: Occurrence, seed: number, hosts: readonly Host[], log: AgentLog): void {
  const { event } = occurrence;
  const profiles = hosts.map(({ profile }) => profile);
  const hit = hitBy(occurrence, profiles, seed);
  for (const { profile, memory, collector, updater } of hosts) {
    if (!hit.has(profile.name)) continue;
    if (event.do !== "restart") {
      collector.cut(event.forMs);
      updater.cut(event.forMs);
    } else if (updater.step === undefined) {
      // While an update restarts the service anyway, nobody else does.
      collector
        .restartService(memory.version)
        .catch((error: unknown) => log.info({ error: String(error) }, "a simulated restart was cut off"));
    }
  }
  log.info({ event: event.do, hosts: hit.size }, "an event of the scenario");
}

function endpointOf(server: string): string {
  const url = new URL(server);
  if (url.pathname === "/") url.pathname = BRAND.opampPath;
  return url.href;
}
