/** The promises of the embedded services that only show when processes die: see "Embedded services" in the README. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, cp, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, Connection } from "@temporalio/client";
import pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cacheFolder } from "../../src/embedded/temporal-program.ts";
import { guardsOf, processesOf, PROGRAM, startHost, type Host, type HostReady } from "../support/host-process.ts";

const IS_ROOT = process.getuid?.() === 0;
const WAIT = { timeout: 20_000, interval: 50 };

let dataDir: string;
let hosts: Host[];
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), `myriarch-test-${process.pid}-`));
  await chmod(dataDir, 0o711);
  hosts = [];
});
afterEach(async () => {
  for (const { child, ended } of hosts) {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
    await ended;
  }
  await nothingLeft();
  await rm(dataDir, { recursive: true, force: true });
});

const start = (args: string[] = [], options?: Parameters<typeof startHost>[1]): Host => {
  const host = startHost([dataDir, ...args], options);
  hosts.push(host);
  return host;
};
const nothingLeft = () => expect.poll(() => processesOf(dataDir), WAIT).toEqual([]);
const server = (what: "postgres" | "temporal"): number => {
  const found = processesOf(dataDir).find(({ args }) => args[0]?.endsWith(`/${what}`) === true);
  if (found === undefined) throw new Error(`${what} does not run`);
  return found.pid;
};

async function query(url: string, statement: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

async function withTemporal<T>({ temporalAddress }: HostReady, work: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address: temporalAddress });
  try {
    return await work(new Client({ connection }));
  } finally {
    await connection.close();
  }
}
const startWorkflow = (client: Client) =>
  client.workflow.start("rollout", { taskQueue: "q", workflowId: "kept", args: [] });
const isRunning = async (client: Client) => (await client.workflow.getHandle("kept").describe()).status.name;

test("everything ends when the host is killed -9, and the next start goes on with the same ports and data", async () => {
  const first = start([PROGRAM]);
  const before = await first.ready;
  await query(before.databaseUrl, "create table kept as select 42 as answer");
  await withTemporal(before, startWorkflow);
  expect(await (await fetch(before.url ?? "")).text()).toBe("ok");

  first.child.kill("SIGKILL");
  await nothingLeft();

  const after = await start([PROGRAM]).ready;
  expect(after).toMatchObject({ temporalAddress: before.temporalAddress, databaseUrl: before.databaseUrl });
  expect(await query(after.databaseUrl, "select answer from kept")).toEqual([{ answer: 42 }]);
  expect(await withTemporal(after, isRunning)).toBe("RUNNING");
});

test("after kill -9 of host, guards, program and servers in any mixture, the next start goes on", async () => {
  const first = start([PROGRAM]);
  const before = await first.ready;
  await query(before.databaseUrl, "create table kept as select 42 as answer");
  await withTemporal(before, startWorkflow);

  // Guards first, then the host: the servers are orphans that nobody ends.
  const [postgres, temporal] = [server("postgres"), server("temporal")];
  const guards = guardsOf([postgres, temporal]);
  expect(guards).toHaveLength(2);
  for (const { pid } of guards) process.kill(pid, "SIGKILL");
  first.child.kill("SIGKILL");
  await first.ended;
  expect([server("postgres"), server("temporal")]).toEqual([postgres, temporal]);

  const second = start([PROGRAM]);
  expect(await second.ready).toMatchObject({ databaseUrl: before.databaseUrl });
  expect(second.said()).toContain(`ending PostgreSQL (process ${postgres})`);
  expect(second.said()).toContain(`ending Temporal (process ${temporal})`);

  // And everything at once.
  const all = processesOf(dataDir);
  for (const { pid } of [...all, ...guardsOf(all.map(({ pid }) => pid))]) process.kill(pid, "SIGKILL");
  await second.ended;

  const after = await start().ready;
  expect(await query(after.databaseUrl, "select answer from kept")).toEqual([{ answer: 42 }]);
  expect(await withTemporal(after, isRunning)).toBe("RUNNING");
});

test("a server that dies alone is started again on its port; Ctrl-C then ends all of them, in order", async () => {
  const host = start([PROGRAM]);
  const { databaseUrl, temporalAddress, temporalUiUrl, url } = await host.ready;
  for (const what of ["postgres", "temporal"] as const) {
    const before = server(what);
    process.kill(before, "SIGKILL");
    await expect.poll(() => processesOf(dataDir).filter(({ pid }) => pid === before), WAIT).toEqual([]);
  }
  await expect.poll(() => query(databaseUrl, "select 1 as one").catch(() => []), WAIT).toEqual([{ one: 1 }]);
  const serves = () => withTemporal({ databaseUrl, temporalAddress, temporalUiUrl }, () => Promise.resolve(true));
  await expect.poll(() => serves().catch(() => false), WAIT).toBe(true);
  expect((await fetch(url ?? "")).status).toBe(200);
  await expect.poll(() => [server("postgres"), server("temporal")].length, WAIT).toBe(2);

  process.kill(-(host.child.pid ?? 0), "SIGINT");
  expect(await host.ended).toEqual([0, null]);
  expect(processesOf(dataDir)).toEqual([]);
  const ends = host.said().split("\n").slice(-4);
  expect(ends).toEqual(["ending: interrupt", "Temporal ended", "PostgreSQL ended", ""]);
  const log = await readFile(join(dataDir, "logs", "postgres.log"), "utf8");
  expect(log.trimEnd().split("\n").at(-1)).toContain("database system is shut down");
});

test("ports that strangers took meanwhile are replaced, said so; a broken postmaster.pid is no hindrance", async () => {
  const first = start();
  await first.ready;
  process.kill(first.child.pid ?? 0, "SIGTERM");
  await first.ended;
  const kept = JSON.parse(await readFile(join(dataDir, "ports.json"), "utf8")) as Record<string, number>;
  const strangers = Object.values(kept).map((port) => createServer().listen(port, "127.0.0.1"));
  await Promise.all(strangers.map((stranger) => once(stranger, "listening")));
  const pidFile = join(await readHome(), "data", "postmaster.pid");
  try {
    // Empty: PostgreSQL alone would refuse it for ever.
    await writeFile(pidFile, "");
    const second = start();
    const ready = await second.ready;
    expect(await query(ready.databaseUrl, "select 1 as one")).toEqual([{ one: 1 }]);
    expect(second.said().match(/is taken by another program/g)).toHaveLength(3);
    process.kill(second.child.pid ?? 0, "SIGTERM");
    await second.ended;
  } finally {
    for (const stranger of strangers) stranger.close();
  }
  // The id of a live process that is not PostgreSQL, of the account that runs it: PostgreSQL alone would believe it.
  const { uid, gid } = await stat(join(pidFile, ".."));
  const stranger = spawn("sleep", ["600"], { uid, gid, stdio: "ignore" });
  try {
    await writeFile(pidFile, `${stranger.pid}\n${join(pidFile, "..")}\n`);
    expect(await start().ready).toBeDefined();
    expect(stranger.exitCode).toBe(null);
  } finally {
    stranger.kill("SIGKILL");
  }
});

const readHome = async (): Promise<string> =>
  (await readFile(join(dataDir, "postgres-moved-to"), "utf8").catch(() => join(dataDir, "postgres"))).trim();

test("a folder in use is refused in one line that names its owner; no secret is on command lines or in logs", async () => {
  const first = start();
  const url = new URL((await first.ready).databaseUrl);
  const second = start();
  expect((await second.ended)[0]).not.toBe(0);
  expect(second.said()).toContain(`is in use by process ${first.child.pid}`);
  expect(second.said()).toContain("MYRIARCH_DATA");
  expect(await query(url.href, "select 1 as one")).toEqual([{ one: 1 }]);

  expect(url.password.length).toBeGreaterThan(20);
  for (const { args } of processesOf(dataDir)) expect(args.join(" ")).not.toContain(url.password);
  for (const file of ["postgres.log", "temporal.log"])
    expect(await readFile(join(dataDir, "logs", file), "utf8")).not.toContain(url.password);
  expect((await stat(join(dataDir, "postgres-password"))).mode & 0o777).toBe(0o600);
  url.password = "wrong";
  await expect(query(url.href, "select 1")).rejects.toThrow("password authentication failed");
});

test.skipIf(!IS_ROOT)(
  "root below a folder that the database's account cannot enter: programs and data move",
  async () => {
    await chmod(dataDir, 0o700);
    dataDir = join(dataDir, "clone", ".myriarch");
    const host = start();
    const { databaseUrl } = await host.ready;
    const moved = (await readFile(join(dataDir, "postgres-moved-to"), "utf8")).trim();
    try {
      expect(host.said()).toContain(moved);
      expect(moved).toMatch(/^\/var\/lib\/myriarch\/[0-9a-f]+$/);
      await query(databaseUrl, "create table kept as select 42 as answer");
      process.kill(host.child.pid ?? 0, "SIGTERM");
      await host.ended;
      expect(await query((await start().ready).databaseUrl, "select answer from kept")).toEqual([{ answer: 42 }]);
    } finally {
      for (const { child, ended } of hosts) {
        child.kill("SIGTERM");
        await ended;
      }
      await rm(moved, { recursive: true, force: true });
      dataDir = join(dataDir, "..", "..");
    }
  },
);

/** An account that is neither root nor ours, if this machine has one and we may become it. */
function ordinaryUser(): { uid: number; gid: number } | undefined {
  if (!IS_ROOT) return undefined;
  const id = (flag: string) => Number(execFileSync("id", [flag, "nobody"], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}

test.skipIf(!IS_ROOT)("works for an ordinary user, who needs no account but their own", async () => {
  const user = ordinaryUser();
  if (user === undefined) return;
  await chown(dataDir, user.uid, user.gid);
  // The program that root's cache has, in a cache that the user can read: nothing is downloaded twice for a test.
  const cache = join(dataDir, "cache");
  await mkdir(cache);
  await cp(join(cacheFolder(), "tools"), join(cache, "tools"), { recursive: true });
  const env = { MYRIARCH_CACHE: cache, HOME: dataDir };
  const host = start([PROGRAM], { ...user, env });
  const { databaseUrl, url } = await host.ready;
  expect(await query(databaseUrl, "select 1 as one")).toEqual([{ one: 1 }]);
  expect((await fetch(url ?? "")).status).toBe(200);
  expect((await stat(join(dataDir, "postgres", "data"))).uid).toBe(user.uid);
  host.child.kill("SIGKILL");
  await nothingLeft();
});
