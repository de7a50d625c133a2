/**
 * Depots fail in the middle of a rollout, each in its own way: one is killed, one has a disk emptied, one has a wrong byte.
 * The rollout goes on to its end, no host notices, and the view of replication said what was wrong while it was.
 */
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, Connection } from "@temporalio/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { z } from "zod";
import type { artifactList, depotStatus } from "../../src/domain/rest/artifact.ts";
import type { copyMatrix, replicationHistory } from "../../src/domain/rest/depot.ts";
import { editYaml } from "../../src/embedded/stage/repository.ts";
import { openStage, startHosts, type Stage } from "../../src/embedded/stage/stage.ts";
import { createTourApi, type TourApi } from "../../src/embedded/tour/api.ts";
import { FLEET, setVersion, waitingWave } from "../../src/embedded/tour/parts.ts";
import { poke, WORKFLOW_IDS } from "../../src/workflows/messages.ts";
import { followEvents, type EventStream } from "../support/event-stream.ts";
import { flipByte } from "../support/flip-byte.ts";

const HOSTS = 9;
const VERSION = "0.161.0";
const WITHIN_MS = 180_000;
const LIMIT_MS = 240_000;
let dataDir: string;
let stage: Stage;
let api: TourApi;
let events: EventStream;
let temporal: Connection;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "myriarch-depot-faults-"));
  stage = await openStage({ dataDir, log: () => undefined, simulated: HOSTS });
  api = createTourApi(stage.server.url, stage.credentials.adminToken);
  temporal = await Connection.connect({ address: stage.services.temporalAddress });
  events = await followEvents(stage.server.url, stage.credentials.adminToken);
  await startHosts(stage, { realHosts: [] });
}, LIMIT_MS);
afterAll(async () => {
  await events?.close();
  await temporal?.close();
  await stage?.stop();
  await rm(dataDir, { recursive: true, force: true });
}, LIMIT_MS);

const until = <T>(what: string, look: () => Promise<T | false | undefined>): Promise<T> =>
  events.until(what, look, WITHIN_MS);
const diskOf = (node: string, disk: "a" | "b"): string => join(dataDir, "depots", node, `disk-${disk}`);

/** Whether the rollout is in this state; one that stopped is told at once. */
async function isIn(state: string): Promise<boolean> {
  const rollout = (await api.rollouts()).find(({ fleet, n }) => fleet === FLEET && n === 1);
  if (rollout !== undefined && rollout.state !== state && STOPPED.has(rollout.state))
    throw new Error(`the rollout is ${rollout.state}: ${rollout.reason}`);
  return rollout?.state === state;
}
const STOPPED = new Set<string>(["paused", "failed", "aborted", "rolled_back", "superseded"]);

/** The one archive that the fleet needs, when it is verified. */
async function archive(): Promise<{ sha256: string; replication: string } | undefined> {
  const { items } = await api.get<z.output<typeof artifactList>>("/api/v1/artifacts");
  const found = items.find(({ version, state }) => version === VERSION && state === "verified");
  return found?.sha256 ? { sha256: found.sha256, replication: found.replication } : undefined;
}
const isReplicated = async (): Promise<string | undefined> => {
  const found = await archive();
  return found?.replication === "replicated" ? found.sha256 : undefined;
};
/** What became of copies and nodes, the oldest first. */
async function history(): Promise<z.output<typeof replicationHistory>["items"]> {
  const { items } = await api.get<z.output<typeof replicationHistory>>("/api/v1/replication/history?limit=500");
  return items.toReversed();
}
/** Whether this is the newest word of the archive as a whole: the end of an execution writes it. */
async function isToldLast(kind: string, sha256: string): Promise<boolean> {
  const words = (await history()).filter((entry) => entry.sha256 === sha256 && entry.node === null);
  return words.at(-1)?.kind === kind;
}
/** What an operator's script does when it does not want to wait for the watchdog. */
const lookNow = (): Promise<void> =>
  new Client({ connection: temporal }).workflow
    .getHandle(WORKFLOW_IDS.artifactReplication)
    .signal(poke, { cause: "somebody wants to know" });

async function scrub(node: string): Promise<void> {
  const response = await fetch(`${stage.server.url}/api/v1/depots/${node}/scrub`, {
    method: "POST",
    headers: { authorization: `Bearer ${stage.credentials.adminToken}`, "content-type": "application/json" },
    body: "{}",
  });
  expect(response.status, await response.text()).toBe(202);
}

/** Asking the depot also brings what it found into the history. */
async function hasRepaired(node: string, sha256: string): Promise<boolean> {
  const { findings } = await api.get<z.output<typeof depotStatus>>(`/api/v1/depots/${node}/status`);
  return findings?.recent.some((it) => it.kind === "repaired" && it.sha256 === sha256) ?? false;
}

async function beginRollout(): Promise<string> {
  await until("every host is linked", async () => {
    const linked = (await api.agents()).filter(({ kind, link }) => kind === "updater" && link.state === "linked");
    return linked.length === HOSTS;
  });
  await stage.repository.commit(`The demo fleet runs ${VERSION}`, async (work) => {
    // the canary is any host: what is tried here are depots
    await editYaml(join(work, "policies/demo.yaml"), ["spec", "waves", 0, "selector"], undefined);
    await setVersion(work, VERSION);
  });
  await until("the canary succeeded, the second wave waits", () => isIn("waiting_approval"));
  const sha256 = await until("the archive is on every disk of every depot", isReplicated);
  await until("that is told", () => isToldLast("replicated", sha256));
  return sha256;
}

async function breakDepots(sha256: string): Promise<void> {
  const killed = stage.programs.get("depot-1");
  killed?.signal("SIGKILL");
  await killed?.exited;
  for (const name of await readdir(diskOf("depot-2", "a")))
    await rm(join(diskOf("depot-2", "a"), name), { recursive: true });
  await flipByte(join(diskOf("depot-3", "a"), "artifacts", sha256), 1_000);
}

test(
  "a killed depot, an emptied disk and a wrong byte do not keep a rollout from its end, and each is told at its time",
  async () => {
    const sha256 = await beginRollout();
    await breakDepots(sha256);
    const wave = waitingWave(await api.rollout(FLEET, 1));
    await api.control(FLEET, 1, "approve", { wave, reason: "the canary looks good" });

    // while it runs: what is wrong is said
    await scrub("depot-3");
    await lookNow();
    await until("the archive is called degraded, and the copy corrupt", async () => {
      const kinds = (await history()).map(({ kind }) => kind);
      return kinds.includes("degraded") && kinds.includes("corrupt");
    });
    expect((await archive())?.replication).not.toBe("replicated");

    await until("the rollout succeeded", () => isIn("succeeded"));
    await until("every host runs it and is healthy", async () => {
      const collectors = await api.collectors();
      return collectors.filter((it) => it.version === VERSION && it.healthy).length === HOSTS;
    });
    const attempts = (await api.targets(FLEET, 1)).map((target) => target.attempts.map(({ phase }) => phase));
    expect(attempts).toEqual(Array.from({ length: HOSTS }, () => ["succeeded"]));

    const node = stage.depots.nodes.find(({ nodeId }) => nodeId === "depot-1");
    stage.programs.set("depot-1", await (node as NonNullable<typeof node>).start());
    await until("depot-2 has filled its empty disk from the other one", () => hasRepaired("depot-2", sha256));
    await lookNow();
    await until("it is on every disk of every depot again", isReplicated);
    await until("that is told", () => isToldLast("healed", sha256));
    await allIsTold(sha256);
    await allIsRight(sha256);
  },
  LIMIT_MS,
);

/** The story as the API tells it, of the archive and its copies, in its order; and as it was heard live. */
async function allIsTold(sha256: string): Promise<void> {
  const told = (await history()).filter((entry) => entry.sha256 === sha256);
  const at = (kind: string, which: "find" | "findLast"): number =>
    Date.parse(told[which]((entry) => entry.kind === kind)?.at ?? "");
  expect(at("degraded", "find")).toBeGreaterThan(at("replicated", "find"));
  expect(told.find(({ kind }) => kind === "corrupt")).toMatchObject({ node: "depot-3" });
  expect(told.filter(({ kind }) => kind === "repaired").map((entry) => entry.node)).toEqual(
    expect.arrayContaining(["depot-2", "depot-3"]),
  );
  expect(at("healed", "findLast")).toBeGreaterThan(at("degraded", "findLast"));
  expect(at("healed", "findLast")).toBeGreaterThan(at("corrupt", "find"));
  const heard = events.changes.filter((change) => change["kind"] === "replication" && change["sha256"] === sha256);
  expect(heard.map((change) => change["what"])).toEqual(expect.arrayContaining(["degraded", "corrupt", "healed"]));
}

async function allIsRight(sha256: string): Promise<void> {
  const matrix = await api.get<z.output<typeof copyMatrix>>("/api/v1/replication/matrix");
  expect(matrix.rows.find((row) => row.sha256 === sha256)?.cells).toBe("###");
  for (const { nodeId } of stage.depots.nodes)
    for (const disk of ["a", "b"] as const) {
      const bytes = await readFile(join(diskOf(nodeId, disk), "artifacts", sha256));
      expect(createHash("sha256").update(bytes).digest("hex"), `${nodeId} ${disk}`).toBe(sha256);
    }
}
