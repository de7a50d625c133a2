/**
 * The scripted tour: one commit after the other, each fact checked from outside (files on the real hosts, `--version` of
 * the binaries that run, the API, Temporal's history). It reads like the story that the README tells.
 */
import { join } from "node:path";
import { Client, Connection } from "@temporalio/client";
import { editYaml } from "../stage/repository.ts";
import { FIRST_VERSION } from "../stage/real-host.ts";
import { startHosts, type Stage } from "../stage/stage.ts";
import { createTourApi } from "./api.ts";
import { createFacts } from "./facts.ts";
import { hostComplaints } from "./host-facts.ts";
import { killDepot, killServer, restartDepot } from "./kills.ts";
import {
  approveAndFinish,
  describeRollout,
  everybodyRuns,
  finish,
  FLEET,
  FLEET_FILE,
  gitStatus,
  historyIsClosed,
  inFlight,
  pollsPlanNothing,
  removeTypo,
  rolloutCount,
  setVersion,
  waitForApproval,
  waitingWave,
  type Tour,
} from "./parts.ts";
import { recordHistories } from "./record.ts";

/**
 * Runs the whole tour. Throws `FactFailed` with the first fact that does not hold. `recordTo`: a folder for the histories.
 */
export async function runTour(stage: Stage, say: (line: string) => void, recordTo?: string): Promise<void> {
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
    if (recordTo !== undefined) await recordHistories(tour.temporal, recordTo);
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
