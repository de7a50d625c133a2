/** Rows as the other processes write them, for tests of what the API reads. */
import type { Pool } from "../../src/store/database.ts";

export const HOSTS = {
  edge: "0190a000-0000-7000-8000-000000000001",
  core: "0190a000-0000-7000-8000-000000000002",
  edgeUpdater: "0190a000-0000-7000-8000-00000000000a",
} as const;

/** Two collectors (one connected and healthy, with a linked updater; one offline), and a fleet of Git that wants 0.162.0. */
export async function insertHosts(pool: Pool): Promise<void> {
  await pool.query(
    `insert into agents (uid, kind, kind_reason, credential, host_name, service_name, version, os, arch, connected, healthy,
       healthy_since, collector_uid, link, link_reason, attributes)
     values ($1, 'collector', 'it accepts remote configuration', 'token:t', 'edge-1', 'otelcol-contrib', '0.162.0', 'linux',
         'amd64', true, true, now(), null, 'none', '', '{"site": "fra", "deploy.token": "planted-attribute-secret"}'),
       ($2, 'collector', 'it accepts remote configuration', 'token:t', 'core-1', 'otelcol-contrib', '0.161.0', 'linux',
         'amd64', false, false, null, null, 'none', '', '{}'),
       ($3, 'updater', 'its service.name is myriarch-updater', 'token:t', 'edge-1', 'myriarch-updater', '0.1.0', 'linux',
         'amd64', true, true, now(), $1, 'linked', 'same credential and host', '{}')`,
    [HOSTS.edge, HOSTS.core, HOSTS.edgeUpdater],
  );
  await pool.query(
    `insert into wanted (host, fleet, fleet_reason, distribution, version, commit)
     values ($1, 'demo', 'selector matches', 'otelcol-contrib', '0.162.0', 'c1'),
            ($2, 'demo', 'selector matches', 'otelcol-contrib', '0.162.0', 'c1')`,
    [HOSTS.edge, HOSTS.core],
  );
}

export async function insertSnapshot(pool: Pool): Promise<void> {
  const fleet = {
    kind: "Fleet",
    name: "demo",
    metadata: { name: "demo", description: "the demo" },
    spec: {
      selector: {},
      priority: 0,
      blueprint: "base",
      parameters: {},
      version: { distribution: "otelcol-contrib", target: "0.162.0", allowDowngrade: false },
    },
    source: { file: "fleets/demo.yaml", line: 1 },
  };
  await pool.query(
    "insert into snapshots (commit, generation, author, subject, objects) values ('c1', 1, 'kim', 'to 0.162.0', $1)",
    [JSON.stringify([fleet])],
  );
  await pool.query(
    "update gitops_state set state = 'ok', seen_commit = 'c1', applied_commit = 'c1', applied_at = now(), generation = 1",
  );
}

const POLICY = {
  name: "default",
  waves: [],
  maxConcurrent: { percent: 10 },
  healthWaitMs: 120_000,
  targetTimeoutMs: 1_800_000,
  targetMaxTimeMs: null,
  threshold: { wave: null, rollout: { percent: 10 } },
  onThreshold: "pause",
  offline: { action: "skip", afterMs: null },
  onNewChange: "supersede",
  windows: [],
  spacingMs: 0,
  approvalTimeoutMs: null,
};

/** Rollout demo/1 to 0.162.0: wave canary ended with edge-1, wave rest waits for an approval with core-1. */
export async function insertRollout(pool: Pool): Promise<void> {
  await pool.query("insert into fleets (name, next_n) values ('demo', 2) on conflict (name) do update set next_n = 2");
  await pool.query(
    `insert into rollouts (fleet, n, kind, wanted_key, commit, distribution, version, state, reason, next_what, policy, started_at)
     values ('demo', 1, 'change', 'k1', 'c1', 'otelcol-contrib', '0.162.0', 'waiting_approval', 'wave rest waits', 'one operator', $1,
       now())`,
    [JSON.stringify(POLICY)],
  );
  await pool.query(
    `insert into waves (fleet, n, k, name, approval, state, started_at, finished_at)
     values ('demo', 1, 0, 'canary', 'none', 'ended', now(), now()), ('demo', 1, 1, 'rest', 'required', 'waiting_approval', null, null)`,
  );
  await pool.query(
    `insert into targets (fleet, n, host, host_name, ord, wave, from_version, to_version)
     values ('demo', 1, $1, 'edge-1', 0, 0, '0.161.0', '0.162.0'), ('demo', 1, $2, 'core-1', 1, null, '0.161.0', '0.162.0')`,
    [HOSTS.edge, HOSTS.core],
  );
  await pool.query(
    `insert into attempts (fleet, n, host, attempt, direction, wave, phase, offered_at, finished_at)
     values ('demo', 1, $1, 1, 'forward', 0, 'succeeded', now(), now()), ('demo', 1, $2, 1, 'forward', null, 'pending', null, null)`,
    [HOSTS.edge, HOSTS.core],
  );
}
