/** Random sequences of controls, host reports and restarts against a small reference model: every answer, and what always holds. */
import { expect, test } from "vitest";
import { createEngine, type Engine, type EngineWave } from "../../../test/support/rollout-engine.ts";
import { CONTROLS, expected, isFinal, mustHold, type Control, type Seen } from "../../../test/support/rollout-model.ts";
import { seededChance } from "../../../test/support/seeded-chance.ts";

const SEQUENCES = 10_000;
const STEPS = 25;
const APPROVALS = ["none", "none", "required"] as const;

const seenOf = ({ rows }: Engine): Seen => ({
  state: rows.state,
  holds: Object.keys(rows.holds),
  ending: rows.ending,
  waits: rows.waves.some(({ k, state }) => state === "waiting_approval" && (rows.approvals[k] ?? []).length === 0),
  updated: rows.hosts.filter(
    ({ phase, direction }) =>
      phase === "offered" || phase === "failed" || (phase === "succeeded" && direction === "forward"),
  ).length,
  unsuccessful: rows.hosts.filter(
    ({ phase, direction }) =>
      phase === "failed" || phase === "cancelled" || (phase === "succeeded" && direction === "back"),
  ).length,
  returning: rows.hosts.filter(({ phase, direction }) => phase === "offered" && direction === "back").length,
});

/** What holds at every moment, whatever was done. Returns the sentence that does not. */
function broken(engine: Engine, cap: number, counted: number): string | undefined {
  const { rows, offers } = engine;
  if (engine.inFlight().length > cap) return "more hosts in flight than the cap";
  for (const offer of offers.slice(counted)) {
    if (offer.heldBy.length > 0) return `an offer under the hold ${offer.heldBy.join()}`;
    const wave = rows.waves[offer.wave ?? -1];
    if (offer.direction === "forward" && wave?.approval === "required" && (rows.approvals[wave.k] ?? []).length === 0)
      return `an offer in wave ${wave.name}, which nobody approved`;
    const earlier = rows.waves.slice(0, wave?.k ?? 0);
    if (
      offer.direction === "forward" &&
      earlier.some(({ state }) => state === "pending" || state === "waiting_approval")
    )
      return "a wave was skipped over";
  }
  if (rows.state === "succeeded" && rows.hosts.some(({ phase }) => phase === "pending" || phase === "offered"))
    return "a host was forgotten";
  return undefined;
}

/** One sequence; what went wrong, with the steps that led there. */
function run(seed: number, reached: Set<string>): string | undefined {
  const chance = seededChance(seed);
  const pick = <T>(of: readonly T[]): T => of[Math.floor(chance() * of.length)] as T;
  const waves = Array.from({ length: 1 + Math.floor(chance() * 3) }, (_, k): EngineWave => ({
    name: `w${k}`,
    approval: pick(APPROVALS),
    upTo: 1 + k * 2,
  }));
  const cap = 1 + Math.floor(chance() * 3);
  const engine = createEngine(waves, 1 + Math.floor(chance() * 7), cap);
  const log: string[] = [];
  for (let step = 0; step < STEPS; step += 1) {
    const offersBefore = engine.offers.length;
    const before = seenOf(engine);
    const what = chance();
    let wrong: string | undefined;
    if (what < 0.45) wrong = sendControl(engine, pick(CONTROLS), chance() < 0.5, before, log);
    else if (what < 0.9) {
      const host = pick(engine.inFlight());
      const outcome = chance() < 0.75 ? "succeeded" : "failed";
      log.push(`${host?.host ?? "nobody"} ${outcome}`);
      if (host !== undefined) engine.report(host.host, outcome);
    } else {
      log.push("restart");
      engine.restart();
      if (JSON.stringify(seenOf(engine)) !== JSON.stringify(before)) wrong = "a restart changed something";
    }
    if (isFinal(before.state) && what >= 0.45 && engine.rows.state !== before.state)
      wrong ??= "a final state changed by itself";
    reached.add(engine.rows.state);
    wrong ??= broken(engine, cap, offersBefore);
    if (wrong !== undefined) return `seed ${seed}: ${wrong}\n  ${log.join("\n  ")}\n  ${JSON.stringify(engine.rows)}`;
  }
  return undefined;
}

function sendControl(
  engine: Engine,
  control: Control,
  hasReason: boolean,
  before: Seen,
  log: string[],
): string | undefined {
  const should = expected(control, before, hasReason);
  const verdict = engine.control(control, "ada", hasReason ? "because" : undefined);
  const after = seenOf(engine);
  log.push(`${control}${hasReason ? " with a reason" : ""}: ${verdict.do}, ${before.state} → ${after.state}`);
  if (verdict.do !== should) return `${control} in ${before.state} should be ${should}`;
  if (verdict.do === "apply") return mustHold(control, before, after);
  return JSON.stringify(after) === JSON.stringify(before)
    ? undefined
    : `${control} was ${verdict.do} and changed something`;
}

test(`${SEQUENCES} random sequences of controls, reports and restarts go as the model says`, () => {
  const reached = new Set<string>();
  for (let seed = 1; seed <= SEQUENCES; seed += 1) {
    const wrong = run(seed, reached);
    if (wrong !== undefined) expect.fail(wrong);
  }
  // The sequences come everywhere that they should tell of.
  const everywhere = [
    "waiting_approval",
    "running",
    "paused",
    "rolling_back",
    "succeeded",
    "failed",
    "aborted",
    "rolled_back",
  ];
  expect([...reached].toSorted()).toEqual(everywhere.toSorted());
}, 60_000);

test("a rollout that nobody disturbs brings every host there, wave by wave", () => {
  const engine = createEngine(
    [
      { name: "canary", approval: "none", upTo: 1 },
      { name: "rest", approval: "required", upTo: 5 },
    ],
    5,
    2,
  );
  const finish = (): void => {
    for (let [host] = engine.inFlight(); host !== undefined; [host] = engine.inFlight())
      engine.report(host.host, "succeeded");
  };
  finish();
  expect(engine.rows.state).toBe("waiting_approval");
  engine.control("approve", "ada");
  finish();
  expect(engine.rows.state).toBe("succeeded");
  expect(engine.offers.map(({ host }) => host)).toEqual(["h0", "h1", "h2", "h3", "h4"]);
});
