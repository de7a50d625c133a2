/**
 * Who listens on the ports of this machine. Who holds one that the supervisor or its collector needs keeps them from
 * starting, often with an error that names something else.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { basename } from "node:path";
import { listProcesses, runPlainly, type HostProcess } from "./processes.ts";
import { findWindowsHolders } from "./windows-processes.ts";

/** `on`: every address of the machine, the loopback one, or another. */
export type PortHolder = { port: number; on: "any" | "loopback" | "other"; process: HostProcess };
/** Whoever listens, on one of `ports` or on any; of processes that can be seen. */
export type FindHolders = (ports?: ReadonlySet<number>) => Promise<PortHolder[]>;

/** By `/proc` or PowerShell; on other systems nobody is found, and the supervisor's own error has to do. */
export const findHolders: FindHolders = async (ports) => {
  const isAsked = ({ port }: { port: number }) => ports?.has(port) ?? true;
  if (process.platform === "win32") return (await findWindowsHolders(runPlainly)).filter(isAsked);
  if (process.platform !== "linux") return [];
  const tables = ["tcp", "tcp6"].map((name) => readTable(`/proc/net/${name}`));
  const listeners = tables.flatMap(listenersOf).filter(isAsked);
  if (listeners.length === 0) return [];
  const byInode = new Map(listeners.map(({ inode, ...listener }) => [inode, listener]));
  return (await listProcesses()).flatMap((it) => portsOf(it, byInode));
};

/** Codes of what is not there, or not for us. */
const NOT_OURS = ["ENOENT", "ESRCH", "EACCES", "EPERM"];

/** Empty where the machine has no such protocol. */
const readTable = (path: string): string => visible(() => readFileSync(path, "utf8"), "");

type Listener = Pick<PortHolder, "port" | "on">;

/** At once and not by promises, as processes are read: a machine has tens of thousands of open files. */
function portsOf(process: HostProcess, byInode: ReadonlyMap<string, Listener>): PortHolder[] {
  const folder = `/proc/${process.pid}/fd`;
  const names = visible(() => readdirSync(folder), []);
  const targets = names.map((name) => visible(() => readlinkSync(`${folder}/${name}`), ""));
  const held = targets.flatMap((target) => byInode.get(/^socket:\[(\d+)\]$/.exec(target)?.[1] ?? "") ?? []);
  return [...new Map(held.map((it) => [`${it.on} ${it.port}`, it])).values()].map((it) => ({ ...it, process }));
}

/** A process that ended meanwhile, or that only another account may look at, holds nothing that we can tell. */
function visible<T>(look: () => T, otherwise: T): T {
  try {
    return look();
  } catch (error) {
    if (NOT_OURS.includes(String((error as NodeJS.ErrnoException).code))) return otherwise;
    throw error;
  }
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
