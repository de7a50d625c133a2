import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { chooseExpired, retain, retentionText, type ReleaseFacts } from "./retention.ts";

const DAY = 86_400_000;
const KEEP = 30 * DAY;
const NOW = 100 * DAY;
const RELEASE = { distribution: "otelcol", version: "0.162.0" };
const facts = (it: Partial<ReleaseFacts>): ReleaseFacts => ({
  ...RELEASE,
  users: [],
  unneededSinceMs: null,
  touchedAtMs: null,
  ...it,
});
const USER = { kind: "installed", what: "edge-1" };

describe("a release", () => {
  test.each<[string, Partial<ReleaseFacts>, object]>([
    ["that somebody needs stays, however old", { users: [USER], unneededSinceMs: 0 }, { do: "keep", because: [USER] }],
    ["names everybody who needs it", { users: [USER, { kind: "pin", what: "kim" }] }, { do: "keep" }],
    ["that nobody was seen to need begins its time now", {}, { do: "wait", sinceMs: NOW, untilMs: NOW + KEEP }],
    ["stays to the last moment", { unneededSinceMs: NOW - KEEP + 1 }, { do: "wait", sinceMs: NOW - KEEP + 1 }],
    ["goes after its time", { unneededSinceMs: NOW - KEEP }, { do: "delete", sinceMs: NOW - KEEP }],
    [
      "that came in since counts from then",
      { unneededSinceMs: 0, touchedAtMs: NOW - DAY },
      { do: "wait", sinceMs: NOW - DAY },
    ],
    [
      "seen unneeded by a clock that ran ahead stays longer, not shorter",
      { unneededSinceMs: NOW + DAY },
      { do: "wait" },
    ],
  ])("%s", (_, it, expected) => {
    expect(retain(facts(it), NOW, KEEP)).toMatchObject(expected);
  });

  test("each decision says why, in one sentence", () => {
    const text = (it: Partial<ReleaseFacts>): string =>
      retentionText(retain(facts(it), NOW, KEEP), (ms) => `day ${ms / DAY}`);
    expect(text({ users: [USER, { kind: "before", what: "core-1" }] })).toBe(
      "stays: runs on edge-1; way back of core-1",
    );
    expect(text({ unneededSinceMs: 90 * DAY })).toBe("nobody needs it since day 90; it stays until day 120");
    expect(text({ unneededSinceMs: 10 * DAY })).toBe("nobody needs it since day 10; the next run removes it");
  });
});

test("a few go at once, the longest unneeded first", () => {
  const all = [5, 1, 3, 2, 4].map((day) => facts({ version: `0.${day}.0`, unneededSinceMs: day * DAY }));
  const { chosen, more } = chooseExpired(all, NOW, { keepForMs: KEEP, atOnce: 3 });
  expect(chosen.map(({ version }) => version)).toEqual(["0.1.0", "0.2.0", "0.3.0"]);
  expect(more).toBe(true);
  expect(chooseExpired(all, NOW, { keepForMs: KEEP, atOnce: 5 }).more).toBe(false);
});

/** What happens to releases between two looks, in any order; the model knows everybody who needs what. */
const NEEDS = ["choose", "rollout", "install", "pin"] as const;
const step = fc.oneof(
  fc.record({ do: fc.constantFrom("begin", "end"), need: fc.constantFrom(...NEEDS), release: fc.nat(2) }),
  fc.record({ do: fc.constant("roll back"), release: fc.nat(2) }),
  fc.record({ do: fc.constant("pass"), days: fc.nat(45) }),
  fc.record({ do: fc.constantFrom("look", "remove") }),
);

test("nothing that is needed is ever removed, whatever the order: choose, roll out, roll back, pin, unpin", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const world = createWorld();
      for (const it of steps) world.step(it);
    }),
    { numRuns: 500 },
  );
});

type Step = { do: string; need?: string; release?: number; days?: number };
function createWorld() {
  let now = 0;
  const releases = [0, 1, 2].map((n) => ({
    version: `0.${n}.0`,
    needs: new Set<string>(),
    unneededSinceMs: null as number | null,
    /** The last look at which somebody needed it. */
    neededAt: 0,
    there: true,
  }));
  const factsOf = (it: (typeof releases)[number]): ReleaseFacts =>
    facts({
      version: it.version,
      users: [...it.needs].map((kind) => ({ kind, what: "somebody" })),
      unneededSinceMs: it.unneededSinceMs,
    });
  const look = (): void => {
    for (const it of releases) {
      if (it.needs.size > 0) it.neededAt = now;
      it.unneededSinceMs = it.needs.size > 0 ? null : (it.unneededSinceMs ?? now);
    }
  };
  // some time after a look, as everything may have changed meanwhile
  const remove = (): void => {
    const there = releases.filter((it) => it.there).map(factsOf);
    for (const { version } of chooseExpired(there, now, { keepForMs: KEEP, atOnce: 1 }).chosen) {
      const gone = releases.find((it) => it.version === version);
      expect(gone?.needs).toEqual(new Set());
      expect(now - (gone?.neededAt ?? 0)).toBeGreaterThanOrEqual(KEEP);
      if (gone !== undefined) gone.there = false;
    }
  };
  return {
    step: (it: Step): void => {
      const release = releases[it.release ?? 0];
      if (it.do === "pass") now += (it.days ?? 0) * DAY;
      if (it.do === "look") look();
      if (it.do === "remove") remove();
      if (it.do === "begin" && release?.there === true) release.needs.add(it.need ?? "");
      if (it.do === "end") release?.needs.delete(it.need ?? "");
      // the way back becomes what runs, what ran becomes the way back: both stay needed
      if (it.do === "roll back" && release?.there === true) release.needs.add("before").add("install");
    },
  };
}
