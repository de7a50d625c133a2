/** A real PostgreSQL 18 on loopback, its cluster below one data folder; it survives every kind of end of its starter. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, chown, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { logTail, startChild, within, type Child, type StopStep } from "./child.ts";
import type { PortBook } from "./ports.ts";
import { preparePostgresHome, type PostgresHome } from "./postgres-files.ts";
import { endProcess, findProcesses } from "./processes.ts";

export type PostgresOptions = {
  dataDir: string;
  ports: PortBook;
  log: (line: string) => void;
  /** Server settings beyond ours, for example `fsync=off` in tests. */
  settings?: Readonly<Record<string, string>>;
};
export type Postgres = { url: string; port: number; child: Child; stop(): Promise<void> };

/** Fast shutdown; smart (TERM) waits for ever for open sessions. QUIT leaves recovery to the next start. */
const STOP: readonly StopStep[] = [
  { signal: "SIGINT", waitMs: 10_000 },
  { signal: "SIGQUIT", waitMs: 5_000 },
  { signal: "SIGKILL", waitMs: 5_000 },
];
const READY_MS = 60_000;
const USER = "myriarch";
const DATABASE = "myriarch";
const run = promisify(execFile);
const PORT_TAKEN = "could not create any TCP/IP sockets";
/** Failures that another try mends: a stranger took the port, or sessions of a killed server are still going. */
const PASSING = new RegExp(`${PORT_TAKEN}|pre-existing shared memory block`);

/** Starts the server, ending an orphan of an earlier run first. Afterwards `url` answers and its database exists. */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const home = await preparePostgresHome(options.dataDir, options.log);
  const password = await keepPassword(join(options.dataDir, "postgres-password"));
  await createCluster(home, password);
  await endOrphan(home, options.log);
  for (let attempt = 1; ; attempt += 1) {
    const port = await options.ports.take("postgres");
    const child = await startServer(home, port, options);
    try {
      const url = (database: string): string => `postgres://${USER}:${password}@127.0.0.1:${port}/${database}`;
      await untilAnswers(url("postgres"), child);
      await createDatabase(url("postgres"));
      return { url: url(DATABASE), port, child, stop: async () => void (await child.stop()) };
    } catch (error) {
      const said = logTail(child, 40);
      await child.stop();
      if (attempt >= 5 || !PASSING.test(said)) throw error;
      if (said.includes(PORT_TAKEN)) await options.ports.forget("postgres");
    }
  }
}

async function startServer(home: PostgresHome, port: number, options: PostgresOptions): Promise<Child> {
  const settings = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: "200",
    ...options.settings,
  };
  return startChild({
    name: "postgres",
    command: join(home.bin, "postgres"),
    args: [
      "-D",
      home.cluster,
      "-p",
      String(port),
      ...Object.entries(settings).flatMap(([key, value]) => ["-c", `${key}=${value}`]),
    ],
    env: { LC_ALL: "C", TZ: "UTC" },
    cwd: home.home,
    logFile: join(options.dataDir, "logs", "postgres.log"),
    user: home.account,
    stopSteps: STOP,
  });
}

/** The lasting copy of the password is ours, 0600 and ours alone; PostgreSQL keeps only its SCRAM verifier. */
async function keepPassword(file: string): Promise<string> {
  const kept = await readFile(file, "utf8").catch(missing);
  if (kept !== undefined && kept.trim() !== "") return kept.trim();
  const password = randomBytes(24).toString("base64url");
  await writeFile(`${file}.tmp`, `${password}\n`, { mode: 0o600 });
  await rename(`${file}.tmp`, file);
  return password;
}

/** Makes the cluster beside its place and renames it: an `initdb` that was killed leaves nothing that looks whole. */
async function createCluster({ home, bin, cluster, account }: PostgresHome, password: string): Promise<void> {
  if ((await stat(cluster).catch(missing)) !== undefined) return await checkVersion(bin, cluster);
  const tmp = `${cluster}.tmp`;
  const passwordFile = join(home, "initdb-password");
  await rm(tmp, { recursive: true, force: true });
  await rm(passwordFile, { force: true });
  try {
    await mkdir(tmp, { mode: 0o700 });
    await writeFile(passwordFile, password, { mode: 0o600, flag: "wx" });
    if (account !== undefined) {
      await chown(tmp, account.uid, account.gid);
      await chown(passwordFile, account.uid, account.gid);
    }
    // An empty environment: else LANG and TZ of the first start stay in the cluster for ever.
    await run(
      join(bin, "initdb"),
      [
        "-D",
        tmp,
        "-U",
        USER,
        "-E",
        "UTF8",
        "--locale=C",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
      ].concat(
        ["--auth=scram-sha-256", `--pwfile=${passwordFile}`, "--no-instructions"],
        ["-c", "timezone=UTC", "-c", "log_timezone=UTC"],
      ),
      { cwd: home, env: { LC_ALL: "C", TZ: "UTC" }, ...account },
    );
    await chmod(tmp, 0o700);
    await rename(tmp, cluster);
  } finally {
    await rm(passwordFile, { force: true });
  }
}

async function checkVersion(bin: string, cluster: string): Promise<void> {
  const { stdout } = await run(join(bin, "postgres"), ["--version"], { env: {} });
  const ours = /(\d+)\./.exec(stdout)?.[1];
  const theirs = (await readFile(join(cluster, "PG_VERSION"), "utf8")).trim();
  if (ours !== theirs)
    throw new Error(
      `${cluster} was made by PostgreSQL ${theirs}, this is ${ours ?? stdout}: set MYRIARCH_DATA to another folder`,
    );
}

/**
 * A server of ours that still runs on this cluster is ended; the file that names a process which is not such a server is
 * removed, because PostgreSQL believes any live process of the same user (ids are used again) and an empty file for ever.
 */
async function endOrphan({ cluster }: PostgresHome, log: (line: string) => void): Promise<void> {
  const orphans = findProcesses(
    ([command, ...args]) => command?.endsWith("/postgres") === true && args.includes(cluster),
  );
  for (const orphan of orphans) {
    log(`ending PostgreSQL (process ${orphan.pid}), left by a run that was killed`);
    await endProcess(orphan, STOP);
  }
  await rm(join(cluster, "postmaster.pid"), { force: true });
}

/** During recovery the port accepts while SQL does not yet: only an answered statement counts. */
async function untilAnswers(url: string, child: Child): Promise<void> {
  const deadline = performance.now() + READY_MS;
  for (;;) {
    const failure = await answerOnce(url);
    if (failure === undefined) return;
    if (child.exit() !== undefined || performance.now() > deadline)
      throw new Error(`PostgreSQL does not answer (${failure.message}); its log ends:\n${logTail(child)}`);
    await within(child.exited, 50);
  }
}

async function answerOnce(url: string): Promise<Error | undefined> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on("error", () => undefined); // the statement's own failure is the answer
  try {
    await client.connect();
    await client.query("select 1");
    return undefined;
  } catch (error) {
    return error as Error;
  } finally {
    await client.end();
  }
}

async function createDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const found = await client.query("select 1 from pg_database where datname = $1", [DATABASE]);
    if (found.rowCount === 0) await client.query(`create database ${DATABASE}`);
  } finally {
    await client.end();
  }
}

function missing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
