/** The command line of myriarch-sim. */
import { Command, InvalidArgumentError } from "commander";
import { CONTRACT_DEFAULTS } from "../domain/brand.ts";
import { FAULT_KINDS, parseFault, type Fault } from "./fault.ts";
import { MAX_HOSTS, type Scenario } from "./scenario.ts";
import type { Spread } from "./spread.ts";

export type Flags = {
  [key in "server" | "tokenFile" | "prefix" | "initialVersion" | "distribution" | "os" | "arch" | "logLevel"]: string;
} & { [key in "hosts" | "stepMs" | "heartbeatMs" | "connectPerSecond" | "downloads"]: number } & {
  scenario?: string;
  report?: string;
  seed?: number;
  seconds?: number;
  state?: string;
  caFile?: string;
  allowUrl?: string[];
  localAddress?: string[];
  backoffMs?: number;
  tableSeconds?: number;
  fault: Fault[];
  attribute: Record<string, string>;
};

const count = (text: string): number => {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("want a whole number");
  return Number(text);
};
const positive = (text: string): number => {
  if (count(text) === 0) throw new InvalidArgumentError("want at least 1");
  return count(text);
};
const hostCount = (text: string): number => {
  const hosts = count(text);
  if (hosts < 1 || hosts > MAX_HOSTS) throw new InvalidArgumentError(`want 1 to ${MAX_HOSTS}`);
  return hosts;
};
const fault = (text: string, before: Fault[]): Fault[] => {
  try {
    return [...before, parseFault(text)];
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
};
const attribute = (text: string, before: Record<string, string>): Record<string, string> => {
  const [, key, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (key === undefined) throw new InvalidArgumentError("want key=value");
  return { ...before, [key]: value ?? "" };
};

/** What a scenario says itself. */
const SAID_BY_SCENARIO = [
  "prefix",
  "stepMs",
  "fault",
  "attribute",
  "initialVersion",
  "distribution",
  "os",
  "arch",
  "heartbeatMs",
  "downloads",
  "backoffMs",
] as const satisfies (keyof Flags)[];

export const createSimCommand = (act: {
  run: (flags: Flags, given: ReadonlySet<string>) => Promise<void>;
  check: (file: string) => Promise<void>;
}): Command => {
  const command = new Command("myriarch-sim")
    .description("Simulates hosts (a collector and an updater each) over real OpAMP connections, with scripted faults.")
    .option("--server <url>", "ws:// or wss:// URL of myriarchd (required)")
    .option("--token-file <file>", "file with an enrollment token (required)")
    .option("--scenario <file>", "YAML file that says which hosts there are and what happens; see docs/simulator.md")
    .option("--report <file>", "writes the simulator's own account of all hosts as JSON at the end")
    .option("--seed <n>", "the same seed, the same decisions (default: the scenario's, else a random one)", count)
    .option("--hosts <n>", "how many hosts (of a scenario: what its shares are of)", hostCount, 60)
    .option("--prefix <text>", "host names are <prefix>-0001 and so on", "sim")
    .option("--state <file>", "keeps names and versions over restarts")
    .option("--seconds <n>", "end after this time", count)
    .option("--step-ms <n>", "how long each simulated step takes", count, 200)
    .option("--fault <pattern:kind>", "scripted fault, repeatable; see below", fault, [])
    .option("--attribute <key=value>", "reported by every collector, repeatable", attribute, {})
    .option("--initial-version <version>", "what a new host runs", "0.160.0")
    .option("--distribution <name>", "service.name of the collectors", "otelcol-contrib")
    .option("--os <name>", "os.type", "linux")
    .option("--arch <name>", "host.arch", "amd64")
    .option("--heartbeat-ms <n>", "longest silence", count, 30_000)
    .option("--connect-per-second <n>", "hosts started per second", positive, 200)
    .option("--downloads <n>", "downloads at once", positive, 16)
    .option("--allow-url <prefix...>", "where updaters may download from (default: artifact path on the server's host)")
    .option("--local-address <ip...>", "connect from these addresses of this machine, in turn")
    .option("--backoff-ms <n>", "how long a failed archive is not tried again", count)
    .option("--ca-file <file>", "CA of the server, PEM")
    .option(
      "--table-seconds <n>",
      "how often the state is printed on stderr; 0: never (default: 1 on a terminal, 10 with a scenario, else never)",
      count,
    )
    .option("--log-level <level>", "pino level, on stderr", "warn")
    .addHelpText("after", `\nFaults, <host pattern>:<kind>[@<step>][=<version>]:\n${faultHelp()}`)
    .action(async (flags: Flags) => {
      // Not by `requiredOption`, which would ask subcommands for it too.
      if (flags.server === undefined) command.error("error: required option '--server <url>' not specified");
      if (flags.tokenFile === undefined) command.error("error: required option '--token-file <file>' not specified");
      const given = new Set(Object.keys(flags).filter((key) => command.getOptionValueSource(key) === "cli"));
      const twice = SAID_BY_SCENARIO.find((key) => given.has(key));
      if (flags.scenario !== undefined && twice !== undefined)
        command.error(`error: the scenario says ${twice} itself`);
      await act.run(flags, given);
    });
  command
    .command("check <file>")
    .description("check a scenario and say which hosts it has; exit 0 valid, 1 invalid, 2 unreadable")
    .action((file: string) => act.check(file));
  return command;
};

function faultHelp(): string {
  return Object.entries(FAULT_KINDS)
    .map(([kind, does]) => `  ${kind.padEnd(18)} ${does}`)
    .join("\n");
}

type FlagScenario = Pick<
  Flags,
  "hosts" | "prefix" | "stepMs" | "initialVersion" | "distribution" | "os" | "arch" | "heartbeatMs" | "connectPerSecond"
> & {
  seed: number;
  downloadsAtOnce: number;
  faults: readonly Fault[];
  attributes: Record<string, string>;
  failedRetryBackoffMs?: number;
};
const fixed = (ms: number): Spread => ({ kind: "fixed", ms });

/** The scenario of a command line without one: a single group. */
export const scenarioOfFlags = (it: FlagScenario): Scenario => ({
  seed: it.seed,
  hosts: undefined,
  connectPerSecond: it.connectPerSecond,
  heartbeatMs: it.heartbeatMs,
  failedRetryBackoffMs: it.failedRetryBackoffMs ?? CONTRACT_DEFAULTS.failedRetryBackoffMs,
  downloadsAtOnce: it.downloadsAtOnce,
  endMs: undefined,
  events: [],
  groups: [
    {
      name: it.prefix,
      hosts: it.hosts,
      transport: "websocket",
      distribution: it.distribution,
      os: it.os,
      arch: it.arch,
      version: it.initialVersion,
      versions: {},
      attributes: it.attributes,
      components: undefined,
      timing: { latency: fixed(0), step: fixed(it.stepMs), steps: {}, start: undefined, apply: fixed(0) },
      download: "real",
      faults: it.faults,
    },
  ],
});
