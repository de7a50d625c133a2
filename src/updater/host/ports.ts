/**
 * Who listens on the ports that a collector needs. The supervisor's first start of a collector binds the default port of
 * its metrics, whatever the configuration says; who holds it keeps the supervisor from starting at all, with an error that
 * names something else.
 */
import { readdir, readFile, readlink } from "node:fs/promises";
import { basename } from "node:path";
import { listProcesses, type HostProcess } from "./processes.ts";

/** Of a collector's own metrics, where nobody configured another. */
export const METRICS_PORT = 8888;

export type PortHolder = { port: number; process: HostProcess };
/** Listeners that a collector on this machine's own address would meet; of processes that can be seen. */
export type FindHolders = () => Promise<PortHolder[]>;

/** By `/proc`; on other systems nobody is found, and the supervisor's own error has to do. */
export const findHolders: FindHolders = async () => {
  if (process.platform !== "linux") return [];
  const tables = await Promise.all(["tcp", "tcp6"].map(async (name) => await readTable(`/proc/net/${name}`)));
  const byInode = new Map(tables.flatMap(listenersOf).map(({ inode, port }) => [inode, port]));
  const held = await Promise.all((await listProcesses()).map(async (it) => await portsOf(it, byInode)));
  return held.flat();
};

const VISIBLE = ["ENOENT", "ESRCH", "EACCES", "EPERM"];

/** Empty where the machine has no such protocol. */
async function readTable(path: string): Promise<string> {
  return await readFile(path, "utf8").catch((error: unknown) => otherwise(error, ""));
}

async function portsOf(process: HostProcess, byInode: ReadonlyMap<string, number>): Promise<PortHolder[]> {
  const folder = `/proc/${process.pid}/fd`;
  const names = await readdir(folder).catch((error: unknown) => otherwise<string[]>(error, []));
  const targets = await Promise.all(
    names.map(async (name) => await readlink(`${folder}/${name}`).catch((error: unknown) => otherwise(error, ""))),
  );
  const ports = targets.flatMap((target) => byInode.get(/^socket:\[(\d+)\]$/.exec(target)?.[1] ?? "") ?? []);
  return [...new Set(ports)].map((port) => ({ port, process }));
}

/** A process that ended meanwhile, or that only another account may look at, holds nothing that we can tell. */
function otherwise<T>(error: unknown, value: T): T {
  if (VISIBLE.includes(String((error as NodeJS.ErrnoException).code))) return value;
  throw error;
}

const LISTEN = "0A";

/** Sockets of a table in `/proc/net` that listen on the loopback address or on all of them. Exported for its test. */
export function listenersOf(table: string): { port: number; inode: string }[] {
  return table.split("\n").flatMap((line) => {
    const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
    const [address = "", port = ""] = local.split(":");
    // 127.0.0.1 as it stands in memory on a little-endian machine, plain or mapped; zeros are every address
    const meets = /^0+$/.test(address) || /^(?:0{16}FFFF0000)?[0-9A-F]{6}7F$/.test(address);
    return state === LISTEN && meets && inode !== "" ? [{ port: Number.parseInt(port, 16), inode }] : [];
  });
}

/** A holder as errors name it: what to look for, without arguments, which may hold secrets. */
export const holderText = ({ port, process: { pid, executable, args } }: PortHolder): string =>
  `port ${port} is held by process ${pid} (${basename(executable === "" ? (args[0] ?? "?") : executable)})`;

/** Whether a collector was told on its command line where its metrics go: the supervisor hands that to its first start too. */
const placesMetrics = ({ args }: HostProcess): boolean =>
  args.some((word) => /^(?:--set=)?service\.telemetry\.metrics(?:\.|=)/.test(word));

/** What the judgement looks at. */
type MetricsPortFacts = {
  holders: readonly PortHolder[];
  processes: readonly HostProcess[];
  supervisorPid: number | undefined;
  isOurs: (it: HostProcess) => boolean;
};

/**
 * Why the supervisor could not start its collector again; undefined: nothing is in the way. Holders that are collectors of
 * this installation are no problem: they end with their supervisor, or are ended. Nor is one that was there before the
 * supervisor, which then came up in spite of it.
 */
export function judgeMetricsPort({ holders, processes, supervisorPid, isOurs }: MetricsPortFacts): string | undefined {
  if (processes.some((it) => isOurs(it) && placesMetrics(it))) return undefined;
  const supervisor = processes.find(({ pid }) => pid === supervisorPid);
  const wasThere = (it: HostProcess) => supervisor !== undefined && Number(it.started) < Number(supervisor.started);
  const stranger = holders.find((it) => it.port === METRICS_PORT && !isOurs(it.process) && !wasThere(it.process));
  if (stranger === undefined) return undefined;
  return `${holderText(stranger)}, which is no collector of this installation; a supervisor's first start of its collector needs that port: end that process, give it another port, or give the supervisor's agent.args --set=service.telemetry.metrics.level=none`;
}
