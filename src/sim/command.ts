/** The command line of myriarch-sim. */
import { Command, InvalidArgumentError } from "commander";
import { FAULT_KINDS, parseFault, type Fault } from "./fault.ts";

export type Flags = {
  [key in "server" | "tokenFile" | "prefix" | "initialVersion" | "distribution" | "os" | "arch" | "logLevel"]: string;
} & { [key in "hosts" | "stepMs" | "heartbeatMs" | "connectPerSecond" | "downloads"]: number } & {
  seconds?: number;
  state?: string;
  caFile?: string;
  allowUrl?: string[];
  backoffMs?: number;
  fault: Fault[];
  attribute: Record<string, string>;
};

const count = (text: string): number => {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("want a whole number");
  return Number(text);
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

export const simCommand = new Command("myriarch-sim")
  .description("Simulates hosts (a collector and an updater each) over real OpAMP connections, with scripted faults.")
  .requiredOption("--server <url>", "ws:// or wss:// URL of myriarchd")
  .requiredOption("--token-file <file>", "file with an enrollment token")
  .option("--hosts <n>", "how many hosts", count, 60)
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
  .option("--connect-per-second <n>", "hosts started per second", count, 200)
  .option("--downloads <n>", "downloads at once", count, 16)
  .option("--allow-url <prefix...>", "where updaters may download from (default: artifact path on the server's host)")
  .option("--backoff-ms <n>", "how long a failed archive is not tried again", count)
  .option("--ca-file <file>", "CA of the server, PEM")
  .option("--log-level <level>", "pino level, on stderr", "warn")
  .addHelpText("after", `\nFaults, <host pattern>:<kind>[@<step>][=<version>]:\n${faultHelp()}`);

function faultHelp(): string {
  return Object.entries(FAULT_KINDS)
    .map(([kind, does]) => `  ${kind.padEnd(16)} ${does}`)
    .join("\n");
}
