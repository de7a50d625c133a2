/** myriarchd as processes: a parent and its two roles, with a database that never answers. */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { stringify } from "yaml";
import { findProcesses, signalProcess } from "../../src/embedded/processes.ts";
import { programPath } from "../../src/embedded/program.ts";

let folder: string;
let config: string;
let silent: Server;
let parent: ChildProcess | undefined;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "myriarchd-"));
  config = join(folder, "server.yaml");
  silent = createServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const address = silent.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  for (const name of ["key", "control", "read"]) writeFileSync(join(folder, name), `${name}-0123456789abcdef\n`);
  writeFileSync(join(folder, "database"), `postgres://nobody@127.0.0.1:${port}/none\n`);
  const settings = {
    mode: "development",
    server: { listen: "127.0.0.1:0", publicUrl: "http://127.0.0.1:1" },
    secrets: { keyFile: join(folder, "key") },
    gitops: { url: join(folder, "none.git") },
    artifacts: { trustedRootFile: join(folder, "root.json"), stagingDir: join(folder, "staging") },
    depots: { controlTokenFile: join(folder, "control"), readTokenFile: join(folder, "read") },
    database: { urlFile: join(folder, "database") },
    temporal: { address: "127.0.0.1:1" },
  };
  writeFileSync(config, stringify(settings));
});
afterEach(async () => {
  for (const { pid } of ours()) signalProcess(pid, "SIGKILL");
  await until("everything is gone", () => ours().length === 0);
  silent.close();
  rmSync(folder, { recursive: true, force: true });
});

const ours = () => findProcesses((args) => args.includes(config));
const roles = (): string[] =>
  ours()
    .flatMap(({ args }) => (args.includes("--roles") ? [args.at(-1) ?? ""] : []))
    .toSorted();

function start(): ChildProcess {
  const { DATABASE_URL: _d, TEMPORAL_ADDRESS: _t, ...env } = process.env;
  parent = spawn(process.execPath, [programPath("myriarchd"), "--config", config], { env, stdio: "ignore" });
  return parent;
}

async function until(what: string, fits: () => boolean): Promise<void> {
  const deadline = performance.now() + 45_000;
  while (!fits()) {
    if (performance.now() > deadline) throw new Error(`not in time: ${what}`);
    await delay(50);
  }
}

test("a role that dies is started again, and no role outlives a parent that was killed", async () => {
  const { pid } = start();
  await until("both roles run", () => roles().join() === "api,worker");
  const before = ours().find(({ args }) => args.at(-1) === "worker");
  signalProcess(before?.pid ?? 0, "SIGKILL");
  await until("another worker runs", () => ours().some((it) => it.args.at(-1) === "worker" && it.pid !== before?.pid));
  signalProcess(pid ?? 0, "SIGKILL");
  await until("nothing is left", () => ours().length === 0);
});

test("SIGTERM ends the parent and both roles, also while they wait for their database", async () => {
  const running = start();
  await until("both roles run", () => roles().join() === "api,worker");
  running.kill("SIGTERM");
  const code = await new Promise<number | null>((resolve) => running.once("exit", resolve));
  expect(code).toBe(0);
  expect(ours()).toEqual([]);
});

test("a configuration that is not valid ends it with 78 and is not tried again", async () => {
  writeFileSync(config, "mode: prod\n");
  const running = start();
  const code = await new Promise<number | null>((resolve) => running.once("exit", resolve));
  expect(code).toBe(78);
});
