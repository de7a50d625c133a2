/**
 * What keeps a supervisor from coming up, and what the host program may do about it: move a saved configuration aside that
 * the supervisor cannot read, end a collector of this installation that nobody owns, or say which stranger holds a port.
 */
import { asStepError } from "../domain/update/step-error.ts";
import type { Clock } from "./clock.ts";
import type { Files } from "./files.ts";
import { readForeignFile } from "./files.ts";
import { METRICS_PORT } from "../domain/update/listening-ports.ts";
import { holderText, type FindHolders, type PortHolder } from "./host/ports.ts";
import { endLeftovers, listProcesses, treeOf, type HostProcess } from "./host/processes.ts";
import type { Log, ServiceManager } from "./host/service.ts";
import { SavedConfigMending } from "./mend-saved-config.ts";

export type StartMending = {
  /** A new attempt: each repair is due once more. */
  begin: () => void;
  /** To be called while the host is not healthy. Answers what whoever reads the attempt's error should know. Never throws. */
  look: () => Promise<string | undefined>;
  /**
   * To be called now and then while nothing is going on: after a start of the host, or when the supervisor does not come up
   * again by itself. A supervisor that somebody stopped stays stopped, and processes of others are left alone. True while
   * another look is due soon. Never throws.
   */
  lookAtRest: () => Promise<boolean>;
};
export type StartMendingDeps = {
  service: Pick<ServiceManager, "saidSinceStart" | "supervisorPid" | "hasFailed" | "start" | "stop">;
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

/** Its words, and the collector's, when a port is taken. */
const NEVER_CONNECTED = "never connected to the Supervisor";
const PORT_IN_USE = /:(\d{1,5}): bind: (?:address already in use|Only one usage)/g;

export function createStartMending(deps: StartMendingDeps): StartMending {
  const { service, log } = deps;
  const saved = new SavedConfigMending(deps);
  let endedOrphans = false;
  /** Of the supervisor at the last look at rest. */
  let seen: number | "unknown" | undefined;

  async function mend(): Promise<string | undefined> {
    const said = await service.saidSinceStart();
    const failed = said === undefined && (await service.hasFailed());
    if (!(await saved.look({ failed, said })) && !endedOrphans) {
      const orphans = await orphansOf(deps);
      if (orphans.length > 0) {
        endedOrphans = true;
        await end(orphans, deps);
        await service.start();
      }
    }
    return [saved.note, await strangerProblem(said ?? "", deps)].filter(Boolean).join("; ") || undefined;
  }

  async function mendAtRest(): Promise<boolean> {
    const failed = await service.hasFailed();
    const pid = failed ? undefined : ((await service.supervisorPid()) ?? "unknown");
    if (pid !== undefined && pid === seen) saved.begin(); // the same one as before: it did start
    seen = pid;
    // words of a supervisor that runs are of a start that was mended, or of none
    const said = failed ? await service.saidSinceStart() : "";
    return (await saved.look({ failed, said })) || failed;
  }

  return {
    begin: () => {
      saved.begin();
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
    lookAtRest: async () => {
      try {
        return await mendAtRest();
      } catch (error) {
        log.error({ error: String(error) }, "what keeps the supervisor from starting could not be mended");
        return false;
      }
    },
  };
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
  const strangers = (await deps.holders(ports)).filter(
    ({ port, on, process }: PortHolder) => ports.has(port) && on !== "other" && !deps.isCollector(process),
  );
  if (strangers.length === 0) return undefined;
  return `${strangers.map(holderText).join(", ")}, which is no collector of this installation`;
}
