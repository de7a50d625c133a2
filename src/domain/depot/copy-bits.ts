/**
 * What a node has, in two bits per artifact of its configuration, in the order of the configuration (design/artifacts,
 * "Depots"): 500 bytes for 2,000 artifacts, where the list with digests has 138 kB.
 */
export const COPIES = ["none", "some", "all"] as const;
/** On how many of the node's disks the artifact is. */
export type Copies = (typeof COPIES)[number];

/** Four artifacts per byte, the first in the lowest bits. */
export function packCopies(copies: readonly Copies[]): Uint8Array {
  const bits = new Uint8Array(Math.ceil(copies.length / 4));
  for (const [i, it] of copies.entries()) bits[i >> 2] = (bits[i >> 2] ?? 0) | (COPIES.indexOf(it) << (2 * (i & 3)));
  return bits;
}

/** Undefined when these bits do not say something about exactly `count` artifacts. */
export function unpackCopies(bits: Uint8Array, count: number): Copies[] | undefined {
  if (bits.length !== Math.ceil(count / 4)) return undefined;
  const copies: Copies[] = [];
  for (let i = 0; i < bits.length * 4; i++) {
    const value = ((bits[i >> 2] ?? 0) >> (2 * (i & 3))) & 3;
    const it = COPIES[value];
    if (it === undefined || (i >= count && value !== 0)) return undefined;
    if (i < count) copies.push(it);
  }
  return copies;
}

export const copiesOn = (disks: number, of: number): Copies => (disks === 0 ? "none" : disks < of ? "some" : "all");
