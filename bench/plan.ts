/**
 * The planner over 1,000, 10,000 and 100,000 agents in 200 fleets, on a real PostgreSQL: a commit that moves every agent
 * (assign, render, compare, and write 200 rollouts), and the plan after it, in which nothing has changed. Measured against
 * itself: the cost of an agent may hardly grow with their number.
 */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { planAll } from "../src/activities/plan-fleets.ts";
import { SPECS, type GitObject } from "../src/domain/gitops/kinds.ts";
import { startServices } from "../src/embedded/services.ts";
import type { Pool } from "../src/store/database.ts";
import { readSnapshot } from "../src/store/gitops.ts";
import { createTestDatabase } from "../test/support/database.ts";
import { atMost, atMostTimes } from "./report.ts";

const SIZES = (process.env["BENCH_AGENTS"] ?? "1000,10000,100000").split(",").map(Number);
const FLEETS = 200;
const MAX_S = 10;
const GROWTH = 1.3;

const object = (kind: GitObject["kind"], name: string, spec: object): GitObject =>
  ({
    kind,
    name,
    metadata: { name },
    source: { file: `${name}.yaml`, line: 1 },
    spec: SPECS[kind].parse(spec),
  }) as GitObject;

function objectsFor(version: string): GitObject[] {
  const blueprint = object("Blueprint", "base", {
    parameters: { endpoint: { type: "string", default: "otlp.example.com:4317" } },
    config: {
      receivers: { otlp: { protocols: { grpc: {} } } },
      processors: { resource: { attributes: [{ key: "fleet", value: "{{ fleet.name }}", action: "upsert" }] } },
      exporters: { otlp: { endpoint: "{{ parameters.endpoint }}" } },
      service: { pipelines: { traces: { receivers: ["otlp"], processors: ["resource"], exporters: ["otlp"] } } },
    },
  });
  const policy = object("RolloutPolicy", "waves", {
    waves: [
      { name: "canary", upTo: 1 },
      { name: "half", upTo: "50%" },
    ],
  });
  const fleets = Array.from({ length: FLEETS }, (_, k) =>
    object("Fleet", `fleet-${k}`, {
      selector: { matchLabels: { group: String(k) } },
      blueprint: "base",
      version: { target: version },
      rolloutPolicy: "waves",
    }),
  );
  return [blueprint, policy, ...fleets];
}

async function apply(pool: Pool, commit: string, objects: GitObject[]): Promise<void> {
  await pool.query(
    `with g as (update gitops_state set state = 'ok', applied_commit = $1, seen_commit = $1, generation = generation + 1,
       applied_at = now() returning generation)
     insert into snapshots (commit, generation, author, subject, objects) select $1, generation, 'bench', 'bench', $2 from g`,
    [commit, JSON.stringify(objects)],
  );
}

async function plan(pool: Pool): Promise<number> {
  const startedAt = performance.now();
  const snapshot = await readSnapshot(pool);
  if (snapshot === undefined) throw new Error("no snapshot");
  await planAll({ pool, now: () => new Date() }, snapshot, () => undefined);
  return (performance.now() - startedAt) / 1000;
}

/** A fleet that has settled on 0.160.0, then one commit. */
async function measure(serverUrl: string, agents: number): Promise<{ changeS: number; idleS: number }> {
  const database = await createTestDatabase(serverUrl);
  const { pool } = database;
  try {
    await pool.query(
      `insert into agents (uid, kind, kind_reason, credential, host_name, service_name, version, os, arch, attributes,
         capabilities, connected, healthy, healthy_since)
       select gen_random_uuid(), 'collector', 'bench', 'token:b', 'host-' || i, 'otelcol-contrib', '0.160.0', 'linux', 'amd64',
         jsonb_build_object('group', (i % $2)::text, 'rack', (i % 40)::text), 3, true, true, now()
         from generate_series(1, $1) i`,
      [agents, FLEETS],
    );
    await apply(pool, "settled", objectsFor("0.160.0"));
    await plan(pool);
    await pool.query(
      `update agents a set remote_config_hash = w.config_hash, remote_config_status = 1 from wanted w where w.host = a.uid`,
    );
    await pool.query("truncate attempts, targets, waves, rollouts, events");
    await pool.query("vacuum analyze");
    await apply(pool, "moved", objectsFor("0.161.0"));
    const changeS = await plan(pool);
    const { rows } = await pool.query<{ targets: number }>("select count(*)::int as targets from targets");
    if (rows[0]?.targets !== agents) throw new Error(`${rows[0]?.targets} targets for ${agents} agents`);
    return { changeS, idleS: await plan(pool) };
  } finally {
    await database.drop();
  }
}

const dataDir = await mkdtemp(join(tmpdir(), "myriarch-bench-"));
await chmod(dataDir, 0o711);
const services = await startServices({ dataDir, log: () => undefined, env: {} });
try {
  const found = new Map<number, { changeS: number; idleS: number }>();
  for (const agents of SIZES) {
    found.set(agents, await measure(services.databaseUrl, agents));
    const { changeS = 0, idleS = 0 } = found.get(agents) ?? {};
    console.log(
      `${agents} agents: ${changeS.toFixed(2)} s for a commit that moves all of them, ${idleS.toFixed(2)} s when nothing changed.`,
    );
  }
  const [least = 0, most = 0] = [SIZES[0], SIZES.at(-1)];
  const perAgentMs = (agents: number): number => ((found.get(agents)?.changeS ?? 0) / agents) * 1000;
  console.log(JSON.stringify(atMost(`plan of ${most} agents`, found.get(most)?.changeS ?? 0, MAX_S, "s")));
  console.log(
    JSON.stringify(
      atMostTimes(`per agent, ${most} against ${least}`, perAgentMs(most), perAgentMs(least), GROWTH, "ms"),
    ),
  );
} finally {
  await services.stop();
  await rm(dataDir, { recursive: true, force: true });
}
