/** Our own programs as children: `node src/bin/x.ts …`, with a log file, a ready line, and an end no later than ours. */
import { once } from "node:events";
import { existsSync, watch, type FSWatcher } from "node:fs";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { logTail, startChild, within, type Child, type StopStep } from "./child.ts";
import { endProcess, inspectProcess, type ProcessInfo } from "./processes.ts";

export type ProgramOptions = {
  /** Unique in the data folder: names the log file and, for the next start, the process. */
  name: string;
  /** Absolute path of the TypeScript file, for example of `src/bin/myriarch-depot.ts`. */
  script: string;
  args: readonly string[];
  dataDir: string;
  /** Added to our own environment. */
  env?: Readonly<Record<string, string>>;
  cwd?: string;
  readyMs?: number;
};

/** What a program prints on standard output once it serves: `{"ready":true,"url":"http://127.0.0.1:4711"}`. */
type ReadyLine = { ready: true; url?: string } & Readonly<Record<string, unknown>>;
export type Program = Child & { ready: ReadyLine };

const STOP: readonly StopStep[] = [
  { signal: "SIGTERM", waitMs: 15_000 },
  { signal: "SIGKILL", waitMs: 5_000 },
];
const END_WITH_PARENT = new URL("./end-with-parent.ts", import.meta.url).href;
export const programPath = (name: string): string => fileURLToPath(new URL(`../bin/${name}.ts`, import.meta.url));

/** Starts the program and waits for its ready line. One of this name that an earlier run left is ended first. */
export async function startProgram(options: ProgramOptions): Promise<Program> {
  const { name, dataDir } = options;
  await Promise.all(["logs", "run"].map((folder) => mkdir(join(dataDir, folder), { recursive: true, mode: 0o700 })));
  const note = join(dataDir, "run", `${name}.json`);
  await endEarlier(note);
  // An installation may have replaced the program we run from; then its path has the new one, or nothing.
  if (!existsSync(process.execPath)) throw new Error(`${process.execPath} is gone: start again`);
  const child = await startChild({
    name,
    command: process.execPath,
    args: ["--import", END_WITH_PARENT, options.script, ...options.args],
    env: { ...process.env, ...options.env, MYRIARCH_PARENT_PID: String(process.pid) },
    cwd: options.cwd ?? dataDir,
    logFile: join(dataDir, "logs", `${name}.log`),
    stopSteps: STOP,
    endsBy: "stdin",
  });
  await remember(note, child.pid);
  try {
    return { ...child, ready: await untilReady(child, options.readyMs ?? 60_000) };
  } catch (error) {
    await child.stop();
    throw error;
  }
}

async function untilReady(child: Child, readyMs: number): Promise<ReadyLine> {
  const seen = watchForReady(child);
  const outcome = await within(Promise.race([seen.ready, child.exited]), readyMs);
  seen.watcher.close();
  if (outcome !== undefined && "ready" in outcome) return outcome;
  const why = outcome === undefined ? `is not ready after ${readyMs} ms` : `ended (${outcome.signal ?? outcome.code})`;
  throw new Error(`${child.name} ${why}; its log ends:\n${logTail(child)}`);
}

/** The log is a file, so that the program never waits for us; a watch says when there is more of it. */
function watchForReady(child: Child): { ready: Promise<ReadyLine>; watcher: FSWatcher } {
  const watcher = watch(child.logFile);
  const ready = (async () => {
    for (;;) {
      const changed = once(watcher, "change");
      const line = await findReadyLine(child);
      if (line !== undefined) return line;
      await changed;
    }
  })();
  ready.catch(() => undefined); // reported by whoever races it; afterwards nobody needs it
  return { ready, watcher };
}

async function findReadyLine(child: Child): Promise<ReadyLine | undefined> {
  const written = (await readFile(child.logFile)).subarray(child.logStart).toString("utf8");
  const line = written
    .split("\n")
    .slice(0, -1)
    .find((text) => text.startsWith('{"ready":true'));
  return line === undefined ? undefined : (JSON.parse(line) as ReadyLine);
}

async function remember(note: string, pid: number): Promise<void> {
  const process = inspectProcess(pid);
  if (process === undefined) return; // ended already; whoever waits for ready says why
  await writeFile(`${note}.tmp`, JSON.stringify(process));
  await rename(`${note}.tmp`, note);
}

async function endEarlier(note: string): Promise<void> {
  const text = await readFile(note, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  if (text === undefined) return;
  const earlier = JSON.parse(text) as ProcessInfo;
  if (inspectProcess(earlier.pid)?.started === earlier.started) await endProcess(earlier, STOP);
  await rm(note, { force: true });
}
