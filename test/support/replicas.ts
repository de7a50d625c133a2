/** `myriarchd --roles api` as real processes on one database, which a test kills and starts again. */
import { createHash, randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { programPath, startProgram, type Program } from "../../src/embedded/program.ts";
import type { Pool } from "../../src/store/database.ts";
import { lowPort } from "./low-port.ts";

export type Replica = {
  port: number;
  /** Its process; undefined while it does not run. */
  pid(): number | undefined;
  start(): Promise<void>;
  /** kill -9; resolves when it is gone. */
  kill(): Promise<void>;
};
export type Replicas = {
  all: readonly [Replica, ...Replica[]];
  /** `secrets.keyFile` of them all: what signs download tokens. */
  key: Uint8Array;
  stop(): Promise<void>;
};

type Options = {
  databaseUrl: string;
  temporalAddress: string;
  count: number;
  /** Of the section of this name in their configuration. */
  agents?: { acceptRate?: number; offlineAfter?: string };
  /** What depots ask for, where there are any. */
  depotReadToken?: string;
  /** Added to the environment. */
  env?: Readonly<Record<string, string>>;
};

/** Starts them all; each keeps its port over restarts. */
export async function startReplicas(options: Options): Promise<Replicas> {
  const root = await mkdtemp(join(tmpdir(), "myriarch-replicas-"));
  const key = randomBytes(32).toString("hex");
  await writeFile(join(root, "key"), key, { mode: 0o600 });
  await writeFile(join(root, "depot-read"), options.depotReadToken ?? key, { mode: 0o600 });
  await writeFile(join(root, "trusted-root.json"), "{}");
  const all = await Promise.all(Array.from({ length: options.count }, (_, i) => prepare(options, root, i)));
  const stop = async (): Promise<void> => {
    await Promise.all(all.map((it) => it.end()));
    await rm(root, { recursive: true, force: true });
  };
  try {
    for (const it of all) await it.start();
  } catch (error) {
    await stop();
    throw error;
  }
  const [first, ...rest] = all;
  if (first === undefined) throw new TypeError("no replica was asked for");
  return { all: [first, ...rest], key: new TextEncoder().encode(key), stop };
}

async function prepare({ databaseUrl, temporalAddress, agents = {}, env = {} }: Options, root: string, i: number) {
  const [port, metricsPort] = await Promise.all([lowPort(), lowPort()]);
  const dataDir = join(root, `replica-${i}`);
  await mkdir(dataDir, { recursive: true });
  const configFile = join(dataDir, "server.yaml");
  await writeFile(
    configFile,
    stringify({
      mode: "development",
      server: { listen: `127.0.0.1:${port}`, publicUrl: `http://127.0.0.1:${port}` },
      secrets: { keyFile: join(root, "key") },
      gitops: { url: `file://${join(root, "no-repository.git")}` },
      artifacts: { trustedRootFile: join(root, "trusted-root.json"), stagingDir: join(root, "staging") },
      agents,
      depots: { controlTokenFile: join(root, "key"), readTokenFile: join(root, "depot-read") },
      telemetry: { metricsListen: `127.0.0.1:${metricsPort}` },
    }),
    { mode: 0o600 },
  );
  let program: Program | undefined;
  return {
    port,
    pid: () => program?.pid,
    async start() {
      const args = ["--config", configFile, "--roles", "api"];
      program = await startProgram({
        name: `api-${i}`,
        script: programPath("myriarchd"),
        args,
        dataDir,
        env: { ...env, DATABASE_URL: databaseUrl, TEMPORAL_ADDRESS: temporalAddress },
      });
    },
    async kill() {
      const killed = program;
      if (killed === undefined) return;
      program = undefined;
      process.kill(killed.pid, "SIGKILL");
      await killed.exited;
    },
    async end() {
      await program?.stop();
    },
  };
}

/** A new enrollment token of that database. */
export async function enroll(pool: Pool, name: string): Promise<string> {
  const token = `myr_enroll_${randomBytes(16).toString("hex")}`;
  await pool.query("insert into enrollment_tokens (name, hash, labels, created_by) values ($1, $2, '{}', 'test')", [
    name,
    createHash("sha256").update(token).digest(),
  ]);
  return token;
}
