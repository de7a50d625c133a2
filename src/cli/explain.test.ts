/** What `myrctl explain agent` shows: whole screens, kept as files; the walks come from the domain as the server makes them. */
import { expect, test } from "vitest";
import type { z } from "zod";
import type { FleetAgent } from "../domain/fleet/agent.ts";
import type { GitObject, Kind, ObjectOf } from "../domain/gitops/kinds.ts";
import { SPECS } from "../domain/gitops/kinds.ts";
import type { Snapshot } from "../domain/gitops/snapshot.ts";
import type { explanation } from "../domain/rest/agent.ts";
import { trailOf } from "../domain/rollout/explain-trail.ts";
import {
  currentAttempt,
  walkConfig,
  walkVersion,
  whatBroughtConfig,
  whatBroughtVersion,
  type HostAttempt,
  type WalkFacts,
} from "../domain/rollout/explain-walk.ts";
import { explanationText } from "./explain.ts";

const golden = (name: string, text: string) => expect(`${text}\n`).toMatchFileSnapshot(`golden/${name}.txt`);
const object = <K extends Kind>(kind: K, name: string, file: string, line: number, spec: unknown): ObjectOf<K> =>
  ({ kind, name, metadata: { name }, spec: SPECS[kind].parse(spec), source: { file, line } }) as unknown as ObjectOf<K>;

const AGENT: FleetAgent = {
  uid: "0190a000-0000-7000-8000-000000000007",
  hostName: "edge-7",
  os: "linux",
  arch: "amd64",
  serviceName: "otelcol-contrib",
  version: "0.162.0",
  credential: "token:1",
  credentialLabels: { tier: "edge" },
  attributes: { site: "fra", "deploy.token": "planted-secret" },
};
const SELECTOR = {
  matchLabels: { tier: "edge", rack: "r1" },
  matchExpressions: [
    { key: "site", operator: "In", values: ["fra", "ams"] },
    { key: "deploy.token", operator: "Exists" },
    { key: "retired", operator: "DoesNotExist" },
  ],
};
const VERSION = { choice: { range: ">=0.160.0 <0.170.0", default: "0.162.0" } };
const objects: GitObject[] = [
  object("Blueprint", "base", "blueprints/base.yaml", 1, { config: {} }),
  object("Blueprint", "edge", "blueprints/edge.yaml", 4, { extends: "base" }),
  object("Fleet", "edge", "fleets/edge.yaml", 3, { selector: SELECTOR, blueprint: "edge", version: VERSION }),
  object("Inventory", "racks", "inventory/racks.yaml", 1, { entries: [{ host: "EDGE-7", labels: { rack: "r1" } }] }),
];
const SNAPSHOT: Snapshot = {
  commit: "9fceb02d0ae598e95dc970b74767f19372d61af8",
  generation: 9,
  author: "kim",
  subject: "edge to 0.162.0",
  objects,
};

const ATTEMPT: HostAttempt = {
  fleet: "edge",
  n: 7,
  kind: "change",
  commit: SNAPSHOT.commit,
  state: "succeeded",
  attempt: 2,
  direction: "forward",
  wave: 1,
  phase: "succeeded",
  fromVersion: "0.161.0",
  toVersion: "0.162.0",
  fromConfig: "ab".repeat(32),
  toConfig: "cd".repeat(32),
  sinceMs: Date.parse("2026-11-29T02:14:07Z"),
  offeredMs: Date.parse("2026-11-29T02:10:00Z"),
  finishedMs: Date.parse("2026-11-29T02:14:07Z"),
};
const brought = {
  ...ATTEMPT,
  trail: trailOf(SNAPSHOT, "edge", AGENT, []) ?? null,
  approvals: [{ principal: "ada", at: "2026-11-29T02:09:00Z", reason: "canary is fine" }],
};
const FACTS: WalkFacts = {
  hostName: "edge-7",
  version: "0.162.0",
  distribution: "otelcol-contrib",
  platform: "linux/amd64",
  configHash: "cd".repeat(32),
  artifact: {
    fileName: "otelcol-contrib_0.162.0_linux_amd64.tar.gz",
    sha256: "3b".repeat(32),
    sourceUrl: "https://example.com/releases/v0.162.0/",
    state: "verified",
    revokedReason: null,
    verification: {
      identity: "https://github.com/example/releases/.github/workflows/release.yaml@refs/tags/v0.162.0",
      issuer: "https://token.actions.githubusercontent.com",
      logIndex: "123456789",
      signedAt: ["2026-11-20T10:00:00Z"],
    },
  },
  broughtVersion: brought,
  broughtConfig: brought,
};
const ANSWER: z.output<typeof explanation> = {
  uid: AGENT.uid,
  hostName: "edge-7",
  verdict: "in_sync",
  says: "edge-7 runs 0.162.0, as Git wants",
  next: null,
  waitsFor: "nobody",
  todo: null,
  version: walkVersion(FACTS),
  configuration: walkConfig(FACTS),
  because: [{ what: "it is a collector", why: "it accepts remote configuration" }],
};

test("explain agent: from what runs back to artifact, signer, rollout, commit and object", () =>
  golden("explain-whole", explanationText(ANSWER)));

test("explain agent: a host that nothing here brought to where it is", () => {
  const facts: WalkFacts = { ...FACTS, artifact: null, broughtVersion: null, broughtConfig: null, configHash: null };
  const answer: typeof ANSWER = {
    ...ANSWER,
    verdict: "waiting",
    says: "edge-7 runs 0.161.0, Git wants 0.162.0: in edge/7, its wave has not begun: wave canary waits for an approval",
    next: { what: "a person approves wave canary, or it pauses", at: "2026-11-29T03:30:00.000Z" },
    waitsFor: "person",
    todo: "approve the wave: myrctl rollouts approve edge/7",
    version: walkVersion({ ...facts, version: "0.161.0" }),
    configuration: walkConfig(facts),
  };
  return golden("explain-foreign", explanationText(answer));
});

test("explain agent: an archive that is not verified, revoked, and whose revision is gone", () => {
  const artifact = {
    ...FACTS.artifact,
    fileName: "a.tar.gz",
    sourceUrl: "upload:",
    sha256: null,
    state: "fetching",
    revokedReason: "bad build",
    verification: null,
  } as const;
  const lines = walkVersion({
    ...FACTS,
    artifact,
    broughtVersion: {
      ...brought,
      kind: "catch_up",
      n: 0,
      trail: null,
      approvals: [],
      finishedMs: null,
      phase: "health_wait",
    },
  });
  expect(lines.map(({ step, says }) => `${step}: ${says}`)).toEqual([
    "running: edge-7 runs otelcol-contrib 0.162.0 on linux/amd64, as its collector reports",
    "artifact: a.tar.gz, its digest is not known yet, not verified yet",
    "signature: no signature of it has been verified here",
    "release: otelcol-contrib 0.162.0, from upload:; revoked: bad build",
    "rollout: catch-up of edge, attempt 2: health_wait now",
    `commit: ${SNAPSHOT.commit}; the revision is not kept any more`,
  ]);
});

test("a contested host name takes no labels of the inventory, and a secret among labels is masked", () => {
  const clone = { ...AGENT, uid: "0190a000-0000-7000-8000-000000000008" };
  const trail = trailOf(SNAPSHOT, "edge", AGENT, [clone]);
  expect(trail?.inventory).toBeNull();
  expect(trail?.labels).toContain("rack = r1: the host has no rack");
  expect(JSON.stringify(trail)).not.toContain("planted-secret");
  expect(trailOf(SNAPSHOT, "elsewhere", AGENT, [])).toBeUndefined();
});

test("control characters of a host never reach a terminal", () => {
  const says = "edge-7 failed: \u001b[2Jgone";
  expect(
    explanationText({ ...ANSWER, says, version: [{ step: "running", says }], because: [{ what: says, why: says }] }),
  ).not.toContain("\u001b");
});

test.each<[string, HostAttempt[], number | undefined]>([
  [
    "in flight before anything else",
    [
      { ...ATTEMPT, n: 8, phase: "pending", finishedMs: null, state: "running" },
      { ...ATTEMPT, n: 6, phase: "offered", finishedMs: null },
    ],
    6,
  ],
  [
    "waiting in a rollout that goes on, before a later end",
    [{ ...ATTEMPT, n: 8, phase: "pending", finishedMs: null, state: "paused", sinceMs: 0 }, ATTEMPT],
    8,
  ],
  [
    "left behind, before an older end",
    [{ ...ATTEMPT, n: 8, phase: "pending", finishedMs: null, sinceMs: ATTEMPT.sinceMs + 1 }, ATTEMPT],
    8,
  ],
  [
    "an end, before an older rollout that left it behind",
    [{ ...ATTEMPT, n: 6, phase: "pending", finishedMs: null, sinceMs: 0 }, ATTEMPT],
    7,
  ],
  ["none", [], undefined],
])("the current attempt: %s", (_, attempts, n) => expect(currentAttempt(attempts)?.n).toBe(n));

test("what brought a state: the newest attempt that reached it, never one that was taken back or never offered", () => {
  const taken: HostAttempt = { ...ATTEMPT, n: 9, phase: "rolled_back" };
  const never: HostAttempt = { ...ATTEMPT, n: 8, phase: "failed", offeredMs: null };
  const back: HostAttempt = { ...ATTEMPT, n: 10, direction: "back" };
  expect(whatBroughtVersion([back, taken, never, ATTEMPT, { ...ATTEMPT, n: 5 }], "0.162.0")?.n).toBe(7);
  expect(whatBroughtConfig([back, taken, never, ATTEMPT], ATTEMPT.toConfig)?.n).toBe(7);
  expect(whatBroughtConfig([ATTEMPT], null)).toBeUndefined();
  expect(whatBroughtVersion([ATTEMPT], "0.161.0")).toBeUndefined();
});
