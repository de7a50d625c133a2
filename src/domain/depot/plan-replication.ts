/**
 * Who gets which artifact in one execution (contract, steps 5 and 6; design/artifacts, "Replication"). Pure: facts in,
 * work out; `choose` is its only chance.
 *
 * - Only nodes that answered this execution get work; a node that did not is named, nothing else. One that is being
 *   drained serves what it has and gets nothing.
 * - An artifact with a staged copy is put to as many nodes as `minCopies` still lacks, in zones that lack it first;
 *   whoever else lacks it copies.
 * - A copy waits for its own source, not for all puts: sources are holders and whoever gets the artifact before, in
 *   doubling waves, so that no node sends one artifact more than ceil(log2(nodes / sources)) + 1 times.
 * - Sources of the same zone come first, then those with the fewest uploads; a zone without a copy gets one early.
 * - A node that has it on some of its disks only heals itself from there: nothing is sent to it.
 * - An artifact that nobody has, staged or stored, is lost, and said so.
 */

export type Node = { id: string; zone: string };
/** A node that answered. `draining`: it serves on and gets nothing new. */
export type Answering = Node & { draining?: boolean };
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
  /** Copies that are to be made: per artifact, the nodes that should have it and lack it. */
  missing: number;
};
/** An index below `count`. */
export type Choose = (count: number) => number;

export function planReplication(
  nodes: readonly Answering[],
  wanted: readonly Wanted[],
  minCopies: number,
  choose: Choose,
): ReplicationPlan {
  const plan: ReplicationPlan = { work: [], lost: [], missing: 0 };
  const uploads: Uploads = new Map();
  for (const artifact of wanted) {
    const holders = nodes.filter((node) => artifact.heldBy.includes(node.id));
    const lacking = shuffled(
      nodes.filter((node) => node.draining !== true && !artifact.heldBy.includes(node.id)),
      choose,
    );
    plan.missing += lacking.length;
    if (holders.length === 0 && artifact.stagedAt.length === 0) {
      // with no node answering nothing is known, and nothing is said
      if (nodes.length > 0) plan.lost.push(artifact.sha256);
    } else plan.work.push(...planArtifact(artifact, holders, lacking, minCopies, choose, uploads));
  }
  return plan;
}

/** What a node is to send in this plan, so far. */
type Uploads = Map<string, { count: number; bytes: number }>;

function planArtifact(
  { sha256, bytes, stagedAt }: Wanted,
  holders: readonly Node[],
  lacking: readonly Node[],
  minCopies: number,
  choose: Choose,
  uploads: Uploads,
): Work[] {
  const staged = stagedAt[stagedAt.length > 1 ? choose(stagedAt.length) : 0];
  const puts = staged === undefined ? 0 : Math.max(0, Math.min(lacking.length, minCopies - holders.length));
  const first = spread(lacking, holders).slice(0, puts);
  const work: Work[] = first.map((node) => ({ kind: "put", node: node.id, sha256, bytes, source: staged ?? "" }));
  const sources = [...holders, ...first];
  let left = lacking.filter((node) => !first.includes(node));
  for (let wave = 0; left.length > 0; wave++) {
    // each source sends once a wave; who received in a wave sends in the next
    const pairs = pairOff(sources, left, uploads);
    for (const { source, node } of pairs) {
      const sent = uploads.get(source.id) ?? { count: 0, bytes: 0 };
      uploads.set(source.id, { count: sent.count + 1, bytes: sent.bytes + bytes });
      work.push({ kind: "copy", node: node.id, sha256, bytes, source: source.id, wave });
      sources.push(node);
    }
    left = left.filter((node) => !sources.includes(node));
  }
  return work;
}

/** The same nodes, one of each zone that `holders` lack first, as long as there are such zones. */
function spread(nodes: readonly Node[], holders: readonly Node[]): Node[] {
  const covered = new Set(holders.map((node) => node.zone));
  const fresh = nodes.filter((node) => !covered.has(node.zone) && covered.add(node.zone));
  return [...fresh, ...nodes.filter((node) => !fresh.includes(node))];
}

/** One wave: as many pairs as there are sources or receivers. Pairs within a zone first, then zones that have no copy. */
function pairOff(
  sources: readonly Node[],
  receivers: readonly Node[],
  uploads: Uploads,
): { source: Node; node: Node }[] {
  const free = [...sources];
  const pairs: { source: Node; node: Node }[] = [];
  const pair = (node: Node, from: readonly Node[]): void => {
    const [first, ...others] = from;
    if (first === undefined) return;
    const source = others.reduce((a, b) => (comparedBy(uploads, a, b) <= 0 ? a : b), first);
    free.splice(free.indexOf(source), 1);
    pairs.push({ source, node });
  };
  for (const node of receivers)
    pair(
      node,
      free.filter((source) => source.zone === node.zone),
    );
  const rest = receivers.filter((node) => !pairs.some((it) => it.node === node));
  for (const node of spread(rest, sources)) pair(node, free);
  return pairs;
}

const NOTHING = { count: 0, bytes: 0 };
/** Fewest uploads first, then fewest bytes. */
function comparedBy(uploads: Uploads, a: Node, b: Node): number {
  const [mine, theirs] = [uploads.get(a.id) ?? NOTHING, uploads.get(b.id) ?? NOTHING];
  return mine.count - theirs.count || mine.bytes - theirs.bytes;
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
