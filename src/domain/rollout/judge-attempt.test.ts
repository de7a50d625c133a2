import { describe, expect, test } from "vitest";
import type { UpdateAttempt } from "../update/health-report.ts";
import {
  CONFIG_STATUS,
  partsOf,
  type AttemptFacts,
  type CollectorFacts,
  type Evidence,
  type TargetChange,
} from "./attempt-facts.ts";
import { judgeAttempt, notBefore } from "./judge-attempt.ts";
import type { InFlightPhase, Phase } from "./phases.ts";

const NOW = 1_000_000_000;
const NANOS = (ms: number): string => (BigInt(ms) * 1_000_000n).toString();
const timing = { healthWaitMs: 10_000, targetTimeoutMs: 60_000, targetMaxTimeMs: null };

const PACKAGE: TargetChange = {
  fromVersion: "0.161.0",
  toVersion: "0.162.0",
  fromConfig: null,
  toConfig: null,
  unhealthyBefore: [],
};
const CONFIG: TargetChange = { ...PACKAGE, toVersion: null, fromConfig: "aa", toConfig: "bb" };
const BOTH: TargetChange = { ...PACKAGE, fromConfig: "aa", toConfig: "bb" };

const attempt = (change: Partial<AttemptFacts> = {}): AttemptFacts => ({
  phase: "offered",
  direction: "forward",
  part: "package",
  sinceMs: NOW - 20_000,
  deadlineMs: NOW + 40_000,
  offeredMs: NOW - 20_000,
  hostAttemptNanos: null,
  percent: 0,
  steps: [],
  healthFromMs: null,
  silentFromMs: null,
  failureClass: null,
  error: "",
  takenNanos: [],
  ...change,
});
const collector = (change: Partial<CollectorFacts> = {}): CollectorFacts => ({
  connected: true,
  version: "0.161.0",
  healthy: true,
  healthySinceMs: NOW - 500_000,
  unhealthyComponents: [],
  lastSeenMs: NOW,
  lastError: "",
  configHash: "aa",
  configStatus: CONFIG_STATUS.applied,
  configError: "",
  ...change,
});
const reported = (change: Partial<UpdateAttempt> = {}): UpdateAttempt => ({
  version: "0.162.0",
  from: "0.161.0",
  status: "downloading",
  healthy: true,
  error: "",
  startNanos: NANOS(NOW - 10_000),
  statusNanos: NANOS(NOW),
  steps: [],
  ...change,
});
const evidence = (change: {
  target?: TargetChange;
  attempt?: Partial<AttemptFacts>;
  collector?: Partial<CollectorFacts> | null;
  reported?: Partial<UpdateAttempt> | null;
  offer?: Evidence["offer"];
  packageStatus?: NonNullable<Evidence["updater"]>["packageStatus"];
  nowMs?: number;
}): Evidence => ({
  target: change.target ?? PACKAGE,
  attempt: attempt(change.attempt),
  offer: change.offer === undefined ? { direction: "forward", packagesHash: "cc", sent: true } : change.offer,
  collector: change.collector === null ? null : collector(change.collector),
  updater: {
    attempt: change.reported === undefined || change.reported === null ? null : reported(change.reported),
    packageStatus: change.packageStatus ?? null,
  },
  timing,
  nowMs: change.nowMs ?? NOW,
});

/** What a host can report while an attempt of a package is in this phase. A new phase does not compile until its row is here. */
type Seen =
  | "nothing"
  | "same step"
  | "next step"
  | "succeeded"
  | "failed"
  | "rolled_back"
  | "too late"
  | "healthy for long";
type Cell = Phase | "stays";
const PACKAGE_TABLE: Record<
  Exclude<InFlightPhase, "applying" | "health_wait">,
  Record<Exclude<Seen, "healthy for long">, Cell>
> = {
  offered: {
    nothing: "stays",
    "same step": "downloading",
    "next step": "verifying",
    succeeded: "health_wait",
    failed: "failed",
    rolled_back: "rolled_back",
    "too late": "failed",
  },
  downloading: {
    nothing: "stays",
    "same step": "stays",
    "next step": "verifying",
    succeeded: "health_wait",
    failed: "failed",
    rolled_back: "rolled_back",
    "too late": "failed",
  },
  verifying: {
    nothing: "stays",
    "same step": "stays",
    "next step": "installing",
    succeeded: "health_wait",
    failed: "failed",
    rolled_back: "rolled_back",
    "too late": "failed",
  },
  installing: {
    nothing: "stays",
    "same step": "stays",
    "next step": "restarting",
    succeeded: "health_wait",
    failed: "failed",
    rolled_back: "rolled_back",
    "too late": "failed",
  },
  restarting: {
    nothing: "stays",
    "same step": "stays",
    "next step": "health_check",
    succeeded: "health_wait",
    failed: "failed",
    rolled_back: "rolled_back",
    "too late": "failed",
  },
  health_check: {
    nothing: "stays",
    "same step": "stays",
    "next step": "rolling_back",
    succeeded: "health_wait",
    failed: "failed",
    rolled_back: "rolled_back",
    "too late": "failed",
  },
  rolling_back: {
    nothing: "stays",
    "same step": "stays",
    "next step": "rolling_back",
    succeeded: "health_wait",
    failed: "failed",
    rolled_back: "rolled_back",
    "too late": "failed",
  },
};
const ORDER = ["downloading", "verifying", "installing", "restarting", "health_check", "rolling_back"] as const;

describe("a package: each phase against each report", () => {
  for (const [phase, row] of Object.entries(PACKAGE_TABLE)) {
    test.each(Object.entries(row))(`${phase}, %s → %s`, (seen, cell) => {
      const now = phase === "offered" ? "downloading" : (phase as (typeof ORDER)[number]);
      const next = phase === "offered" ? "verifying" : (ORDER[ORDER.indexOf(now) + 1] ?? now);
      const own = phase === "offered" ? {} : { hostAttemptNanos: BigInt(NANOS(NOW - 10_000)) };
      const status = seen === "same step" ? now : seen === "next step" ? next : (seen as "succeeded");
      const isReport = seen !== "nothing" && seen !== "too late";
      const at = evidence({
        attempt: { phase: phase as InFlightPhase, ...own },
        reported: isReport ? { status } : phase === "offered" ? null : { status: now },
        nowMs: seen === "too late" ? NOW + 40_000 : NOW,
      });
      expect(judgeAttempt(at)?.phase ?? "stays").toBe(
        cell === "rolling_back" && phase === "rolling_back" ? "stays" : cell,
      );
    });
  }

  test("a timeout before the stop withdraws; after it the host runs to its end", () => {
    const late = (phase: InFlightPhase) => judgeAttempt(evidence({ attempt: { phase }, nowMs: NOW + 40_000 }));
    expect(late("verifying")).toMatchObject({ phase: "failed", failureClass: "timeout", withdraw: true });
    expect(late("installing")?.withdraw).toBeUndefined();
  });

  test("progress starts the deadline again: a new step, a growing download", () => {
    const own = { phase: "downloading" as const, hostAttemptNanos: BigInt(NANOS(NOW - 10_000)), percent: 10 };
    const status = {
      allPackagesHash: "cc",
      status: "downloading",
      version: "",
      offeredVersion: "0.162.0",
      error: "",
      percent: 11,
    };
    expect(judgeAttempt(evidence({ attempt: own, reported: {}, packageStatus: status }))).toMatchObject({
      percent: 11,
      deadlineMs: NOW + 60_000,
    });
    expect(
      judgeAttempt(evidence({ attempt: own, reported: {}, packageStatus: { ...status, percent: 10 } })),
    ).toBeUndefined();
  });
});

describe("whose attempt it is", () => {
  test.each([
    ["another version", { version: "0.163.0" }, {}],
    ["begun three minutes before the offer", { startNanos: NANOS(NOW - 20_000 - 180_000) }, {}],
    ["taken by an attempt before", {}, { takenNanos: [BigInt(NANOS(NOW - 10_000))] }],
    [
      "a later one of the host, when one was taken",
      { startNanos: NANOS(NOW) },
      { hostAttemptNanos: BigInt(NANOS(NOW - 10_000)) },
    ],
  ])("%s does not count", (_name, change, own) => {
    expect(judgeAttempt(evidence({ reported: { status: "failed", ...change }, attempt: own }))).toBeUndefined();
  });

  test("begun one minute before the offer counts: clocks differ", () => {
    const at = evidence({ reported: { startNanos: NANOS(NOW - 80_000) } });
    expect(judgeAttempt(at)).toMatchObject({ phase: "downloading", hostAttemptNanos: BigInt(NANOS(NOW - 80_000)) });
  });
});

describe("classes of failure", () => {
  const failed = (change: Partial<UpdateAttempt>) =>
    judgeAttempt(evidence({ reported: { status: "failed", ...change } }));
  const step = (name: "verifying", error: string) => [
    { step: name, status: "failed" as const, startNanos: "0", statusNanos: "0", error },
  ];
  test.each([
    ["read where the error begins with it", { error: "disk_full: no space" }, "disk_full"],
    [
      "also inside the sentence of a rollback",
      { status: "rolled_back" as const, error: "update to v0.162.0 failed: health: 503; rolled back to v0.161.0" },
      "health",
    ],
    ["else of the step that failed", { error: "oops", steps: step("verifying", "oops") }, "verification"],
    [
      "a rollback that failed leaves the host unhealthy",
      { error: "health: x; rollback: y", healthy: false },
      "rollback_failed",
    ],
  ])("%s", (_name, change, failureClass) => {
    expect(failed(change)).toMatchObject({ failureClass });
  });
});

describe("no attempt of the host", () => {
  const status = { allPackagesHash: "cc", version: "0.162.0", offeredVersion: "0.162.0", error: "", percent: null };
  test("the set is installed already and the collector says so: the health wait begins", () => {
    const at = evidence({ packageStatus: { ...status, status: "installed" }, collector: { version: "0.162.0" } });
    expect(judgeAttempt(at)).toMatchObject({ phase: "health_wait" });
  });
  test("installed by the package status alone is no success", () => {
    expect(judgeAttempt(evidence({ packageStatus: { ...status, status: "installed" } }))).toBeUndefined();
  });
  test("inside the backoff of the host it waits until that is over", () => {
    const error = `health: 503; not before ${new Date(NOW + 30_000).toISOString()}`;
    const at = evidence({ packageStatus: { ...status, status: "install_failed", error } });
    expect(judgeAttempt(at)).toMatchObject({ phase: "pending", notBeforeMs: NOW + 30_000 });
    expect(notBefore("not before soon")).toBeUndefined();
  });
  test("a status of another set says nothing", () => {
    const at = evidence({
      packageStatus: { ...status, allPackagesHash: "dd", status: "installed" },
      collector: { version: "0.162.0" },
    });
    expect(judgeAttempt(at)).toBeUndefined();
  });
});

describe("the health wait", () => {
  const waiting = { phase: "health_wait" as const, healthFromMs: NOW - 10_000, deadlineMs: NOW + 40_000 };
  const good = { version: "0.162.0" };
  const judge = (change: Parameters<typeof evidence>[0]) =>
    judgeAttempt(evidence({ attempt: waiting, collector: good, ...change }));

  test("unbroken for its length is the only success", () => {
    expect(judge({})).toMatchObject({ phase: "succeeded" });
    expect(judge({ nowMs: NOW - 1 })).toBeUndefined();
  });
  test.each([
    ["the collector runs the old version (F1)", { version: "0.161.0" }],
    ["it is unhealthy", { ...good, healthy: false, healthySinceMs: null }],
    ["a component became unhealthy", { ...good, unhealthyComponents: ["exporter/otlp"] }],
  ])("no success while %s, and the clock starts again", (_name, change) => {
    expect(judge({ collector: change })).toMatchObject({ phase: "health_wait", healthFromMs: null });
  });
  test("a component that was unhealthy before does not count", () => {
    const target = { ...PACKAGE, unhealthyBefore: ["exporter/otlp"] };
    expect(judge({ target, collector: { ...good, unhealthyComponents: ["exporter/otlp"] } })).toMatchObject({
      phase: "succeeded",
    });
  });
  test("a restart starts the clock again (F3)", () => {
    expect(judge({ collector: { ...good, healthySinceMs: NOW - 100 } })).toMatchObject({
      phase: "health_wait",
      healthFromMs: NOW - 100,
    });
  });
  test("silence stops the clock and does not reset it", () => {
    const silent = judge({ collector: { ...good, connected: false, lastSeenMs: NOW - 4_000 }, nowMs: NOW - 3_000 });
    expect(silent).toMatchObject({ phase: "health_wait", silentFromMs: NOW - 4_000 });
    const back = { ...waiting, silentFromMs: NOW - 4_000 };
    expect(judge({ attempt: back, nowMs: NOW })).toMatchObject({
      phase: "health_wait",
      healthFromMs: NOW - 6_000,
      silentFromMs: null,
    });
  });
  test.each([
    ["silent", { connected: false }, "no_data"],
    ["on the old version", { version: "0.161.0" }, "timeout"],
    ["unhealthy", { ...good, healthy: false, healthySinceMs: null, lastError: "boom" }, "health"],
  ])("at the deadline: %s", (_name, change, failureClass) => {
    const at = { ...waiting, healthFromMs: null, silentFromMs: NOW, deadlineMs: NOW + 1 };
    expect(judge({ attempt: at, collector: change, nowMs: NOW + 1 })).toMatchObject({ phase: "failed", failureClass });
  });
});

describe("a configuration", () => {
  const offered = { phase: "offered" as const, part: "config" as const };
  const judge = (change: Partial<CollectorFacts>, more: Parameters<typeof evidence>[0] = {}) =>
    judgeAttempt(evidence({ target: CONFIG, attempt: offered, collector: change, ...more }));

  test("applying, then applied, then the health wait", () => {
    expect(judge({})).toBeUndefined();
    expect(judge({ configHash: "bb", configStatus: CONFIG_STATUS.applying })).toMatchObject({ phase: "applying" });
    expect(judge({ configHash: "bb" })).toMatchObject({ phase: "health_wait" });
  });
  test("one that fails is taken back at once", () => {
    expect(judge({ configHash: "bb", configStatus: CONFIG_STATUS.failed, configError: "bad" })).toMatchObject({
      phase: "rolling_back",
      failureClass: "configuration",
      open: { kind: "config", direction: "take_back", config: "aa" },
    });
  });
  test("one that times out or stays unhealthy is taken back too", () => {
    expect(judge({}, { nowMs: NOW + 40_000 })).toMatchObject({ phase: "rolling_back", failureClass: "timeout" });
    const unhealthy = { attempt: { ...offered, phase: "health_wait" as const, deadlineMs: NOW } };
    expect(judge({ configHash: "bb", healthy: false, healthySinceMs: null }, unhealthy)).toMatchObject({
      phase: "rolling_back",
      failureClass: "health",
    });
  });
  test("a host without an earlier configuration has no way back", () => {
    const target = { ...CONFIG, fromConfig: null };
    expect(judge({ configHash: "bb", configStatus: CONFIG_STATUS.failed }, { target })).toMatchObject({
      phase: "failed",
    });
  });

  const takingBack = {
    phase: "rolling_back" as const,
    part: "config" as const,
    failureClass: "configuration" as const,
    error: "bad",
  };
  const offer = { direction: "take_back" as const, packagesHash: null, sent: true };
  test("taken back is rolled_back only when the host says so", () => {
    expect(judge({ configHash: "bb" }, { attempt: takingBack, offer })).toBeUndefined();
    expect(judge({ configHash: "aa" }, { attempt: takingBack, offer })).toMatchObject({ phase: "rolled_back" });
    expect(
      judge({ configHash: "aa", healthy: false }, { attempt: takingBack, offer, nowMs: NOW + 40_000 }),
    ).toMatchObject({
      phase: "failed",
      failureClass: "rollback_failed",
    });
  });
});

describe("version and configuration together", () => {
  test("up: the package first; down: the configuration first; going back the other way round", () => {
    expect(partsOf(BOTH, "forward")).toEqual(["package", "config"]);
    expect(partsOf({ ...BOTH, toVersion: "0.160.0" }, "forward")).toEqual(["config", "package"]);
    expect(partsOf(BOTH, "back")).toEqual(["config", "package"]);
  });
  test("the configuration follows when the collector reports the new version", () => {
    const done = { target: BOTH, reported: { status: "succeeded" as const } };
    expect(judgeAttempt(evidence(done))).toBeUndefined();
    expect(judgeAttempt(evidence({ ...done, collector: { version: "0.162.0" } }))).toMatchObject({
      phase: "offered",
      part: "config",
      open: { kind: "config", config: "bb" },
    });
  });
  test("if the second part fails, both return, the last one first", () => {
    const failing = {
      target: BOTH,
      attempt: { part: "config" as const },
      collector: { version: "0.162.0", configHash: "bb", configStatus: CONFIG_STATUS.failed },
    };
    expect(judgeAttempt(evidence(failing))).toMatchObject({
      phase: "rolling_back",
      open: { kind: "config", config: "aa" },
    });
    const taking = { phase: "rolling_back" as const, part: "config" as const };
    const offer = { direction: "take_back" as const, packagesHash: null, sent: true };
    const next = judgeAttempt(
      evidence({ target: BOTH, attempt: taking, offer, collector: { version: "0.162.0", configHash: "aa" } }),
    );
    expect(next).toMatchObject({
      phase: "rolling_back",
      part: "package",
      open: { kind: "package", version: "0.161.0" },
    });
    const last = judgeAttempt(
      evidence({ target: BOTH, attempt: { ...taking, part: "package" }, offer, collector: { configHash: "aa" } }),
    );
    expect(last).toMatchObject({ phase: "rolled_back" });
  });
  test("a package that fails first leaves the configuration as it was", () => {
    expect(
      judgeAttempt(evidence({ target: BOTH, reported: { status: "failed", error: "download: cut" } })),
    ).toMatchObject({ phase: "failed" });
  });
});

describe("going back", () => {
  test("succeeds as forward does: the collector reports the version before", () => {
    const back = { phase: "health_wait" as const, direction: "back" as const, healthFromMs: NOW - 10_000 };
    expect(judgeAttempt(evidence({ attempt: back }))).toMatchObject({ phase: "succeeded" });
    expect(judgeAttempt(evidence({ attempt: back, collector: { version: "0.162.0" } }))?.phase).toBe("health_wait");
  });
});

describe("more than the status of a configuration", () => {
  const config = { phase: "offered" as const, part: "config" as const };
  const judge = (change: Partial<CollectorFacts>, more: Parameters<typeof evidence>[0] = {}) =>
    judgeAttempt(evidence({ target: CONFIG, attempt: config, collector: change, ...more }));

  test("FAILED and then APPLIED with the one before, seen together, is the agent's own return", () => {
    expect(judge({ failedConfig: { hash: "bb", error: "no" } })).toMatchObject({
      phase: "rolled_back",
      failureClass: "configuration",
      close: "rolled back by the agent",
    });
  });
  test("FAILED while it still runs neither is taken back", () => {
    expect(judge({ configHash: "cc", failedConfig: { hash: "bb", error: "no" } })).toMatchObject({
      phase: "rolling_back",
      open: { direction: "take_back", config: "aa" },
    });
  });
  test("with two parts the version returns too", () => {
    const both = { target: BOTH, collector: { version: "0.162.0", failedConfig: { hash: "bb", error: "no" } } };
    expect(judgeAttempt(evidence({ attempt: config, ...both }))).toMatchObject({ phase: "rolling_back" });
  });
  test("silence about equal content is judged by what runs, after a while", () => {
    expect(judge({ effectiveOf: "bb" })).toBeUndefined();
    expect(judge({ effectiveOf: "bb" }, { nowMs: NOW + 11_000 })).toMatchObject({ phase: "health_wait" });
    expect(judge({ effectiveOf: "aa" }, { nowMs: NOW + 11_000 })).toBeUndefined();
  });
  test("the health wait needs the pipelines of the configuration", () => {
    const waiting = {
      target: CONFIG,
      attempt: { ...config, phase: "health_wait" as const, healthFromMs: NOW - 10_000 },
    };
    const seen = (pipelines: string[]) =>
      judgeAttempt(evidence({ ...waiting, collector: { configHash: "bb", pipelines, expectedPipelines: ["traces"] } }));
    expect(seen(["traces"])).toMatchObject({ phase: "succeeded" });
    expect(seen([])).toMatchObject({ phase: "health_wait", healthFromMs: null });
    expect(seen(["logs"])).toMatchObject({ phase: "health_wait", healthFromMs: null });
  });
  test("at the deadline it says which pipeline is not there", () => {
    const late = { target: CONFIG, attempt: { ...config, phase: "health_wait" as const, deadlineMs: NOW } };
    const seen = { configHash: "bb", pipelines: ["logs"], expectedPipelines: ["traces"] };
    expect(judgeAttempt(evidence({ ...late, collector: seen }))?.error).toMatch(/traces/);
  });
  test("a new version that lacks components of the new configuration returns, before that one is offered", () => {
    const done = { target: BOTH, reported: { status: "succeeded" as const } };
    const lacks = { version: "0.162.0", missing: ["receivers/kafka"] };
    expect(judgeAttempt(evidence({ ...done, collector: lacks }))).toMatchObject({
      phase: "rolling_back",
      failureClass: "incompatible",
      open: { kind: "package", direction: "take_back", version: "0.161.0" },
    });
  });
});

describe("INSTALL_FAILED without an attempt", () => {
  const status = (error: string) => ({
    allPackagesHash: "set",
    status: "install_failed",
    version: "0.161.0",
    offeredVersion: "0.162.0",
    error,
    percent: null,
  });
  const judge = (error: string, other: UpdateAttempt | null) =>
    judgeAttempt({
      ...evidence({}),
      offer: { direction: "forward", packagesHash: "set", sent: true },
      updater: { attempt: other, packageStatus: status(error) },
    });
  const older = reported({ version: "0.150.0" });
  test.each([
    ["of an updater that reports no attempts", "preflight: wrong", null, "preflight"],
    ["without a class", "it broke", null, "install"],
    ["of a set that ours refuses", 'unsupported package "x"', older, "install"],
  ])("%s ends it at once", (_, error, other, failureClass) => {
    expect(judge(error, other)).toMatchObject({ phase: "failed", failureClass });
  });
  test("ours tells its attempt too: that is waited for", () => {
    expect(judge("preflight: wrong", older)).toBeUndefined();
  });
});
