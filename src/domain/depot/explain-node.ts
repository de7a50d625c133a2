/** Why copies are missing on a depot, and what happens next by itself or by whom. Pure; texts are for people. */

/** An idle server asks its nodes this often (workflow `artifact-replication`, its watchdog). */
export const EXECUTION_EVERY_MS = 5 * 60_000;

export type MissingCopy = {
  sha256: string;
  /** `otelcol 0.162.0 linux_amd64` of each artifact with these bytes. */
  names: readonly string[];
  bytes: number;
  /** Disks that have it; fewer than are well. */
  disks: number;
  /** Other nodes that answer and have it; hosts whose staging has it. */
  elsewhere: number;
  staged: number;
  /** Of the newest execution: its transfer to this node. */
  work: { state: "pending" | "done" | "failed"; tries: number; error: string | null } | null;
};
export type NodeFacts = {
  nodeId: string;
  state: "active" | "draining" | "removed";
  answering: boolean;
  answeredAtMs: number | null;
  unansweredSinceMs: number | null;
  error: string | null;
  /** Of the disk that has least; null: not known. */
  freeBytes: number | null;
  /** All of them; `missing` may be cut. */
  lacks: number;
  missing: readonly MissingCopy[];
  /** The newest execution: still running, or when it ended. */
  execution: { running: boolean; endedAtMs: number | null } | null;
};
export type NodeExplanation = {
  says: string;
  copies: { sha256: string; names: readonly string[]; why: string; next: string }[];
};

export function explainNode(node: NodeFacts, time: (ms: number) => string): NodeExplanation {
  return {
    says: nodeSentence(node, time),
    copies: node.missing.map((it) => ({
      sha256: it.sha256,
      names: it.names,
      why: whyMissing(it, node),
      next: whatNext(it, node, time),
    })),
  };
}

function nodeSentence({ nodeId, state, lacks, ...node }: NodeFacts, time: (ms: number) => string): string {
  const number = lacks === 0 ? "lacks nothing" : `lacks ${lacks} ${lacks === 1 ? "artifact" : "artifacts"}`;
  if (node.answeredAtMs === null && node.error === null) return `${nodeId} was not asked yet`;
  if (!node.answering) {
    const since = node.unansweredSinceMs === null ? "" : ` since ${time(node.unansweredSinceMs)}`;
    return `${nodeId} does not answer${since} (${node.error ?? "no reason known"}); what it has counts for nothing until it does`;
  }
  if (state === "draining") return `${nodeId} drains: it serves on, gets nothing new, and ${number}`;
  return `${nodeId} answers and ${number}`;
}

function whyMissing({ disks, elsewhere, staged, work, bytes }: MissingCopy, { freeBytes }: NodeFacts): string {
  const where = disks > 0 ? `it is on ${disks} of its disks only` : "it is not there";
  if (disks === 0 && elsewhere + staged === 0) return `${where}, and nobody within reach has it`;
  if (work?.state === "failed")
    return `${where}; the last transfer failed after ${work.tries} tries: ${work.error ?? "?"}`;
  if (freeBytes !== null && freeBytes < bytes) return `${where}; its fullest disk has no room for it`;
  return where;
}

function whatNext(copy: MissingCopy, node: NodeFacts, time: (ms: number) => string): string {
  if (!node.answering) return "it is asked again every few seconds, and gets it when it answers";
  if (copy.disks > 0) return "it copies it from its other disk by itself, within minutes";
  if (node.state === "draining") return "nothing: a node that drains gets nothing new";
  if (copy.elsewhere + copy.staged === 0) return "it is fetched again from the source; what was uploaded, upload again";
  if (node.freeBytes !== null && node.freeBytes < copy.bytes)
    return "make room on its disks, or unpin what nobody needs";
  if (copy.work?.state === "pending" && node.execution?.running === true) return "it is being transferred now";
  const at = node.execution?.endedAtMs;
  if (node.execution?.running === true || at === null || at === undefined) return "the next execution sends it";
  return `the next execution sends it, at ${time(at + EXECUTION_EVERY_MS)} at the latest`;
}
