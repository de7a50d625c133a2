/**
 * A server that holds the only copy of an artifact, as real processes: told to end it stays until depots have it; killed it
 * loses nothing.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { access, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test, vi } from "vitest";
import { stringify } from "yaml";
import { CHANNELS } from "../../src/domain/channels.ts";
import { programPath } from "../../src/embedded/program.ts";
import { registerDepot } from "../../src/store/depots.ts";
import { createListener, type Listener } from "../../src/store/listen.ts";
import { createApiToken } from "../../src/store/tokens.ts";
import { openSigningAuthority } from "../../src/signing/authority.ts";
import { packArchive, publishRelease } from "../../src/signing/release.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { startDepots, TOKENS, type DepotProcess } from "../support/depot-process.ts";
import { myrctl } from "../support/myrctl.ts";
import { openNamespace } from "../support/own-namespace.ts";

/** Each starts a server, some twice; a busy machine takes its time for that. */
vi.setConfig({ testTimeout: 400_000, hookTimeout: 400_000 });

let root: string;
let folder: string;
let database: TestDatabase;
let listener: Listener;
let group: Awaited<ReturnType<typeof startDepots>>;
let depot: DepotProcess;
let server: Server;
const NAME = "otelcol-contrib_0.162.0_linux_amd64.tar.gz";

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "myriarch-drain-"));
  const authority = await openSigningAuthority(join(root, "authority"));
  const content = await packArchive([{ name: "otelcol-contrib", content: randomBytes(50_000), mode: 0o755 }]);
  await publishRelease(join(root, "mirror"), authority, [{ name: NAME, content }], { tag: "v0.162.0" });
  folder = join(root, "mirror", "v0.162.0");
  for (const [name, text] of [
    ["control", TOKENS.control],
    ["read", TOKENS.read],
    ["key", randomBytes(32).toString("hex")],
  ] as const)
    await writeFile(join(root, name), text, { mode: 0o600 });
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** A depot that is registered and does not answer, and a server that has taken the upload of a release. */
beforeEach(async () => {
  database = await createTestDatabase();
  listener = await createListener({ url: database.url, channels: [CHANNELS.artifacts], onError: () => undefined });
  group = await startDepots(1);
  [depot] = group.depots as [DepotProcess];
  await depot.kill();
  await registerDepot(database.pool, {
    nodeId: depot.nodeId,
    zone: "",
    controlUrl: depot.controlUrl,
    readUrl: depot.readUrl,
  });
  const made = await createApiToken(database.pool, {
    name: "t",
    owner: "ada",
    role: "admin",
    createdBy: "t",
    expiresAt: null,
    at: new Date(),
  });
  await writeFile(join(root, "token"), made?.token ?? "", { mode: 0o600 });
  server = await prepareServer();
  await server.start();
  const said = await upload();
  expect(said, said.err).toMatchObject({ code: 0 });
  expect(await staged()).toHaveLength(1);
});
afterEach(async () => {
  await server.end();
  await group.remove();
  await listener.close();
  await database.drop();
});

const staged = async (): Promise<string[]> =>
  (await readdir(server.stagingDir)).filter((name) => /^[0-9a-f]{64}$/.test(name));
const upload = () =>
  myrctl(["--server", server.url, "--token-file", join(root, "token"), "artifacts", "upload", folder]);
const copies = async (): Promise<number> =>
  (await database.pool.query("select from copies where disks > 0")).rowCount ?? 0;

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 300_000;
  for (;;) {
    const woken = listener.next(CHANNELS.artifacts, 500);
    if (await holds()) return;
    if (performance.now() > end) throw new Error(`not in time: ${what}\n${server.log()}`);
    await woken;
  }
}

type Server = {
  url: string;
  stagingDir: string;
  start(): Promise<void>;
  /** Sends a signal to the parent. */
  signal(name: "SIGTERM" | "SIGKILL"): void;
  /** Its exit code, once it has ended. */
  ended(): Promise<number | null>;
  isAlive(): boolean;
  log(): string;
  end(): Promise<void>;
};

async function prepareServer(): Promise<Server> {
  const home = await mkdtemp(join(root, "server-"));
  const address = inject("temporalAddress");
  const { namespace, connection } = await openNamespace(address);
  await connection.close();
  await writeFile(join(home, "database"), database.url);
  const stagingDir = join(home, "staging");
  const config = join(home, "server.yaml");
  await writeFile(
    config,
    stringify({
      mode: "development",
      server: { listen: "127.0.0.1:0", publicUrl: "http://127.0.0.1:1" },
      secrets: { keyFile: join(root, "key") },
      gitops: { url: join(home, "none.git") },
      artifacts: {
        sourceBaseUrl: `file://${join(root, "nowhere")}`,
        trustedRootFile: join(root, "authority", "trusted_root.json"),
        stagingDir,
      },
      depots: { controlTokenFile: join(root, "control"), readTokenFile: join(root, "read") },
      database: { urlFile: join(home, "database") },
      temporal: { address, namespace },
      telemetry: { metricsListen: "127.0.0.1:0" },
    }),
  );
  let child: ChildProcess | undefined;
  let exit: Promise<[number | null]> | undefined;
  let log = "";
  const made: Server = {
    url: "",
    stagingDir,
    start: async () => {
      const { DATABASE_URL: _d, TEMPORAL_ADDRESS: _t, ...env } = process.env;
      child = spawn(process.execPath, [programPath("myriarchd"), "--config", config], {
        env,
        stdio: ["ignore", "pipe", "inherit"],
      });
      exit = once(child, "exit") as Promise<[number | null]>;
      const waiting = new Set(["ready", "worker ready"]);
      await new Promise<void>((resolve, reject) => {
        createInterface({ input: child?.stdout ?? process.stdin }).on("line", (line) => {
          log += `${line}\n`;
          const said = JSON.parse(line) as { ready?: boolean; url?: string; msg?: string };
          if (said.ready === true) made.url = said.url ?? "";
          waiting.delete(said.ready === true ? "ready" : (said.msg ?? ""));
          if (waiting.size === 0) resolve();
        });
        void exit?.then(() => reject(new Error(`the server ended:\n${log}`)));
      });
    },
    signal: (name) => void child?.kill(name),
    ended: async () => (await exit)?.[0] ?? null,
    isAlive: () => child?.exitCode === null && child.signalCode === null,
    log: () => log,
    end: async () => {
      if (!made.isAlive()) return;
      made.signal("SIGTERM");
      made.signal("SIGTERM");
      await exit;
    },
  };
  return made;
}

test("told to end it takes nothing new, says so, stays until a depot has everything, and ends", async () => {
  server.signal("SIGTERM");
  const ready = async () => (await (await fetch(`${server.url}/readyz`)).json()) as { draining: number };
  await until("it says that it waits", async () => (await ready()).draining === 1);
  expect(await upload()).toMatchObject({ code: 3, err: expect.stringContaining("no_staging_here") as string });
  expect(server.log()).toContain("waiting until what is staged here is replicated");
  expect(server.isAlive()).toBe(true);
  await depot.start();
  expect(await server.ended(), server.log()).toBe(0);
  expect((await depot.files())[0]).toHaveLength(1);
  expect(server.log()).toContain("everything staged here is replicated");
});

test("a second signal ends it at once; what is staged stays, and the next start replicates it", async () => {
  server.signal("SIGTERM");
  await until("it waits", async () => server.log().includes("waiting until what is staged here is replicated"));
  server.signal("SIGTERM");
  await server.ended();
  expect(await staged()).toHaveLength(1);
  expect(await copies()).toBe(0);
  await depot.start();
  await server.start();
  await until("the depot has it", async () => (await copies()) === 1);
});

test("killed before the first put it loses nothing: the next start finds what was staged", async () => {
  server.signal("SIGKILL");
  await server.ended();
  const [digest] = await staged();
  await access(join(server.stagingDir, digest ?? ""));
  await depot.start();
  await server.start();
  await until("the depot has it", async () => (await copies()) === 1);
  expect((await depot.files())[0]).toEqual([digest]);
});
