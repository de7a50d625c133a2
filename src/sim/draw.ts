/**
 * Chance that can be repeated. Every decision of a simulation is a question with a name; its answer depends on the seed
 * and the question alone, never on the order in which hosts happen to ask: that order is the network's.
 */
import { hash } from "node:crypto";

type Question = readonly (string | number)[];

const digestOf = (seed: number, question: Question): Buffer =>
  hash("sha256", JSON.stringify([seed, ...question]), "buffer");

/** A number in [0, 1). */
export const draw = (seed: number, ...question: Question): number =>
  digestOf(seed, question).readUIntBE(0, 6) / 2 ** 48;

/** Ten bytes, as a UUID wants them. */
export const drawBytes = (seed: number, ...question: Question): Uint8Array => digestOf(seed, question).subarray(0, 10);

/** 0 to `count` - 1 in an order that the question decides: whoever takes the first n has a fair sample of exactly n. */
export function shuffled(count: number, seed: number, ...question: Question): number[] {
  const keys = Array.from({ length: count }, (_, i) => draw(seed, ...question, i));
  return Array.from({ length: count }, (_, i) => i).toSorted((a, b) => (keys[a] ?? 0) - (keys[b] ?? 0));
}
