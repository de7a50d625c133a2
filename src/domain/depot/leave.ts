/**
 * When a depot may leave (design/artifacts, "Replication": a drained depot serves on and leaves when everything it has is
 * safe elsewhere): each wanted artifact that it has lies on `minCopies` other nodes, or on all others that answer, and on
 * one at least. Nodes that drain themselves are no "elsewhere".
 */
export type Held = {
  sha256: string;
  /** Active nodes that answered and listed it, this one left out. */
  elsewhere: number;
  /** Others that had it and do not count: they do not answer, drain themselves, or did not list it yet. */
  otherwise: number;
  /** Hosts whose staging has it. */
  staged: number;
};
export type Leaving = {
  safe: boolean;
  /** Digests that nobody else is known to have. */
  lost: string[];
  /** Digests that others have, but too few that answer. */
  rare: string[];
};

/** Nodes that must have an artifact before one that has it leaves. */
export const enoughElsewhere = (minCopies: number, othersAnswering: number): number =>
  Math.max(1, Math.min(minCopies, othersAnswering));

export function judgeLeaving(held: readonly Held[], minCopies: number, othersAnswering: number): Leaving {
  const need = enoughElsewhere(minCopies, othersAnswering);
  const unsafe = held.filter(({ elsewhere }) => elsewhere < need);
  const isLost = ({ elsewhere, otherwise, staged }: Held): boolean => elsewhere + otherwise + staged === 0;
  return {
    safe: unsafe.length === 0,
    lost: unsafe.filter(isLost).map(({ sha256 }) => sha256),
    rare: unsafe.filter((it) => !isLost(it)).map(({ sha256 }) => sha256),
  };
}
