/**
 * The artifact configuration of the depots (contract, artifact-replication): which digests a node keeps, at which
 * generation, of which installation. `sizes` go along with the list (same order) and are no part of its identity.
 */
export type DepotConfig = {
  epoch: string;
  generation: number;
  /** SHA-256 digests, lower-case hexadecimal, sorted, each once. */
  artifacts: readonly string[];
  sizes?: readonly number[];
  /** Some of the artifacts: pinned or in use, not to be dropped by a mistake (`holds.ts`). Absent: says nothing about that. */
  held?: readonly string[];
  /** Artifacts that were held and are dropped on purpose. */
  released?: readonly string[];
};

/** Registered nodes that this one may copy from: origins of their read listeners, sent with each configuration. */
export type Peers = readonly string[];

const DIGEST = /^[0-9a-f]{64}$/;
export const isDigest = (text: string): boolean => DIGEST.test(text);

/** What the digest of a set is computed over: the same set gives the same text. */
export const canonicalSet = (artifacts: readonly string[]): string => [...new Set(artifacts)].sort().join("\n");
