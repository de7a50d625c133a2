import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  nextSource,
  planReplication,
  seededChoose,
  type Answering,
  type Node,
  type ReplicationPlan,
  type Wanted,
} from "./plan-replication.ts";

const nodes = (count: number, zones = 1): Node[] =>
  Array.from({ length: count }, (_, i) => ({ id: `n${String(i).padStart(2, "0")}`, zone: `z${i % zones}` }));
const staged = (sha256: string, heldBy: string[] = []): Wanted => ({ sha256, bytes: 10, heldBy, stagedAt: ["host-1"] });
const stored = (sha256: string, heldBy: string[]): Wanted => ({ sha256, bytes: 10, heldBy, stagedAt: [] });

const text = ({ work, lost, missing }: ReplicationPlan): string =>
  [
    ...work.map((w) => `${w.kind} ${w.sha256} ${w.source} -> ${w.node}${w.kind === "copy" ? ` wave ${w.wave}` : ""}`),
    ...lost.map((sha256) => `LOST ${sha256}`),
    `missing ${missing}`,
  ].join("\n") + "\n";

describe("golden plans", () => {
  test.each<[string, Answering[], Wanted[], number]>([
    ["simple: two fresh artifacts on sixteen nodes", nodes(16), [staged("a"), staged("b")], 3],
    ["dead-nodes: the same with five that do not answer", nodes(11), [staged("a"), staged("b")], 3],
    [
      "new-node: ten artifacts everywhere but on the new one",
      nodes(4),
      Array.from({ length: 10 }, (_, i) => stored(`a${i}`, ["n00", "n01", "n02"])),
      3,
    ],
    ["nothing: everything everywhere", nodes(3), [stored("a", ["n00", "n01", "n02"])], 3],
    ["few-nodes: fewer nodes than copies wanted", nodes(2), [staged("a")], 3],
    ["zones: a copy comes from its own zone", nodes(6, 2), [stored("a", ["n00", "n01"])], 3],
    ["zones-fresh: puts go to as many zones as there are", nodes(9, 3), [staged("a")], 3],
    ["one-zone: the zone without a copy gets one first", nodes(8, 2), [stored("a", ["n00"])], 3],
    ["one-disk: a node with a copy on one of its disks heals itself", nodes(2), [stored("a", ["n00", "n01"])], 2],
    [
      "draining: it serves and gets nothing",
      [...nodes(3), { id: "old", zone: "z0", draining: true }],
      [stored("a", ["old"]), staged("b", ["n00"])],
      3,
    ],
    ["many-waves: fifty nodes", nodes(50), [staged("a")], 3],
    ["lost: nobody has it", nodes(3), [stored("a", []), stored("b", ["n00"])], 3],
    ["re-staged: enough copies exist, so nothing is put", nodes(4), [staged("a", ["n00", "n01", "n02"])], 3],
  ])("%s", async (name, answering, wanted, minCopies) => {
    const plan = planReplication(answering, wanted, minCopies, seededChoose(7));
    await expect(text(plan)).toMatchFileSnapshot(`./golden/${name.split(":")[0]}.txt`);
  });
});

test("a fresh artifact on fifty nodes: three puts, and nobody sends it more than six times", () => {
  const { work } = planReplication(nodes(50), [staged("a")], 3, seededChoose(1));
  const sends = Map.groupBy(
    work.filter(({ kind }) => kind === "copy"),
    ({ source }) => source,
  );
  expect(work.filter(({ kind }) => kind === "put").length).toBe(3);
  expect(Math.max(...Array.from(sends.values(), (of) => of.length))).toBeLessThanOrEqual(6);
});

test("over many artifacts the uploads are spread: no node has twice the mean", () => {
  const many = Array.from({ length: 120 }, (_, i) => staged(`a${i}`));
  const { work } = planReplication(nodes(12), many, 3, seededChoose(1));
  const sends = Map.groupBy(
    work.filter(({ kind }) => kind === "copy"),
    ({ source }) => source,
  );
  const counts = Array.from(sends.values(), (of) => of.length);
  expect(counts.length).toBe(12);
  expect(Math.max(...counts)).toBeLessThan((2 * (120 * 9)) / 12);
});

test("every plan is complete, minimal and in order, for any nodes, holders and seed", () => {
  const world = fc.record({
    count: fc.integer({ min: 1, max: 30 }),
    zones: fc.integer({ min: 1, max: 4 }),
    minCopies: fc.integer({ min: 1, max: 4 }),
    seed: fc.integer({ min: 0, max: 2 ** 31 }),
    draining: fc.array(fc.nat(29), { maxLength: 3 }),
    artifacts: fc.array(fc.record({ holders: fc.array(fc.nat(29), { maxLength: 8 }), staged: fc.boolean() }), {
      maxLength: 6,
    }),
  });
  fc.assert(
    fc.property(world, ({ count, zones, minCopies, seed, draining, artifacts }) => {
      const all = nodes(count, zones).map((node, i): Answering => ({ ...node, draining: draining.includes(i) }));
      const wanted = artifacts.map(({ holders, staged: isStaged }, i): Wanted => {
        const heldBy = [...new Set(holders.filter((n) => n < count).map((n) => all[n]?.id ?? ""))];
        return isStaged ? staged(`a${i}`, heldBy) : stored(`a${i}`, heldBy);
      });
      const plan = planReplication(all, wanted, minCopies, seededChoose(seed));
      for (const artifact of wanted) checkArtifact(plan, artifact, all, minCopies);
    }),
    { seed: 20_261, numRuns: 300 },
  );
});

function checkArtifact(plan: ReplicationPlan, artifact: Wanted, all: Answering[], minCopies: number): void {
  const work = plan.work.filter((w) => w.sha256 === artifact.sha256);
  const lost = artifact.heldBy.length === 0 && artifact.stagedAt.length === 0;
  expect(plan.lost.includes(artifact.sha256)).toBe(lost);
  // afterwards every node has it, each got it once (invariants 19, 26)
  const receivers = work.map((w) => w.node);
  expect(new Set(receivers).size).toBe(receivers.length);
  const should = all.filter((n) => n.draining !== true || artifact.heldBy.includes(n.id)).map((n) => n.id);
  if (!lost) expect([...receivers, ...artifact.heldBy].sort()).toEqual(should);
  // the control plane sends no more than minCopies still lacks (invariant 25)
  const puts = work.filter((w) => w.kind === "put").length;
  expect(puts).toBeLessThanOrEqual(Math.max(0, minCopies - artifact.heldBy.length));
  // a source has it before it sends it, and sends at most once a wave (invariant 20)
  const since = new Map<string, number>(artifact.heldBy.map((id) => [id, -1]));
  const sends = new Map<string, number>();
  for (const w of work) {
    if (w.kind === "copy") {
      expect(since.get(w.source)).toBeLessThan(w.wave);
      sends.set(w.source, (sends.get(w.source) ?? 0) + 1);
    }
    since.set(w.node, w.kind === "put" ? -1 : w.wave);
  }
  const sources = artifact.heldBy.length + puts;
  // no two puts into a zone while another, that gets one too, has none
  const zoneOf = new Map(all.map((n) => [n.id, n.zone]));
  const zones = new Set(all.filter((n) => n.draining !== true).map((n) => n.zone));
  const covered = new Set(
    [...artifact.heldBy, ...work.filter((w) => w.kind === "put").map((w) => w.node)].map((id) => zoneOf.get(id)),
  );
  if (artifact.heldBy.length === 0 && puts > 0) expect(covered.size).toBe(Math.min(puts, zones.size));
  const atMost = Math.ceil(Math.log2(all.length / Math.max(1, sources))) + 1;
  for (const count of sends.values()) expect(count).toBeLessThanOrEqual(atMost);
}

describe("the next source of a copy whose source failed", () => {
  const node = { id: "me", zone: "a" };
  const near = { id: "near", zone: "a", sends: 5 };
  const far = { id: "far", zone: "b", sends: 0 };
  test.each([
    ["the same zone first", [far, near], [], "near"],
    ["then whoever sends least", [far, { ...far, id: "busy", sends: 3 }], [], "far"],
    ["never one that failed", [far, near], ["near"], "far"],
    ["never itself", [{ id: "me", zone: "a", sends: 0 }], [], undefined],
    ["none left", [near], ["near"], undefined],
  ])("%s", (_, candidates, failed, expected) => {
    expect(nextSource(node, candidates, new Set(failed))).toBe(expected);
  });
});
