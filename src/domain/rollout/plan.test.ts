import { describe, expect, test } from "vitest";
import { planFleet, type PlanHost, type PlanInput } from "./plan.ts";

const host = (uid: string, change: Partial<PlanHost> = {}): PlanHost => ({
  uid,
  hostName: uid,
  want: { version: "0.162.0", config: "bb" },
  renderError: null,
  before: { version: "0.161.0", config: "bb" },
  is: { version: "0.161.0", config: "bb", hasConfig: true },
  matches: [],
  unhealthy: [],
  stepDown: null,
  wayBack: "yes",
  hasFailed: false,
  openIn: "none",
  isTarget: false,
  ...change,
});
const input = (change: Partial<PlanInput> = {}): PlanInput => ({
  fleet: "f",
  commit: "c2",
  allowDowngrade: false,
  hosts: [host("a"), host("b")],
  state: { changeKey: "k1", plannedKey: "k1", seenCommit: "c1" },
  active: null,
  newest: { wantedKey: "k1", state: "succeeded" },
  proven: () => ({ version: "0.161.0", config: "bb" }),
  order: (uid) => uid,
  keyOf: (text) => `key(${text.split("\n")[1]})`,
  ...change,
});
const NEW = "key(c2)";
const hosts = (targets: readonly { host: string }[]): string[] => targets.map((target) => target.host);

describe("what a change is", () => {
  test("a commit that makes something different for an agent is planned", () => {
    const plan = planFleet(input());
    expect(plan.changeKey).toBe(NEW);
    expect(plan.action).toMatchObject({ do: "create" });
  });
  test("a commit that makes nothing different keeps the change and plans nothing", () => {
    const same = { want: { version: "0.161.0", config: "bb" } };
    const plan = planFleet(input({ hosts: [host("a", same)] }));
    expect(plan).toMatchObject({ changeKey: "k1", action: { do: "nothing" }, settles: false });
  });
  test("a difference that no commit caused is no change: labels, joiners, drift", () => {
    const plan = planFleet(input({ commit: "c1", hosts: [host("a"), host("new", { before: null })] }));
    expect(plan.changeKey).toBe("k1");
    expect(plan.action.do).toBe("nothing");
    expect(hosts(plan.catchUp)).toEqual(["a", "new"]);
  });
  test("the first revision is a change; agents without configuration get theirs by catch-up, versions by a rollout", () => {
    const fresh = { before: null, is: { version: "0.161.0", config: null, hasConfig: false } };
    const plan = planFleet(
      input({
        hosts: [host("a", fresh)],
        state: { changeKey: null, plannedKey: null, seenCommit: null },
        newest: null,
        proven: null,
      }),
    );
    expect(plan.action).toMatchObject({ do: "create", targets: [{ host: "a", toVersion: "0.162.0", toConfig: null }] });
    expect(plan.catchUp).toMatchObject([{ host: "a", toVersion: null, toConfig: "bb" }]);
  });
});

describe("a host whose catch-up was refused", () => {
  const refused = { toVersion: "0.162.0", toConfig: null };
  const catchUps = (change: Partial<PlanHost>) =>
    hosts(planFleet(input({ commit: "c1", hosts: [host("a", change)] })).catchUp);
  test("is left alone as long as the same would be refused again", () => {
    expect(catchUps({})).toEqual(["a"]);
    expect(catchUps({ refused })).toEqual([]);
    expect(catchUps({ refused: null })).toEqual(["a"]);
  });
  test("is tried again with something else", () => {
    expect(catchUps({ refused: { ...refused, toVersion: "0.161.5" } })).toEqual(["a"]);
    expect(catchUps({ refused: { ...refused, toConfig: "cc" } })).toEqual(["a"]);
  });
});

describe("held: a change is planned once", () => {
  test.each(["aborted", "failed", "rolled_back", "succeeded", "superseded"])("whatever became of it: %s", (state) => {
    const at = input({
      state: { changeKey: NEW, plannedKey: NEW, seenCommit: "c2" },
      newest: { wantedKey: NEW, state },
    });
    expect(planFleet(at).action).toMatchObject({ do: "nothing" });
    expect(
      planFleet({ ...at, commit: "c3", hosts: [host("a", { before: { version: "0.162.0", config: "bb" } })] }).action
        .do,
    ).toBe("nothing");
  });
  test("while held, catch-up goes towards the proven state, never the held one", () => {
    const at = input({
      hosts: [host("back", { is: { version: "0.160.0", config: "bb", hasConfig: true } }), host("there")],
      state: { changeKey: NEW, plannedKey: NEW, seenCommit: "c2" },
      newest: { wantedKey: NEW, state: "aborted" },
    });
    expect(planFleet(at).catchUp).toMatchObject([{ host: "back", toVersion: "0.161.0" }]);
  });
  test("a fleet without a proven state leaves hosts as they are", () => {
    const fresh = { is: { version: "0.161.0", config: null, hasConfig: false } };
    const at = input({
      hosts: [host("a", fresh)],
      state: { changeKey: NEW, plannedKey: NEW, seenCommit: "c2" },
      newest: { wantedKey: NEW, state: "aborted" },
      proven: null,
    });
    expect(planFleet(at)).toMatchObject({ catchUp: [], joiners: [], action: { do: "nothing" } });
  });
  test("a revert is a change; when nobody needs it, it settles without a rollout", () => {
    const reverted = host("a", {
      want: { version: "0.161.0", config: "bb" },
      before: { version: "0.162.0", config: "bb" },
    });
    const at = input({
      commit: "c3",
      hosts: [reverted],
      state: { changeKey: NEW, plannedKey: NEW, seenCommit: "c2" },
      newest: { wantedKey: NEW, state: "aborted" },
    });
    expect(planFleet(at)).toMatchObject({ changeKey: "key(c3)", action: { do: "nothing" }, settles: true });
  });
  test("the same version again in a later commit, after a revert, is planned", () => {
    const at = input({
      commit: "c4",
      state: { changeKey: "key(c3)", plannedKey: "key(c3)", seenCommit: "c3" },
      newest: { wantedKey: NEW, state: "aborted" },
    });
    expect(planFleet(at)).toMatchObject({ changeKey: "key(c4)", action: { do: "create" } });
  });
});

describe("while a rollout is active", () => {
  const active = { n: 3, wantedKey: "k1", ending: null, onNewChange: "supersede" as const };
  test("a newer change supersedes it, and waits until it has ended", () => {
    expect(planFleet(input({ active })).action).toEqual({ do: "supersede", n: 3 });
    const ending = planFleet(input({ active: { ...active, ending: "supersede" } }));
    expect(ending).toMatchObject({
      action: { do: "nothing", because: "rollout 3 ends first" },
      settles: false,
      joiners: [],
      catchUp: [],
    });
  });
  test("onNewChange queue lets it finish", () => {
    expect(planFleet(input({ active: { ...active, onNewChange: "queue" } })).action).toMatchObject({ do: "nothing" });
  });
  test("hosts that come join its last wave", () => {
    const plan = planFleet(
      input({
        commit: "c1",
        hosts: [host("target", { isTarget: true, openIn: "rollout" }), host("late", { before: null })],
        active,
        newest: { wantedKey: "k1", state: "running" },
      }),
    );
    expect(hosts(plan.joiners)).toEqual(["late"]);
    expect(plan.catchUp).toEqual([]);
  });
});

describe("who is a target", () => {
  test("hosts that are where they should be are none; the order is the frozen one", () => {
    const there = host("c", { is: { version: "0.162.0", config: "bb", hasConfig: true } });
    const plan = planFleet(input({ hosts: [host("b"), there, host("a")], order: (uid) => (uid === "a" ? "2" : "1") }));
    expect(plan.action.do === "create" ? hosts(plan.action.targets) : []).toEqual(["b", "a"]);
  });
  test("a target freezes where it comes from, and whether a signed way leads back", () => {
    const plan = planFleet(input({ hosts: [host("a", { wayBack: "no_way_back", unhealthy: ["x"], matches: [0] })] }));
    expect(plan.action.do === "create" ? plan.action.targets[0] : undefined).toEqual({
      host: "a",
      hostName: "a",
      fromVersion: "0.161.0",
      toVersion: "0.162.0",
      fromConfig: "bb",
      toConfig: null,
      wayBack: "no_way_back",
      unhealthyBefore: ["x"],
      matches: [0],
    });
  });
  test.each([
    ["a downgrade is left out", {}, false, []],
    ["one step back to the version before is allowed", { stepDown: "0.162.0" }, false, ["a"]],
    ["allowDowngrade allows any", {}, true, ["a"]],
  ])("%s", (_name, change, allowDowngrade, targets) => {
    const newer = host("a", { is: { version: "0.163.0", config: "bb", hasConfig: true }, ...change });
    const plan = planFleet(input({ hosts: [newer], allowDowngrade }));
    expect(plan.action.do === "create" ? hosts(plan.action.targets) : []).toEqual(targets);
    expect(plan.leftOut.map(({ code }) => code)).toEqual(targets.length === 0 ? ["downgrade_not_allowed"] : []);
  });
  test("an agent whose configuration does not render keeps it and still gets the version; others go on", () => {
    const broken = host("a", { want: { version: "0.162.0", config: null }, renderError: "no such parameter" });
    const plan = planFleet(input({ hosts: [broken, host("b")] }));
    expect(plan.action.do === "create" ? plan.action.targets.map(({ toConfig }) => toConfig) : []).toEqual([
      null,
      null,
    ]);
    expect(plan.leftOut).toMatchObject([{ host: "a", code: "render_failed" }]);
  });
  test("a host whose build lacks components waits for another configuration or a version that may bring them", () => {
    const wants = (version: string) => host("a", { want: { version, config: "cc" }, isIncompatible: true });
    const caughtUp = (version: string) =>
      hosts(
        planFleet(input({ commit: "c1", hosts: [wants(version)], proven: () => ({ version, config: "cc" }) })).catchUp,
      );
    expect(caughtUp("0.161.0")).toEqual([]);
    expect(caughtUp("0.162.0")).toEqual(["a"]);
    const first = { is: { version: "0.161.0", config: null, hasConfig: false }, isIncompatible: true };
    expect(hosts(planFleet(input({ proven: null, newest: null, hosts: [host("a", first)] })).catchUp)).toEqual([]);
  });
  test("a host whose last attempt to get there failed waits for retry or a change", () => {
    const plan = planFleet(input({ commit: "c1", hosts: [host("a", { hasFailed: true })] }));
    expect(plan.catchUp).toEqual([]);
  });
});
