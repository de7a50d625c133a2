/**
 * Processes and listeners of a Windows host, by PowerShell: what other programs print there is in the language of the
 * system. `run` is the one outside thing.
 */
import { StepError } from "../../domain/update/step-error.ts";
import type { PortHolder } from "./ports.ts";
import type { HostProcess } from "./processes.ts";
import type { RunCommand } from "./systemd.ts";

const QUERY_MS = 60_000;
const POWERSHELL = ["-NoProfile", "-NonInteractive", "-Command"] as const;
const TAB = "[char]9";
/** The idle process has no time of creation; nothing is asked about it. */
const PROCESSES = `Get-CimInstance Win32_Process | Where-Object { $_.CreationDate } | ForEach-Object { $_.ProcessId, $_.ParentProcessId, $_.CreationDate.ToFileTimeUtc(), $_.ExecutablePath, $_.CommandLine -join ${TAB} }`;
const LISTENERS = `Get-NetTCPConnection -State Listen | ForEach-Object { $_.LocalAddress, $_.LocalPort, $_.OwningProcess -join ${TAB} }`;

/** Throws (class `install`) when they cannot be listed. */
export async function listWindowsProcesses(run: RunCommand): Promise<HostProcess[]> {
  return (await rows(run, PROCESSES, "processes")).flatMap(([pid, parent, started, executable = "", command = ""]) => {
    if (!isNumber(pid) || !isNumber(parent) || !isNumber(started)) return [];
    return [{ pid: Number(pid), parent: Number(parent), started: String(started), args: wordsOf(command), executable }];
  });
}

/** Throws (class `install`) when they cannot be listed. */
export async function findWindowsHolders(run: RunCommand): Promise<PortHolder[]> {
  const listeners = await rows(run, LISTENERS, "listening ports");
  const byPid = new Map((await listWindowsProcesses(run)).map((it) => [it.pid, it]));
  return listeners.flatMap(([address = "", port, pid]) => {
    const process = byPid.get(Number(pid));
    if (!isNumber(port) || process === undefined) return [];
    return [{ port: Number(port), on: reachOf(address), process }];
  });
}

function reachOf(address: string): PortHolder["on"] {
  if (address === "0.0.0.0" || address === "::") return "any";
  return /^(?:::ffff:)?127\./i.test(address) ? "loopback" : "other";
}

async function rows(run: RunCommand, script: string, what: string): Promise<string[][]> {
  const { code, output } = await run("powershell.exe", [...POWERSHELL, script], QUERY_MS);
  if (code !== 0) throw new StepError("install", `the ${what} cannot be listed (PowerShell: ${code})`);
  return output.split(/\r?\n/).map((line) => line.split("\t"));
}

const isNumber = (text: string | undefined): boolean => text !== undefined && /^\d+$/.test(text);

/** Words of a command line; quotes hold one together. */
const wordsOf = (command: string): string[] =>
  Array.from(command.matchAll(/"([^"]*)"|\S+/g), ([word, quoted]) => quoted ?? word);
