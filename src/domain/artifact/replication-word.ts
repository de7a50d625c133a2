/**
 * One word for how an artifact stands on the depots (depot-anchors, invariant 31): `replicated` is never said while a node
 * that answers and is to have it lacks it, on any disk that is well; a node that does not answer counts for nothing.
 */
export const REPLICATION_WORDS = [
  "none",
  "lost",
  "unreachable",
  "degraded",
  "partial",
  "healing",
  "replicated",
] as const;
/**
 * `none`: not wanted, or staged and on no depot yet. `lost`: nobody has it. `unreachable`: only nodes that do not answer
 * have it. `degraded`: fewer nodes than `minCopies` have it. `partial`: enough nodes, but one that answers lacks it.
 * `healing`: the same, and a running execution is at it. `replicated`: everywhere.
 */
export type ReplicationWord = (typeof REPLICATION_WORDS)[number];

/** Counts of nodes, removed ones left out. */
export type CopyCounts = {
  /** That answer and have it on a disk; one that drains counts until it leaves. */
  have: number;
  /** That answer, do not drain, and lack it on a disk that is well. */
  lacking: number;
  /** That do not answer, and had it when they did. */
  silent: number;
  /** Hosts whose staging has it. */
  staged: number;
  /** Transfers of it that the running execution still has to do. */
  pending: number;
};

export function replicationWord(wanted: boolean, it: CopyCounts, minCopies: number): ReplicationWord {
  if (!wanted) return "none";
  if (it.have === 0) return it.staged > 0 ? "none" : it.silent > 0 ? "unreachable" : "lost";
  if (it.have < minCopies) return "degraded";
  if (it.lacking > 0) return it.pending > 0 ? "healing" : "partial";
  return "replicated";
}

export type Happened = "degraded" | "partial" | "lost" | "unreachable" | "replicated" | "healed";

/**
 * What a change of the word is to be called, and whether somebody is told. Undefined: nothing that needs a record. A word
 * that gets better without being well yet (lost to degraded) is recorded as that word and told to nobody; that it is well
 * again is told by whoever knows that the bad word was.
 */
export function whatHappened(
  before: ReplicationWord | undefined,
  after: ReplicationWord,
): { kind: Happened; tell: boolean } | undefined {
  if (before === after || after === "none" || after === "healing") return undefined;
  const wasWrong = before !== undefined && before !== "none" && before !== "replicated";
  if (after === "replicated") return { kind: wasWrong ? "healed" : "replicated", tell: false };
  const isWorse = before === undefined || RANK[after] < RANK[before];
  return { kind: after, tell: after !== "partial" && isWorse };
}

/** The lower the worse. */
const RANK: Readonly<Record<ReplicationWord, number>> = {
  lost: 0,
  unreachable: 1,
  degraded: 2,
  partial: 3,
  healing: 3,
  none: 4,
  replicated: 5,
};
