/** Every phase in every situation has a sentence; the most common ones are kept as a page to read. */
import { describe, expect, test } from "vitest";
import { HOST, MIN, NOW, situationOf, type Parts } from "../../../test/support/situation.ts";
import { FAILURE_CLASSES } from "../brand.ts";
import type { CancelCode } from "../../store/targets.ts";
import { TARGET_CODES, type TargetCode } from "./explain-advice.ts";
import type { Explained, Situation } from "./explain-situation.ts";
import { explainTarget } from "./explain-target.ts";
import { instantText, lengthText } from "./explain-time.ts";
import { HOLDS } from "./holds.ts";
import type { LeaveCode } from "./plan-target.ts";
import { isFinalPhase, PHASES, ROLLOUT_STATES } from "./phases.ts";

/** Compiles only while every code that the engine writes has a text. */
const known = (code: CancelCode | LeaveCode): TargetCode => code;

const NEW = "cd".repeat(32);
const OLD = "ab".repeat(32);

const at = situationOf;
const AWAY = { ...HOST, connected: false, lastSeenMs: NOW - 90 * MIN };

const pausedBy = (hold: (typeof HOLDS)[number], by: string, reason: string): Parts => ({
  rollout: { state: "paused", holds: { [hold]: { at: "2026-11-29T02:14:07.123Z", by, reason } } },
});
const config = { fromVersion: "0.162.0", toVersion: null, fromConfig: OLD, toConfig: NEW };
const both = { fromConfig: OLD, toConfig: NEW };
const early = { attempt: { wave: null } };
const waiting = (state: Situation["rollout"]["state"], reason: string, next: Situation["rollout"]["next"]): Parts => ({
  ...early,
  rollout: {
    state,
    reason,
    next,
    waves: [
      {
        k: 0,
        name: "canary",
        state: state === "baking" ? "baking" : state === "running" ? "running" : "waiting_approval",
      },
      { k: 1, name: "rest", state: "pending" },
    ],
  },
});
const failed = (failureClass: (typeof FAILURE_CLASSES)[number], error: string, more: Parts = {}): Parts => ({
  ...more,
  attempt: { failureClass, error, ...more.attempt },
});

const CASES: [string, Situation][] = [
  ["waits for a slot", at("pending")],
  ["offline in its wave", at("pending", { host: AWAY })],
  ["its wave ended without it", at("pending", { attempt: { wave: 0 }, host: AWAY })],
  ["wave before runs", at("pending", waiting("running", "wave canary", { what: "hosts report", atMs: null }))],
  [
    "its wave is about to start",
    at("pending", {
      ...early,
      rollout: {
        waves: [
          { k: 0, name: "canary", state: "ended" },
          { k: 1, name: "rest", state: "pending" },
        ],
      },
    }),
  ],
  ["every wave has ended", at("pending", { ...early, rollout: { waves: [{ k: 0, name: "canary", state: "ended" }] } })],
  [
    "approval",
    at(
      "pending",
      waiting("waiting_approval", "wave canary needs an approval", {
        what: "a person approves wave canary, or it pauses",
        atMs: NOW + 60 * MIN,
      }),
    ),
  ],
  [
    "approval, and offline too",
    at("pending", {
      ...waiting("waiting_approval", "wave canary needs an approval", {
        what: "a person approves wave canary",
        atMs: null,
      }),
      host: AWAY,
    }),
  ],
  [
    "window",
    at(
      "pending",
      waiting("waiting_window", "outside all maintenance windows", {
        what: "the maintenance window opens",
        atMs: NOW + 120 * MIN,
      }),
    ),
  ],
  [
    "window closed in its wave",
    at("pending", {
      rollout: {
        state: "waiting_window",
        reason: "the maintenance window has closed; hosts in flight finish",
        next: { what: "the maintenance window opens", atMs: NOW + 120 * MIN },
      },
    }),
  ],
  [
    "bake",
    at(
      "pending",
      waiting("baking", "wave canary bakes", { what: "the bake of wave canary ends", atMs: NOW + 30 * MIN }),
    ),
  ],
  [
    "preparing",
    at(
      "pending",
      waiting("preparing", "artifacts are fetched, verified and replicated", {
        what: "the artifacts are ready",
        atMs: null,
      }),
    ),
  ],
  ["paused by a person", at("pending", pausedBy("operator", "ada", "disk alarm"))],
  ["paused by the threshold", at("pending", pausedBy("threshold", "system", "2 of 8 failed"))],
  ["paused by a revoked release", at("pending", pausedBy("revoked", "kim", "bad build"))],
  ["being aborted", at("pending", { rollout: { ending: "abort" } })],
  ["being superseded", at("pending", { rollout: { ending: "supersede" } })],
  ["agent gone", at("pending", { host: null })],
  [
    "backoff of the host",
    at("pending", { attempt: { notBeforeMs: NOW + 4 * MIN, error: "download: 404; not before 2026-11-29T02:34:00Z" } }),
  ],
  ["artifact on its way", at("pending", { attempt: { notBeforeMs: NOW + 3_000 } })],
  [
    "back, waits",
    at("pending", { attempt: { direction: "back" }, rollout: { state: "rolling_back", ending: "rollback" } }),
  ],
  ["left behind by a success", at("pending", { rollout: { state: "succeeded" }, host: AWAY })],
  ["left behind by a failure", at("pending", { rollout: { state: "failed" } })],
  ["package offered", at("offered", { attempt: { part: "package" } })],
  ["offered to a host that went away", at("offered", { attempt: { part: "package" }, host: AWAY })],
  ["configuration offered", at("offered", { target: config, attempt: { part: "config" } })],
  ["downloading under a pause", at("downloading", pausedBy("operator", "ada", "disk alarm"))],
  ["installing after an abort", at("installing", { rollout: { state: "aborted" } })],
  [
    "health check of a host that moved",
    at("health_check", { attempt: { code: "moved", error: "the host belongs to fleet core now" } }),
  ],
  ["deadline passed, nobody looked", at("downloading", { attempt: { deadlineMs: NOW - 10 * MIN } })],
  ["goes back by itself", at("rolling_back", { attempt: { part: "package" } })],
  [
    "configuration is taken back",
    at(
      "rolling_back",
      failed("configuration", "configuration: unknown receiver", { target: both, attempt: { part: "config" } }),
    ),
  ],
  ["applying", at("applying", { target: config, attempt: { part: "config" } })],
  ["health wait", at("health_wait", { attempt: { healthFromMs: NOW - 2 * MIN } })],
  ["health wait, not healthy", at("health_wait")],
  ["health wait, old version reported", at("health_wait", { host: { ...HOST, version: "0.161.0" } })],
  ["health wait, silent", at("health_wait", { attempt: { healthFromMs: NOW - 2 * MIN }, host: AWAY })],
  ["succeeded", at("succeeded")],
  ["succeeded, runs something else now", at("succeeded", { host: { ...HOST, version: "0.160.0" } })],
  ["regressed", at("succeeded", failed("regressed", ""))],
  ["back again", at("succeeded", { attempt: { direction: "back" }, host: { ...HOST, version: "0.161.0" } })],
  ["failed, health", at("failed", failed("health", "health: unhealthy: pipeline:traces"))],
  ["failed, class not in the text", at("failed", failed("install", "the supervisor did not stop"))],
  [
    "failed, no way back",
    at("failed", {
      attempt: { direction: "back", code: "no_way_back", error: "there is no way back from the server" },
    }),
  ],
  [
    "rolled back",
    at(
      "rolled_back",
      failed("preflight", "update to v0.162.0 failed: preflight: exit code 1; rolled back to v0.161.0"),
    ),
  ],
  ["way back failed", at("failed", failed("rollback_failed", "rollback_failed: the supervisor does not start"))],
  ["withdrawn", at("cancelled", failed("withdrawn", "withdrawn: aborted"))],
  [
    "cannot be offered",
    at("cancelled", { attempt: { code: "updater_missing", error: "edge-7 has no linked updater" } }),
  ],
  [
    "came back as another agent",
    at("cancelled", {
      attempt: { code: "superseded", error: "the host came back as 0190a000-0000-7000-8000-000000000008" },
    }),
  ],
  [
    "unfamiliar code",
    at("cancelled", { attempt: { code: "artifact_revoked", error: "the release was revoked: bad build" } }),
  ],
];

const page = ({ what, next, waitsFor, todo }: Explained): string =>
  [
    what,
    `  next   ${next === null ? "nothing by itself" : `${next.what}${next.atMs === null ? "" : ` (${instantText(next.atMs)})`}`}`,
    `  waits  ${waitsFor}`,
    ...(todo === null ? [] : [`  do     ${todo}`]),
  ].join("\n");

test("what an operator reads of a target", () =>
  expect(
    `${CASES.map(([name, situation]) => `# ${name}\n${page(explainTarget(situation))}`).join("\n\n")}\n`,
  ).toMatchFileSnapshot("golden/targets.txt"));

test("what an operator reads of each class and code", () => {
  const classes = FAILURE_CLASSES.map((it) => `# ${it}\n${page(explainTarget(at("failed", failed(it, ""))))}`);
  const codes = TARGET_CODES.map(
    (it) => `# ${it}\n${page(explainTarget(at("cancelled", { attempt: { code: known(it as CancelCode) } })))}`,
  );
  return expect(`${[...classes, ...codes].join("\n\n")}\n`).toMatchFileSnapshot("golden/causes.txt");
});

/** The whole union: phases, states, holds, endings, directions, parts, hosts, classes and codes. */
function* everySituation(): Generator<Situation> {
  const endings = [null, "abort", "supersede", "rollback"] as const;
  const hosts = [HOST, AWAY, { ...HOST, version: "" }, null];
  const marks = [
    ...FAILURE_CLASSES.map((failureClass) => ({ failureClass })),
    ...TARGET_CODES.map((code) => ({ code })),
    { code: "internal" },
    {},
  ];
  const targets = [{}, config, both, { fromVersion: null }];
  for (const phase of PHASES)
    for (const direction of ["forward", "back"] as const)
      for (const state of ROLLOUT_STATES)
        for (const ending of endings)
          for (const host of hosts) {
            for (const mark of marks)
              yield at(phase, { attempt: { direction, ...mark }, rollout: { state, ending }, host });
            for (const target of targets)
              for (const part of [null, "package", "config"] as const)
                for (const wave of [null, 0, 1])
                  yield at(phase, {
                    target,
                    attempt: { direction, part, wave, deadlineMs: null },
                    rollout: { state, ending, next: null },
                    host,
                  });
          }
}

describe("over the whole union", () => {
  const said = new Set<string>();
  let count = 0;
  for (const situation of everySituation()) {
    count += 1;
    const it = explainTarget(situation);
    const isMute = it.next === null && it.waitsFor !== "nobody" && it.todo === null;
    said.add(
      [
        it.what,
        it.next?.what ?? "",
        it.todo ?? "",
        isMute ? "MUTE" : "",
        !isFinalPhase(situation.attempt.phase) && it.waitsFor === "nobody" ? "OPEN" : "",
      ].join(" | "),
    );
  }
  test("every situation has a sentence, and none says that it does not know", () => {
    expect(count).toBeGreaterThan(100_000);
    expect([...said].filter((text) => /unknown|undefined|null|NaN|^ *\||\bMUTE\b|\bOPEN\b/.test(text))).toEqual([]);
  });
  test("no sentence has an empty place in it", () => {
    expect(
      [...said].filter((text) => / {2}|: *[;|]|\( *\)|;;/.test(text.replaceAll(" | ", "¦").replaceAll("¦¦", "¦"))),
    ).toEqual([]);
  });
});

test("a hold shows who, since when and why, whatever it is", () => {
  for (const hold of HOLDS)
    expect(explainTarget(at("pending", pausedBy(hold, "ada", "because"))).what).toMatch(
      /paused since 2026-11-29 02:14:07Z: .*because$/,
    );
});

test.each([
  [0, "0 s"],
  [400, "0 s"],
  [45_000, "45 s"],
  [90 * MIN, "1 h 30 min"],
  [5 * MIN, "5 min"],
  [26 * 60 * MIN + 30_000, "1 d 2 h"],
  [-5, "0 s"],
])("%d ms is %s", (ms, text) => expect(lengthText(ms)).toBe(text));
