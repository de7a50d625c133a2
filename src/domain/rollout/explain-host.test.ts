/** "Why is this host not updated?": the answers as a page to read, and one for every combination of facts. */
import { expect, test } from "vitest";
import { MIN, NOW, situationOf } from "../../../test/support/situation.ts";
import type { ConfigState } from "../agents/config-state.ts";
import { TARGET_CODES, type TargetCode } from "./explain-advice.ts";
import { explainHost, VERDICTS, type HostExplained, type HostFacts, type HostTarget } from "./explain-host.ts";
import type { Explained, Situation } from "./explain-situation.ts";
import { explainTarget } from "./explain-target.ts";
import { instantText } from "./explain-time.ts";
import { PHASES, type Phase } from "./phases.ts";

const NEW = "cd".repeat(32);
const OLD = "ab".repeat(32);
const APPLIED: ConfigState = { state: "applied", text: "applied" };

const host = (over: Partial<HostFacts> = {}): HostFacts => ({
  uid: "0190a000-0000-7000-8000-000000000007",
  hostName: "edge-7",
  kind: "collector",
  kindReason: "it accepts remote configuration",
  connected: true,
  lastSeenMs: NOW - 5_000,
  fleet: "edge",
  fleetReason: "selector matches with priority 0",
  isPlanned: true,
  version: "0.161.0",
  wantedVersion: "0.162.0",
  wantedConfig: OLD,
  configHash: OLD,
  config: APPLIED,
  renderError: null,
  left: null,
  drift: [],
  health: { ok: true },
  link: "linked",
  linkReason: "same credential and host",
  target: null,
  held: null,
  ...over,
});

type Change = { attempt?: Partial<Situation["attempt"]>; rollout?: Partial<Situation["rollout"]>; isAway?: boolean };
/** The target as the engine has it, with its real sentence. */
function target(phase: Phase, { attempt, rollout, isAway = false }: Change = {}): HostTarget {
  const explained: Explained = explainTarget(
    situationOf(phase, {
      attempt: { part: "package", deadlineMs: null, ...attempt },
      rollout: { next: null, ...rollout },
      host: { connected: !isAway, lastSeenMs: NOW - 90 * MIN, version: "0.161.0" },
    }),
  );
  const isPaused = Object.keys(rollout?.holds ?? {}).length > 0;
  return {
    rollout: "edge/7",
    phase,
    code: attempt?.code ?? null,
    goal: { version: "0.162.0", config: null },
    isHeld: isPaused,
    explained,
  };
}
const AWAY = { connected: false, lastSeenMs: NOW - 90 * MIN };
const early = (rollout: Change["rollout"]): HostTarget =>
  target("pending", { attempt: { wave: null }, ...(rollout && { rollout }) });
const WAVES: NonNullable<Change["rollout"]>["waves"] = [
  { k: 0, name: "canary", state: "waiting_approval" },
  { k: 1, name: "rest", state: "pending" },
];

const CASES: [string, HostFacts][] = [
  ["in sync", host({ version: "0.162.0" })],
  [
    "waits for its wave",
    host({
      target: early({
        waves: [
          { k: 0, name: "canary", state: "running" },
          { k: 1, name: "rest", state: "pending" },
        ],
      }),
    }),
  ],
  [
    "waits for an approval",
    host({
      target: early({
        state: "waiting_approval",
        waves: WAVES,
        next: { what: "a person approves wave canary", atMs: null },
      }),
    }),
  ],
  [
    "waits for a window",
    host({
      target: early({
        state: "waiting_window",
        reason: "outside all maintenance windows",
        waves: WAVES,
        next: { what: "the maintenance window opens", atMs: NOW + 120 * MIN },
      }),
    }),
  ],
  [
    "paused",
    host({
      target: target("pending", {
        rollout: {
          state: "paused",
          holds: { operator: { at: "2026-11-29T02:14:07.123Z", by: "ada", reason: "disk alarm" } },
        },
      }),
    }),
  ],
  ["on its way", host({ target: target("downloading", { attempt: { deadlineMs: NOW + 28 * MIN } }) })],
  [
    "failed",
    host({
      target: target("rolled_back", {
        attempt: {
          failureClass: "health",
          error: "update to v0.162.0 failed: health: 3 of 3 checks failed; rolled back to v0.161.0",
        },
      }),
      left: { code: "tried_before", note: "its last attempt failed" },
    }),
  ],
  [
    "aborted, and held",
    host({
      target: target("cancelled", { attempt: { code: "aborted" } }),
      held: { n: 7, because: "rollout 7 was aborted: 3 cancelled" },
    }),
  ],
  ["held", host({ held: { n: 7, because: "rollout 7 was aborted: 3 cancelled" } })],
  ["offline in its rollout", host({ ...AWAY, target: target("pending", { isAway: true }) })],
  ["offline, nothing planned", host(AWAY)],
  ["offline, as wanted", host({ ...AWAY, version: "0.162.0" })],
  [
    "unassigned",
    host({ fleet: null, fleetReason: "no fleet's selector matches", wantedVersion: null, wantedConfig: null }),
  ],
  [
    "new",
    host({ fleet: null, isPlanned: false, fleetReason: "not planned yet", wantedVersion: null, wantedConfig: null }),
  ],
  ["an updater", host({ kind: "updater", kindReason: "its service.name is myriarch-updater" })],
  ["no collector", host({ kind: "unknown", kindReason: "it does not accept remote configuration" })],
  ["no updater", host({ link: "none", linkReason: "no updater names this collector" })],
  ["updater refused", host({ link: "mismatch", linkReason: "another credential" })],
  ["drifted", host({ version: "0.162.0", drift: ["exporters.otlp.endpoint"] })],
  [
    "unhealthy",
    host({ version: "0.162.0", health: { ok: false, because: "not in its health report: pipeline traces" } }),
  ],
  ["does not render", host({ renderError: "parameter zone has no value" })],
  [
    "configuration differs",
    host({ version: "0.162.0", wantedConfig: NEW, config: { state: "failed", text: "unknown receiver" } }),
  ],
  [
    "no configuration of ours yet",
    host({ version: "0.162.0", configHash: null, config: { state: "none", text: "no configuration of ours" } }),
  ],
  [
    "left as it is: it came back as another agent",
    host({ left: { code: "superseded", note: "its host came back as 0190a000-0000-7000-8000-000000000008" } }),
  ],
  ...TARGET_CODES.map((code): [string, HostFacts] => [
    `cannot be offered: ${code}`,
    host({ target: target("cancelled", { attempt: { code } }), left: leftAs(code) }),
  ]),
  ...TARGET_CODES.map((code): [string, HostFacts] => [`left as it is: ${code}`, host({ left: { code, note: "" } })]),
];
function leftAs(code: TargetCode): HostFacts["left"] {
  return code === "aborted" ? { code: "catch_up_aborted", note: "its catch-up was aborted" } : null;
}

const page = ({ verdict, says, next, waitsFor, todo }: HostExplained): string =>
  [
    `[${verdict}] ${says}`,
    `  next   ${next === null ? "nothing by itself" : `${next.what}${next.atMs === null ? "" : ` (${instantText(next.atMs)})`}`}`,
    `  waits  ${waitsFor}`,
    ...(todo === null ? [] : [`  do     ${todo}`]),
  ].join("\n");

test("what an operator reads of a host", () =>
  expect(`${CASES.map(([name, it]) => `# ${name}\n${page(explainHost(it))}`).join("\n\n")}\n`).toMatchFileSnapshot(
    "golden/hosts.txt",
  ));

test("every verdict is reached", () =>
  expect(new Set(CASES.map(([, it]) => explainHost(it).verdict))).toEqual(new Set(VERDICTS)));

/** Every combination of what decides, one fact at a time against all others. */
function* everyHost(): Generator<HostFacts> {
  const targets = [
    null,
    ...PHASES.map((phase) => target(phase)),
    ...TARGET_CODES.map((code) => target("cancelled", { attempt: { code } })),
  ];
  for (const kind of ["collector", "updater", "unknown"] as const)
    for (const connected of [true, false])
      for (const fleet of ["edge", null])
        for (const version of ["0.161.0", "0.162.0", ""])
          for (const configHash of [OLD, NEW, null])
            for (const link of ["none", "linked", "mismatch"] as const)
              for (const renderError of [null, "no value"])
                for (const held of [null, { n: 7, because: "it was aborted" }])
                  for (const left of [null, { code: "held", note: "" }, { code: "internal", note: "" }])
                    for (const at of targets)
                      yield host({
                        kind,
                        connected,
                        fleet,
                        version,
                        configHash,
                        link,
                        renderError,
                        held,
                        left,
                        target: at,
                      });
}

test("every combination has a sentence, a waiter that can act, and nothing that is not known", () => {
  const bad = new Set<string>();
  let count = 0;
  for (const it of everyHost()) {
    count += 1;
    const said = explainHost(it);
    const text = `${said.says} | ${said.next?.what ?? ""} | ${said.todo ?? ""}`;
    const isMute = said.next === null && said.todo === null && said.waitsFor !== "nobody";
    if (isMute || /undefined|null|NaN|unknown/.test(text) || said.says.trim() === "")
      bad.add(`${said.verdict}: ${text}`);
  }
  expect(count).toBeGreaterThan(50_000);
  expect([...bad]).toEqual([]);
});

test("a host that is not as Git wants is never called in sync", () => {
  for (const it of everyHost()) {
    if (explainHost(it).verdict !== "in_sync") continue;
    expect([it.version, it.configHash, it.renderError]).toEqual(["0.162.0", OLD, null]);
  }
});
