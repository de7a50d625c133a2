/** Properties of the planner and its waves, for any fleet: nobody twice, sums right, caps kept, joins and leaves move nobody else. */
import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { shareOf } from "../gitops/share.ts";
import { planFleet, type PlanHost, type PlanInput, type WantedState } from "./plan.ts";
import { assignWaves, pickWave, type Member, type WaveRule } from "./waves.ts";

const share = fc.oneof(
  fc.integer({ min: 0, max: 600 }),
  fc.integer({ min: 0, max: 100 }).map((percent) => `${percent}%`),
);
type AnyWave = { upTo: number | string | null; selects: boolean };
const waveList = fc.array(
  fc.record({ upTo: fc.option(share, { nil: null }), selects: fc.boolean() }) as fc.Arbitrary<AnyWave>,
  { minLength: 1, maxLength: 6 },
);
const rulesOf = (waves: readonly AnyWave[]): WaveRule[] => [
  ...waves.map(({ upTo, selects }, k) => ({ k, upTo: upTo === null ? null : shareOf(upTo), selects, last: false })),
  { k: waves.length, upTo: null, selects: false, last: true },
];
const membersOf = (hosts: readonly { matches: number[]; state: Member["state"]; joined: boolean }[]): Member[] =>
  hosts.map((host, ord) => ({ host: `h${ord}`, ord, ...host }));
const anyMembers = (max: number) =>
  fc
    .array(
      fc.record({
        matches: fc.uniqueArray(fc.integer({ min: 0, max: 5 }), { maxLength: 3 }),
        state: fc.constantFrom("free", "free", "free", "out") as fc.Arbitrary<Member["state"]>,
        joined: fc.boolean(),
      }),
      { maxLength: max },
    )
    .map(membersOf);

describe("waves", () => {
  test("whatever the waves and the hosts: each target in play is in exactly one wave, and nobody else in any", () => {
    fc.assert(
      fc.property(waveList, anyMembers(120), (waves, members) => {
        const all = assignWaves(rulesOf(waves), members).flat();
        const inPlay = members.filter(({ state }) => state !== "out").map(({ host }) => host);
        expect(all.toSorted()).toEqual(inPlay.toSorted());
      }),
      { numRuns: 300 },
    );
  });

  test("sums are right for every N to 500 under a hundred random lists of shares", () => {
    const lists = fc.sample(fc.array(share, { minLength: 1, maxLength: 6 }), { numRuns: 100, seed: 7 });
    const wrong: string[] = [];
    // Each N with ten of the lists, each list with fifty N: all pairs would be the same test ten times as long.
    for (let n = 1; n <= 500; n += 1) {
      const members = membersOf(Array.from({ length: n }, () => ({ matches: [], state: "free", joined: false })));
      for (let i = n % 10; i < lists.length; i += 10) {
        const list = lists[i] ?? [];
        const sizes = assignWaves(rulesOf(list.map((upTo) => ({ upTo, selects: false }))), members);
        if (sizes.reduce((sum, { length }) => sum + length, 0) !== n) wrong.push(`${n}: ${list.join()}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test("every N from 1 to 500: 10%, 50%, 100% is cumulative, rounded up", () => {
    const rules = rulesOf([
      { upTo: "10%", selects: false },
      { upTo: "50%", selects: false },
    ]);
    for (let n = 1; n <= 500; n += 1) {
      const members = membersOf(Array.from({ length: n }, () => ({ matches: [], state: "free", joined: false })));
      const [first = [], half = [], rest = []] = assignWaves(rules, members);
      const upTo = (percent: number): number => Math.ceil((n * percent) / 100);
      expect([first.length, half.length, rest.length]).toEqual([upTo(10), upTo(50) - upTo(10), n - upTo(50)]);
    }
  });

  test("a joiner changes no share: the waves before the last take the same hosts", () => {
    fc.assert(
      fc.property(waveList, anyMembers(60), fc.integer({ min: 1, max: 20 }), (waves, members, more) => {
        const rules = rulesOf(waves);
        const joiners = Array.from({ length: more }, (_, i): Member => ({
          host: `j${i}`,
          ord: members.length + i,
          matches: [0, 1, 2],
          joined: true,
          state: "free",
        }));
        const before = assignWaves(rules, members);
        const after = assignWaves(rules, [...members, ...joiners]);
        expect(after.slice(0, -1)).toEqual(before.slice(0, -1));
        expect(after.at(-1)).toEqual([...(before.at(-1) ?? []), ...joiners.map(({ host }) => host)]);
      }),
      { numRuns: 200 },
    );
  });

  test("monotone: a target that leaves puts nobody into a later wave than before, and makes no wave larger than the share", () => {
    fc.assert(
      fc.property(waveList, anyMembers(60), fc.nat(), (waves, members, choice) => {
        const rules = rulesOf(waves.map((wave) => ({ ...wave, selects: false })));
        const inPlay = members.filter(({ state, joined }) => state !== "out" && !joined);
        const leaver = inPlay[choice % Math.max(1, inPlay.length)]?.host;
        const without = members.map((it) => (it.host === leaver ? { ...it, state: "out" as const } : it));
        const sizes = (of: readonly Member[]): number[] => {
          let sum = 0;
          return assignWaves(rules, of).map(({ length }) => (sum += length));
        };
        const [before, after] = [sizes(members), sizes(without)];
        // Cumulative sizes shrink by one at most, and never grow.
        for (const [k, size] of after.entries()) {
          expect(size).toBeLessThanOrEqual(before[k] ?? 0);
          expect(size).toBeGreaterThanOrEqual((before[k] ?? 0) - 1);
        }
      }),
      { numRuns: 200 },
    );
  });

  test("what a wave has taken stays taken: asked again it takes nobody", () => {
    fc.assert(
      fc.property(waveList, anyMembers(60), (waves, members) => {
        const [rule] = rulesOf(waves);
        if (rule === undefined) return;
        const taken = new Set(pickWave(rule, members));
        const now = members.map((it) => (taken.has(it.host) ? { ...it, state: "taken" as const } : it));
        expect(pickWave(rule, now)).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});

const VERSIONS = ["0.160.0", "0.161.0", "0.162.0"] as const;
const state = fc.record({
  version: fc.option(fc.constantFrom(...VERSIONS), { nil: null }),
  config: fc.option(fc.constantFrom("aa", "bb"), { nil: null }),
}) as fc.Arbitrary<WantedState>;
const anyHost = fc.record({
  want: state,
  before: fc.option(state, { nil: null }),
  version: fc.constantFrom(...VERSIONS, ""),
  config: fc.option(fc.constantFrom("aa", "bb"), { nil: null }),
  stepDown: fc.option(fc.constantFrom(...VERSIONS), { nil: null }),
  hasFailed: fc.boolean(),
  isIncompatible: fc.boolean(),
  superseded: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  openIn: fc.constantFrom("none", "none", "catch_up", "rollout"),
  isTarget: fc.boolean(),
});
type AnyHost = typeof anyHost extends fc.Arbitrary<infer T> ? T : never;
const hostOf = (it: AnyHost, i: number): PlanHost => ({
  uid: `uid-${String(i).padStart(3, "0")}`,
  hostName: `h${i}`,
  want: it.want,
  renderError: it.want.config === null && i % 3 === 0 ? "no such parameter" : null,
  isIncompatible: it.isIncompatible,
  before: it.before,
  is: { version: it.version, config: it.config, hasConfig: it.config !== null },
  matches: [],
  unhealthy: [],
  stepDown: it.stepDown,
  wayBack: "yes",
  hasFailed: it.hasFailed,
  supersededBy: it.superseded ? "other" : null,
  openIn: it.openIn,
  isTarget: it.isTarget,
});
const KEYS = ["k1", "k2", null] as const;
const anyInput = fc
  .record({
    hosts: fc.array(anyHost, { maxLength: 40 }),
    allowDowngrade: fc.boolean(),
    changeKey: fc.constantFrom(...KEYS),
    plannedKey: fc.constantFrom(...KEYS),
    seenCommit: fc.constantFrom("c1", "c2", null),
    active: fc.option(fc.constantFrom("supersede", "queue"), { nil: null }),
    activeKey: fc.constantFrom("k1", "k2"),
    newest: fc.option(fc.constantFrom("succeeded", "aborted", "failed", "rolled_back", "superseded"), { nil: null }),
    proven: fc.option(state, { nil: null }),
  })
  .map((it): PlanInput => ({
    fleet: "f",
    commit: "c2",
    allowDowngrade: it.allowDowngrade,
    hosts: it.hosts.map(hostOf),
    state: { changeKey: it.changeKey, plannedKey: it.plannedKey, seenCommit: it.seenCommit },
    active: it.active === null ? null : { n: 1, wantedKey: it.activeKey, ending: null, onNewChange: it.active },
    newest: it.newest === null ? null : { wantedKey: it.activeKey, state: it.active === null ? it.newest : "running" },
    proven: it.proven === null ? null : () => it.proven,
    order: (uid) => createHash("sha256").update(`f/${uid}`).digest("hex"),
    keyOf: (text) => `key-${text.length}`,
  }));
const uids = (targets: readonly { host: string }[]): string[] => targets.map(({ host }) => host);

describe("plans", () => {
  test("a host gets one thing at most; only hosts of the fleet; downgrades only where they are allowed; superseded ones never", () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const plan = planFleet(input);
        const created = plan.action.do === "create" ? plan.action.targets : [];
        const versions = [...created, ...plan.joiners, ...plan.catchUp].filter(({ toVersion }) => toVersion !== null);
        expect(new Set(uids(versions)).size).toBe(versions.length);
        expect(new Set(uids(created)).size).toBe(created.length);
        expect(new Set(uids(plan.joiners)).size).toBe(plan.joiners.length);
        const byUid = new Map(input.hosts.map((host) => [host.uid, host]));
        for (const target of [...created, ...plan.joiners, ...plan.catchUp]) {
          const host = byUid.get(target.host);
          expect(host?.supersededBy).toBeNull();
          if (target.toVersion === null || input.allowDowngrade || host === undefined || host.is.version === "")
            continue;
          expect(target.toVersion >= host.is.version || target.toVersion === host.stepDown).toBe(true);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test("a plan is decided by its facts alone: the order in which hosts are read changes nothing", () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const other = planFleet({ ...input, hosts: input.hosts.toReversed() });
        const plan = planFleet(input);
        expect(other.action).toEqual(plan.action);
        expect(uids(other.catchUp)).toEqual(uids(plan.catchUp));
        expect(uids(other.joiners)).toEqual(uids(plan.joiners));
        expect(uids(other.leftOut).toSorted()).toEqual(uids(plan.leftOut).toSorted());
      }),
      { numRuns: 500 },
    );
  });

  test("stable spread: a host that joins or leaves changes nobody else's place", () => {
    fc.assert(
      fc.property(anyInput, fc.nat(), (input, choice) => {
        const first = { ...input, state: { changeKey: null, plannedKey: null, seenCommit: null }, active: null };
        const all = planFleet(first);
        const leaver = input.hosts[choice % Math.max(1, input.hosts.length)]?.uid;
        const without = planFleet({ ...first, hosts: input.hosts.filter(({ uid }) => uid !== leaver) });
        const of = (plan: ReturnType<typeof planFleet>): string[] =>
          plan.action.do === "create" ? uids(plan.action.targets) : [];
        expect(of(without)).toEqual(of(all).filter((uid) => uid !== leaver));
      }),
      { numRuns: 300 },
    );
  });

  test("what was planned once is not planned again, whatever became of it", () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const plan = planFleet(input);
        const isPlanned = plan.action.do === "create" || plan.settles;
        const again = planFleet({
          ...input,
          state: {
            changeKey: plan.changeKey,
            plannedKey: isPlanned ? plan.changeKey : input.state.plannedKey,
            seenCommit: input.commit,
          },
          hosts: input.hosts.map((host) => ({ ...host, before: host.want })),
        });
        expect(again.changeKey).toBe(plan.changeKey);
        if (isPlanned) expect(again.action.do).toBe("nothing");
      }),
      { numRuns: 500 },
    );
  });

  test("everybody who is not as Git wants it is moved, busy, waits for the rollout, or is named with a reason", () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const plan = planFleet(input);
        const waits =
          plan.action.do === "supersede" ||
          (plan.action.do === "nothing" && plan.action.because.endsWith("ends first"));
        if (waits) return;
        const created = plan.action.do === "create" ? plan.action.targets : [];
        const known = new Set(uids([...created, ...plan.joiners, ...plan.catchUp, ...plan.leftOut]));
        const isBusy = (host: PlanHost): boolean => host.openIn !== "none" || host.isTarget;
        const lost = input.hosts.filter(({ uid, want, is, ...host }) => {
          const differs =
            (want.version !== null && want.version !== is.version) ||
            (want.config !== null && want.config !== is.config);
          return differs && !isBusy({ uid, want, is, ...host }) && !known.has(uid);
        });
        expect(lost.map(({ uid }) => uid)).toEqual([]);
      }),
      { numRuns: 1_000 },
    );
  });
});
