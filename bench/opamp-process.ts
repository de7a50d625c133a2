/** Processes of the OpAMP benchmark, and what the system says of them. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { WebSocket } from "ws";

const run = promisify(execFile);

export type Talking = {
  pid: number;
  /** The next line that it says, as JSON. */
  next(): Promise<Record<string, unknown>>;
  /** Tells it one line. */
  tell(line: string): void;
  stop(): Promise<void>;
};

/** A process that says JSON lines. It ends with `stop`, or by itself when we do: its standard input closes. */
export function talkTo(command: string, args: readonly string[]): Talking {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const { pid } = child;
  if (pid === undefined) throw new Error(`${command} does not start`);
  return {
    pid,
    async next() {
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`${command} ended`);
      return JSON.parse(value) as Record<string, unknown>;
    },
    tell: (line) => void child.stdin.write(`${line}\n`),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/** Builds a Go module's program; false without Go. */
export async function buildGo(folder: string, program: string): Promise<boolean> {
  try {
    await run("go", ["version"]);
  } catch {
    return false;
  }
  const env = { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-mod=readonly -buildvcs=false", GOWORK: "off" };
  await run("go", ["build", "-trimpath", "-o", program, "."], { cwd: folder, env });
  return true;
}

/** CPU seconds of a process so far, user and system. Linux counts hundredths. */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

export async function residentKib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]);
}

/** The most that a process ever had, in KiB. Linux only. */
export async function peakKib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]);
}

/** Has a Node process, started with `--inspect-port`, collect its garbage, so that memory in use is what is counted. */
export async function collectGarbage(pid: number, inspectPort: number): Promise<void> {
  process.kill(pid, "SIGUSR1");
  const inspector = await openInspector(inspectPort);
  for (let id = 1; id <= 3; id++) {
    inspector.send(JSON.stringify({ id, method: "HeapProfiler.collectGarbage" }));
    await once(inspector, "message");
  }
  inspector.close();
}

async function openInspector(port: number): Promise<WebSocket> {
  for (let tries = 0; ; tries++) {
    try {
      const answer = await fetch(`http://127.0.0.1:${port}/json`);
      const [target] = (await answer.json()) as { webSocketDebuggerUrl: string }[];
      const socket = new WebSocket(target?.webSocketDebuggerUrl ?? "");
      await once(socket, "open");
      return socket;
    } catch (error) {
      if (tries >= 100) throw error;
      await new Promise((resolve) => {
        setTimeout(resolve, 50);
      });
    }
  }
}
