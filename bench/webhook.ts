/**
 * From a webhook's delivery to the first offer that a host is sent, with 1,000 simulated agents connected and the artifact on
 * every depot: fetch, validation, apply, plan, rollout, wave, delivery over OpAMP, across API and worker processes.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { editYaml } from "../src/embedded/stage/repository.ts";
import { openStage, startHosts, type Stage } from "../src/embedded/stage/stage.ts";
import { createTourApi, type TourApi } from "../src/embedded/tour/api.ts";
import { createFacts } from "../src/embedded/tour/facts.ts";
import { atMost, median } from "./report.ts";

const HOSTS = Number(process.env["BENCH_HOSTS"] ?? 1_000);
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 5);
const STEP_MS = 100;
/** Hosts per second, two connections each: below what the server lets in (`agents.acceptRate`, 200). */
const CONNECTS = 80;
const SETTLED_MS = 15 * 60_000;
/** The one step back to the version before is always allowed, so both are offered again and again. */
const VERSIONS = ["0.162.0", "0.161.0"] as const;

const policy = `apiVersion: myriarch.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: bench}
spec:
  maxConcurrent: "100%"
  healthWait: 1s
`;

const { until } = createFacts(
  () => undefined,
  () => performance.now(),
);
const dataDir = await mkdtemp(join(tmpdir(), "myriarch-bench-"));
const stage = await openStage({ dataDir, log: (line) => console.error(line), simulated: HOSTS });
const database = new pg.Client({ connectionString: stage.services.databaseUrl });
try {
  await database.connect();
  const api = createTourApi(stage.server.url, stage.credentials.adminToken);
  await startHosts(stage, { realHosts: [], simArgs: [`--step-ms=${STEP_MS}`, `--connect-per-second=${CONNECTS}`] });
  const secret = (await readFile(join(dataDir, "server", "webhook-secret"), "utf8")).trim();
  await begin(stage, api);
  // both versions once before anything is measured: the artifacts are fetched and copied
  const times: number[] = [];
  for (let round = 0; round < ROUNDS + 2; round += 1) {
    const ms = await firstOffer(stage, secret, round + 2, VERSIONS[round % 2] ?? "");
    if (round >= 2) times.push(ms);
    await settled(api, round + 2);
  }
  report(times);
} finally {
  await database.end();
  await stage.stop();
  await rm(dataDir, { recursive: true, force: true });
}

/** Every host runs 0.161.0 and is configured. */
async function begin(at: Stage, api: TourApi): Promise<void> {
  await at.repository.commit("The bench fleet", async (work) => {
    await writeFile(join(work, "policies", "bench.yaml"), policy);
    await editYaml(join(work, "fleets", "demo.yaml"), ["spec", "rolloutPolicy"], "bench");
  });
  await settled(api, 1);
  await until("configured", async () => (await api.fleet("demo"))?.configPending === 0, { withinMs: SETTLED_MS });
}

async function settled(api: TourApi, n: number): Promise<void> {
  const hasSucceeded = async (): Promise<boolean> => (await api.rollout("demo", n)).state === "succeeded";
  await until(`rollout ${n}`, hasSucceeded, { withinMs: SETTLED_MS });
}

/** Pushes, delivers at once, and waits for the first offer of rollout `n`; milliseconds from the delivery on. */
async function firstOffer(at: Stage, secret: string, n: number, version: string): Promise<number> {
  await at.repository.commit(version, (work) =>
    editYaml(join(work, "fleets", "demo.yaml"), ["spec", "version", "target"], version),
  );
  const startedAt = performance.now();
  const answer = await fetch(`${at.server.url}/api/v1/gitops/webhook`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-gitlab-token": secret },
    body: "{}",
  });
  if (answer.status !== 202) throw new Error(`the webhook answered ${answer.status}`);
  for (const deadline = startedAt + 120_000; performance.now() < deadline; await delay(10)) {
    const { rowCount } = await database.query(
      "select 1 from offers where fleet = 'demo' and n = $1 and kind = 'package' and sent_at is not null limit 1",
      [n],
    );
    if (rowCount === 1) return performance.now() - startedAt;
  }
  throw new Error(`no offer of rollout ${n}`);
}

function report(times: readonly number[]): void {
  const sorted = times.toSorted((a, b) => a - b);
  console.log(
    `${HOSTS} simulated agents, artifacts on every depot; ${sorted.length} rounds: ${sorted.map((ms) => (ms / 1000).toFixed(2)).join(", ")} s.`,
  );
  console.log(JSON.stringify(atMost("delivery to first offer, median", median(times) / 1000, 3, "s")));
}
