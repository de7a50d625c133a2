/**
 * A world for tests of the rollout engine: a database and a Temporal namespace of its own, workers that can be killed and
 * started, Git as a row, and hosts that answer as rows: they take offers through the API's own gate, and report as the API
 * would write it.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, type Connection } from "@temporalio/client";
import {
  bundleWorkflowCode,
  DefaultLogger,
  NativeConnection,
  Runtime,
  Worker,
  type WorkflowBundleWithSourceMap,
} from "@temporalio/worker";
import { inject } from "vitest";
import { createRolloutActivities } from "../../src/activities/rollouts.ts";
import { pokeReconcile } from "../../src/activities/start-workflows.ts";
import { createRolloutControls, type RolloutControls } from "../../src/api/rollout-controls.ts";
import { CHANNELS } from "../../src/domain/channels.ts";
import { SPECS, type GitObject } from "../../src/domain/gitops/kinds.ts";
import { registerSearchAttributes } from "../../src/embedded/temporal-namespace.ts";
import type { Pool } from "../../src/store/database.ts";
import { createListener, type Listener } from "../../src/store/listen.ts";
import { getRollout, listTargets, type RolloutDetail, type TargetView } from "../../src/store/rollouts.ts";
import { QUEUES, type Control } from "../../src/workflows/messages.ts";
import { openNamespace } from "./own-namespace.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";
import { createRowHosts, type RowHosts } from "./row-hosts.ts";

export type World = {
  /** The fleet of this test. */
  fleet: string;
  /** A fleet of its own for the next test; hosts of the one before are gone. */
  begin(): Promise<void>;
  database: TestDatabase;
  pool: Pool;
  client: Client;
  listener: Listener;
  controls: RolloutControls;
  hosts: RowHosts;
  /** Starts a worker in this process. */
  startWorker(): Promise<{ stop(): Promise<void> }>;
  /** A worker as a process of its own, to be killed. */
  spawnWorker(): Promise<ChildProcess>;
  /** A commit that is valid and applied: the fleet `demo` wants this version with this policy. */
  commit(
    version: string,
    policy?: Record<string, unknown>,
    changes?: Record<string, unknown>,
    debug?: Record<string, unknown>,
  ): Promise<string>;
  control(
    control: Control,
    input?: { reason?: string; wave?: string },
    n?: number,
  ): ReturnType<RolloutControls["control"]>;
  signal(control: Control, input?: { by?: string; reason?: string; wave?: string }, n?: number): Promise<void>;
  rollout(n: number): Promise<RolloutDetail>;
  targets(n: number): Promise<TargetView[]>;
  /** Waits until `holds` returns something true, or throws what it saw last. */
  until<T>(what: string, holds: () => Promise<T | false | undefined>, deadlineMs?: number): Promise<T>;
  state(n: number, ...states: string[]): Promise<RolloutDetail>;
  close(): Promise<void>;
};

let bundle: Promise<WorkflowBundleWithSourceMap> | undefined;
const workerProgram = new URL("./rollout-worker.ts", import.meta.url).pathname;
const workflowsPath = new URL("../../src/workflows/index.ts", import.meta.url).pathname;

/** Once per process: the worker's own lines are noise here. */
let isQuiet = false;
function quiet(): void {
  if (!isQuiet) Runtime.install({ logger: new DefaultLogger((process.env["WORKER_LOG"] ?? "ERROR") as "ERROR") });
  isQuiet = true;
}

export async function createRolloutWorld(): Promise<World> {
  quiet();
  const database = await createTestDatabase();
  const { pool } = database;
  const address = inject("temporalAddress");
  const { namespace, connection } = await openNamespace(address);
  await registerWhenReady(connection, namespace);
  const client = new Client({ connection, namespace });
  const listener = await createListener({
    url: database.url,
    channels: Object.values(CHANNELS),
    onError: () => undefined,
  });
  const now = (): Date => new Date();
  const controls = createRolloutControls({ pool, client, now, deadlineMs: 5_000 });
  const hosts = await createRowHosts(database.url, pool);
  const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const native = await NativeConnection.connect({ address });
  const running = new Set<Worker>();
  bundle ??= bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger("ERROR") });

  const startWorker: World["startWorker"] = async () => {
    const activities = createRolloutActivities({ pool, listener, client, now, log: silent });
    const options = { connection: native, namespace, activities, maxHeartbeatThrottleInterval: "1s" } as const;
    const workers = [
      await Worker.create({
        ...options,
        taskQueue: QUEUES.control,
        workflowBundle: await (bundle as Promise<WorkflowBundleWithSourceMap>),
      }),
      await Worker.create({ ...options, taskQueue: QUEUES.observe }),
    ];
    const runs = workers.map((worker) => worker.run());
    for (const worker of workers) running.add(worker);
    return {
      stop: async () => {
        for (const worker of workers) {
          if (worker.getState() === "RUNNING") worker.shutdown();
          running.delete(worker);
        }
        await Promise.all(runs);
      },
    };
  };
  const stops: { stop(): Promise<void> }[] = [];
  const children: ChildProcess[] = [];
  const codePath = join(tmpdir(), `myriarch-test-${process.pid}-${namespace}.js`);
  let tests = 0;
  const world: World = {
    fleet: "",
    begin: async () => {
      tests += 1;
      world.fleet = `fleet-${tests}`;
      await hosts.reset(world.fleet);
    },
    database,
    pool,
    client,
    listener,
    controls,
    hosts,
    startWorker: async () => {
      const worker = await startWorker();
      stops.push(worker);
      return worker;
    },
    spawnWorker: async () => {
      const { code } = await (bundle as Promise<WorkflowBundleWithSourceMap>);
      await writeFile(codePath, code);
      const child = spawn(process.execPath, [workerProgram, database.url, address, namespace, codePath], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      children.push(child);
      await new Promise<void>((resolve, reject) => {
        child.stdout?.once("data", () => resolve());
        child.once("exit", (code) => reject(new Error(`the worker ended with ${code}`)));
      });
      return child;
    },
    commit: async (version, policy = {}, changes = {}, debug = {}) => {
      const commit = randomBytes(20).toString("hex");
      await applySnapshot(pool, commit, objectsFor(world.fleet, version, policy, changes, debug));
      await pokeReconcile(client, "commit");
      return commit;
    },
    control: (control, input = {}, n = 1) => controls.control(world.fleet, n, control, input, "ada", randomUUID()),
    signal: async (control, input = {}, n = 1) => {
      await client.workflow.getHandle(`rollout/${world.fleet}/${n}`).signal(control, input);
    },
    rollout: async (n) => {
      const found = await getRollout(pool, world.fleet, n);
      if (found === undefined) throw new Error(`no rollout ${n}`);
      return found;
    },
    targets: (n) => listTargets(pool, world.fleet, n),
    until: async (what, holds, deadlineMs = 30_000) => {
      const end = Date.now() + deadlineMs;
      for (;;) {
        const seen = await holds();
        if (seen !== false && seen !== undefined) return seen;
        if (Date.now() > end)
          throw new Error(`not within ${deadlineMs} ms: ${what}${await lastSeen(pool, world.fleet)}`);
        await listener.next(CHANNELS.rollouts, 200);
      }
    },
    state: (n, ...states) =>
      world.until(`rollout ${n} is ${states.join(" or ")}`, async () => {
        const found = await getRollout(pool, world.fleet, n);
        return found !== undefined && states.includes(found.state) ? found : false;
      }),
    close: async () => {
      await hosts.close();
      for (const child of children) child.kill("SIGKILL");
      await Promise.all(stops.map((worker) => worker.stop()));
      await listener.close();
      await native.close();
      await connection.close();
      await database.drop();
      await rm(codePath, { force: true });
    },
  };
  return world;
}

/** A new namespace is known to every part of the server within seconds. */
async function registerWhenReady(connection: Connection, namespace: string): Promise<void> {
  const end = Date.now() + 30_000;
  for (;;) {
    try {
      await registerSearchAttributes(connection, namespace);
      return;
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

async function lastSeen(pool: Pool, fleet: string): Promise<string> {
  const { rows } = await pool.query(
    `select r.fleet, r.n, r.state, r.reason, r.holds, r.ending, (select jsonb_object_agg(k, state) from waves w where w.fleet = r.fleet and w.n = r.n) as waves,
      (select jsonb_agg(jsonb_build_object('host', t.host_name, 'w', a.wave, 'p', a.phase, 'd', a.direction, 'e', a.error)) from targets t
        join attempts a using (fleet, n, host, attempt) where t.fleet = r.fleet and t.n = r.n) as targets from rollouts r where fleet = $1 order by n`,
    [fleet],
  );
  return rows.map((row) => `\n  ${JSON.stringify(row)}`).join("");
}

export const QUICK_POLICY = { maxConcurrent: "100%", healthWait: "300ms", targetTimeout: "20s" };

function objectsFor(
  name: string,
  version: string,
  policy: Record<string, unknown>,
  changes: Record<string, unknown>,
  debug: Record<string, unknown>,
): GitObject[] {
  const envelope = (kind: string, name: string, file: string) => ({
    kind,
    name,
    metadata: { name },
    source: { file, line: 1 },
  });
  const fleet = SPECS.Fleet.parse({
    selector: { matchLabels: { test: name } },
    blueprint: "base",
    version: { target: version },
    rolloutPolicy: "quick",
    ...changes,
  });
  const spec = SPECS.RolloutPolicy.parse({ ...QUICK_POLICY, ...policy });
  const config = {
    receivers: { otlp: { protocols: { grpc: {} } } },
    exporters: { debug },
    service: { pipelines: { traces: { receivers: ["otlp"], exporters: ["debug"] } } },
  };
  const blueprint = SPECS.Blueprint.parse({ config });
  return [
    { ...envelope("Fleet", name, "fleets/demo.yaml"), spec: fleet },
    { ...envelope("RolloutPolicy", "quick", "policies/quick.yaml"), spec },
    { ...envelope("Blueprint", "base", "blueprints/base.yaml"), spec: blueprint },
  ] as GitObject[];
}

/** What `git-sync` leaves behind when it has applied a revision. */
export async function applySnapshot(pool: Pool, commit: string, objects: GitObject[]): Promise<void> {
  await pool.query(
    `with g as (update gitops_state set state = 'ok', applied_commit = $1, seen_commit = $1, generation = generation + 1,
       applied_at = now() returning generation)
     insert into snapshots (commit, generation, author, subject, objects) select $1, generation, 'Ada', 'test', $2 from g`,
    [commit, JSON.stringify(objects)],
  );
}
