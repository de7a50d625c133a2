/**
 * The scripted tour: one commit after the other, each fact checked from outside (files on the real hosts, `--version` of
 * the binaries that run, the API, Temporal's history). It reads like the story that the README tells.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Client, Connection } from "@temporalio/client";
import { openPool } from "../../store/database.ts";
import { findProcesses, signalProcess } from "../processes.ts";
import { editYaml } from "../stage/repository.ts";
import { FIRST_VERSION } from "../stage/real-host.ts";
import { startHosts, type Stage } from "../stage/stage.ts";
import { createTourApi, type Rollout, type TourApi } from "./api.ts";
import { createFacts, type Facts } from "./facts.ts";
import { collectorsOf, hostComplaints } from "./host-facts.ts";

export const FLEET = "demo";
export const FLEET_FILE = "fleets/demo.yaml";
const VERSION_PATH = ["spec", "version", "target"];

type Tour = { stage: Stage; api: TourApi; facts: Facts; temporal: Client };
type GitStatus = {
  state: string;
  appliedCommit: string | null;
  checkedAt: string | null;
  issues?: { code: string; file: string; line: number; message: string }[];
};

/** Runs the whole tour. Throws `FactFailed` with the first fact that does not hold. */
export async function runTour(stage: Stage, say: (line: string) => void): Promise<void> {
  const facts = createFacts(say, () => performance.now());
  const connection = await Connection.connect({ address: stage.services.temporalAddress });
  const tour: Tour = {
    stage,
    facts,
    api: createTourApi(stage.server.url, stage.credentials.adminToken),
    temporal: new Client({ connection }),
  };
  try {
    await hostsBegin(tour);
    await firstCommit(tour);
    await invalidCommit(tour);
    await commitThroughKills(tour);
    await badRelease(tour);
    await revertLiftsHold(tour);
    await rollbackInTheMiddle(tour);
  } finally {
    await connection.close();
  }
  say("");
  for (const { title, seconds } of facts.times()) say(`${seconds.toFixed(1).padStart(7)} s  ${title}`);
}

// ---------------------------------------------------------------- the chapters

async function hostsBegin(tour: Tour): Promise<void> {
  const { facts, api, stage } = tour;
  facts.chapter("Two real hosts and simulated ones connect; nobody has told them anything yet");
  await startHosts(stage);
  const total = stage.simulated + stage.hosts.length;
  await facts.until(`${total} collectors are connected and healthy, each with a linked updater`, async () => {
    const agents = await api.agents();
    const collectors = agents.filter(({ kind, connected, healthy }) => kind === "collector" && connected && healthy);
    const linked = agents.filter(({ kind, link }) => kind === "updater" && link.state === "linked");
    return collectors.length === total && linked.length === total;
  });
  for (const host of stage.hosts)
    await facts.check(`${host.name} runs ${FIRST_VERSION}, put there by hand`, () =>
      hostComplaints(host, FIRST_VERSION, true),
    );
}

async function firstCommit(tour: Tour): Promise<void> {
  const { facts, api, stage } = tour;
  facts.chapter("The first commit: 0.161.0 everywhere, through a depot that dies in the middle");
  const commit = await stage.repository.commit("The demo fleet runs 0.161.0", (work) => setVersion(work, "0.161.0"));
  await facts.until("the commit is the snapshot in force", async () => (await gitStatus(api)).appliedCommit === commit);
  await killDepot(tour, "depot-2");
  await approveAndFinish(tour, 1, "succeeded");
  await restartDepot(tour, "depot-2");
  await facts.check("no host of it had a signed way back, and the plan says so", async () => {
    const without = (await api.targets(FLEET, 1)).filter(({ wayBack }) => wayBack === "yes");
    return without.length === 0 ? "" : `${without.length} targets claim a way back to ${FIRST_VERSION}`;
  });
  await everybodyRuns(tour, "0.161.0");
  await historyIsClosed(tour, 1);
}

async function invalidCommit(tour: Tour): Promise<void> {
  const { facts, api, stage } = tour;
  facts.chapter("An invalid commit changes nothing and is explained");
  const before = await gitStatus(api);
  const bad = await stage.repository.commit("A typing mistake", (work) =>
    editYaml(join(work, FLEET_FILE), ["spec", "blueprnt"], "demo"),
  );
  const status = await facts.until("the state is error, with file and line", async () => {
    const now = await gitStatus(api);
    return now.state === "error" &&
      now.issues?.some(({ code, file, line }) => code === "unknown_field" && file === FLEET_FILE && line > 0)
      ? now
      : undefined;
  });
  await facts.check(`the snapshot before stays in force (${bad.slice(0, 8)} is not applied)`, () =>
    status.appliedCommit === before.appliedCommit ? "" : `applied is ${status.appliedCommit}`,
  );
  await facts.check("no rollout came of it", () => rolloutCount(tour, 1));
}

async function commitThroughKills(tour: Tour): Promise<void> {
  const { facts, api, stage } = tour;
  facts.chapter("0.162.0 through waves, with myriarchd, API and worker killed in the middle");
  await stage.repository.commit("0.162.0, and the mistake mended", async (work) => {
    await removeTypo(work);
    await setVersion(work, "0.162.0");
  });
  await waitForApproval(tour, 2);
  await facts.check("the canary alone has the new version", async () => {
    const updated = (await api.targets(FLEET, 2)).filter(({ runs }) => runs === "0.162.0");
    return updated.length === 1 && updated[0]?.hostName.startsWith("real-") ? "" : `${updated.length} hosts have it`;
  });
  const waiting = await api.rollout(FLEET, 2);
  await api.control(FLEET, 2, "approve", { wave: waitingWave(waiting), reason: "the canary looks good" });
  await facts.until("the approved wave is on its way", async () => {
    const { counts } = await api.rollout(FLEET, 2);
    return inFlight(counts) > 0 && (counts.succeeded ?? 0) >= 1;
  });
  await killServer(tour);
  stage.programs.set("myriarchd", await stage.server.start());
  await finish(tour, 2, "succeeded");
  await facts.check("it was the same rollout, and no host was updated twice", async () => {
    const twice = (await api.targets(FLEET, 2)).filter(({ attempts }) => attempts.length !== 1);
    return (
      (await rolloutCount(tour, 2)) || (twice.length === 0 ? "" : `${twice.length} targets have more than one attempt`)
    );
  });
  await everybodyRuns(tour, "0.162.0");
  await historyIsClosed(tour, 2);
}

async function badRelease(tour: Tour): Promise<void> {
  const { facts, api, stage } = tour;
  facts.chapter("0.163.0 is bad: its canary rolls itself back, the threshold pauses, a person aborts");
  await stage.repository.commit("0.163.0", (work) => setVersion(work, "0.163.0"));
  await facts.until(
    "the threshold paused the rollout",
    async () => {
      const found = (await api.rollouts()).find(({ fleet, n }) => fleet === FLEET && n === 3);
      return found?.state === "paused" && found.holds.threshold !== undefined;
    },
    { seen: () => describeRollout(tour, 3) },
  );
  const canary = (await api.targets(FLEET, 3)).find(({ phase }) => phase === "rolled_back");
  const host = stage.hosts.find(({ name }) => name === canary?.hostName);
  await facts.check("the canary was a real host and ended rolled_back", () =>
    host ? "" : `canary: ${canary?.hostName ?? "none"}`,
  );
  if (host === undefined) throw new Error("checked before");
  await facts.check(`${host.name}: current, marker, journal and --version say 0.162.0`, () =>
    hostComplaints(host, "0.162.0"),
  );
  await facts.check("its update component says rolled_back", async () => {
    const updater = (await api.agents()).find(({ kind, hostName }) => kind === "updater" && hostName === host.name);
    const detail = updater && (await api.agent(updater.uid));
    const attempt = detail?.updateAttempt as { status?: string; version?: string } | null | undefined;
    return attempt?.status === "rolled_back" && attempt.version === "0.163.0" ? "" : JSON.stringify(attempt);
  });
  await facts.check("nobody else was offered it", async () => {
    const begun = (await api.targets(FLEET, 3)).filter(({ phase }) => phase !== "pending" && phase !== "rolled_back");
    return begun.length === 0 ? "" : `${begun.length} other targets have begun`;
  });
  await api.control(FLEET, 3, "abort", { reason: "0.163.0 answers 503" });
  await facts.until("the rollout is aborted", async () => (await api.rollout(FLEET, 3)).state === "aborted", {
    withinMs: 10_000,
  });
  await facts.until(
    "the fleet is held: Git says 0.163.0, hosts run 0.162.0",
    async () => (await api.fleet(FLEET))?.held?.n === 3,
  );
  await pollsPlanNothing(tour, 5);
  await facts.check("five polls planned nothing", () => rolloutCount(tour, 3));
}

async function revertLiftsHold(tour: Tour): Promise<void> {
  const { facts, api, stage } = tour;
  facts.chapter("A revert lifts the hold; nothing has to be rolled out");
  const commit = await stage.repository.revert(1);
  await facts.until("the revert is applied and the hold is gone", async () => {
    const fleet = await api.fleet(FLEET);
    return (
      (await gitStatus(api)).appliedCommit === commit && fleet?.held === null && fleet.wants?.version === "0.162.0"
    );
  });
  await pollsPlanNothing(tour, 2);
  await facts.check("no rollout was needed", () => rolloutCount(tour, 3));
  await everybodyRuns(tour, "0.162.0");
}

async function rollbackInTheMiddle(tour: Tour): Promise<void> {
  const { facts, api, stage } = tour;
  facts.chapter("0.161.0 in one wave, and rollback in its middle");
  await stage.repository.commit("Back to 0.161.0, all at once", async (work) => {
    await editYaml(join(work, FLEET_FILE), ["spec", "rolloutPolicy"], "at-once");
    await setVersion(work, "0.161.0");
  });
  await facts.until(
    "it is in its middle",
    async () => {
      const { counts, total } = await api.rollout(FLEET, 4);
      const done = counts.succeeded ?? 0;
      return done >= 3 && done < total;
    },
    { seen: () => describeRollout(tour, 4) },
  );
  await api.control(FLEET, 4, "rollback", { reason: "the tour changes its mind" });
  await finish(tour, 4, "rolled_back");
  await facts.check("every host that was changed went back, and only those", async () => {
    const targets = await api.targets(FLEET, 4);
    const forward = targets.filter(({ attempts }) =>
      attempts.some((it) => it.direction === "forward" && it.phase === "succeeded"),
    );
    const back = targets.filter(({ attempts }) =>
      attempts.some((it) => it.direction === "back" && it.phase === "succeeded"),
    );
    return forward.every((target) => back.includes(target))
      ? ""
      : `${forward.length} were changed, ${back.length} went back`;
  });
  await everybodyRuns(tour, "0.162.0");
  await historyIsClosed(tour, 4);
}

// ---------------------------------------------------------------- parts of chapters

/** Sets the fleet's version; the first time the fleet's file is put into the repository. */
export const setVersion = (work: string, version: string): Promise<void> =>
  editYaml(join(work, FLEET_FILE), VERSION_PATH, version);

const removeTypo = (work: string): Promise<void> => editYaml(join(work, FLEET_FILE), ["spec", "blueprnt"], undefined);

const gitStatus = (api: TourApi): Promise<GitStatus> => api.get<GitStatus>("/api/v1/gitops/status");

const inFlight = (counts: Rollout["counts"]): number =>
  (["offered", "downloading", "verifying", "installing", "restarting", "health_check", "health_wait"] as const)
    .map((phase) => counts[phase] ?? 0)
    .reduce((sum, n) => sum + n, 0);

const waitingWave = (rollout: Rollout): string => {
  const wave = rollout.waves.find(({ state }) => state === "waiting_approval");
  if (wave === undefined) throw new Error("no wave waits for approval");
  return wave.name;
};

async function rolloutCount({ api }: Tour, want: number): Promise<string> {
  const changes = (await api.rollouts()).filter(({ kind }) => kind === "change");
  return changes.length === want ? "" : `there are ${changes.length} rollouts, expected ${want}`;
}

async function describeRollout({ api }: Tour, n: number): Promise<string> {
  const { state, reason, counts, next } = await api.rollout(FLEET, n);
  const phases = Object.entries(counts).filter(([, count]) => count > 0);
  return `${FLEET} #${n} ${state}: ${reason}; ${phases.map(([phase, count]) => `${phase} ${count}`).join(", ")}; next: ${next?.what ?? "nothing"}`;
}

async function waitForApproval(tour: Tour, n: number): Promise<void> {
  await tour.facts.until(
    `rollout #${n}: the canary succeeded, the second wave waits for an approval`,
    async () => (await tour.api.rollout(FLEET, n)).state === "waiting_approval",
    { seen: () => describeRollout(tour, n) },
  );
}

const finish = (tour: Tour, n: number, state: Rollout["state"]): Promise<unknown> =>
  tour.facts.until(`rollout #${n} ${state}`, async () => (await tour.api.rollout(FLEET, n)).state === state, {
    withinMs: 240_000,
    seen: () => describeRollout(tour, n),
  });

async function approveAndFinish(tour: Tour, n: number, state: Rollout["state"]): Promise<void> {
  await waitForApproval(tour, n);
  const rollout = await tour.api.rollout(FLEET, n);
  await tour.api.control(FLEET, n, "approve", { wave: waitingWave(rollout), reason: "the canary looks good" });
  await finish(tour, n, state);
}

/** The collectors' own reports, and the real hosts from outside. */
async function everybodyRuns(tour: Tour, version: string): Promise<void> {
  const { facts, api, stage } = tour;
  const total = stage.simulated + stage.hosts.length;
  await facts.until(`all ${total} collectors report ${version} and are healthy`, async () => {
    const collectors = await api.collectors();
    return collectors.filter((it) => it.version === version && it.healthy && it.connected).length === total;
  });
  for (const host of stage.hosts)
    await facts.check(`${host.name}: current, marker, journal and --version say ${version}`, () =>
      hostComplaints(host, version),
    );
}

async function historyIsClosed({ facts, temporal }: Tour, n: number): Promise<void> {
  const handle = temporal.workflow.getHandle(`rollout/${FLEET}/${n}`);
  let events = 0;
  await facts.check(`Temporal has the closed history of rollout/${FLEET}/${n}`, async () => {
    const description = await handle.describe();
    events = description.historyLength;
    return description.status.name === "COMPLETED" && events < 4_000
      ? ""
      : `${description.status.name}, ${events} events`;
  });
}

async function pollsPlanNothing({ facts, api }: Tour, polls: number): Promise<void> {
  for (let i = 0; i < polls; i += 1) {
    const before = (await gitStatus(api)).checkedAt;
    await facts.until("another poll", async () => (await gitStatus(api)).checkedAt !== before, { quiet: true });
  }
}

async function killDepot({ stage, facts }: Tour, name: string): Promise<void> {
  await facts.until("the fetch of 0.161.0 has begun", async () => {
    const pool = openPool(stage.services.databaseUrl, () => undefined, 1);
    try {
      return ((await pool.query("select 1 from artifacts")).rowCount ?? 0) > 0;
    } finally {
      await pool.end();
    }
  });
  const depot = stage.programs.get(name);
  depot?.signal("SIGKILL");
  await depot?.exited;
}

async function restartDepot({ stage, facts, api }: Tour, name: string): Promise<void> {
  const node = stage.depots.nodes.find(({ nodeId }) => nodeId === name);
  if (node === undefined) throw new Error(`no depot ${name}`);
  stage.programs.set(name, await node.start());
  await facts.until(`${name} is back and has a copy of every artifact`, async () => {
    const artifacts = (await api.get<{ items: { state: string; copies: { node: string }[] }[] }>("/api/v1/artifacts"))
      .items;
    return artifacts.length > 0 && artifacts.every(({ copies }) => copies.length === stage.depots.nodes.length);
  });
}

/** `kill -9` of the parent, the API and the worker, parent first so that it starts none of them again. */
async function killServer({ stage, facts }: Tour): Promise<void> {
  const parent = stage.programs.get("myriarchd");
  if (parent === undefined) throw new Error("myriarchd is not running");
  const ours = findProcesses((args) => args.includes(stage.server.configFile) && args.includes("--roles"));
  parent.signal("SIGKILL");
  for (const { pid } of ours) signalProcess(pid, "SIGKILL");
  await parent.exited;
  await facts.until(
    "kill -9 of myriarchd, its API and its worker",
    async () => findProcesses((args) => args.includes(stage.server.configFile)).length === 0,
  );
  await facts.check("the hosts run on meanwhile", () =>
    stage.hosts.every((host) => collectorsOf(host) === 1) ? "" : "a collector is gone",
  );
}

/** The quickstart's own beginning: waits for the hosts, commits the fleet once, and (when asked) approves and waits. */
export async function beginFleet(stage: Stage, api: TourApi, toTheEnd: boolean): Promise<void> {
  const { until } = createFacts(
    () => undefined,
    () => performance.now(),
  );
  const total = stage.simulated + stage.hosts.length;
  await until("all hosts are linked", async () => {
    const linked = (await api.agents()).filter(({ kind, link }) => kind === "updater" && link.state === "linked");
    return linked.length >= total;
  });
  if ((await api.fleet(FLEET)) === undefined)
    await stage.repository.commit("The demo fleet runs 0.161.0", (work) => setVersion(work, "0.161.0"));
  if (!toTheEnd) return;
  await until("the second wave waits", async () => (await api.rollout(FLEET, 1)).state === "waiting_approval");
  const wave = waitingWave(await api.rollout(FLEET, 1));
  await api.control(FLEET, 1, "approve", { wave, reason: "asked for by --first-rollout" });
  await until("it succeeded", async () => (await api.rollout(FLEET, 1)).state === "succeeded", { withinMs: 240_000 });
}

/** Forgets everything of an earlier tour: it begins with a fresh fleet. */
export const forgetStage = (dataDir: string): Promise<void> => rm(dataDir, { recursive: true, force: true });
