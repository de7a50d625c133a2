/**
 * What keeps a supervisor from coming up, and what the host program may do about it: move a saved configuration aside that
 * the supervisor cannot read, end a collector of this installation that nobody owns, or say which stranger holds a port.
 */
import { asStepError } from "../domain/update/step-error.ts";
import type { Clock } from "./clock.ts";
import type { Files } from "./files.ts";
import { readForeignFile } from "./files.ts";
import { holderText, METRICS_PORT, type FindHolders, type PortHolder } from "./host/ports.ts";
import { endLeftovers, listProcesses, treeOf, type HostProcess } from "./host/processes.ts";
import type { Log, ServiceManager } from "./host/service.ts";

export type StartMending = {
  /** A new attempt: each repair is due once more. */
  begin: () => void;
  /** To be called while the host is not healthy. Answers what whoever reads the attempt's error should know. Never throws. */
  look: () => Promise<string | undefined>;
};
export type StartMendingDeps = {
  service: Pick<ServiceManager, "saidSinceStart" | "supervisorPid" | "start">;
  /** The supervisor's copy of its last remote configuration. */
  savedConfig: string;
  /** The collector's own log, written anew at each of its starts. */
  agentLog: string;
  isCollector: (it: HostProcess) => boolean;
  files: Pick<Files, "rename">;
  clock: Clock;
  log: Log;
  holders: FindHolders;
  list?: typeof listProcesses;
};

/** The supervisor's words when it cannot read what it saved; it says them and ends. */
const CANNOT_LOAD = "failed loading initial config";
/** Its words, and the collector's, when a port is taken. */
const NEVER_CONNECTED = "never connected to the Supervisor";
const PORT_IN_USE = /:(\d{1,5}): bind: (?:address already in use|Only one usage)/g;

export function createStartMending(deps: StartMendingDeps): StartMending {
  const { service, log } = deps;
  let movedTo: string | undefined;
  let endedOrphans = false;

  async function mend(): Promise<string | undefined> {
    const said = (await service.saidSinceStart()) ?? "";
    if (movedTo === undefined && said.includes(CANNOT_LOAD)) {
      movedTo = await moveAside(deps);
      await service.start();
    } else if (!endedOrphans) {
      const orphans = await orphansOf(deps);
      if (orphans.length > 0) {
        endedOrphans = true;
        await end(orphans, deps);
        await service.start();
      }
    }
    const moved = movedTo && `the supervisor could not read its saved remote configuration, now ${movedTo}`;
    return [moved, await strangerProblem(said, deps)].filter(Boolean).join("; ") || undefined;
  }

  return {
    begin: () => {
      movedTo = undefined;
      endedOrphans = false;
    },
    look: async () => {
      try {
        return await mend();
      } catch (error) {
        // the wait goes on: the host may become healthy by itself, and the attempt's own error is the one that counts
        log.error({ error: String(error) }, "what keeps the supervisor from starting could not be mended");
        return asStepError(error, "restarting").message;
      }
    },
  };
}

/** Under a name of its own, beside it: whoever wrote it may want to know what it was. */
async function moveAside({ savedConfig, files, clock, log }: StartMendingDeps): Promise<string> {
  const at = new Date(Number(clock.nowNanos() / 1_000_000n)).toISOString().replaceAll(/[:.]/g, "-");
  const aside = `${savedConfig}.unreadable-${at}`;
  await files.rename(savedConfig, aside);
  log.warn({ movedTo: aside }, "the supervisor cannot read its saved remote configuration: moved aside");
  return aside;
}

/** Collectors of this installation that listen and are not the running supervisor's. */
async function orphansOf({ service, isCollector, holders, list = listProcesses }: StartMendingDeps) {
  const all = await list(); // before the pid: a supervisor that starts meanwhile is not in it, nor is its collector
  const supervisor = await service.supervisorPid();
  const owned = new Set(supervisor === undefined ? [] : treeOf(all, supervisor).map(({ pid }) => pid));
  const unowned = all.filter((it) => isCollector(it) && !owned.has(it.pid));
  if (unowned.length === 0) return [];
  const listening = new Set((await holders()).map(({ process: { pid, started } }) => `${pid} ${started}`));
  return unowned.filter(({ pid, started }) => listening.has(`${pid} ${started}`));
}

async function end(orphans: readonly HostProcess[], { clock, log, list = listProcesses }: StartMendingDeps) {
  const find = async () =>
    (await list()).filter((it) => orphans.some(({ pid, started }) => it.pid === pid && it.started === started));
  await endLeftovers({ find, isSupervisor: () => false, clock, log });
}

/** A stranger on a port that supervisor or collector say is taken. It is named, and not touched. */
async function strangerProblem(said: string, deps: StartMendingDeps): Promise<string | undefined> {
  const agentLog = (await readForeignFile(deps.agentLog))?.toString("utf8") ?? "";
  const ports = new Set(Array.from(`${said}\n${agentLog}`.matchAll(PORT_IN_USE), ([, port]) => Number(port)));
  if (said.includes(NEVER_CONNECTED)) ports.add(METRICS_PORT);
  if (ports.size === 0) return undefined;
  const strangers = (await deps.holders()).filter(
    ({ port, process }: PortHolder) => ports.has(port) && !deps.isCollector(process),
  );
  if (strangers.length === 0) return undefined;
  return `${strangers.map(holderText).join(", ")}, which is no collector of this installation`;
}
