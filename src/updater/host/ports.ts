/**
 * Who listens on the ports of this machine. Who holds one that the supervisor or its collector needs keeps them from
 * starting, often with an error that names something else.
 */
import { readdir, readFile, readlink } from "node:fs/promises";
import { basename } from "node:path";
import { listProcesses, runPlainly, type HostProcess } from "./processes.ts";
import { findWindowsHolders } from "./windows-processes.ts";

/** `on`: every address of the machine, the loopback one, or another. */
export type PortHolder = { port: number; on: "any" | "loopback" | "other"; process: HostProcess };
/** Whoever listens; of processes that can be seen. */
export type FindHolders = () => Promise<PortHolder[]>;

/** By `/proc` or PowerShell; on other systems nobody is found, and the supervisor's own error has to do. */
export const findHolders: FindHolders = async () => {
  if (process.platform === "win32") return await findWindowsHolders(runPlainly);
  if (process.platform !== "linux") return [];
  const tables = await Promise.all(["tcp", "tcp6"].map(async (name) => await readTable(`/proc/net/${name}`)));
  const byInode = new Map(tables.flatMap(listenersOf).map(({ inode, ...listener }) => [inode, listener]));
  const held = await Promise.all((await listProcesses()).map(async (it) => await portsOf(it, byInode)));
  return held.flat();
};

const VISIBLE = ["ENOENT", "ESRCH", "EACCES", "EPERM"];

/** Empty where the machine has no such protocol. */
async function readTable(path: string): Promise<string> {
  return await readFile(path, "utf8").catch((error: unknown) => otherwise(error, ""));
}

type Listener = Pick<PortHolder, "port" | "on">;

async function portsOf(process: HostProcess, byInode: ReadonlyMap<string, Listener>): Promise<PortHolder[]> {
  const folder = `/proc/${process.pid}/fd`;
  const names = await readdir(folder).catch((error: unknown) => otherwise<string[]>(error, []));
  const targets = await Promise.all(
    names.map(async (name) => await readlink(`${folder}/${name}`).catch((error: unknown) => otherwise(error, ""))),
  );
  const held = targets.flatMap((target) => byInode.get(/^socket:\[(\d+)\]$/.exec(target)?.[1] ?? "") ?? []);
  return [...new Map(held.map((it) => [`${it.on} ${it.port}`, it])).values()].map((it) => ({ ...it, process }));
}

/** A process that ended meanwhile, or that only another account may look at, holds nothing that we can tell. */
function otherwise<T>(error: unknown, value: T): T {
  if (VISIBLE.includes(String((error as NodeJS.ErrnoException).code))) return value;
  throw error;
}

const LISTEN = "0A";

/** Sockets of a table in `/proc/net` that listen. Exported for its test. */
export function listenersOf(table: string): (Listener & { inode: string })[] {
  return table.split("\n").flatMap((line) => {
    const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
    const [address = "", port = ""] = local.split(":");
    return state === LISTEN && inode !== "" ? [{ port: Number.parseInt(port, 16), on: reachOf(address), inode }] : [];
  });
}

/** 127.0.0.1 as it stands in memory on a little-endian machine, plain or mapped; zeros are every address. */
function reachOf(address: string): PortHolder["on"] {
  if (/^0+$/.test(address)) return "any";
  return /^(?:0{16}FFFF0000)?[0-9A-F]{6}7F$/.test(address) ? "loopback" : "other";
}

/** A holder as errors name it: what to look for, without arguments, which may hold secrets. */
export const holderText = ({ port, process: { pid, executable, args } }: PortHolder): string =>
  `port ${port} is held by process ${pid} (${basename(executable === "" ? (args[0] ?? "?") : executable)})`;
