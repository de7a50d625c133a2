/**
 * A real Temporal server with its Web UI on loopback (`temporal server start-dev` with a database file). A second server
 * on the same file would start without complaint, so one that still runs on our file is ended first, whatever its port.
 */
import { mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Connection } from "@temporalio/client";
import { SEARCH_ATTRIBUTES } from "../workflows/messages.ts";
import { logTail, startChild, within, type Child, type StopStep } from "./child.ts";
import type { PortBook } from "./ports.ts";
import { endProcess, findProcesses } from "./processes.ts";
import { raiseRetention, registerSearchAttributes } from "./temporal-namespace.ts";
import { ensureTemporal, type FoundProgram } from "./temporal-program.ts";

export type TemporalOptions = { dataDir: string; ports: PortBook; log: (line: string) => void };
export type Temporal = {
  address: string;
  uiUrl: string;
  program: FoundProgram;
  child: Child;
  stop(): Promise<void>;
};

/** 1.4 s when quiet. Never QUIT: that is a goroutine dump. */
const STOP: readonly StopStep[] = [
  { signal: "SIGINT", waitMs: 15_000 },
  { signal: "SIGKILL", waitMs: 5_000 },
];
const READY_MS = 60_000;
const RETENTION_DAYS = 90;
const NAMESPACE = "default";
/** The server polls its own queues at a capped rate; without these a chain of steps waits 50 ms for each. */
const POLL_RATES = ["transfer", "timer", "visibility"].map((queue) => `history.${queue}ProcessorMaxPollRPS=1000`);

/** Starts the server. Afterwards workflows can be started, search attributes exist, and the UI answers. */
export async function startTemporal(options: TemporalOptions): Promise<Temporal> {
  const program = await ensureTemporal(options.log);
  const folder = join(options.dataDir, "temporal");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const database = join(folder, "temporal.db");
  await endOrphans(database, options.log);
  await setAsideOtherVersion(folder, database, program.version, options.log);
  for (let attempt = 1; ; attempt += 1) {
    const [port, uiPort] = [await options.ports.take("temporal"), await options.ports.take("temporal-ui")];
    const child = await startServer(program.path, folder, database, port, uiPort, options.dataDir);
    try {
      const address = `127.0.0.1:${port}`;
      const uiUrl = `http://127.0.0.1:${uiPort}`;
      await untilServes(address, uiUrl, child);
      return { address, uiUrl, program, child, stop: async () => void (await child.stop()) };
    } catch (error) {
      const said = logTail(child, 40);
      await child.stop();
      if (attempt >= 3 || !/address already in use|can't set (ui )?port/i.test(said)) throw error;
      await options.ports.forget("temporal");
      await options.ports.forget("temporal-ui");
    }
  }
}

function startServer(
  command: string,
  folder: string,
  database: string,
  port: number,
  uiPort: number,
  dataDir: string,
): Promise<Child> {
  return startChild({
    name: "temporal",
    command,
    args: [
      ["server", "start-dev", "--disable-config-env", "--disable-config-file", "--log-level", "warn"],
      ["--ip", "127.0.0.1", "--port", String(port)],
      ["--ui-ip", "127.0.0.1", "--ui-port", String(uiPort), "--ui-disable-news-fetch"],
      ["--db-filename", database, "--sqlite-pragma", "journal_mode=WAL", "--sqlite-pragma", "synchronous=NORMAL"],
      POLL_RATES.flatMap((rate) => ["--dynamic-config-value", rate]),
      SEARCH_ATTRIBUTES.flatMap((name) => ["--search-attribute", `${name}=Keyword`]),
    ].flat(),
    // HOME inside our folder: the program writes nothing elsewhere and reads nobody's settings.
    env: { PATH: process.env["PATH"], HOME: folder, TZ: "UTC" },
    cwd: folder,
    logFile: join(dataDir, "logs", "temporal.log"),
    stopSteps: STOP,
  });
}

async function endOrphans(database: string, log: (line: string) => void): Promise<void> {
  for (const orphan of findProcesses((args) => args.includes("start-dev") && args.includes(database))) {
    log(`ending Temporal (process ${orphan.pid}), left by a run that was killed`);
    await endProcess(orphan, STOP);
  }
}

/** The program creates its schema only in a new file and migrates none: another version gets a file of its own. */
async function setAsideOtherVersion(
  folder: string,
  database: string,
  version: string,
  log: (line: string) => void,
): Promise<void> {
  const note = join(folder, "version");
  const before = await readFile(note, "utf8").catch(missing);
  if (before?.trim() === version) return;
  if (before !== undefined && (await stat(database).catch(missing)) !== undefined) {
    const aside = `${database}.${before.replaceAll(/[^\w.]+/g, "-").slice(0, 40)}`;
    for (const suffix of ["", "-wal", "-shm"]) await rename(`${database}${suffix}`, `${aside}${suffix}`).catch(missing);
    log(`Temporal changed from ${before.trim()} to ${version}: its old histories are in ${aside}`);
  }
  await writeFile(`${note}.tmp`, `${version}\n`);
  await rename(`${note}.tmp`, note);
}

async function untilServes(address: string, uiUrl: string, child: Child): Promise<void> {
  const deadline = performance.now() + READY_MS;
  for (;;) {
    const failure = await prepareNamespace(address, uiUrl);
    if (failure === undefined) return;
    if (child.exit() !== undefined || performance.now() > deadline)
      throw new Error(`Temporal does not serve (${failure.message}); its log ends:\n${logTail(child)}`);
    await within(child.exited, 100);
  }
}

/** Everything that must hold before anyone uses the server; the first thing that does not, is returned. */
async function prepareNamespace(address: string, uiUrl: string): Promise<Error | undefined> {
  try {
    const connection = await Connection.connect({ address, connectTimeout: 2_000 });
    try {
      await raiseRetention(connection, NAMESPACE, RETENTION_DAYS);
      await registerSearchAttributes(connection, NAMESPACE);
    } finally {
      await connection.close();
    }
    const page = await fetch(uiUrl, { signal: AbortSignal.timeout(5_000) });
    await page.body?.cancel();
    return page.ok ? undefined : new Error(`Web UI answers ${page.status}`);
  } catch (error) {
    return error as Error;
  }
}

function missing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
