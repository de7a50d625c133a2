/**
 * A rollout over 1,000 simulated hosts in four waves, over real OpAMP connections, against API and worker processes:
 * wall time against the ideal of its policy, and the size of every history.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, Connection } from "@temporalio/client";
import { parse } from "yaml";
import { editYaml } from "../src/embedded/stage/repository.ts";
import { openStage, startHosts, type Stage } from "../src/embedded/stage/stage.ts";
import { createTourApi, type TourApi } from "../src/embedded/tour/api.ts";
import { createFacts } from "../src/embedded/tour/facts.ts";
import { atMost, atMostTimes } from "./report.ts";

const HOSTS = Number(process.env["BENCH_HOSTS"] ?? 1_000);
const STEPS = 5;
const STEP_MS = 400;
const HOST_MS = STEPS * STEP_MS;
const HEALTH_WAIT_MS = 2_000;
const SHARES = [1, 10, 50, 100];
const CAP_SHARE = 10;
/** Hosts per second, two connections each: below what the server lets in (`agents.acceptRate`, 200). */
const CONNECTS = 80;

const policy = `apiVersion: myriarch.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: bench}
spec:
  waves:
${SHARES.slice(0, -1)
  .map((share) => `    - {name: upto-${share}, upTo: "${share}%"}`)
  .join("\n")}
  maxConcurrent: "${CAP_SHARE}%"
  healthWait: ${HEALTH_WAIT_MS / 1000}s
`;

const dataDir = await mkdtemp(join(tmpdir(), "myriarch-bench-"));
const stage = await openStage({ dataDir, log: (line) => console.error(line), simulated: HOSTS });
try {
  const api = createTourApi(stage.server.url, stage.credentials.adminToken);
  await startHosts(stage, { realHosts: [], simArgs: [`--step-ms=${STEP_MS}`, `--connect-per-second=${CONNECTS}`] });
  await configureEverybody(stage, api);
  const wallMs = await rollOut(stage, api, "0.162.0");
  report(wallMs);
  await reportHistories(stage);
} finally {
  await stage.stop();
  await rm(dataDir, { recursive: true, force: true });
}

/** First commit: every host gets its configuration and 0.161.0; what is measured starts from a settled fleet. */
async function configureEverybody(at: Stage, api: TourApi): Promise<void> {
  await at.repository.commit("The bench fleet", async (work) => {
    await writeFile(join(work, "policies", "bench.yaml"), policy);
    const fleet = join(work, "fleets", "demo.yaml");
    await editYaml(fleet, ["spec", "rolloutPolicy"], "bench");
    parse(await readFile(fleet, "utf8"));
  });
  const { until } = createFacts(
    () => undefined,
    () => performance.now(),
  );
  await until("settled", async () => (await api.rollout("demo", 1)).state === "succeeded", { withinMs: 15 * 60_000 });
  await until("configured", async () => (await api.fleet("demo"))?.configPending === 0, { withinMs: 15 * 60_000 });
}

/** From the push until the rollout has succeeded, in milliseconds. */
async function rollOut(at: Stage, api: TourApi, version: string): Promise<number> {
  const { until } = createFacts(
    () => undefined,
    () => performance.now(),
  );
  await at.repository.commit(version, (work) =>
    editYaml(join(work, "fleets", "demo.yaml"), ["spec", "version", "target"], version),
  );
  await until("begun", async () => (await api.rollout("demo", 2)).state === "running", { withinMs: 60_000 });
  const startedAt = performance.now();
  let controlMs = 0;
  await until("in the last wave", async () => (await api.rollout("demo", 2)).wave === SHARES.length - 1, {
    withinMs: 15 * 60_000,
  });
  const asked = performance.now();
  await api.control("demo", 2, "pause", { reason: "bench" });
  controlMs = performance.now() - asked;
  await api.control("demo", 2, "resume", {});
  await until("succeeded", async () => (await api.rollout("demo", 2)).state === "succeeded", { withinMs: 15 * 60_000 });
  console.log(JSON.stringify(atMost("pause answered in the last wave", controlMs, 1_000, "ms")));
  return performance.now() - startedAt;
}

function report(wallMs: number): void {
  const cap = Math.ceil((HOSTS * CAP_SHARE) / 100);
  const upTo = SHARES.map((share) => Math.ceil((HOSTS * share) / 100));
  const sizes = upTo.map((size, i) => size - (upTo[i - 1] ?? 0));
  const batches = sizes.reduce((sum, size) => sum + Math.ceil(size / cap), 0);
  const idealMs = batches * (HOST_MS + HEALTH_WAIT_MS);
  console.log(
    `${HOSTS} hosts, waves of ${sizes.join(", ")}, ${cap} at a time. Ideal = ${batches} batches × (${HOST_MS} ms on the host + ${HEALTH_WAIT_MS} ms health wait) = ${idealMs / 1000} s.`,
  );
  console.log(JSON.stringify(atMostTimes("rollout wall time", wallMs / 1000, idealMs / 1000, 1.15, "s")));
}

async function reportHistories(at: Stage): Promise<void> {
  const connection = await Connection.connect({ address: at.services.temporalAddress });
  const client = new Client({ connection });
  let [events, bytes] = [0, 0];
  for await (const { workflowId } of client.workflow.list({ query: 'WorkflowId STARTS_WITH "rollout/demo/2"' })) {
    const { historyLength, raw } = await client.workflow.getHandle(workflowId).describe();
    const size = Number(raw.workflowExecutionInfo?.historySizeBytes ?? 0);
    console.log(`${workflowId}: ${historyLength} events, ${(size / 1024).toFixed(1)} KiB`);
    events = Math.max(events, historyLength);
    bytes = Math.max(bytes, size);
  }
  await connection.close();
  console.log(JSON.stringify(atMost("events in the longest history", events, 4_000, "events")));
  console.log(JSON.stringify(atMost("bytes of the largest history", bytes / 1024 ** 2, 4, "MB")));
}
