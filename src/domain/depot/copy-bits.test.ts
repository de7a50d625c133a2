import fc from "fast-check";
import { expect, test } from "vitest";
import { COPIES, copiesOn, packCopies, unpackCopies } from "./copy-bits.ts";

test("whatever is packed comes back, in a quarter of a byte each", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...COPIES), { maxLength: 50 }), (copies) => {
      const bits = packCopies(copies);
      expect(bits.length).toBe(Math.ceil(copies.length / 4));
      expect(unpackCopies(bits, copies.length)).toEqual(copies);
    }),
  );
});

test.each<[string, Uint8Array, number]>([
  ["too short", new Uint8Array(1), 5],
  ["too long", new Uint8Array(2), 4],
  ["a value that means nothing", Uint8Array.of(3), 1],
  ["something about an artifact that nobody asked for", Uint8Array.of(0b100), 1],
])("bits that are %s say nothing", (_, bits, count) => {
  expect(unpackCopies(bits, count)).toBeUndefined();
});

test.each([
  [0, 2, "none"],
  [1, 2, "some"],
  [2, 2, "all"],
  [1, 1, "all"],
] as const)("%i of %i disks is %s", (disks, of, words) => {
  expect(copiesOn(disks, of)).toBe(words);
});
