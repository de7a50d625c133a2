/**
 * Who gets which artifact in one execution (contract, steps 5 and 6; design/artifacts, "Replication"). Pure: facts in,
 * work out; `choose` is its only chance.
 *
 * - Only nodes that answered this execution get work; a node that did not is named, nothing else.
 * - An artifact with a staged copy is put to as many nodes as `minCopies` still lacks; whoever else lacks it copies.
 * - A copy waits for its own source, not for all puts: sources are holders and whoever gets the artifact before, in
 *   doubling waves, so that no node sends one artifact more than ceil(log2(nodes / sources)) + 1 times.
 * - Sources of the same zone come first, then those with the least to send.
 * - An artifact that nobody has, staged or stored, is lost, and said so.
 */

export type Node = { id: string; zone: string };
export type Wanted = {
  sha256: string;
  bytes: number;
  /** Answering nodes that listed it. */
  heldBy: readonly string[];
  /** Hosts of workers whose staging has it. */
  stagedAt: readonly string[];
};
export type Work =
  | { kind: "put"; node: string; sha256: string; bytes: number; source: string }
  /** `wave` 0 copies from a node that held it before; `wave` n from one that gets it in wave n-1 or by a put. */
  | { kind: "copy"; node: string; sha256: string; bytes: number; source: string; wave: number };
export type ReplicationPlan = {
  work: Work[];
  /** Wanted artifacts without any copy that we can reach. */
  lost: string[];
  /** Per artifact that is not everywhere: answering nodes that lack it. */
  missing: number;
};
/** An index below `count`. */
export type Choose = (count: number) => number;

export function planReplication(
  nodes: readonly Node[],
  wanted: readonly Wanted[],
  minCopies: number,
  choose: Choose,
): ReplicationPlan {
  const plan: ReplicationPlan = { work: [], lost: [], missing: 0 };
  const toSend = new Map<string, number>();
  for (const artifact of wanted) {
    const holders = nodes.filter((node) => artifact.heldBy.includes(node.id));
    const lacking = shuffled(
      nodes.filter((node) => !artifact.heldBy.includes(node.id)),
      choose,
    );
    plan.missing += lacking.length;
    if (holders.length === 0 && artifact.stagedAt.length === 0) {
      // with no node answering nothing is known, and nothing is said
      if (nodes.length > 0) plan.lost.push(artifact.sha256);
    } else plan.work.push(...planArtifact(artifact, holders, lacking, minCopies, choose, toSend));
  }
  return plan;
}

function planArtifact(
  { sha256, bytes, stagedAt }: Wanted,
  holders: readonly Node[],
  lacking: readonly Node[],
  minCopies: number,
  choose: Choose,
  toSend: Map<string, number>,
): Work[] {
  const staged = stagedAt[stagedAt.length > 1 ? choose(stagedAt.length) : 0];
  const puts = staged === undefined ? 0 : Math.max(0, Math.min(lacking.length, minCopies - holders.length));
  const work: Work[] = lacking
    .slice(0, puts)
    .map((node) => ({ kind: "put", node: node.id, sha256, bytes, source: staged ?? "" }));
  const sources = [...holders, ...lacking.slice(0, puts)];
  let left = lacking.slice(puts);
  for (let wave = 0; left.length > 0; wave++) {
    // each source sends once a wave; who received in a wave sends in the next
    const free = [...sources];
    const served: Node[] = [];
    for (const node of left.slice(0, sources.length)) {
      const source = takeSource(free, node, toSend);
      toSend.set(source.id, (toSend.get(source.id) ?? 0) + bytes);
      work.push({ kind: "copy", node: node.id, sha256, bytes, source: source.id, wave });
      served.push(node);
    }
    left = left.slice(served.length);
    sources.push(...served);
  }
  return work;
}

/** Removes and returns the best source for `node`: its own zone first, then who has least to send. */
function takeSource(free: Node[], node: Node, toSend: ReadonlyMap<string, number>): Node {
  const load = (candidate: Node): number => toSend.get(candidate.id) ?? 0;
  const distance = (candidate: Node): number => (candidate.zone === node.zone ? 0 : 1);
  const best = free.reduce((a, b) => ((distance(b) - distance(a) || load(b) - load(a)) < 0 ? b : a));
  free.splice(free.indexOf(best), 1);
  return best;
}

/** The next source for a copy whose source failed: whoever has it by now, in the order of zone and load. */
export function nextSource(
  node: Node,
  candidates: readonly (Node & { sends: number })[],
  failed: ReadonlySet<string>,
): string | undefined {
  const usable = candidates.filter((candidate) => candidate.id !== node.id && !failed.has(candidate.id));
  const rank = (c: Node & { sends: number }): number => (c.zone === node.zone ? 0 : 1_000_000) + c.sends;
  return usable.toSorted((a, b) => rank(a) - rank(b) || (a.id < b.id ? -1 : 1))[0]?.id;
}

function shuffled<T>(items: readonly T[], choose: Choose): T[] {
  const result = [...items];
  for (let i = result.length - 1; i > 0; i--) {
    const j = choose(i + 1);
    const [a, b] = [result[i] as T, result[j] as T];
    result[i] = b;
    result[j] = a;
  }
  return result;
}

/** Chance from a seed, so that a repeated activity makes the same plan (mulberry32). */
export function seededChoose(seed: number): Choose {
  let state = seed >>> 0;
  return (count) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4_294_967_296) * count);
  };
}
