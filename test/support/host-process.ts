/** Starts `embedded-host.ts` and reads what it says. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { findProcesses, type ProcessInfo } from "../../src/embedded/processes.ts";

export type HostReady = { databaseUrl: string; temporalAddress: string; temporalUiUrl: string; url?: string };
export type Host = {
  child: ChildProcess;
  said(): string;
  ready: Promise<HostReady>;
  ended: Promise<[number | null, NodeJS.Signals | null]>;
};

const HOST = fileURLToPath(new URL("./embedded-host.ts", import.meta.url));
export const PROGRAM = fileURLToPath(new URL("./embedded-program.ts", import.meta.url));

type Options = { env?: NodeJS.ProcessEnv; uid?: number; gid?: number };

/** The host in a process group of its own, as a shell would start it. */
export function startHost(args: string[], { env = {}, ...account }: Options = {}): Host {
  const inherited = { ...process.env };
  delete inherited["DATABASE_URL"];
  delete inherited["TEMPORAL_ADDRESS"];
  const child = spawn(process.execPath, [HOST, ...args], {
    env: { ...inherited, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
    cwd: "/",
    ...account,
  });
  let said = "";
  const ready = new Promise<HostReady>((resolve, reject) => {
    const read = (part: Buffer): void => {
      said += part.toString();
      const line = said.split("\n").find((text) => text.startsWith('{"ready":true'));
      if (line !== undefined && said.includes(`${line}\n`)) resolve(JSON.parse(line) as HostReady);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.once("close", (code, signal) => reject(new Error(`the host ended (${signal ?? code}): ${said}`)));
  });
  ready.catch(() => undefined); // tests of starts that must fail look at `ended` instead
  return { child, said: () => said, ready, ended: once(child, "close") as Host["ended"] };
}

/** Every process that has the folder on its command line: host, servers, programs (guards name only process ids). */
export const processesOf = (dataDir: string): ProcessInfo[] =>
  findProcesses((args) => args.some((argument) => argument.includes(dataDir)));

export const guardsOf = (pids: number[]): ProcessInfo[] =>
  findProcesses((args) => args.includes("myriarch-guard") && pids.some((pid) => args.includes(String(pid))));
