/**
 * For tests of whole processes: every effect is a numbered point before it, one after it and, for a write, one in its
 * middle. A run can list them, die at one by SIGKILL as by a power cut, or meet a disk that fails or is full there.
 *
 *   MYRIARCH_FAULT   record | kill:AT | fail:AT | full:AT      AT: a number of the list, or a label (`after start#2`)
 *   MYRIARCH_FAULT_FILE   file that each point is appended to, a JSON line each
 *
 * Both count only with NODE_ENV=test; otherwise nothing is wrapped at all.
 */
import { appendFileSync } from "node:fs";
import { performDirectly, type EffectKind, type Perform } from "./effect.ts";
import { performed, systemCalls } from "./file-calls.ts";
import { createFiles, systemFiles, type Files } from "./files.ts";
import type { ServiceManager } from "./host/service.ts";

/** The ports through which a host is changed. */
export type HostPorts = {
  files: Files;
  /** For what service managers do inside. */
  perform: Perform;
  service: (real: ServiceManager) => ServiceManager;
};

export const systemPorts: HostPorts = { files: systemFiles, perform: performDirectly, service: (real) => real };

type Position = "before" | "half" | "after";
/** One line of the list. */
export type FaultPoint = { n: number; label: string };
type Fault = { do: "record" } | { do: "kill" | "fail" | "full"; at: string };

/** What a call answers when it fails, and whether a full disk makes it fail. */
const FAILURE: Record<EffectKind, { code: string; syscall: string; needsSpace: boolean }> = {
  create: { code: "ENOSPC", syscall: "open", needsSpace: true },
  write: { code: "ENOSPC", syscall: "write", needsSpace: true },
  mkdir: { code: "ENOSPC", syscall: "mkdir", needsSpace: true },
  symlink: { code: "ENOSPC", syscall: "symlink", needsSpace: true },
  chmod: { code: "EIO", syscall: "fchmod", needsSpace: false },
  truncate: { code: "EIO", syscall: "ftruncate", needsSpace: false },
  sync: { code: "EIO", syscall: "fsync", needsSpace: false },
  rename: { code: "EIO", syscall: "rename", needsSpace: false },
  unlink: { code: "EIO", syscall: "unlink", needsSpace: false },
  rmdir: { code: "EIO", syscall: "rmdir", needsSpace: false },
  "sync folder": { code: "EIO", syscall: "fsync", needsSpace: false },
  signal: { code: "EPERM", syscall: "kill", needsSpace: false },
  spawn: { code: "EAGAIN", syscall: "spawn", needsSpace: false },
  stop: { code: "EIO", syscall: "stop", needsSpace: false },
  start: { code: "EIO", syscall: "start", needsSpace: false },
};

/** The ports as the environment asks for them. `folders` shortens paths in labels. Throws on a fault that is none. */
export function hostPorts(env: NodeJS.ProcessEnv, folders: Readonly<Record<string, string>>): HostPorts {
  const asked = env["NODE_ENV"] === "test" ? env["MYRIARCH_FAULT"] : undefined;
  if (asked === undefined) return systemPorts;
  return portsOf(new FaultPoints(readFault(asked), folders, env["MYRIARCH_FAULT_FILE"]).perform);
}

/** Ports whose every effect is performed by `perform`. */
export function portsOf(perform: Perform): HostPorts {
  return {
    files: createFiles(performed(systemCalls, perform)),
    perform,
    service: (real) => ({
      checkExists: async () => await real.checkExists(),
      isRunning: async () => await real.isRunning(),
      hasFailed: async () => await real.hasFailed(),
      start: async () => await perform("start", "", async () => await real.start()),
      stop: async () => await perform("stop", "", async () => await real.stop()),
      account: async () => await real.account(),
      saidSinceStart: async () => await real.saidSinceStart(),
      supervisorPid: async () => await real.supervisorPid(),
      close: async () => await real.close(),
    }),
  };
}

function readFault(text: string): Fault {
  if (text === "record") return { do: "record" };
  const [, what, at] = /^(kill|fail|full):(.+)$/.exec(text) ?? [];
  if (what === undefined || at === undefined)
    throw new Error(`MYRIARCH_FAULT must be record, kill:AT, fail:AT or full:AT, not "${text}"`);
  return { do: what as "kill" | "fail" | "full", at };
}

class FaultPoints {
  private readonly fault: Fault;
  private readonly folders: Readonly<Record<string, string>>;
  private readonly file: string | undefined;
  private readonly seen = new Map<string, number>();
  private count = 0;
  private diskIsFull = false;

  constructor(fault: Fault, folders: Readonly<Record<string, string>>, file: string | undefined) {
    this.fault = fault;
    this.folders = folders;
    this.file = file;
  }

  readonly perform: Perform = async (kind, target, work, half) => {
    this.reach("before", kind, target);
    if (half !== undefined && this.isHere("half", kind, target)) {
      await half();
      this.strike(kind);
    }
    const result = await work();
    if (this.isHere("after", kind, target)) this.die();
    return result;
  };

  private reach(position: Position, kind: EffectKind, target: string): void {
    if (this.isHere(position, kind, target)) this.strike(kind);
    if (this.diskIsFull && FAILURE[kind].needsSpace) throw errorOf(kind);
  }

  /** Whether the fault is to happen at this point, which thereby is counted and listed. */
  private isHere(position: Position, kind: EffectKind, target: string): boolean {
    const name = `${position} ${kind} ${shorten(target, this.folders)}`.trimEnd();
    const times = (this.seen.get(name) ?? 0) + 1;
    this.seen.set(name, times);
    const point: FaultPoint = { n: ++this.count, label: `${name}#${times}` };
    if (this.file !== undefined) appendFileSync(this.file, `${JSON.stringify(point)}\n`);
    return this.fault.do !== "record" && [String(point.n), point.label].includes(this.fault.at);
  }

  /** The call does not do its work. */
  private strike(kind: EffectKind): void {
    this.die();
    if (this.fault.do === "full") this.diskIsFull = true;
    if (this.fault.do === "fail") throw errorOf(kind);
    if (this.diskIsFull && FAILURE[kind].needsSpace) throw errorOf(kind);
  }

  private die(): void {
    if (this.fault.do === "kill") process.kill(process.pid, "SIGKILL");
  }
}

/** A path as labels have it: without the machine's folders and without what is drawn by chance. */
export function shorten(path: string, folders: Readonly<Record<string, string>>): string {
  let short = path;
  for (const [name, folder] of Object.entries(folders)) short = short.replace(folder, `<${name}>`);
  return short.replaceAll(/(\.tmp-|\.staging-|archive-)[0-9a-f]{12}/g, "$1*");
}

/** As the system would say it. */
function errorOf(kind: EffectKind): Error {
  const { code, syscall } = FAILURE[kind];
  return Object.assign(new Error(`${code}: a fault of the test, ${syscall}`), { code, syscall });
}
